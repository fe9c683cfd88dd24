package mancala

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avalanched/avalanched/internal/engine"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPlaythroughs plays whole games and compares all that they show, move by move,
// with files that a person can read and check.
func TestPlaythroughs(t *testing.T) {
	noSweepRule := []string{noSweepID}
	for name, game := range map[string]struct {
		ruleset engine.Ruleset
		setup   engine.Setup
		moves   string
	}{
		"avalanche-south-wins":                {avalancheGame, engine.Setup{}, "2 4 5 6 2 3 6 4 4 5 2 3 5 6 2 1 3 5"},
		"avalanche-south-sweeps":              {avalancheGame, engine.Setup{}, "4 1 3 6 6 5 6 5 2 4 6"},
		"avalanche-tie":                       {avalancheGame, engine.Setup{Stones: 3}, "3 2 4 5 1 2 6 1 3 4 6 2 4 4 2 4 6"},
		"avalanche-no-sweep":                  {avalancheGame, engine.Setup{HouseRules: noSweepRule}, "4 1 3 6 6 5 6 5 2 4 6"},
		"avalanche-resignation":               {avalancheGame, engine.Setup{}, "1 resign"},
		"avalanche-118-laps":                  {avalancheGame, engine.Setup{Position: "10,2,5,2,1,6/4,3,6,3,2,3 1-0 s"}, "1"},
		"avalanche-extra-turn-without-stones": {avalancheGame, engine.Setup{Position: "0,0,0,0,0,1/1,1,0,0,1,1 32-11 s"}, "6"},
		"kalah-north-sweeps":                  {kalahGame, engine.Setup{}, "1 2 2 3 1 4 1 5 1 6"},
		"kalah-south-sweeps":                  {kalahGame, engine.Setup{}, "6 2 3 1 4 1 5 1 6"},
		"kalah-tie":                           {kalahGame, engine.Setup{}, "1 1 5 4 4 3 1 4 2 1 5 6 4 4"},
	} {
		t.Run(name, func(t *testing.T) {
			got := playthrough(t, game.ruleset, game.setup, strings.Fields(game.moves))
			path := filepath.Join("testdata", "playthroughs", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got; run with -update if this is meant):\n%s", path, diff)
			}
		})
	}
}

func playthrough(t *testing.T, ruleset engine.Ruleset, setup engine.Setup, moves []string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "ruleset %s\n", ruleset.Info().ID)
	position, events, err := ruleset.Start(setup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rules := position.Options().HouseRules; len(rules) > 0 {
		fmt.Fprintf(&b, "house rules %s\n", strings.Join(rules, " "))
	}
	writeEvents(&b, events)
	writePosition(&b, position.(Position))
	for i, notation := range moves {
		move, err := ruleset.ParseMove(notation)
		if err != nil {
			t.Fatal(err)
		}
		if position, events, err = position.Apply(move, nil); err != nil {
			t.Fatalf("move %d: %v", i+1, err)
		}
		fmt.Fprintf(&b, "\n%d. %s\n", i+1, move)
		writeEvents(&b, events)
		writePosition(&b, position.(Position))
	}
	if !position.Outcome().Over() {
		fmt.Fprintf(&b, "unfinished\n")
	}
	return b.String()
}

func writeEvents(b *strings.Builder, events []engine.Event) {
	for _, event := range events {
		fmt.Fprintf(b, "  %s\n", event)
	}
}

func writePosition(b *strings.Builder, p Position) {
	north, south := p.Pits(North), p.Pits(South)
	fmt.Fprintf(b, "\n      6  5  4  3  2  1  north\n   ")
	for i := range north {
		fmt.Fprintf(b, " %2d", north[len(north)-1-i])
	}
	fmt.Fprintf(b, "\n%3d%22d\n   ", p.Store(North), p.Store(South))
	for _, stones := range south {
		fmt.Fprintf(b, " %2d", stones)
	}
	fmt.Fprintf(b, "\n      1  2  3  4  5  6  south\n\nposition %s\npacked %x\n", p, p.AppendPacked(nil))
	for _, move := range p.AppendLegal(nil) {
		preview, err := p.Preview(int(move))
		if err != nil {
			fmt.Fprintf(b, "legal %s: %v\n", move, err)
			continue
		}
		fmt.Fprintf(b, "legal %s: %s\n", move, preview)
	}
	if outcome := p.Outcome(); outcome.Over() {
		fmt.Fprintf(b, "winners %v, ending %v\n", outcome.Winners.Seats(), outcome.Ending)
	}
}
