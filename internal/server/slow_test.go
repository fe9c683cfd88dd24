package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// TestSlowClientsAreCutOff is about clients who send a little, or nothing, and keep
// the connection (slow loris).
func TestSlowClientsAreCutOff(t *testing.T) {
	const headers = "POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"
	for name, test := range map[string]struct {
		port   func(*piped) *pipes
		begins string
		// drips is sent every second.
		drips string
		limit time.Duration
	}{
		"HTTP, nothing":         {func(p *piped) *pipes { return p.httpPort }, "", "", readHeaderTimeout},
		"HTTP, headers":         {func(p *piped) *pipes { return p.httpPort }, headers, "X-Slow: 1\r\n", readHeaderTimeout},
		"HTTP, body":            {func(p *piped) *pipes { return p.httpPort }, headers + "\r\n{", " ", readTimeout},
		"HTTP, no second call":  {func(p *piped) *pipes { return p.httpPort }, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", idleTimeout},
		"admin, headers":        {func(p *piped) *pipes { return p.adminPort }, "GET /livez HTTP/1.1\r\n", "X-Slow: 1\r\n", readHeaderTimeout},
		"gRPC, nothing":         {func(p *piped) *pipes { return p.grpcPort }, "", "", handshakeTimeout},
		"gRPC, half a preface":  {func(p *piped) *pipes { return p.grpcPort }, http2.ClientPreface[:10], "", handshakeTimeout},
		"gRPC, only a preface":  {func(p *piped) *pipes { return p.grpcPort }, http2.ClientPreface, "", handshakeTimeout},
		"gRPC, HTTP/1 for ever": {func(p *piped) *pipes { return p.grpcPort }, headers, "", handshakeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startPiped(t, fakeGames{})
				conn := test.port(p).mustDial(t)
				began := time.Now()
				drip := time.NewTicker(time.Second)
				defer drip.Stop()
				closed := make(chan struct{})
				var drips sync.WaitGroup
				drips.Go(func() {
					_, _ = io.WriteString(conn, test.begins)
					for {
						select {
						case <-drip.C:
							_, _ = io.WriteString(conn, test.drips)
						case <-closed:
							return
						}
					}
				})
				_, err := io.Copy(io.Discard, conn)
				close(closed)
				drips.Wait()
				if took := time.Since(began); err != nil || took > test.limit+time.Second {
					t.Errorf("the connection is closed after %v, want %v: %v", took, test.limit, err)
				}
			})
		})
	}
}

// wantLines compares the requests in the log, in any order.
func (p *piped) wantLines(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	var got []string
	for _, line := range requestLines(t, p.logs) {
		got = append(got, fmt.Sprint(line["transport"], " ", line["method"], " ", line["code"], " ", line["reason"]))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// rawHTTP2 speaks HTTP/2 frame by frame. What the server says is read in the
// background, as its pipes have no buffers.
type rawHTTP2 struct {
	*http2.Framer
	// answers are the frames of the server, closed at the end of the connection.
	answers chan string
}

func (p *piped) dialHTTP2(t *testing.T) rawHTTP2 {
	t.Helper()
	conn := p.grpcPort.mustDial(t)
	raw := rawHTTP2{http2.NewFramer(conn, conn), make(chan string, 100)}
	go func() {
		defer close(raw.answers)
		for {
			frame, err := raw.ReadFrame()
			if err != nil {
				return
			}
			raw.answers <- frame.Header().String()
		}
	}()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := raw.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return raw
}

// grpcHeaders begin a call of CreateGame.
func grpcHeaders(more ...string) []byte {
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	fields := append([]string{
		":method", "POST", ":scheme", "http", ":path", "/avalanche.v1.GameService/CreateGame", ":authority", "x",
		"content-type", "application/grpc", "te", "trailers",
	}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return []byte(block.String())
}

// TestHalfACallIsCutOff: the library would wait for the rest of a message as long as
// the connection lives, half an hour.
func TestHalfACallIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPiped(t, fakeGames{})
		raw := p.dialHTTP2(t)
		if err := raw.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: grpcHeaders(), EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		if err := raw.WriteData(1, false, []byte{0, 0, 0, 0, 9, '\n'}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for answer := range raw.answers {
			// The end of the call: its trailers, as there are no headers before.
			if strings.HasPrefix(answer, "[FrameHeader HEADERS flags=END_STREAM") {
				break
			}
		}
		if took, want := time.Since(began), readTimeout+p.config.RequestTimeout; took != want {
			t.Errorf("half a call is ended after %v, want %v", took, want)
		}
		p.wantLines(t, "grpc /avalanche.v1.GameService/CreateGame DEADLINE_EXCEEDED REQUEST_ABANDONED")
	})
}

// TestWhatTheTransportRefusesHasALine is about messages that reach no interceptor.
func TestWhatTheTransportRefusesHasALine(t *testing.T) {
	for name, test := range map[string]struct {
		headers []string
		data    []byte
		line    string
	}{
		"no gzip":             {[]string{"grpc-encoding", "gzip"}, []byte{1, 0, 0, 0, 3, 'a', 'b', 'c'}, "INVALID_ARGUMENT BODY_MALFORMED"},
		"cut off":             {nil, []byte{0, 0, 0, 0, 9, '\n'}, "INVALID_ARGUMENT BODY_MALFORMED"},
		"far too long":        {nil, []byte{0, 0x7f, 0, 0, 0, '\n'}, "RESOURCE_EXHAUSTED REQUEST_TOO_LARGE"},
		"unknown compression": {[]string{"grpc-encoding", "snow"}, []byte{1, 0, 0, 0, 1, 'a'}, "UNIMPLEMENTED METHOD_UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := startPiped(t, fakeGames{})
				raw := p.dialHTTP2(t)
				if err := raw.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: grpcHeaders(test.headers...), EndHeaders: true}); err != nil {
					t.Fatal(err)
				}
				if err := raw.WriteData(1, true, test.data); err != nil {
					t.Fatal(err)
				}
				p.wantLines(t, "grpc /avalanche.v1.GameService/CreateGame "+test.line)
			})
		})
	}
}

