package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	reflectiongrpc "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGames answers CreateGame and GetRuleset as a test wants it.
type fakeGames struct {
	avalanchev1.UnimplementedGameServiceServer
	create func(context.Context, *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error)
	get    func(context.Context, *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error)
}

func (f fakeGames) CreateGame(ctx context.Context, request *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error) {
	if f.create == nil {
		return &avalanchev1.CreateGameResponse{State: "state of " + request.GetRuleset(), Game: &avalanchev1.Game{}}, nil
	}
	return f.create(ctx, request)
}

func (f fakeGames) GetRuleset(ctx context.Context, request *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
	if f.get == nil {
		return &avalanchev1.GetRulesetResponse{Ruleset: &avalanchev1.Ruleset{Ruleset: request.GetRuleset(), Version: request.GetVersion()}}, nil
	}
	return f.get(ctx, request)
}

// running is a server in a test.
type running struct {
	*Server
	games  avalanchev1.GameServiceClient
	conn   *grpc.ClientConn
	client *http.Client
	logs   *logBuffer
	// stop asks the server to end, as a signal does; stopped is closed when it
	// has, and err is then what Run returned.
	stop    context.CancelFunc
	stopped chan struct{}
	err     error
}

func testConfig() Config {
	config := DefaultConfig()
	config.GRPCAddr, config.HTTPAddr, config.AdminAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	config.DrainDelay = 0
	config.DrainTimeout = 5 * time.Second
	config.MaxRequestBytes = 64 << 10
	return config
}

func newTelemetry(t testing.TB) *Telemetry {
	t.Helper()
	telemetry, err := NewTelemetry(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := telemetry.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return telemetry
}

// start runs a server until the test ends.
func start(t testing.TB, games avalanchev1.GameServiceServer, adjust ...func(*Config)) *running {
	t.Helper()
	server, logs := newServer(t, games, adjust...)
	return run(t, server, logs)
}

// newServer makes a server that logs everything.
func newServer(t testing.TB, games avalanchev1.GameServiceServer, adjust ...func(*Config)) (*Server, *logBuffer) {
	t.Helper()
	config := testConfig()
	for _, a := range adjust {
		a(&config)
	}
	logs := &logBuffer{}
	telemetry := newTelemetry(t)
	server, err := New(config, games, telemetry, NewLogger(logs, slog.LevelDebug, LogJSON, telemetry))
	if err != nil {
		t.Fatal(err)
	}
	return server, logs
}

func run(t testing.TB, server *Server, logs *logBuffer) *running {
	t.Helper()
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &running{Server: server, logs: logs, stop: cancel, stopped: make(chan struct{})}
	go func() {
		defer close(r.stopped)
		r.err = server.Run(ctx)
	}()
	// The connections are closed before the server is waited for.
	t.Cleanup(func() {
		cancel()
		<-r.stopped
		if r.err != nil {
			t.Errorf("Run: %v", r.err)
		}
	})
	r.conn = r.dial(t)
	r.games = avalanchev1.NewGameServiceClient(r.conn)
	transport := &http.Transport{}
	r.client = &http.Client{Transport: transport, Timeout: 20 * time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	return r
}

// dial is another client of the gRPC port.
func (r *running) dial(t testing.TB) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(r.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// answer is an HTTP response that has been read.
type answer struct {
	status int
	header http.Header
	body   string
	// last tells that the server closes the connection.
	last bool
}

func (r *running) do(t testing.TB, method, path string, header http.Header, body io.Reader) answer {
	t.Helper()
	return ask(t, r.client, "http://"+r.HTTPAddr().String(), method, path, header, body)
}

func (r *running) askAdmin(t testing.TB, path string) answer {
	t.Helper()
	return ask(t, r.client, "http://"+r.AdminAddr().String(), http.MethodGet, path, nil, nil)
}

func ask(t testing.TB, client *http.Client, base, method, path string, header http.Header, body io.Reader) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, base+path, body)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(request.Header, header)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(data), response.Close}
}

