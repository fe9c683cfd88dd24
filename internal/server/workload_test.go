package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// TestTooMuchWorkIsRefusedAtOnce fills all places, of both transports, and finds the
// next request refused over both.
func TestTooMuchWorkIsRefusedAtOnce(t *testing.T) {
	const places = 4
	entered, release := make(chan struct{}, 100), make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	games := fakeGames{get: func(context.Context, *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
		entered <- struct{}{}
		<-release
		return &avalanchev1.GetRulesetResponse{}, nil
	}}
	r := start(t, games, func(c *Config) { c.MaxInFlight = places })
	var calls sync.WaitGroup
	for range places / 2 {
		calls.Go(func() {
			if _, err := r.games.GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{Ruleset: "x"}); err != nil {
				t.Errorf("a call that has a place: %v", err)
			}
		})
		calls.Go(func() {
			if got := r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil); got.status != http.StatusOK {
				t.Errorf("a request that has a place: %+v", got)
			}
		})
	}
	for range places {
		select {
		case <-entered:
		case <-time.After(10 * time.Second):
			t.Fatal("not as many are worked on as may be")
		}
	}

	// Nothing but a refusal can end these, as nobody is released.
	for range 10 {
		answers := r.bothTransports(t)
		expect(t, answers, codes.ResourceExhausted, "OVERLOADED")
		for transport, s := range answers {
			if delay := retryDelay(s); delay < time.Second || delay >= 2*time.Second {
				t.Errorf("over %s: try again after %v", transport, delay)
			}
		}
	}
	if got := r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil); got.header.Get("Retry-After") != "2" {
		t.Errorf("Retry-After: %q", got.header.Get("Retry-After"))
	}
	if _, err := healthgrpc.NewHealthClient(r.conn).Check(t.Context(), &healthgrpc.HealthCheckRequest{}); err != nil {
		t.Errorf("health under load: %v", err)
	}
	if err := r.reflect(t); err != nil {
		t.Errorf("reflection under load: %v", err)
	}
	if got := r.askAdmin(t, "/readyz"); got.status != http.StatusOK {
		t.Errorf("a server that works as much as it can is not ready: %d", got.status)
	}

	letGo()
	calls.Wait()
	expect(t, r.bothTransports(t), codes.OK, "")
}

// TestPlacesAreGivenBack whatever comes of a request.
func TestPlacesAreGivenBack(t *testing.T) {
	games := fakeGames{create: func(context.Context, *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error) {
		panic("snow")
	}}
	r := start(t, games, func(c *Config) { c.MaxInFlight = 1 })
	for range 3 {
		_, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: "x"})
		wantError(t, err, codes.Internal, "INTERNAL_FAULT")
		_, err = r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{})
		wantError(t, err, codes.InvalidArgument, "REQUEST_INVALID")
		for body, reason := range map[string]string{`{"ruleset":"x"}`: "INTERNAL_FAULT", `{}`: "REQUEST_INVALID", `{`: "BODY_MALFORMED"} {
			if s := errorOf(t, r.postJSON(t, "/v1/games", body)); errorInfo(s).GetReason() != reason {
				t.Errorf("%s: %v, want %s", body, s, reason)
			}
		}
		if got := r.do(t, http.MethodHead, "/v1/rulesets/x", nil, nil); got.status != http.StatusOK {
			t.Errorf("HEAD: %+v", got)
		}
		expect(t, r.bothTransports(t), codes.OK, "")
	}
}

func TestLongRequestsTakeMorePlaces(t *testing.T) {
	for bytes, places := range map[int]int64{0: 1, bytesPerPlace - 1: 1, bytesPerPlace: 2, 5 * bytesPerPlace: 6, 1 << 30: 10} {
		work := newWorkload(10)
		end, err := work.begin(bytes)
		if err != nil {
			t.Fatal(err)
		}
		if places < 10 && !work.places.TryAcquire(10-places) {
			t.Errorf("%d bytes take more than %d places", bytes, places)
		}
		if work.places.TryAcquire(1) {
			t.Errorf("%d bytes take less than %d places", bytes, places)
		}
		end()
		end()
		if !work.places.TryAcquire(places) || work.places.TryAcquire(1) {
			t.Errorf("%d bytes give back other places than they took", bytes)
		}
	}
}

// TestLongRequestsCountOverBothTransports: a request of 20 KiB needs two places.
func TestLongRequestsCountOverBothTransports(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	games := fakeGames{get: func(context.Context, *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
		entered <- struct{}{}
		<-release
		return &avalanchev1.GetRulesetResponse{}, nil
	}}
	r := start(t, games, func(c *Config) { c.MaxInFlight = 2 })
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := r.games.GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{Ruleset: "x"}); err != nil {
			t.Error(err)
		}
	})
	<-entered
	long := strings.Repeat("x", 20<<10)
	_, err := r.games.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: long})
	wantError(t, err, codes.ResourceExhausted, "OVERLOADED")
	if s := errorOf(t, r.postJSON(t, "/v1/games:inspect", `{"state":"`+long+`"}`)); errorInfo(s).GetReason() != "OVERLOADED" {
		t.Errorf("over HTTP: %v", s)
	}
	_, err = r.games.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: "x"})
	wantError(t, err, codes.Unimplemented, "METHOD_UNKNOWN") // The fake has no such method: it got a place.
	close(release)
	first.Wait()
}

