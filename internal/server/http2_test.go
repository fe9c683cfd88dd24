package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// target is a port that speaks HTTP/2, as an attacker sees it.
type target struct {
	name string
	dial func(*testing.T) net.Conn
	// headers are those of a call of CreateGame, body is its body.
	headers, body []byte
}

// targets are both ports of a server with TLS.
func targets(t *testing.T, games fakeGames, adjust ...func(*Config)) (*running, *tls.Config, []target) {
	t.Helper()
	root := newAuthority(t, "root")
	files := newTLSFolder(t, root, "mountain")
	contents := [][]byte{readFile(t, files.Cert), readFile(t, files.Key)}
	served, err := parseTLS(contents, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, games, append(adjust, func(c *Config) { c.TLS = func() *tls.Config { return served } })...)
	client := trust(root)
	dialer := func(addr net.Addr) func(*testing.T) net.Conn {
		return func(t *testing.T) net.Conn {
			t.Helper()
			config := client.Clone()
			config.NextProtos = []string{"h2"}
			conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", addr.String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			return conn
		}
	}
	message := marshal(t, &avalanchev1.CreateGameRequest{Ruleset: "x"})
	framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	return r, client, []target{
		{portGRPC, dialer(r.GRPCAddr()), headerBlock("POST", "/avalanche.v1.GameService/CreateGame", "content-type", "application/grpc", "te", "trailers"), framed},
		{portHTTP, dialer(r.HTTPAddr()), headerBlock("POST", "/v1/games", "content-type", "application/json"), []byte(`{"ruleset":"x"}`)},
	}
}

// headerBlock encodes the headers of a request.
func headerBlock(method, path string, more ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := append([]string{":method", method, ":scheme", "https", ":path", path, ":authority", "x"}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return block.Bytes()
}

// attacker speaks HTTP/2 frame by frame, and hears the frames of the server.
type attacker struct {
	*http2.Framer
	conn net.Conn
	// heard are the frames of the server, until it closes the connection.
	heard chan string
}

func (target target) attack(t *testing.T) attacker {
	t.Helper()
	conn := target.dial(t)
	a := attacker{http2.NewFramer(conn, conn), conn, make(chan string, 1000)}
	a.AllowIllegalWrites, a.AllowIllegalReads = true, true
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(a.heard)
		for {
			frame, err := a.ReadFrame()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				a.heard <- silence
			}
			if err != nil {
				return
			}
			text := frame.Header().Type.String()
			switch frame := frame.(type) {
			case *http2.GoAwayFrame:
				text += " " + frame.ErrCode.String()
			case *http2.RSTStreamFrame:
				text += " " + frame.ErrCode.String()
			}
			a.heard <- text
		}
	}()
	_, _ = io.WriteString(conn, http2.ClientPreface)
	_ = a.WriteSettings()
	return a
}

func TestMalformedHTTP2(t *testing.T) {
	r, client, ports := targets(t, fakeGames{})
	long := strings.Repeat("x", 8<<10)
	for name, attack := range map[string]func(attacker, target){
		"noise":                   func(a attacker, _ target) { _, _ = a.conn.Write(bytes.Repeat([]byte{0xff}, 1000)) },
		"frame too long":          func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, 1<<20)) },
		"unknown frame, too long": func(a attacker, _ target) { _ = a.WriteRawFrame(0x42, 0, 1, make([]byte, 1<<20)) },
		"data on stream 0":        func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameData, 0, 0, []byte("x")) },
		"headers on stream 0": func(a attacker, p target) {
			_ = a.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 0, p.headers)
		},
		"headers that don't decode": func(a attacker, _ target) {
			_ = a.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		},
		"continuation of nothing": func(a attacker, p target) { _ = a.WriteContinuation(1, true, p.headers) },
		"interrupted headers": func(a attacker, p target) {
			_ = a.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.headers})
			_ = a.WritePing(false, [8]byte{})
		},
		"even stream": func(a attacker, p target) {
			_ = a.WriteHeaders(http2.HeadersFrameParam{StreamID: 2, BlockFragment: p.headers, EndHeaders: true})
		},
		"settings of a stream": func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameSettings, 0, 1, nil) },
		"half a setting":       func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameSettings, 0, 0, []byte{0, 4, 0}) },
		"window too large": func(a attacker, _ target) {
			_ = a.WriteRawFrame(http2.FrameSettings, 0, 0, []byte{0, 4, 0xff, 0xff, 0xff, 0xff})
		},
		"window opened by nothing": func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, []byte{0, 0, 0, 0}) },
		"short ping":               func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FramePing, 0, 0, []byte("x")) },
		"ping of a stream":         func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FramePing, 0, 1, make([]byte, 8)) },
		"short goaway":             func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameGoAway, 0, 0, []byte("x")) },
		"reset of stream 0":        func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameRSTStream, 0, 0, make([]byte, 4)) },
		"short reset":              func(a attacker, _ target) { _ = a.WriteRawFrame(http2.FrameRSTStream, 0, 1, []byte("x")) },
		"padding longer than frames": func(a attacker, _ target) {
			_ = a.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersPadded, 1, []byte{200, 1, 2})
		},
		"endless continuation": func(a attacker, p target) {
			_ = a.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.headers})
			for range 10000 {
				if a.WriteContinuation(1, false, headerBlock("GET", "/", "x-long", long)) != nil {
					return
				}
			}
		},
		"header bomb": func(a attacker, p target) {
			// One header of 4 KB, and then a reference of one byte to it, again and again.
			var block bytes.Buffer
			block.Write(p.headers)
			encoder := hpack.NewEncoder(&block)
			field := hpack.HeaderField{Name: "x-bomb", Value: long[:3900]}
			for range 8 << 10 {
				_ = encoder.WriteField(field)
			}
			_ = a.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
		},
	} {
		for _, port := range ports {
			t.Run(name+"/"+port.name, func(t *testing.T) {
				a := port.attack(t)
				// What the server has no room for, it leaves unread.
				go attack(a, port)
				if !a.isRefused() {
					t.Error("the server puts up with it")
				}
				r.wantServed(t, client, "mountain")
			})
		}
	}
	if strings.Contains(r.logs.String(), "panic") {
		t.Errorf("the log has panics:\n%s", r.logs)
	}
}