func TestConfigIsCheckedByFlag(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   []string
	}{
		"address without a port": {func(c *Config) { c.GRPCAddr = "localhost" }, []string{"--grpc-addr=localhost", "host:port"}},
		"port out of range":      {func(c *Config) { c.HTTPAddr = ":70000" }, []string{"--http-addr=:70000", "0 to 65535"}},
		"no port":                {func(c *Config) { c.AdminAddr = "localhost:" }, []string{"--admin-addr=localhost:"}},
		"tiny bodies":            {func(c *Config) { c.MaxRequestBytes = 10 }, []string{"--max-request-bytes=10", "1024"}},
		"huge bodies":            {func(c *Config) { c.MaxRequestBytes = 1 << 30 }, []string{"--max-request-bytes"}},
		"work without end":       {func(c *Config) { c.MaxInFlight = math.MaxInt }, []string{"--max-in-flight=", "1 to 1000000"}},
		"many connections":       {func(c *Config) { c.MaxConnections = math.MaxInt }, []string{"--max-connections=", "1 to 1000000"}},
		"time without end":       {func(c *Config) { c.RequestTimeout = math.MaxInt64 }, []string{"--request-timeout=", "1h"}},
		"proxies nobody has":     {func(c *Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("::ffff:10.0.0.0/104")} }, []string{"--trusted-proxies=::ffff:10.0.0.0/104"}},
		"no streams":             {func(c *Config) { c.MaxConcurrentStreams = 0 }, []string{"--max-concurrent-streams"}},
		"no time":                {func(c *Config) { c.RequestTimeout = 0 }, []string{"--request-timeout=0s"}},
		"negative delay":         {func(c *Config) { c.DrainDelay = -1 }, []string{"--drain-delay"}},
		"no drain":               {func(c *Config) { c.DrainTimeout = 0 }, []string{"--drain-timeout"}},
		"two at once":            {func(c *Config) { c.GRPCAddr, c.DrainTimeout = "", 0 }, []string{"--grpc-addr", "--drain-timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := DefaultConfig()
			test.change(&config)
			err := config.Check()
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Check() = %v, want %q in it", err, want)
				}
			}
			if _, err := New(config, fakeGames{}, newTelemetry(t), slog.Default()); err == nil {
				t.Error("New accepts what Check refuses")
			}
		})
	}
	if err := DefaultConfig().Check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

func TestPortInUseNamesTheFlag(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for flag, change := range map[string]func(*Config){
		"--grpc-addr":  func(c *Config) { c.GRPCAddr = taken.Addr().String() },
		"--http-addr":  func(c *Config) { c.HTTPAddr = taken.Addr().String() },
		"--admin-addr": func(c *Config) { c.AdminAddr = taken.Addr().String() },
	} {
		config := testConfig()
		change(&config)
		server, err := New(config, fakeGames{}, newTelemetry(t), slog.Default())
		if err != nil {
			t.Fatal(err)
		}
		err = server.Listen(t.Context())
		if err == nil || !strings.Contains(err.Error(), flag+"="+taken.Addr().String()) {
			t.Errorf("Listen() = %v, want %s in it", err, flag)
		}
	}
}

func TestAdminPort(t *testing.T) {
	r := start(t, fakeGames{})
	eventually(t, func() bool { return r.askAdmin(t, "/readyz").status == http.StatusOK })
	for path, want := range map[string]int{
		"/livez":        http.StatusOK,
		"/readyz":       http.StatusOK,
		"/metrics":      http.StatusOK,
		"/debug/pprof/": http.StatusNotFound,
		"/v1/rulesets":  http.StatusNotFound,
	} {
		if got := r.askAdmin(t, path); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	if got := r.do(t, http.MethodGet, "/metrics", nil, nil); got.status != http.StatusNotFound {
		t.Errorf("the public port serves metrics: %d", got.status)
	}
}

func TestProfilesOnDemand(t *testing.T) {
	r := start(t, fakeGames{}, func(c *Config) { c.PProf = true })
	if got := r.askAdmin(t, "/debug/pprof/"); got.status != http.StatusOK || !strings.Contains(got.body, "goroutine") {
		t.Errorf("pprof: %d %.100s", got.status, got.body)
	}
}

func TestHealth(t *testing.T) {
	r := start(t, fakeGames{})
	client := healthgrpc.NewHealthClient(r.conn)
	for _, service := range []string{"", "avalanche.v1.GameService"} {
		got, err := client.Check(t.Context(), &healthgrpc.HealthCheckRequest{Service: service})
		if err != nil || got.GetStatus() != healthgrpc.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, got, err)
		}
	}
	_, err := client.Check(t.Context(), &healthgrpc.HealthCheckRequest{Service: "else"})
	wantError(t, err, codes.NotFound, "REQUEST_INVALID")
}

func TestReflectionListsTheService(t *testing.T) {
	r := start(t, fakeGames{})
	names, stream := listServices(t, r.conn)
	if all := strings.Join(names, " "); !strings.Contains(all, "avalanche.v1.GameService") || !strings.Contains(all, "grpc.health.v1.Health") {
		t.Errorf("services: %s", all)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("end of the stream: %v", err)
	}
}

