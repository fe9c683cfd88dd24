package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/avalanched/avalanched/internal/ledger"
)

// ObserveLedger makes a ledger that does what the given one does and tells telemetry
// and the log of it. Neither a state nor a game is named there.
func ObserveLedger(observed ledger.Ledger, telemetry *Telemetry, log *slog.Logger) (ledger.Ledger, error) {
	l := &observedLedger{Ledger: observed, tracer: telemetry.traces.Tracer(instrumentationName), log: log}
	meter := telemetry.Meter()
	var err error
	l.duration, err = meter.Float64Histogram(
		"avalanched.ledger.duration",
		metric.WithUnit("s"),
		metric.WithDescription("Time that the ledger took to answer, by operation (advance or newest) and outcome."),
		metric.WithExplicitBucketBoundaries(fineSeconds...),
	)
	err = errors.Join(err, makeCounters(meter, []counter{{
		&l.advances, "avalanched.ledger.advances", "{move}",
		"Moves that the ledger was asked to record, by outcome. \"adopted\" means that it had lost the game, or its last moves.",
	}}))
	if err != nil {
		return nil, err
	}
	startAtZero(l.advances, outcomeKey, []string{
		ledger.Advanced.String(), ledger.Repeated.String(), ledger.Adopted.String(),
		ledgerSuperseded, ledgerForgotten, ledgerFull, ledgerUnavailable, ledgerAbandoned, ledgerFault,
	})
	return l, nil
}

// observedLedger measures and traces the operations on games of the ledger within.
type observedLedger struct {
	ledger.Ledger
	tracer   trace.Tracer
	log      *slog.Logger
	duration metric.Float64Histogram
	advances metric.Int64Counter
}

// The labels.
const (
	operationKey = attribute.Key("operation")
	outcomeKey   = attribute.Key("outcome")
)

// Outcomes besides those of ledger.Outcome.
const (
	ledgerSuperseded  = "superseded"
	ledgerForgotten   = "forgotten"
	ledgerFull        = "full"
	ledgerUnavailable = "unavailable"
	// ledgerAbandoned: the request ended first, by its deadline or its client.
	ledgerAbandoned = "abandoned"
	ledgerFault     = "fault"
	ledgerFound     = "found"
	ledgerUnknown   = "unknown"
)

// Advance implements ledger.Ledger.
func (l *observedLedger) Advance(ctx context.Context, game ledger.GameID, presented, next ledger.Entry) (ledger.Outcome, error) {
	ctx, end := l.begin(ctx, "advance")
	outcome, err := l.Ledger.Advance(ctx, game, presented, next)
	label := outcome.String()
	if err != nil {
		label = ledgerFailure(ctx, err)
	}
	end(label, err)
	l.advances.Add(ctx, 1, metric.WithAttributes(outcomeKey.String(label)))
	return outcome, err
}

// Newest implements ledger.Ledger.
func (l *observedLedger) Newest(ctx context.Context, game ledger.GameID) (ledger.Entry, bool, error) {
	ctx, end := l.begin(ctx, "newest")
	entry, known, err := l.Ledger.Newest(ctx, game)
	switch {
	case err != nil:
		end(ledgerFailure(ctx, err), err)
	case known:
		end(ledgerFound, nil)
	default:
		end(ledgerUnknown, nil)
	}
	return entry, known, err
}

// begin opens the span of an operation. The function that it returns accounts for
// the end.
func (l *observedLedger) begin(ctx context.Context, operation string) (context.Context, func(outcome string, err error)) {
	began := time.Now()
	ctx, span := l.tracer.Start(ctx, "ledger "+operation)
	return ctx, func(outcome string, err error) {
		l.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(operationKey.String(operation), outcomeKey.String(outcome)))
		span.SetAttributes(attribute.String("avalanched.outcome", outcome))
		if outcome == ledgerUnavailable || outcome == ledgerFault {
			span.SetStatus(codes.Error, outcome)
			l.log.WarnContext(ctx, "ledger", slog.String("operation", operation), slog.String("outcome", outcome), slog.Any("error", err))
		}
		span.End()
	}
}

// ledgerFailure names an error of the ledger.
func ledgerFailure(ctx context.Context, err error) string {
	_, superseded := errors.AsType[*ledger.SupersededError](err)
	switch {
	case superseded:
		return ledgerSuperseded
	case errors.Is(err, ledger.ErrForgotten):
		return ledgerForgotten
	case errors.Is(err, ledger.ErrFull):
		return ledgerFull
	case ctx.Err() != nil:
		return ledgerAbandoned
	case errors.Is(err, ledger.ErrUnavailable):
		return ledgerUnavailable
	default:
		return ledgerFault
	}
}
