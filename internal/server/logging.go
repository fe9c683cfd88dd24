package server

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// LogFormat is how log lines look.
type LogFormat string

// The log formats.
const (
	LogJSON LogFormat = "json"
	LogText LogFormat = "text"
)

// NewLogger makes a logger that writes to w and, where telemetry (or nil) is set up for
// it, sends the same by OTLP. Lines written while a span is open carry its trace_id and
// span_id.
func NewLogger(w io.Writer, level slog.Level, format LogFormat, telemetry *Telemetry) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var local slog.Handler = slog.NewJSONHandler(w, options)
	if format == LogText {
		local = slog.NewTextHandler(w, options)
	}
	local = traceHandler{local}
	if remote := telemetry.logHandler(); remote != nil {
		return slog.New(slog.NewMultiHandler(local, remoteHandler{remote, level}))
	}
	return slog.New(local)
}

// traceHandler adds the ids of the current span.
type traceHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h traceHandler) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		record = record.Clone()
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traceHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h traceHandler) WithGroup(name string) slog.Handler {
	return traceHandler{h.Handler.WithGroup(name)}
}

// remoteHandler sends what is not below a level.
type remoteHandler struct {
	slog.Handler
	level slog.Level
}

// sendingTrouble is the message about telemetry that could not be sent.
const sendingTrouble = "telemetry"

// Handle implements slog.Handler. Trouble with sending is not sent: that would fail as
// well, and so on.
func (h remoteHandler) Handle(ctx context.Context, record slog.Record) error {
	if record.Message == sendingTrouble {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

// Enabled implements slog.Handler.
func (h remoteHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h remoteHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return remoteHandler{h.Handler.WithAttrs(attrs), h.level}
}

// WithGroup implements slog.Handler.
func (h remoteHandler) WithGroup(name string) slog.Handler {
	return remoteHandler{h.Handler.WithGroup(name), h.level}
}

// requestLog is the log, with an account of the requests.
type requestLog struct {
	*slog.Logger
	refused metric.Int64Counter
}

const reasonKey = attribute.Key("reason")

func newRequestLog(log *slog.Logger, telemetry *Telemetry) (requestLog, error) {
	r := requestLog{Logger: log}
	err := makeCounters(telemetry.Meter(), []counter{{
		&r.refused, "avalanched.requests.refused", "{request}",
		"Requests over either transport that were answered with an error, by its reason.",
	}})
	if err != nil {
		return r, err
	}
	for number, reason := range avalanchev1.ErrorReason_Reason_name {
		if number != int32(avalanchev1.ErrorReason_REASON_UNSPECIFIED) {
			startAtZero(r.refused, reasonKey, []string{reason})
		}
	}
	return r, nil
}

// ended accounts for one request. Its line in the log holds no message: messages
// quote the request, and with it perhaps a state or a key.
func (r requestLog) ended(ctx context.Context, began time.Time, err error, attrs ...slog.Attr) {
	code, reason := outcome(err)
	if err != nil {
		r.refused.Add(ctx, 1, metric.WithAttributes(reasonKey.String(reason)))
		trace.SpanFromContext(ctx).SetAttributes(attribute.String("avalanched.reason", reason))
	}
	level := requestLevel(code)
	if !r.Enabled(ctx, level) {
		return
	}
	attrs = append(attrs, slog.String("code", codepb.Code(code).String()))
	if reason != "" {
		attrs = append(attrs, slog.String("reason", reason))
	}
	attrs = append(attrs, slog.Float64("duration_ms", float64(time.Since(began).Microseconds())/1000))
	r.LogAttrs(ctx, level, "request", attrs...)
}

// grpcEnded is ended for a call over gRPC.
func (r requestLog) grpcEnded(ctx context.Context, method string, began time.Time, err error) {
	if !isServed(method) {
		// Anybody can write anything into an unknown method's name.
		method = "unknown"
	}
	r.ended(ctx, began, err, slog.String("transport", portGRPC), slog.String("method", method))
}

// requestLevel tells how much a call that ended in a code deserves attention.
func requestLevel(code codes.Code) slog.Level {
	switch code {
	case codes.OK:
		return slog.LevelDebug
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return slog.LevelError
	case codes.Unavailable:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// AdoptLibraryLogs sends to log what libraries would write to the standard error by
// themselves. It must be called before a server is made, and may be called again.
func AdoptLibraryLogs(log *slog.Logger) {
	errs := slog.NewLogLogger(log.Handler(), slog.LevelWarn).Writer()
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, errs))
	otel.SetLogger(logr.FromSlogHandler(log.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn(sendingTrouble, slog.Any("error", err))
	}))
}