// listServices leaves the stream open.
func listServices(t *testing.T, conn *grpc.ClientConn) ([]string, reflectiongrpc.ServerReflection_ServerReflectionInfoClient) {
	t.Helper()
	stream, err := reflectiongrpc.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectiongrpc.ServerReflectionRequest{MessageRequest: &reflectiongrpc.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	got, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, service := range got.GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	return names, stream
}

// TestDrainLosesNothing has calls in flight over both transports when the server is
// told to stop, and more that come while it waits for the load balancers.
func TestDrainLosesNothing(t *testing.T) {
	entered, release := make(chan struct{}, 16), make(chan struct{})
	var answered atomic.Int32
	games := fakeGames{create: func(_ context.Context, request *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error) {
		if request.GetRuleset() == "slow" {
			entered <- struct{}{}
			<-release
		}
		answered.Add(1)
		return &avalanchev1.CreateGameResponse{State: "done"}, nil
	}}
	r := start(t, games, func(c *Config) { c.DrainDelay = 300 * time.Millisecond })

	var calls sync.WaitGroup
	call := func(ruleset string) {
		calls.Go(func() {
			response, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: ruleset})
			if err != nil || response.GetState() != "done" {
				t.Errorf("gRPC call: %v, %v", response, err)
			}
		})
		calls.Go(func() {
			if got := r.postJSON(t, "/v1/games", `{"ruleset":"`+ruleset+`"}`); got.status != http.StatusOK || !strings.Contains(got.body, "done") {
				t.Errorf("HTTP request: %+v", got)
			}
		})
	}
	call("slow")
	call("slow")
	for range 4 {
		<-entered
	}

	r.stop()
	eventually(t, func() bool { return r.askAdmin(t, "/readyz").status == http.StatusServiceUnavailable })
	health, err := healthgrpc.NewHealthClient(r.conn).Check(t.Context(), &healthgrpc.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthgrpc.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health while draining: %v, %v", health, err)
	}
	if got := r.askAdmin(t, "/livez"); got.status != http.StatusOK {
		t.Errorf("livez while draining: %d", got.status)
	}
	call("fast")
	if got := r.do(t, http.MethodGet, "/", nil, nil); !got.last {
		t.Error("clients may keep a connection to a server that ends")
	}

	time.AfterFunc(500*time.Millisecond, func() { close(release) })
	calls.Wait()
	<-r.stopped
	if r.err != nil || answered.Load() != 6 {
		t.Errorf("Run: %v after %d answers, want 6", r.err, answered.Load())
	}
}

func TestDrainCutsOffWhatTakesTooLong(t *testing.T) {
	entered := make(chan struct{}, 2)
	games := fakeGames{create: func(ctx context.Context, _ *avalanchev1.CreateGameRequest) (*avalanchev1.CreateGameResponse, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	r := start(t, games, func(c *Config) { c.DrainTimeout = 100 * time.Millisecond })
	failed := make(chan error, 1)
	go func() {
		_, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: "x"})
		failed <- err
	}()
	<-entered
	began := time.Now()
	r.stop()
	<-r.stopped
	if r.err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("Run: %v after %v", r.err, time.Since(began))
	}
	if err := <-failed; status.Code(err) != codes.Unavailable && status.Code(err) != codes.Canceled {
		t.Errorf("the call: %v", err)
	}
	if !strings.Contains(r.logs.String(), "cut off") {
		t.Errorf("the log is silent: %s", r.logs)
	}
}

// TestStreamsDoNotHoldUpTheEnd would time out if the streams were waited for.
func TestStreamsDoNotHoldUpTheEnd(t *testing.T) {
	r := start(t, fakeGames{}, func(c *Config) { c.DrainTimeout = time.Minute })
	watch, err := healthgrpc.NewHealthClient(r.conn).Watch(t.Context(), &healthgrpc.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := watch.Recv(); err != nil || got.GetStatus() != healthgrpc.HealthCheckResponse_SERVING {
		t.Fatalf("first state: %v, %v", got, err)
	}
	listServices(t, r.conn)
	r.stop()
	select {
	case <-r.stopped:
	case <-time.After(10 * time.Second):
		t.Fatal("the server waits for streams that never end")
	}
}

func TestFailingListenerEndsRun(t *testing.T) {
	server, err := New(testConfig(), fakeGames{}, newTelemetry(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := server.httpListener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Run(t.Context()); err == nil {
		t.Error("Run is content without a listener")
	}
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	server, err := New(testConfig(), fakeGames{}, newTelemetry(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if server.http.ReadHeaderTimeout != readHeaderTimeout {
		t.Errorf("headers may take %v", server.http.ReadHeaderTimeout)
	}
	server.http.ReadHeaderTimeout = 100 * time.Millisecond
	r := run(t, server, &logBuffer{})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.HTTPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// How it ends depends on the machine: in order, or with a reset.
	if data, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(string(data), "200") {
		t.Errorf("the connection stays: %q, %v", data, err)
	}
}

func TestHeadersAreLimited(t *testing.T) {
	r := start(t, fakeGames{})
	got := r.do(t, http.MethodGet, "/v1/rulesets/x", http.Header{"X-Long": {strings.Repeat("a", 64<<10)}}, nil)
	if got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long header: %d", got.status)
	}
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come true")
		}
	}
}

// wantError checks code and reason of an error over gRPC.
func wantError(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	gotCode, gotReason := outcome(err)
	if gotCode != code || gotReason != reason {
		t.Errorf("error %v: %v %q, want %v %q", err, gotCode, gotReason, code, reason)
	}
	if info := errorInfo(status.Convert(err)); info.GetDomain() != "avalanched" {
		t.Errorf("error %v: domain %q", err, info.GetDomain())
	}
}
