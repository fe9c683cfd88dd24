package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/stats"
)

// Telemetry is where traces, metrics and logs go.
//
// Metrics are always there to be scraped. Beyond that each signal is sent by OTLP
// if the standard environment variables ask for it: OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (_METRICS_, _LOGS_) say where to, or
// OTEL_TRACES_EXPORTER (_METRICS_, _LOGS_) names another exporter or none. The other
// variables (protocol, headers, sampler, resource, batching) mean what they mean
// everywhere, and OTEL_SDK_DISABLED=true turns all of it off.
type Telemetry struct {
	traces   trace.TracerProvider
	metrics  *sdkmetric.MeterProvider
	logs     *sdklog.LoggerProvider // Nil if logs are not sent.
	registry *prometheus.Registry
	// shutdowns flush and close the providers.
	shutdowns []func(context.Context) error
}

const instrumentationName = "github.com/avalanched/avalanched"

// NewTelemetry sets telemetry up as the environment asks for. The version is that
// of the program.
func NewTelemetry(ctx context.Context, version string) (*Telemetry, error) {
	about, err := resource.New(
		ctx,
		resource.WithAttributes(semconv.ServiceName("avalanched"), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Telemetry{registry: prometheus.NewRegistry()}
	for _, setUp := range []func(context.Context, *resource.Resource) error{t.setUpTraces, t.setUpMetrics, t.setUpLogs} {
		if err := setUp(ctx, about); err != nil {
			return nil, errors.Join(err, t.Shutdown(ctx))
		}
	}
	return t, nil
}

func (t *Telemetry) setUpTraces(ctx context.Context, about *resource.Resource) error {
	if !exported("TRACES") {
		t.traces = noop.NewTracerProvider()
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return fmt.Errorf("OTEL_TRACES_EXPORTER or OTEL_EXPORTER_OTLP_PROTOCOL: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	t.traces = provider
	t.shutdowns = append(t.shutdowns, provider.Shutdown)
	return nil
}

func (t *Telemetry) setUpMetrics(ctx context.Context, about *resource.Resource) error {
	t.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	scraped, err := otelprometheus.New(otelprometheus.WithRegisterer(t.registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return fmt.Errorf("prometheus exporter: %w", err)
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(about),
		sdkmetric.WithReader(scraped),
		sdkmetric.WithView(views()...),
	}
	if exported("METRICS") {
		pushed, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return fmt.Errorf("OTEL_METRICS_EXPORTER or OTEL_EXPORTER_OTLP_PROTOCOL: %w", err)
		}
		options = append(options, sdkmetric.WithReader(pushed))
	}
	t.metrics = sdkmetric.NewMeterProvider(options...)
	t.shutdowns = append(t.shutdowns, t.metrics.Shutdown)
	return nil
}

// fineSeconds are the buckets of durations. Most calls take well under the 5 ms at
// which the libraries' buckets begin.
var fineSeconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// views adapt what the instrumentation libraries measure.
func views() []sdkmetric.View {
	fine := sdkmetric.AggregationExplicitBucketHistogram{Boundaries: fineSeconds}
	// Their buckets for sizes end at 10 kB.
	sizes := sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}}
	// The Host header is the client's to choose: as a label it would let anybody
	// make time series without end.
	withoutHost := attribute.NewDenyKeysFilter(semconv.ServerAddressKey, semconv.ServerPortKey)
	return []sdkmetric.View{
		sdkmetric.NewView(sdkmetric.Instrument{Name: "rpc.server.call.duration"}, sdkmetric.Stream{Aggregation: fine}),
		sdkmetric.NewView(sdkmetric.Instrument{Name: "http.server.request.duration"}, sdkmetric.Stream{Aggregation: fine, AttributeFilter: withoutHost}),
		sdkmetric.NewView(sdkmetric.Instrument{Name: "http.server.*.body.size"}, sdkmetric.Stream{Aggregation: sizes, AttributeFilter: withoutHost}),
	}
}

func (t *Telemetry) setUpLogs(ctx context.Context, about *resource.Resource) error {
	if !exported("LOGS") {
		return nil
	}
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return fmt.Errorf("OTEL_LOGS_EXPORTER or OTEL_EXPORTER_OTLP_PROTOCOL: %w", err)
	}
	t.logs = sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(about))
	t.shutdowns = append(t.shutdowns, t.logs.Shutdown)
	return nil
}

