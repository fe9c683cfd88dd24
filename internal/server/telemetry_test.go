package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/rulesets"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// collector is where OTLP goes in a test. tools/observability tries the same with a
// real Collector.
type collector struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics []string
	logs    []string
	// received is every byte of every request, one after the other.
	received bytes.Buffer
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.received.Write(data)
	switch r.URL.Path {
	case "/v1/traces":
		var request coltrace.ExportTraceServiceRequest
		err = proto.Unmarshal(data, &request)
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	case "/v1/metrics":
		var request colmetrics.ExportMetricsServiceRequest
		err = proto.Unmarshal(data, &request)
		for _, resource := range request.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, metric := range scope.GetMetrics() {
					c.metrics = append(c.metrics, metric.GetName())
				}
			}
		}
	case "/v1/logs":
		var request collogs.ExportLogsServiceRequest
		err = proto.Unmarshal(data, &request)
		for _, resource := range request.GetResourceLogs() {
			for _, scope := range resource.GetScopeLogs() {
				for _, record := range scope.GetLogRecords() {
					c.logs = append(c.logs, record.GetBody().GetStringValue())
				}
			}
		}
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
}

// collectFrom runs a server whose telemetry goes to a collector. The returned function
// ends both and says what has arrived.
func collectFrom(t *testing.T, makeGames func(*Telemetry, *slog.Logger) avalanchev1.GameServiceServer) (*running, func() *collector) {
	t.Helper()
	c := &collector{}
	web := httptest.NewServer(c)
	t.Cleanup(web.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", web.URL)
	telemetry, err := NewTelemetry(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	logs := &logBuffer{}
	log := NewLogger(logs, slog.LevelDebug, LogJSON, telemetry)
	server, err := New(testConfig(), makeGames(telemetry, log), telemetry, log)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, server, logs)
	return r, func() *collector {
		r.stop()
		<-r.stopped
		if err := telemetry.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		return c
	}
}

// fakes are games without telemetry of their own.
func fakes(*Telemetry, *slog.Logger) avalanchev1.GameServiceServer { return fakeGames{} }

// realGames are those of the real service with a ledger, reporting as the daemon's do.
func realGames(t testing.TB) func(*Telemetry, *slog.Logger) avalanchev1.GameServiceServer {
	return func(telemetry *Telemetry, log *slog.Logger) avalanchev1.GameServiceServer {
		t.Helper()
		keyring, err := state.Throwaway()
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := NewGameMetrics(telemetry)
		if err != nil {
			t.Fatal(err)
		}
		memory, err := ledger.Open(t.Context(), "memory", ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		observed, err := ObserveLedger(memory, telemetry, log)
		if err != nil {
			t.Fatal(err)
		}
		return service.New(service.Config{
			Rulesets: rulesets.Registry(),
			Keys:     func() *state.Keyring { return keyring },
			Ledger:   observed,
			Observer: metrics.Observer(),
		})
	}
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
	parent  = "00-" + traceID + "-" + spanID + "-01"
)

func TestOneTraceThroughTheGateway(t *testing.T) {
	r, collected := collectFrom(t, fakes)
	r.do(t, http.MethodGet, "/v1/rulesets/x", http.Header{"Traceparent": {parent}}, nil)
	if !strings.Contains(r.logs.String(), `"trace_id":"`+traceID+`"`) {
		t.Errorf("the log line has no trace: %s", r.logs)
	}
	c := collected()
	if len(c.spans) != 2 {
		t.Fatalf("spans: %v", c.spans)
	}
	rpc, http := c.spans[0], c.spans[1]
	if rpc.GetName() != "avalanche.v1.GameService/GetRuleset" || http.GetName() != "GET /v1/rulesets/{ruleset}" {
		t.Errorf("spans %q and %q", http.GetName(), rpc.GetName())
	}
	if string(rpc.GetParentSpanId()) != string(http.GetSpanId()) || !slices.Equal(rpc.GetTraceId(), http.GetTraceId()) {
		t.Errorf("the call is not part of the request: %v and %v", http, rpc)
	}
	if hex.EncodeToString(http.GetTraceId()) != traceID || hex.EncodeToString(http.GetParentSpanId()) != spanID {
		t.Errorf("the request is not part of the client's trace: %v", http)
	}
	if !slices.Contains(c.metrics, "rpc.server.call.duration") || !slices.Contains(c.metrics, "http.server.request.duration") {
		t.Errorf("metrics: %v", c.metrics)
	}
	if !slices.Contains(c.logs, "request") {
		t.Errorf("logs: %v", c.logs)
	}
}

func TestTraceOverGRPC(t *testing.T) {
	r, collected := collectFrom(t, fakes)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent)
	if _, err := r.games.GetRuleset(ctx, &avalanchev1.GetRulesetRequest{Ruleset: "x"}); err != nil {
		t.Fatal(err)
	}
	c := collected()
	if len(c.spans) != 1 || c.spans[0].GetName() != "avalanche.v1.GameService/GetRuleset" || hex.EncodeToString(c.spans[0].GetParentSpanId()) != spanID {
		t.Errorf("spans: %v", c.spans)
	}
}

func TestNothingIsSentUnlessAskedFor(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"unset":    {},
		"none":     {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"},
		"disabled": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range env {
				t.Setenv(key, value)
			}
			telemetry := newTelemetry(t)
			if telemetry.logHandler() != nil || len(telemetry.shutdowns) != 1 {
				t.Errorf("%d providers that send", len(telemetry.shutdowns)-1)
			}
			_, span := telemetry.traces.Tracer("x").Start(t.Context(), "x")
			if span.IsRecording() {
				t.Error("spans are recorded")
			}
		})
	}
}

