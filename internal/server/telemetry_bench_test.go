package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/stats"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// noStats is a stats handler that does nothing.
type noStats struct{}

func (noStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (noStats) HandleRPC(context.Context, stats.RPCStats)                         {}
func (noStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (noStats) HandleConn(context.Context, stats.ConnStats)                       {}

// BenchmarkTelemetry shows what telemetry costs a move over HTTP, from the handler on:
//
//   - floor: neither traces nor metrics are there
//   - unset: the daemon without any OTEL_ variable, whose metrics wait to be scraped
//   - traced: all is sent to a collector
func BenchmarkTelemetry(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		telemetry := newTelemetry(b)
		log := requestLog{Logger: slog.New(slog.DiscardHandler)}
		games := realGames(b)(telemetry, log.Logger)
		config := testConfig()
		admission := newAdmission(config)
		rules, err := newRequestRules(gameService())
		if err != nil {
			b.Fatal(err)
		}
		conn := newInProcess(chainUnary(interceptors{
			admission: admission, log: log, draining: b.Context(), rules: rules,
			maxBytes: config.MaxRequestBytes, requestTimeout: config.RequestTimeout,
		}.unaryChain()), noStats{})
		avalanchev1.RegisterGameServiceServer(conn, games)
		gateway, err := newGateway(conn, admission, config.MaxRequestBytes, log.Logger)
		if err != nil {
			b.Fatal(err)
		}
		ready := &atomic.Bool{}
		ready.Store(true)
		benchmarkMoves(b, converse(gateway, ready, log))
	})
	b.Run("unset", func(b *testing.B) { benchmarkMoves(b, telemetered(b)) })
	b.Run("traced", func(b *testing.B) {
		web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		b.Cleanup(web.Close)
		b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", web.URL)
		benchmarkMoves(b, telemetered(b))
	})
}

// telemetered is the handler of a whole server.
func telemetered(b *testing.B) http.Handler {
	telemetry := newTelemetry(b)
	log := slog.New(slog.DiscardHandler)
	server, err := New(testConfig(), realGames(b)(telemetry, log), telemetry, log)
	if err != nil {
		b.Fatal(err)
	}
	server.setServing(true)
	return server.http.Handler
}

// benchmarkMoves repeats one move: to the service and its ledger each is like the first.
func benchmarkMoves(b *testing.B, handler http.Handler) {
	post := func(path, body string) string {
		request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusOK {
			b.Fatal(recorder.Body)
		}
		return recorder.Body.String()
	}
	created := post("/v1/games", `{"ruleset":"marble-basic","players":2,"options":{"marble":{"board":"LRL/LRLL/RLL/LLRL"}}}`)
	_, state, _ := strings.Cut(created, `"state":"`)
	state, _, _ = strings.Cut(state, `"`)
	move := `{"state":"` + state + `","move":{"notation":"Ar"}}`
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		post("/v1/games:applyMove", move)
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime is what this process has used, on all cores. On a busy machine it says more
// than the time that went by.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
