package server

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// replica is one of two servers that clients can choose from.
type replica struct {
	*piped
	overGRPC, overHTTP atomic.Int32
	// looksReady is what the balancer of the HTTP clients saw last.
	looksReady atomic.Bool
}

func startReplica(t *testing.T) *replica {
	t.Helper()
	r := &replica{}
	games := fakeGames{create: func(ctx context.Context, _ *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error) {
		served := &r.overGRPC
		if exchangeFrom(ctx) != nil {
			served = &r.overHTTP
		}
		served.Add(1)
		time.Sleep(50 * time.Millisecond)
		return &avalanchev1.CreateGameResponse{State: "done"}, nil
	}}
	r.piped = startPiped(t, games, func(c *Config) { c.DrainDelay, c.DrainTimeout = 5*time.Second, 20*time.Second })
	return r
}

// TestARolloutLosesNoRequest takes one of two replicas away under load. Clients do
// what well-behaved ones do, and no more: those of gRPC heed GOAWAY, and those of
// HTTP go through a balancer that asks every second who is ready. Nobody repeats a
// request.
func TestARolloutLosesNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replicas := map[string]*replica{"old": startReplica(t), "new": startReplica(t)}
		var clients sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for range 4 {
			clients.Go(func() { callOverGRPC(ctx, t, replicas) })
			clients.Go(func() { callOverHTTP(ctx, t, replicas) })
		}
		clients.Go(func() { balance(ctx, t, replicas) })

		// Right between two looks of the balancer.
		time.Sleep(10*time.Second + 500*time.Millisecond)
		old := replicas["old"]
		began := time.Now()
		old.stop()
		<-old.stopped
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("the drain took %v, want the delay and what the last requests take", took)
		}
		oldGRPC, oldHTTP := old.overGRPC.Load(), old.overHTTP.Load()
		time.Sleep(10 * time.Second)
		stop()
		clients.Wait()

		if old.overGRPC.Load() != oldGRPC || old.overHTTP.Load() != oldHTTP {
			t.Error("the old replica serves after its end")
		}
		for name, r := range replicas {
			if r.overGRPC.Load() < 100 || r.overHTTP.Load() < 100 {
				t.Errorf("the %s replica has served %d calls over gRPC, %d over HTTP: too few to show anything", name, r.overGRPC.Load(), r.overHTTP.Load())
			}
		}
	})
}

func callOverGRPC(ctx context.Context, t *testing.T, replicas map[string]*replica) {
	names := manual.NewBuilderWithScheme("replicas")
	names.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "old"}, {Addr: "new"}}})
	conn, err := grpc.NewClient(
		"replicas:///",
		grpc.WithResolvers(names),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableRetry(),
		grpc.WithContextDialer(func(ctx context.Context, name string) (net.Conn, error) { return replicas[name].grpcPort.dial(ctx) }),
	)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	games := avalanchev1.NewGameServiceClient(conn)
	for ; ctx.Err() == nil; time.Sleep(7 * time.Millisecond) {
		response, err := games.CreateGame(context.WithoutCancel(ctx), &avalanchev1.CreateGameRequest{Ruleset: "x"})
		if err != nil || response.GetState() != "done" {
			t.Errorf("over gRPC: %v, %v", response, err)
		}
	}
}

func callOverHTTP(ctx context.Context, t *testing.T, replicas map[string]*replica) {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return replicas[strings.TrimSuffix(address, ":80")].httpPort.dial(ctx)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for turn := 0; ctx.Err() == nil; time.Sleep(7 * time.Millisecond) {
		turn++
		name := []string{"old", "new"}[turn%2]
		if !replicas[name].looksReady.Load() {
			continue
		}
		request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "http://"+name+"/v1/games", strings.NewReader(`{"ruleset":"x"}`))
		if err != nil {
			t.Error(err)
			return
		}
		// The library would repeat a request with a body that it can read again.
		request.GetBody = nil
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			t.Errorf("over HTTP: %v", err)
			continue
		}
		if response.StatusCode != http.StatusOK {
			t.Errorf("over HTTP: %d", response.StatusCode)
		}
		response.Body.Close()
	}
}

// balance notes every second which replicas are ready.
func balance(ctx context.Context, t *testing.T, replicas map[string]*replica) {
	for ; ctx.Err() == nil; time.Sleep(time.Second) {
		for _, r := range replicas {
			request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, "http://admin/readyz", nil)
			if err != nil {
				t.Error(err)
				return
			}
			response, err := r.client.Do(request)
			r.looksReady.Store(err == nil && response.StatusCode == http.StatusOK)
			if err == nil {
				response.Body.Close()
			}
		}
	}
}