func TestWrongTelemetryNamesTheVariable(t *testing.T) {
	for variable, want := range map[string]string{
		"OTEL_TRACES_EXPORTER":     "OTEL_TRACES_EXPORTER",
		"OTEL_METRICS_EXPORTER":    "OTEL_METRICS_EXPORTER",
		"OTEL_LOGS_EXPORTER":       "OTEL_LOGS_EXPORTER",
		"OTEL_RESOURCE_ATTRIBUTES": "OTEL_RESOURCE_ATTRIBUTES",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "snow")
			if _, err := NewTelemetry(t.Context(), "test"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s in it", err, want)
			}
		})
	}
}

func TestMetricsByMethodAndCode(t *testing.T) {
	r := start(t, fakeGames{})
	if _, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: "x"}); err != nil {
		t.Fatal(err)
	}
	r.postJSON(t, "/v1/games", `{"ruleset":"x"}`)
	r.postJSON(t, "/v1/games", `{}`)
	r.do(t, http.MethodGet, "/MADE-UP-PATH", nil, nil)
	_ = r.conn.Invoke(t.Context(), "/made.up.Service/Method", &emptypb.Empty{}, &emptypb.Empty{})

	metrics := r.askAdmin(t, "/metrics").body
	for _, want := range []string{
		`rpc_server_call_duration_seconds_count{rpc_method="avalanche.v1.GameService/CreateGame",rpc_response_status_code="OK",rpc_system_name="grpc"} 2`,
		`rpc_server_call_duration_seconds_count{rpc_method="avalanche.v1.GameService/CreateGame",rpc_response_status_code="INVALID_ARGUMENT",rpc_system_name="grpc"} 1`,
		`http_response_status_code="400",http_route="/v1/games"`,
		`http_response_status_code="404"`,
		`le="0.00025"`,
		"http_server_request_body_size_bytes_count",
		"go_goroutines",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	for _, refused := range []string{"MADE-UP-PATH", "made.up", "127.0.0.1", "server_address"} {
		if strings.Contains(metrics, refused) {
			t.Errorf("clients can make up labels: %s", refused)
		}
	}
}

