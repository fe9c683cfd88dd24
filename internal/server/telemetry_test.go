package server

import (
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
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// collector is where OTLP goes in a test.
type collector struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics []string
	logs    []string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
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

// startCollected runs a server whose telemetry goes to a collector. The returned
// function ends both and says what has arrived.
func startCollected(t *testing.T, games avalanchev1.GameServiceServer) (*running, func() *collector) {
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
	server, err := New(testConfig(), games, telemetry, NewLogger(logs, slog.LevelDebug, LogJSON, telemetry))
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

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
	parent  = "00-" + traceID + "-" + spanID + "-01"
)

func TestOneTraceThroughTheGateway(t *testing.T) {
	r, collected := startCollected(t, fakeGames{})
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
	r, collected := startCollected(t, fakeGames{})
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
	for _, err := range []error{
		nil, state.ErrInvalid, state.ErrTooNew, state.ErrKeyRetired,
		&service.Problem{Code: codes.FailedPrecondition, Reason: avalanchev1.ErrorReason_RULESET_RETIRED, Message: "old"},
	} {
		observer.StateOpened(t.Context(), err)
	}
	observer.LedgerAdvanced(t.Context(), ledger.Adopted)
	metrics.KeysetReloaded(nil)
	metrics.KeysetReloaded(io.EOF)

	recorder := httptest.NewRecorder()
	telemetry.scrapeHandler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	for _, want := range []string{
		`avalanched_games_created_total{ruleset="marble-basic"} 1`,
		`avalanched_games_ended_total{ended="CARD_FULL",ruleset="marble-basic"} 1`,
		`avalanched_move_events_count{ruleset="marble-basic"} 2`,
		`avalanched_move_events_sum{ruleset="marble-basic"} 10`,
		`avalanched_states_opened_total{result="OK"} 1`,
		`avalanched_states_opened_total{result="STATE_INVALID"} 1`,
		`avalanched_states_opened_total{result="STATE_TOO_NEW"} 1`,
		`avalanched_states_opened_total{result="KEY_RETIRED"} 1`,
		`avalanched_states_opened_total{result="RULESET_RETIRED"} 1`,
		`avalanched_ledger_advances_total{outcome="adopted"} 1`,
		`avalanched_keyset_reloads_total{result="OK"} 1`,
		`avalanched_keyset_reloads_total{result="REFUSED"} 1`,
	} {
		if !strings.Contains(recorder.Body.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, recorder.Body)
		}
	}
}
