package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/ledger"
)

// scriptedLedger answers as a test wants it.
type scriptedLedger struct {
	ledger.Ledger
	outcome ledger.Outcome
	newest  ledger.Entry
	known   bool
	err     error
}

func (l scriptedLedger) Advance(context.Context, ledger.GameID, ledger.Entry, ledger.Entry) (ledger.Outcome, error) {
	return l.outcome, l.err
}

func (l scriptedLedger) Newest(context.Context, ledger.GameID) (ledger.Entry, bool, error) {
	return l.newest, l.known, l.err
}

func TestLedgerOutcomes(t *testing.T) {
	unavailable := fmt.Errorf("%w: no route", ledger.ErrUnavailable)
	for _, test := range []struct {
		name, operation string
		// gone tells that the client has gone.
		gone   bool
		ledger scriptedLedger
		warns  bool
	}{
		{"advanced", "advance", false, scriptedLedger{outcome: ledger.Advanced}, false},
		{"repeated", "advance", false, scriptedLedger{outcome: ledger.Repeated}, false},
		{"adopted", "advance", false, scriptedLedger{outcome: ledger.Adopted}, false},
		{"superseded", "advance", false, scriptedLedger{err: &ledger.SupersededError{}}, false},
		{"forgotten", "advance", false, scriptedLedger{err: ledger.ErrForgotten}, false},
		{"full", "advance", false, scriptedLedger{err: ledger.ErrFull}, false},
		{"unavailable", "advance", false, scriptedLedger{err: unavailable}, true},
		{"abandoned", "advance", true, scriptedLedger{err: unavailable}, false},
		{"fault", "advance", false, scriptedLedger{err: errors.New("snow")}, true},
		{"found", "newest", false, scriptedLedger{known: true, newest: ledger.Entry{Ply: 3, Token: "x"}}, false},
		{"unknown", "newest", false, scriptedLedger{}, false},
		{"unavailable", "newest", false, scriptedLedger{err: unavailable}, true},
		{"abandoned", "newest", true, scriptedLedger{err: unavailable}, false},
	} {
		t.Run(test.operation+" "+test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.gone {
				cancel()
			}
			telemetry := newTelemetry(t)
			var written bytes.Buffer
			observed, err := ObserveLedger(test.ledger, telemetry, slog.New(slog.NewTextHandler(&written, nil)))
			if err != nil {
				t.Fatal(err)
			}
			labels := `operation="` + test.operation + `",outcome="` + test.name + `"`
			wantAdvances := `avalanched_ledger_advances_total{outcome="` + test.name + `"} 1`
			if test.operation == "advance" {
				outcome, err := observed.Advance(ctx, ledger.GameID{}, ledger.Entry{}, ledger.Entry{})
				if outcome != test.ledger.outcome || !errors.Is(err, test.ledger.err) {
					t.Errorf("%v, %v", outcome, err)
				}
			} else {
				entry, known, err := observed.Newest(ctx, ledger.GameID{})
				if entry != test.ledger.newest || known != test.ledger.known || !errors.Is(err, test.ledger.err) {
					t.Errorf("%v, %v, %v", entry, known, err)
				}
				wantAdvances = `avalanched_ledger_advances_total{outcome="advanced"} 0`
			}
			checkMetrics(t, scrape(t, telemetry), `avalanched_ledger_duration_seconds_count{`+labels+`} 1`, wantAdvances)
			if warned := strings.Contains(written.String(), "level=WARN"); warned != test.warns {
				t.Errorf("log %q", written.String())
			}
		})
	}
}
