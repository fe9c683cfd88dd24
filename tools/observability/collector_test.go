package observability

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// collector is the OTLP receiver of the OpenTelemetry Collector, with sinks behind it.
type collector struct {
	grpc, http string
	traces     consumertest.TracesSink
	metrics    consumertest.MetricsSink
	logs       consumertest.LogsSink
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{grpc: "127.0.0.1:" + freePort(t), http: "127.0.0.1:" + freePort(t)}
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	written := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"endpoint": c.grpc},
		"http": map[string]any{"endpoint": c.http},
	}})
	if err := written.Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	settings := receivertest.NewNopSettings(factory.Type())
	traces, err := factory.CreateTraces(t.Context(), settings, config, &c.traces)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := factory.CreateMetrics(t.Context(), settings, config, &c.metrics)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := factory.CreateLogs(t.Context(), settings, config, &c.logs)
	if err != nil {
		t.Fatal(err)
	}
	for _, receiver := range []component.Component{traces, metrics, logs} {
		if err := receiver.Start(context.WithoutCancel(t.Context()), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := receiver.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
	}
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// span is what a test wants to know of one.
type span struct{ name, trace, id, parent string }

func (c *collector) spans() []span {
	var spans []span
	for _, traces := range c.traces.AllTraces() {
		for _, resource := range traces.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, s := range scope.Spans().All() {
					spans = append(spans, span{s.Name(), s.TraceID().String(), s.SpanID().String(), s.ParentSpanID().String()})
				}
			}
		}
	}
	return spans
}

