package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/rulesets"
)

// The sizes that bots rely on: see docs/state.md, whose table must not promise less than
// what comes up here.
func TestStatesFitTheirCarriers(t *testing.T) {
	documented := documentedMaxima(t)
	for _, kind := range kinds(rulesets.Registry()) {
		name := lineName(kind.ruleset.Info().ID, strconv.Itoa(kind.players), strconv.Itoa(kind.rows))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sizes, err := measure(kind, 20)
			if err != nil {
				t.Fatal(err)
			}
			limit := 100
			if family := kind.ruleset.Info().Family; family == engine.Mancala || family == engine.Marble && kind.players == 2 && kind.rows == 4 {
				limit = 64
			}
			if longest := sizes.legal.max(); longest > limit {
				t.Errorf("a state with a move has %d characters, above %d", longest, limit)
			}
			if longest := sizes.resign.max(); longest > 100 {
				t.Errorf("a state with .resign has %d characters, above 100", longest)
			}
			if promised, listed := documented[name]; !listed || sizes.legal.max() > promised {
				t.Errorf("a state with a move has %d characters; docs/state.md says at most %d (listed: %v)", sizes.legal.max(), promised, listed)
			}
		})
	}
}

// documentedMaxima reads the table in the documentation.
func documentedMaxima(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile("../../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	maxima := make(map[string]int)
	for text := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(text, "|\n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 8 {
			continue
		}
		if longest, err := strconv.Atoi(cells[3]); err == nil {
			maxima[lineName(strings.Trim(cells[0], "`"), cells[1], strings.Replace(cells[2], "–", "0", 1))] = longest
		}
	}
	return maxima
}

func lineName(ruleset, players, rows string) string {
	return ruleset + " for " + players + " on " + rows
}

func TestHistogram(t *testing.T) {
	var h histogram
	for range 998 {
		h.add(10)
	}
	h.add(20)
	h.add(300)
	if h.max() != 255 || h.quantile(0.998) != 10 || h.quantile(0.999) != 20 || h.mean() != 10.255 {
		t.Errorf("maximum %d, 99.8 %% %d, 99.9 %% %d, mean %v", h.max(), h.quantile(0.998), h.quantile(0.999), h.mean())
	}
}