// TestTheSlowestGoFirst: whoever holds as many half-sent requests as there may be
// keeps nobody from calling.
func TestTheSlowestGoFirst(t *testing.T) {
	const most = 8
	few := func(c *Config) { c.MaxInFlight = most / 4 }
	good := &avalanchev1.CreateGameRequest{Ruleset: "x"}

	t.Run("gRPC", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := startPiped(t, fakeGames{}, few)
			began := time.Now()
			raw := p.dialHTTP2(t)
			for i := range uint32(most) {
				if err := raw.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: grpcHeaders(), EndHeaders: true}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			for range 3 {
				if _, err := p.games.CreateGame(t.Context(), good); err != nil {
					t.Errorf("a good call: %v", err)
				}
			}
			synctest.Wait()
			var ended []string
			for len(raw.answers) > 0 {
				if answer := <-raw.answers; strings.HasPrefix(answer, "[FrameHeader HEADERS") {
					ended = append(ended, answer[strings.Index(answer, "stream="):strings.Index(answer, " len=")])
				}
			}
			if got := strings.Join(ended, " "); got != "stream=1" {
				t.Errorf("cut off were %s", got)
			}
			const good = "grpc /avalanche.v1.GameService/CreateGame OK <nil>"
			p.wantLines(t, "grpc /avalanche.v1.GameService/CreateGame RESOURCE_EXHAUSTED OVERLOADED", good, good, good)
			if took := time.Since(began); took > 0 {
				t.Errorf("it took %v", took)
			}
		})
	})

	t.Run("HTTP", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := startPiped(t, fakeGames{}, few)
			began := time.Now()
			conns := make([]net.Conn, most)
			for i := range conns {
				conns[i] = p.httpPort.mustDial(t)
				const half = "POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
				if _, err := io.WriteString(conns[i], half); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if got := ask(t, p.client, "http://http", http.MethodPost, "/v1/games", jsonHeader, strings.NewReader(`{"ruleset":"x"}`)); got.status != http.StatusOK {
				t.Errorf("a good request: %+v", got)
			}
			cut, err := io.ReadAll(conns[0])
			if err != nil || !strings.Contains(string(cut), "429 Too Many Requests") || !strings.Contains(string(cut), "OVERLOADED") {
				t.Errorf("the oldest: %s, %v", cut, err)
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("it took %v", took)
			}
		})
	})
}

// TestWhoDoesNotListenHoldsNoPlace: the work is done when the answer leaves, however
// long that takes.
func TestWhoDoesNotListenHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Longer than what the library keeps to itself.
		long := &avalanchev1.GetRulesetResponse{Ruleset: &avalanchev1.Ruleset{HowToPlay: strings.Repeat("x", 64<<10)}}
		p := startPiped(t, fakeGames{get: func(context.Context, *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
			return long, nil
		}}, func(c *Config) { c.MaxInFlight = 1 })
		deaf := p.httpPort.mustDial(t)
		if _, err := io.WriteString(deaf, "GET /v1/rulesets/x HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 3 {
			if got := ask(t, p.client, "http://http", http.MethodGet, "/v1/rulesets/x", nil, nil); got.status != http.StatusOK {
				t.Errorf("another request: %+v", got)
			}
		}
		began := time.Now()
		time.Sleep(readTimeout + p.config.RequestTimeout + writeTimeout)
		synctest.Wait()
		if data, err := io.ReadAll(deaf); err != nil || len(data) > 0 {
			t.Errorf("after %v the answer is still there: %q, %v", time.Since(began), data, err)
		}
	})
}
