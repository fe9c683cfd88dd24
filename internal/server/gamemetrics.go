package server

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// GameMetrics count what happens to games, beside the traffic as such.
type GameMetrics struct {
	created, ended, states, advances, reloads metric.Int64Counter
	events                                    metric.Int64Histogram
}

// NewGameMetrics makes the instruments.
func NewGameMetrics(telemetry *Telemetry) (*GameMetrics, error) {
	meter := telemetry.Meter()
	m := &GameMetrics{}
	var errs []error
	for _, counter := range []struct {
		instrument        *metric.Int64Counter
		name, unit, about string
	}{
		{&m.created, "avalanched.games.created", "{game}", "Games created, by ruleset. A repeated creation counts again."},
		{&m.ended, "avalanched.games.ended", "{game}", "Games that a move ended, by ruleset and reason of the end."},
		{&m.states, "avalanched.states.opened", "{state}", "States that clients brought, by result: OK or the reason of the error."},
		{&m.advances, "avalanched.ledger.advances", "{move}", "Moves recorded by the ledger, by outcome. \"adopted\" means that it had forgotten the game."},
		{&m.reloads, "avalanched.keyset.reloads", "{reload}", "Reloads of a changed keyset file, by result: OK or REFUSED."},
	} {
		var err error
		*counter.instrument, err = meter.Int64Counter(counter.name, metric.WithUnit(counter.unit), metric.WithDescription(counter.about))
		errs = append(errs, err)
	}
	var err error
	m.events, err = meter.Int64Histogram(
		"avalanched.move.events",
		metric.WithUnit("{event}"),
		metric.WithDescription("Events of each move made, by ruleset: how much one move sets off. The count is that of the moves."),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500),
	)
	return m, errors.Join(append(errs, err)...)
}

// Observer lets the service report to the metrics.
func (m *GameMetrics) Observer() service.Observer {
	return service.Observer{
		GameCreated:    m.gameCreated,
		MoveMade:       m.moveMade,
		StateOpened:    m.stateOpened,
		LedgerAdvanced: m.ledgerAdvanced,
	}
}

func byRuleset(ruleset string) attribute.KeyValue { return attribute.String("ruleset", ruleset) }

func (m *GameMetrics) gameCreated(ctx context.Context, ruleset string) {
	m.created.Add(ctx, 1, metric.WithAttributes(byRuleset(ruleset)))
}

func (m *GameMetrics) moveMade(ctx context.Context, ruleset string, events int, outcome engine.Outcome) {
	m.events.Record(ctx, int64(events), metric.WithAttributes(byRuleset(ruleset)))
	if outcome.Over() {
		ending := avalanchev1.Game_Ending(outcome.Ending).String()
		m.ended.Add(ctx, 1, metric.WithAttributes(byRuleset(ruleset), attribute.String("ended", ending)))
	}
}

func (m *GameMetrics) stateOpened(ctx context.Context, err error) {
	m.states.Add(ctx, 1, metric.WithAttributes(attribute.String("result", stateResult(err))))
}

// stateResult names how reading a state ended, in the words of the API.
func stateResult(err error) string {
	switch {
	case err == nil:
		return "OK"
	case errors.Is(err, state.ErrInvalid):
		return avalanchev1.ErrorReason_STATE_INVALID.String()
	case errors.Is(err, state.ErrTooNew):
		return avalanchev1.ErrorReason_STATE_TOO_NEW.String()
	case errors.Is(err, state.ErrKeyRetired):
		return avalanchev1.ErrorReason_KEY_RETIRED.String()
	default:
		_, shown := presentable(err)
		_, reason := outcome(shown)
		return reason
	}
}

func (m *GameMetrics) ledgerAdvanced(ctx context.Context, outcome ledger.Outcome) {
	m.advances.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome.String())))
}

// KeysetReloaded counts a reload of the keyset file, which was refused if err is not
// nil.
func (m *GameMetrics) KeysetReloaded(err error) {
	result := "OK"
	if err != nil {
		result = "REFUSED"
	}
	m.reloads.Add(context.Background(), 1, metric.WithAttributes(attribute.String("result", result)))
}