func TestLogFormatsAndLevels(t *testing.T) {
	telemetry := newTelemetry(t)
	for format, want := range map[LogFormat]string{LogJSON: `"msg":"hello"`, LogText: "msg=hello"} {
		logs := &logBuffer{}
		log := NewLogger(logs, slog.LevelInfo, format, telemetry)
		log.Debug("quiet")
		log.With("a", 1).WithGroup("g").Info("hello", "b", 2)
		if got := logs.String(); !strings.Contains(got, want) || strings.Contains(got, "quiet") {
			t.Errorf("%s: %s", format, got)
		}
	}
}

func TestGameMetrics(t *testing.T) {
	telemetry := newTelemetry(t)
	metrics, err := NewGameMetrics(telemetry)
	if err != nil {
		t.Fatal(err)
	}
	observer := metrics.Observer()
	observer.GameCreated(t.Context(), "marble-basic")
	observer.MoveMade(t.Context(), "marble-basic", 7, engine.Outcome{})
	observer.MoveMade(t.Context(), "marble-basic", 3, engine.WonBy(1, engine.CardFull))
	observer.MoveMade(t.Context(), "mancala-kalah", 1, engine.DrawnGame(engine.MostStones))
	for _, err := range []error{
		nil, state.ErrInvalid, state.ErrTooNew, state.ErrKeyRetired,
		&service.Problem{Code: codes.FailedPrecondition, Reason: avalanchev1.ErrorReason_RULESET_RETIRED, Message: "old"},
	} {
		observer.StateOpened(t.Context(), err)
	}
	metrics.KeysetReloaded(nil)
	metrics.KeysetReloaded(io.EOF)

	checkMetrics(t, scrape(t, telemetry),
		`avalanched_games_created_total{ruleset="marble-basic"} 1`,
		`avalanched_games_ended_total{ended="CARD_FULL",ruleset="marble-basic",status="WON"} 1`,
		`avalanched_games_ended_total{ended="MOST_STONES",ruleset="mancala-kalah",status="DRAWN"} 1`,
		`avalanched_move_events_count{ruleset="marble-basic"} 2`,
		`avalanched_move_events_sum{ruleset="marble-basic"} 10`,
		`avalanched_states_opened_total{result="OK"} 1`,
		`avalanched_states_opened_total{result="STATE_INVALID"} 1`,
		`avalanched_states_opened_total{result="STATE_TOO_NEW"} 1`,
		`avalanched_states_opened_total{result="KEY_RETIRED"} 1`,
		`avalanched_states_opened_total{result="RULESET_RETIRED"} 1`,
		`avalanched_keyset_reloads_total{result="OK"} 1`,
		`avalanched_keyset_reloads_total{result="REFUSED"} 1`,
	)
}

func TestStatesAndReloadsAreCountedFromZero(t *testing.T) {
	telemetry := newTelemetry(t)
	if _, err := NewGameMetrics(telemetry); err != nil {
		t.Fatal(err)
	}
	checkMetrics(t, scrape(t, telemetry),
		`avalanched_states_opened_total{result="STATE_INVALID"} 0`,
		`avalanched_keyset_reloads_total{result="REFUSED"} 0`,
	)
}

func scrape(t *testing.T, telemetry *Telemetry) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	telemetry.scrapeHandler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return recorder.Body.String()
}

// checkMetrics looks for lines in Prometheus' format.
func checkMetrics(t *testing.T, metrics string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("no %s in\n%s", line, metrics)
		}
	}
}