// TestEndlessStreamsAreLimited: each of them is held for as long as its client likes, and
// a client that has too many leaves places for others.
func TestEndlessStreamsAreLimited(t *testing.T) {
	r := start(t, fakeGames{}, func(c *Config) { c.MaxConnections = maxEndlessStreams + 1 })
	watch := func(conn *grpc.ClientConn) error {
		stream, err := healthgrpc.NewHealthClient(conn).Watch(t.Context(), &healthgrpc.HealthCheckRequest{})
		if err != nil {
			return err
		}
		_, err = stream.Recv()
		return err
	}
	for range maxEndlessStreams {
		if err := watch(r.conn); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, watch(r.conn), codes.ResourceExhausted, "OVERLOADED")
	wantError(t, r.reflect(t), codes.ResourceExhausted, "OVERLOADED")
	other := r.dial(t)
	if err := watch(other); err != nil {
		t.Errorf("another client: %v", err)
	}
	wantError(t, watch(other), codes.ResourceExhausted, "OVERLOADED")
	expect(t, r.bothTransports(t), codes.OK, "")
}

func TestTransfers(t *testing.T) {
	var cut []string
	begin := func(all *transfers, name string) *transfer {
		return all.begin(func() { cut = append(cut, name) })
	}
	expectCut := func(want ...string) {
		t.Helper()
		if strings.Join(cut, " ") != strings.Join(want, " ") {
			t.Errorf("cut off are %v, want %v", cut, want)
		}
		cut = nil
	}
	t.Run("count", func(t *testing.T) {
		all := &transfers{maxCount: 2, maxBytes: 100}
		a, b := begin(all, "a"), begin(all, "b")
		expectCut()
		c := begin(all, "c")
		expectCut("a")
		if !a.end() || b.end() {
			t.Error("a was cut off, and b was not")
		}
		d := begin(all, "d")
		expectCut()
		if c.end() || d.end() || all.open.Len() != 0 {
			t.Errorf("%d are open", all.open.Len())
		}
	})
	t.Run("bytes", func(t *testing.T) {
		all := &transfers{maxCount: 10, maxBytes: 100}
		a, b, c := begin(all, "a"), begin(all, "b"), begin(all, "c")
		b.grow(60)
		c.grow(40)
		expectCut()
		c.grow(1)
		// Nothing is won by cutting off a, which holds nothing.
		expectCut("b")
		b.grow(1000) // What was cut off no longer counts.
		c.grow(59)
		expectCut()
		d := begin(all, "d")
		d.grow(101)
		// Of those that hold as much, the oldest.
		e := begin(all, "e")
		e.grow(0)
		expectCut("d")
		for _, transfer := range []*transfer{a, b, c, d, e} {
			transfer.end()
		}
		if all.bytes != 0 {
			t.Errorf("%d bytes are left over", all.bytes)
		}
	})
	t.Run("ended ones are left alone", func(t *testing.T) {
		all := &transfers{maxCount: 1, maxBytes: 100}
		for _, name := range []string{"a", "b", "c"} {
			begin(all, name).end()
		}
		expectCut()
	})
}

func TestTooManyConnectionsAreClosed(t *testing.T) {
	r := start(t, fakeGames{}, func(c *Config) { c.MaxConnections = 2 })
	for name, port := range map[string]struct{ addr, greeting string }{
		portGRPC: {r.GRPCAddr().String(), http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
		portHTTP: {r.HTTPAddr().String(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			// connect tells whether the server answers or closes the connection.
			connect := func() (net.Conn, bool) {
				conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", port.addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				_, _ = io.WriteString(conn, port.greeting)
				n, _ := conn.Read(make([]byte, 1))
				return conn, n == 1
			}
			first, ok := connect()
			_, alsoOK := connect()
			if !ok || !alsoOK {
				t.Fatal("the server closes connections that are not too many")
			}
			if _, ok := connect(); ok {
				t.Error("a third connection is served")
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			// The server learns of it a little later.
			eventually(t, func() bool { _, ok := connect(); return ok })
		})
	}
	metrics := r.askAdmin(t, "/metrics").body
	for _, port := range []string{portGRPC, portHTTP} {
		if want := `avalanched_connections_refused_total{port="` + port + `"}`; !strings.Contains(metrics, want) || strings.Contains(metrics, want+" 0\n") {
			t.Errorf("refused connections are not counted: no %s in\n%s", want, metrics)
		}
	}
}

// TestFlood is more requests than places, over both transports: each is answered or
// refused, and never are there more at work than there may be.
func TestFlood(t *testing.T) {
	const places, clients, requests = 4, 16, 25
	var inside, peak, answered atomic.Int32
	games := fakeGames{get: func(context.Context, *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
		now := inside.Add(1)
		defer inside.Add(-1)
		for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
		}
		answered.Add(1)
		runtime.Gosched()
		return &avalanchev1.GetRulesetResponse{}, nil
	}}
	r := start(t, games, func(c *Config) { c.MaxInFlight = places })
	var ok atomic.Int32
	var flood sync.WaitGroup
	for range clients {
		flood.Go(func() {
			for range requests {
				for transport, s := range r.bothTransports(t) {
					switch reason := errorInfo(s).GetReason(); {
					case s.Code() == codes.OK:
						ok.Add(1)
					case reason != "OVERLOADED":
						t.Errorf("over %s: %v", transport, s)
					}
				}
			}
		})
	}
	flood.Wait()
	if peak.Load() > places || ok.Load() != answered.Load() {
		t.Errorf("%d at a time, want at most %d; %d were worked on, %d answered", peak.Load(), places, answered.Load(), ok.Load())
	}
	expect(t, r.bothTransports(t), codes.OK, "")
}