// exported tells whether the environment asks to send a signal anywhere. The
// exporters themselves would send to localhost if nothing is said.
func exported(signal string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	if exporter := os.Getenv("OTEL_" + signal + "_EXPORTER"); exporter != "" {
		return exporter != "none"
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// Meter makes the instruments of one part of the program.
func (t *Telemetry) Meter() metric.Meter { return t.metrics.Meter(instrumentationName) }

// counter is one to be made, and where to put it.
type counter struct {
	instrument        *metric.Int64Counter
	name, unit, about string
}

func makeCounters(meter metric.Meter, counters []counter) error {
	var errs []error
	for _, c := range counters {
		var err error
		*c.instrument, err = meter.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.about))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// startAtZero shows a counter's series before there is anything to count. Else the
// first event would be the series' first value, in which Prometheus sees no increase,
// and an alert would miss it.
func startAtZero(c metric.Int64Counter, key attribute.Key, values []string, others ...attribute.KeyValue) {
	for _, value := range values {
		c.Add(context.Background(), 0, metric.WithAttributes(append(others, key.String(value))...))
	}
}

// Shutdown sends what is still held back and closes the exporters.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	// A collector that does not take one signal must not keep the others waiting.
	errs := make([]error, len(t.shutdowns))
	var signals sync.WaitGroup
	for i, shutdown := range t.shutdowns {
		signals.Go(func() { errs[i] = shutdown(ctx) })
	}
	signals.Wait()
	return errors.Join(errs...)
}

// logHandler sends log records by OTLP. It is nil if that is not asked for.
func (t *Telemetry) logHandler() slog.Handler {
	if t == nil || t.logs == nil {
		return nil
	}
	return otelslog.NewHandler(instrumentationName, otelslog.WithLoggerProvider(t.logs))
}

// propagator reads the trace that a request belongs to (W3C Trace Context).
func (*Telemetry) propagator() propagation.TextMapPropagator { return propagation.TraceContext{} }

// rpcHandler measures and traces the calls of some methods. Others are left out:
// health checks, which would drown everything else, and unknown methods, whose
// names are the client's to choose.
func (t *Telemetry) rpcHandler(measured func(fullMethod string) bool) stats.Handler {
	return otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.traces),
		otelgrpc.WithMeterProvider(t.metrics),
		otelgrpc.WithPropagators(t.propagator()),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool { return measured(info.FullMethodName) }),
	)
}

// httpMiddleware measures and traces HTTP requests.
func (t *Telemetry) httpMiddleware() func(http.Handler) http.Handler {
	return otelhttp.NewMiddleware(
		"http",
		otelhttp.WithTracerProvider(t.traces),
		otelhttp.WithMeterProvider(t.metrics),
		otelhttp.WithPropagators(t.propagator()),
	)
}

// hideChosen takes out of a request's span what the client chose freely: by mistake, a
// path may hold a state. The route says what matters. The library believes whatever
// X-Forwarded-For says, so that the client's address is that of the connection instead.
func hideChosen(ctx context.Context, r *http.Request, route string) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.URLPath(route), semconv.ServerAddress(""))
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		span.SetAttributes(semconv.ClientAddress(addr.Addr().String()))
	}
	if knownMethod(r.Method) != r.Method {
		span.SetAttributes(semconv.HTTPRequestMethodOriginal(""))
	}
}

// knownMethod is an HTTP method, or what OpenTelemetry puts for those that clients
// make up.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace:
		return method
	default:
		return semconv.HTTPRequestMethodOther.Value.AsString()
	}
}

// scrapeHandler shows the metrics in Prometheus' format.
func (t *Telemetry) scrapeHandler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}