func TestRefusalsAreCountedByReason(t *testing.T) {
	r, collected := collectFrom(t, realGames(t))
	checkMetrics(t, r.askAdmin(t, "/metrics").body, `avalanched_requests_refused_total{reason="OVERLOADED"} 0`)
	for range 2 {
		if _, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: "snow"}); err == nil {
			t.Error("snow is a ruleset")
		}
	}
	r.postJSON(t, "/v1/games", `{"ruleset":"snow"}`)
	r.postJSON(t, "/v1/games", `{`)
	r.do(t, http.MethodGet, "/v1/snow", nil, nil)
	r.do(t, http.MethodGet, "/v1/rulesets", nil, nil)
	_ = r.conn.Invoke(t.Context(), "/made.up.Service/Method", &emptypb.Empty{}, &emptypb.Empty{})
	checkMetrics(t, r.askAdmin(t, "/metrics").body,
		`avalanched_requests_refused_total{reason="RULESET_UNKNOWN"} 3`,
		`avalanched_requests_refused_total{reason="BODY_MALFORMED"} 1`,
		`avalanched_requests_refused_total{reason="ROUTE_UNKNOWN"} 1`,
		`avalanched_requests_refused_total{reason="METHOD_UNKNOWN"} 1`,
		`avalanched_requests_refused_total{reason="INTERNAL_FAULT"} 0`,
	)
	reasons := map[string]int{}
	for _, span := range collected().spans {
		reasons[attributeOf(span, "avalanched.reason")]++
	}
	if reasons["RULESET_UNKNOWN"] != 3 || reasons["ROUTE_UNKNOWN"] != 1 {
		t.Errorf("reasons of the spans: %v", reasons)
	}
}

func attributeOf(span *tracepb.Span, key string) string {
	for _, attribute := range span.GetAttributes() {
		if attribute.GetKey() == key {
			return attribute.GetValue().GetStringValue()
		}
	}
	return ""
}

func TestReadinessIsAMetric(t *testing.T) {
	telemetry := newTelemetry(t)
	server, err := New(testConfig(), fakeGames{}, telemetry, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	checkMetrics(t, scrape(t, telemetry), "avalanched_ready 0")
	server.setServing(true)
	checkMetrics(t, scrape(t, telemetry), "avalanched_ready 1")
}

// TestNoSecretInAnySignal plays a sealed game and does with its secrets what clients
// do by right and by mistake. Nothing of them may be in what goes to a collector, in
// the log or in the metrics.
func TestNoSecretInAnySignal(t *testing.T) {
	const (
		binding   = "chat-31415926535"
		requestID = "2ba5f5b0-3a4e-4d36-8e46-2a1cfd3e3fd1"
		apiKey    = "key-of-a-tenant-27182818"
		forwarded = "whatever-16180339"
	)
	r, collected := collectFrom(t, realGames(t))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+apiKey)
	created, err := r.games.CreateGame(ctx, &avalanchev1.CreateGameRequest{
		Ruleset: "marble-basic", Players: 2, RequestId: requestID, Context: binding,
		Options: &avalanchev1.GameOptions{SealedSeats: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	first, seatKey := created.GetState(), created.GetSeatKeys()[0]
	secrets := append([]string{binding, requestID, apiKey, forwarded, first, created.GetHostKey(), created.GetGame().GetGameId()}, created.GetSeatKeys()...)
	move := func(state, notation, key string) (*avalanchev1.ApplyMoveResponse, error) {
		return r.games.ApplyMove(ctx, &avalanchev1.ApplyMoveRequest{
			State: state, Context: binding, SeatKey: key,
			Move: &avalanchev1.Move{Kind: &avalanchev1.Move_Notation{Notation: notation}},
		})
	}
	next, err := move(first, "Ar", seatKey)
	if err != nil {
		t.Fatal(err)
	}
	secrets = append(secrets, next.GetState())
	// A stale state, a wrong key, an altered state, and a strange context.
	for _, try := range []func() error{
		func() error { _, err := move(first, "Br", seatKey); return err },
		func() error { _, err := move(next.GetState(), "Br", created.GetHostKey()); return err },
		func() error { _, err := move(next.GetState()+"A", "Br", seatKey); return err },
		func() error {
			_, err := r.games.InspectGame(ctx, &avalanchev1.InspectGameRequest{State: first, Context: seatKey})
			return err
		},
	} {
		if err := try(); err == nil {
			t.Error("a wrong call succeeds")
		}
	}
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + apiKey}, "X-Forwarded-For": {forwarded}}
	for _, request := range []struct{ method, path, body string }{
		{http.MethodPost, "/v1/games:inspect", `{"state":"` + first + `","context":"` + binding + `","seatKey":"` + seatKey + `"}`},
		{http.MethodPost, "/v1/games:inspect", `{"state":"` + first + `","` + seatKey + `":1}`},
		{http.MethodPost, "/v1/games:inspect?state=" + first, ``},
		{http.MethodGet, "/v1/games/" + first + "?seatKey=" + seatKey, ``},
		{http.MethodGet, "/v1/rulesets/" + first, ``},
		{http.MethodGet, "/v1/rulesets?" + seatKey + "=1", ``},
		{seatKey, "/v1/games", ``},
	} {
		r.do(t, request.method, request.path, header, strings.NewReader(request.body))
	}
	_ = r.conn.Invoke(ctx, "/"+first+"/"+seatKey, &emptypb.Empty{}, &emptypb.Empty{})

	metrics := r.askAdmin(t, "/metrics").body
	c := collected()
	if len(c.spans) < 12 || len(c.logs) < 12 || len(c.metrics) == 0 {
		t.Fatalf("%d spans, %d log records and %d metrics have arrived", len(c.spans), len(c.logs), len(c.metrics))
	}
	for place, text := range map[string]string{"OTLP": c.received.String(), "the log": r.logs.String(), "/metrics": metrics} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q", place, secret)
			}
		}
	}
}

