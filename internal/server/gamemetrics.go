package server

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// GameMetrics count what happens to games, beside the traffic as such. Their labels
// have few values, all of them ours: no game, no client and no state is told apart.
type GameMetrics struct {
	created, ended, states, reloads metric.Int64Counter
	events                          metric.Int64Histogram
}

// NewGameMetrics makes the instruments.
func NewGameMetrics(telemetry *Telemetry) (*GameMetrics, error) {
	m := &GameMetrics{}
	meter := telemetry.Meter()
	var err error
	m.events, err = meter.Int64Histogram(
		"avalanched.move.events",
		metric.WithUnit("{event}"),
		metric.WithDescription("Events of each move made, by ruleset: how big a cascade one move sets off. The count is that of the moves."),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 20, 50, 100, 200, 500),
	)
	err = errors.Join(err, makeCounters(meter, []counter{
		{&m.created, "avalanched.games.created", "{game}", "Games created, by ruleset. A repeated creation counts again."},
		{&m.ended, "avalanched.games.ended", "{game}", "Games that a move ended, by ruleset, status (WON or DRAWN) and reason of the end. A repeated last move counts again."},
		{&m.states, "avalanched.states.opened", "{state}", "States that clients brought, by result of the check: OK or the reason of the error."},
		{&m.reloads, "avalanched.keyset.reloads", "{reload}", "Reloads of a changed keyset file, by result: OK or REFUSED."},
	}))
	if err != nil {
		return nil, err
	}
	startAtZero(m.states, resultKey, []string{
		resultOK,
		avalanchev1.ErrorReason_STATE_INVALID.String(),
		avalanchev1.ErrorReason_STATE_TOO_NEW.String(),
		avalanchev1.ErrorReason_KEY_RETIRED.String(),
		avalanchev1.ErrorReason_RULESET_RETIRED.String(),
		avalanchev1.ErrorReason_LEDGER_REQUIRED.String(),
	})
	startAtZero(m.reloads, resultKey, []string{resultOK, resultRefused})
	return m, nil
}

// The labels of the game metrics.
const (
	rulesetKey = attribute.Key("ruleset")
	statusKey  = attribute.Key("status")
	endedKey   = attribute.Key("ended")
	resultKey  = attribute.Key("result")
)

// What goes well, and what does not for a reason that only the log knows.
const (
	resultOK      = "OK"
	resultRefused = "REFUSED"
)

// Observer lets the service report to the metrics.
func (m *GameMetrics) Observer() service.Observer {
	return service.Observer{
		GameCreated: m.gameCreated,
		MoveMade:    m.moveMade,
		StateOpened: m.stateOpened,
	}
}

func (m *GameMetrics) gameCreated(ctx context.Context, ruleset string) {
	m.created.Add(ctx, 1, metric.WithAttributes(rulesetKey.String(ruleset)))
}

func (m *GameMetrics) moveMade(ctx context.Context, ruleset string, events int, outcome engine.Outcome) {
	m.events.Record(ctx, int64(events), metric.WithAttributes(rulesetKey.String(ruleset)))
	if !outcome.Over() {
		return
	}
	status := avalanchev1.Game_WON
	if outcome.Status == engine.Drawn {
		status = avalanchev1.Game_DRAWN
	}
	m.ended.Add(ctx, 1, metric.WithAttributes(
		rulesetKey.String(ruleset), statusKey.String(status.String()), endedKey.String(outcome.Ending.String()),
	))
}

func (m *GameMetrics) stateOpened(ctx context.Context, err error) {
	m.states.Add(ctx, 1, metric.WithAttributes(resultKey.String(stateResult(err))))
}

// stateResult names how reading a state ended, in the words of the API.
func stateResult(err error) string {
	switch {
	case err == nil:
		return resultOK
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

// KeysetReloaded counts a reload of the keyset file, which was refused if err is not
// nil.
func (m *GameMetrics) KeysetReloaded(err error) {
	m.reloads.Add(context.Background(), 1, metric.WithAttributes(reloadResult(err)))
}

func reloadResult(err error) attribute.KeyValue {
	if err != nil {
		return resultKey.String(resultRefused)
	}
	return resultKey.String(resultOK)
}