// metricNames are the names of all metrics, sorted.
func (c *collector) metricNames() []string {
	names := map[string]bool{}
	for _, metrics := range c.metrics.AllMetrics() {
		for _, resource := range metrics.ResourceMetrics().All() {
			for _, scope := range resource.ScopeMetrics().All() {
				for _, metric := range scope.Metrics().All() {
					names[metric.Name()] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// logsByTrace are the texts of the records, by trace.
func (c *collector) logsByTrace() map[string][]string {
	texts := map[string][]string{}
	for _, logs := range c.logs.AllLogs() {
		for _, resource := range logs.ResourceLogs().All() {
			for _, scope := range resource.ScopeLogs().All() {
				for _, record := range scope.LogRecords().All() {
					trace := record.TraceID().String()
					texts[trace] = append(texts[trace], record.Body().AsString())
				}
			}
		}
	}
	return texts
}

// received is all that has arrived, as bytes in which a text is found as it is.
func (c *collector) received(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	add := func(data []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for _, traces := range c.traces.AllTraces() {
		add((&ptrace.ProtoMarshaler{}).MarshalTraces(traces))
	}
	for _, metrics := range c.metrics.AllMetrics() {
		add((&pmetric.ProtoMarshaler{}).MarshalMetrics(metrics))
	}
	for _, logs := range c.logs.AllLogs() {
		add((&plog.ProtoMarshaler{}).MarshalLogs(logs))
	}
	return all.Bytes()
}

// The trace and the span of a client that traces its own calls.
const (
	clientTrace = "0af7651916cd43dd8448eb211c80319c"
	clientSpan  = "b7ad6b7169203331"
)

// TestCollectorReceivesEverything runs the daemon with a ledger and a Collector, plays
// a sealed game, and looks at what has arrived: one trace from the HTTP request to the
// ledger, the metrics, the logs with their trace, and no secret.
func TestCollectorReceivesEverything(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		for _, ledger := range []string{"memory", "redis"} {
			t.Run(protocol+" "+ledger, func(t *testing.T) {
				c := startCollector(t)
				endpoint := map[string]string{"grpc": c.grpc, "http/protobuf": c.http}[protocol]
				location := ledger
				if ledger == "redis" {
					_, location = startRedis(t)
				}
				d := startDaemon(t, []string{
					"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + endpoint,
					"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
					"OTEL_RESOURCE_ATTRIBUTES=service.instance.id=replica-1",
				}, "--ledger="+location, "--keyset="+newKeyset(t))
				secrets := playWithSecrets(t, d)
				d.stop(t)

				checkTrace(t, c, d)
				checkMetricNames(t, c)
				if !bytes.Contains(c.received(t), []byte("replica-1")) {
					t.Error("the resource has no attributes of the environment")
				}
				for place, text := range map[string]string{"what the Collector received": string(c.received(t)), "the log": d.log.String()} {
					for name, secret := range secrets {
						if strings.Contains(text, secret) {
							t.Errorf("%s holds the %s %q", place, name, secret)
						}
					}
				}
			})
		}
	}
}

// playWithSecrets plays a sealed game over HTTP, well and badly, and returns what must
// not be found anywhere.
func playWithSecrets(t *testing.T, d *daemon) map[string]string {
	t.Helper()
	secrets := map[string]string{
		"context":    "chat-31415926535",
		"request id": "2ba5f5b0-3a4e-4d36-8e46-2a1cfd3e3fd1",
		"API key":    "key-of-a-tenant-27182818",
	}
	binding := map[string]any{"context": secrets["context"]}
	header := http.Header{"Authorization": {"Bearer " + secrets["API key"]}}
	g := d.create(t, map[string]any{
		"ruleset": "marble-basic", "players": 2, "options": map[string]any{"sealedSeats": true},
		"requestId": secrets["request id"], "context": secrets["context"],
	})
	secrets["first state"], secrets["host key"] = g.state, g.created.text("hostKey")
	keys, _ := g.created.body["seatKeys"].([]any)
	for _, key := range keys {
		text, _ := key.(string)
		secrets["seat key "+text[:2]] = text
	}
	stale := g.moveRequest()
	maps.Copy(stale, binding)
	traced := http.Header{"Traceparent": {"00-" + clientTrace + "-" + clientSpan + "-01"}}
	maps.Copy(traced, header)
	g.move(t, traced, binding)
	secrets["state"] = g.state

	wantRefusals := map[string]int{
		"/v1/games/" + g.state:                       http.StatusNotFound,
		"/v1/rulesets?" + secrets["host key"] + "=1": http.StatusBadRequest,
	}
	for path, want := range wantRefusals {
		if a := d.do(t, http.MethodGet, path, header, nil); a.status != want {
			t.Errorf("%s: %v", path, a)
		}
	}
	// Another move from the first state, and a move without the seat's key.
	resign := map[string]any{"move": map[string]any{"resign": map[string]any{}}}
	maps.Copy(stale, resign)
	if a := d.post(t, "/v1/games:applyMove", header, stale); a.status != http.StatusConflict {
		t.Errorf("a move from a state that is not the newest: %v", a)
	}
	keyless := map[string]any{"state": g.state, "seatKey": secrets["host key"][1:]}
	maps.Copy(keyless, binding)
	maps.Copy(keyless, resign)
	if a := d.post(t, "/v1/games:applyMove", header, keyless); a.status != http.StatusForbidden {
		t.Errorf("a move without a key: %v", a)
	}
	d.callOverGRPC(t, secrets)
	return secrets
}

// checkTrace follows the client's trace from the outside in.
func checkTrace(t *testing.T, c *collector, d *daemon) {
	t.Helper()
	want := []string{"POST /v1/games:applyMove", "avalanche.v1.GameService/ApplyMove", "ledger advance"}
	var got []string
	ids := map[string]string{}
	parent := clientSpan
	for range want {
		for _, s := range c.spans() {
			if s.trace == clientTrace && s.parent == parent {
				got = append(got, s.name)
				ids[s.name], parent = s.id, s.id
				break
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the trace goes %q, want %q", got, want)
	}
	if logs := c.logsByTrace()[clientTrace]; !slices.Equal(logs, []string{"request"}) {
		t.Errorf("log records of the trace: %q", logs)
	}
	if !hasLine(d.log.String(), map[string]string{"msg": "request", "level": "DEBUG", "trace_id": clientTrace, "span_id": ids[want[1]]}) {
		t.Error("the daemon's log has no line of the trace")
	}
	overGRPC := slices.ContainsFunc(c.spans(), func(s span) bool {
		return s.name == "avalanche.v1.GameService/InspectGame" && s.trace == grpcTrace && s.parent == clientSpan
	})
	if !overGRPC {
		t.Errorf("the call over gRPC is no part of its client's trace: %v", c.spans())
	}
}

// hasLine finds a line of JSON with some fields.
func hasLine(log string, fields map[string]string) bool {
	for text := range strings.Lines(log) {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			continue
		}
		found := 0
		for key, want := range fields {
			if line[key] == want {
				found++
			}
		}
		if found == len(fields) {
			return true
		}
	}
	return false
}

// TestCollectorThatDoesNotAnswer costs no request anything, and does not hold up the end.
func TestCollectorThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	d := startDaemon(t, []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + silent.Addr().String(),
		"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_EXPORT_TIMEOUT=100",
		"OTEL_BLRP_SCHEDULE_DELAY=10", "OTEL_BLRP_EXPORT_TIMEOUT=100",
		"OTEL_METRIC_EXPORT_TIMEOUT=100",
	})
	d.create(t, map[string]any{"ruleset": "mancala-kalah"}).playToTheEnd(t)
	eventually(t, "the log tells of it", func() bool {
		return hasLine(d.log.String(), map[string]string{"msg": "telemetry", "level": "WARN"})
	})
	d.stop(t)
	if code := d.process.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestNothingIsSentUnlessAskedFor: a Collector at the default address of OTLP hears
// nothing from a daemon that was not told of it.
func TestNothingIsSentUnlessAskedFor(t *testing.T) {
	var heard lockedBuffer
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:4318")
	if err != nil {
		t.Skipf("the address is taken: %v", err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(&heard, "a connection\n")
			conn.Close()
		}
	}()
	d := startDaemon(t, nil)
	d.create(t, map[string]any{"ruleset": "marble-basic", "players": 2})
	d.stop(t)
	if heard.String() != "" {
		t.Error("the daemon sends without being asked to")
	}
}