// TestTheLedgerIsPartOfTheTrace looks at a move from the HTTP request to the ledger.
func TestTheLedgerIsPartOfTheTrace(t *testing.T) {
	r, collected := collectFrom(t, realGames(t))
	created, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: "marble-basic", Players: 2})
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, http.MethodPost, "/v1/games:applyMove", http.Header{"Traceparent": {parent}, "Content-Type": {"application/json"}},
		strings.NewReader(`{"state":"`+created.GetState()+`","move":{"notation":"Ar"}}`))
	checkMetrics(t, r.askAdmin(t, "/metrics").body,
		`avalanched_ledger_advances_total{outcome="advanced"} 1`,
		`avalanched_ledger_duration_seconds_count{operation="advance",outcome="advanced"} 1`,
	)
	var names, parents []string
	above := spanID
	spans := collected().spans
	for range 3 {
		for _, span := range spans {
			if hex.EncodeToString(span.GetTraceId()) == traceID && hex.EncodeToString(span.GetParentSpanId()) == above {
				names, above = append(names, span.GetName()), hex.EncodeToString(span.GetSpanId())
				parents = append(parents, above)
				break
			}
		}
	}
	want := []string{"POST /v1/games:applyMove", "avalanche.v1.GameService/ApplyMove", "ledger advance"}
	if !slices.Equal(names, want) {
		t.Errorf("the trace goes %q, want %q", names, want)
	}
	if line := `"code":"OK"`; !strings.Contains(r.logs.String(), line) || !strings.Contains(r.logs.String(), `"span_id":"`+parents[1]+`"`) {
		t.Errorf("the log line does not belong to the call:\n%s", r.logs)
	}
}

func TestTroubleWithSendingIsNotSent(t *testing.T) {
	r, collected := collectFrom(t, fakes)
	r.log.With("a", 1).WithGroup("g").Warn(sendingTrouble, slog.Any("error", io.EOF))
	r.log.Warn("other")
	if !strings.Contains(r.logs.String(), sendingTrouble) {
		t.Error("it is not in the log")
	}
	if c := collected(); slices.Contains(c.logs, sendingTrouble) || !slices.Contains(c.logs, "other") {
		t.Errorf("log records sent: %q", c.logs)
	}
}

func TestSamplerComesFromTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	r, collected := collectFrom(t, fakes)
	r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil)
	if c := collected(); len(c.spans) != 0 || len(c.logs) == 0 {
		t.Errorf("%d spans and %d log records, want no spans", len(c.spans), len(c.logs))
	}
}