// silence stands for nothing that was heard in ten seconds.
const silence = "silence"

// isRefused waits until the server ends the connection, says that it will, or refuses
// the request.
func (a attacker) isRefused() bool {
	for text := range a.heard {
		switch kind, _, _ := strings.Cut(text, " "); kind {
		case "GOAWAY", "RST_STREAM", "HEADERS":
			return true
		case silence:
			return false
		}
	}
	return true
}

// TestFloodsOfFramesAreCutOff: each frame asks for an answer that the attacker does
// not read. A server that kept them all would run out of memory.
func TestFloodsOfFramesAreCutOff(t *testing.T) {
	const much = 64 << 20 // Ten times what the network between the two can hold.
	r, client, ports := targets(t, fakeGames{})
	for name, frame := range map[string][]byte{
		"ping":     {0, 0, 8, byte(http2.FramePing), 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8},
		"settings": {0, 0, 0, byte(http2.FrameSettings), 0, 0, 0, 0, 0},
	} {
		for _, port := range ports {
			t.Run(name+"/"+port.name, func(t *testing.T) {
				conn := port.dial(t)
				if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
					t.Fatal(err)
				}
				if err := http2.NewFramer(conn, conn).WriteSettings(); err != nil {
					t.Fatal(err)
				}
				// The server may close the connection, or read no more.
				if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
					t.Fatal(err)
				}
				chunk := bytes.Repeat(frame, 1000)
				for sent := 0; ; sent += len(chunk) {
					if sent > much {
						t.Fatalf("the server takes %d bytes of frames", sent)
					}
					if _, err := conn.Write(chunk); err != nil {
						break
					}
				}
				r.wantServed(t, client, "mountain")
			})
		}
	}
}

// TestRapidReset begins calls and takes them back soon, which makes room for more by
// HTTP/2's count (CVE-2023-44487). The work on them goes on for a while, and must not be
// without bound. (Those that are taken back at once are not worked on.)
func TestRapidReset(t *testing.T) {
	const most, resets, later = 10, 5000, 5
	var inside, peak atomic.Int32
	release := make(chan struct{})
	games := fakeGames{create: func(context.Context, *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error) {
		now := inside.Add(1)
		defer inside.Add(-1)
		for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
		}
		<-release
		return &avalanchev1.CreateGameResponse{}, nil
	}}
	r, client, ports := targets(t, games, func(c *Config) { c.MaxConcurrentStreams = most })
	var attacks sync.WaitGroup
	defer attacks.Wait()
	defer close(release)
	for _, port := range ports {
		t.Run(port.name, func(t *testing.T) {
			before, goroutines := inside.Load(), runtime.NumGoroutine()
			a := port.attack(t)
			attacks.Go(func() {
				for i := range uint32(resets) {
					stream := 2*i + 1
					if a.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: port.headers, EndHeaders: true}) != nil ||
						a.WriteData(stream, true, port.body) != nil ||
						i >= later && a.WriteRSTStream(stream-2*later, http2.ErrCodeCancel) != nil {
						return
					}
				}
			})
			// There is work, and meanwhile others are served.
			eventually(t, func() bool { return inside.Load() > before })
			for range 20 {
				r.wantServed(t, client, "mountain")
			}
			if got := peak.Load() - before; got > most {
				t.Errorf("%d calls are worked on, want at most %d", got, most)
			}
			if got := runtime.NumGoroutine() - goroutines; got > 10*most {
				t.Errorf("%d more goroutines than before", got)
			}
		})
	}
}
