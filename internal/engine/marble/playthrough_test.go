package marble

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

var update = flag.Bool("update", false, "rewrite the golden files from what the engine does")

// endings are the ways in which a playthrough ends, by the name of its file. Each tells
// whether a game did end so, from its outcome and the events of its last move.
var endings = map[string]func(v *Variant, outcome engine.Outcome, last []Event) bool{
	"won": func(v *Variant, outcome engine.Outcome, last []Event) bool {
		return outcome.Ending == v.goal.ending() && happened(last, MarbleExited)
	},
	"won-in-mid-turn": func(v *Variant, outcome engine.Outcome, last []Event) bool {
		return outcome.Ending == v.goal.ending() && !happened(last, MarbleExited)
	},
	"drawn": func(_ *Variant, outcome engine.Outcome, _ []Event) bool {
		return outcome.Ending == engine.AllPassed
	},
	"last-one-left": func(_ *Variant, outcome engine.Outcome, last []Event) bool {
		return outcome.Ending == engine.LastOneLeft && happened(last, MarbleDropped)
	},
	"resigned": func(_ *Variant, outcome engine.Outcome, last []Event) bool {
		return outcome.Ending == engine.LastOneLeft && !happened(last, MarbleDropped)
	},
	"ply-limit": func(_ *Variant, outcome engine.Outcome, _ []Event) bool {
		return outcome.Ending == engine.PlyLimit
	},
}

func happened(events []Event, kind EventKind) bool {
	return slices.ContainsFunc(events, func(event Event) bool { return event.Kind == kind })
}

// endingsOf lists how each ruleset can end. The limit of moves, which all share, is shown
// where there is no other draw.
var endingsOf = map[string][]string{
	"marble-basic":     {"won", "drawn", "resigned"},
	"marble-standard":  {"won", "won-in-mid-turn", "drawn", "resigned"},
	"marble-expert-1":  {"won", "won-in-mid-turn", "ply-limit", "resigned"},
	"marble-expert-2":  {"won", "drawn", "last-one-left", "resigned"},
	"marble-sequence":  {"won", "drawn", "resigned"},
	"marble-oddball":   {"won", "drawn", "resigned"},
	"marble-hang-up":   {"won-in-mid-turn", "ply-limit", "resigned"},
	"marble-avalanche": {"won", "drawn", "last-one-left", "resigned"},
}

// TestPlaythroughs replays the games in testdata/playthrough. Each file begins with lines
// "name: value" that say how the game is set up; a line "12. Br" is a move. All else is
// what the engine makes of it, and -update writes it anew.
func TestPlaythroughs(t *testing.T) {
	paths, err := filepath.Glob("testdata/playthrough/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var found, want []string
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		found = append(found, name)
		t.Run(name, func(t *testing.T) {
			golden, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, name, string(golden))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(golden) {
				t.Errorf("%s differs from what the engine does:\n%s", path, got)
			}
		})
	}
	for ruleset, names := range endingsOf {
		for _, ending := range names {
			want = append(want, ruleset+"_"+ending)
		}
	}
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(found, want) {
		t.Errorf("there are playthroughs of %v, want %v", found, want)
	}
}

// replay plays the game of a file and writes it down.
func replay(t *testing.T, name, golden string) string {
	t.Helper()
	ruleset, ending, _ := strings.Cut(name, "_")
	v := variantOf(t, ruleset)
	var (
		text  strings.Builder
		setup engine.Setup
		seed  engine.Seeded
		game  = engine.Game{Ruleset: v}
		moves []string
	)
	lines := bufio.NewScanner(strings.NewReader(golden))
	for lines.Scan() && lines.Text() != "" {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		number, _ := strconv.Atoi(value)
		switch field {
		case "players":
			setup.Players = number
		case "rows":
			setup.Rows = number
		case "seed":
			seed = engine.Seeded(number)
		case "moves before":
			game.Ply = number
		case "position":
			setup.Position = value
		case "house rules":
			setup.HouseRules = strings.Fields(value)
		default:
			t.Fatalf("no field %q", field)
		}
		fmt.Fprintln(&text, lines.Text())
	}
	for lines.Scan() {
		if number, move, ok := strings.Cut(lines.Text(), ". "); ok && number == strconv.Itoa(game.Ply+len(moves)+1) {
			moves = append(moves, move)
		}
	}
	position, events, err := v.Start(setup, seed)
	if err != nil {
		t.Fatal(err)
	}
	game.Position = position
	describe(&text, "start", events, game)
	for _, notation := range moves {
		move, err := v.ParseMove(notation)
		if err != nil {
			t.Fatal(err)
		}
		if game, events, err = game.Play(move, seed); err != nil {
			t.Fatalf("move %d, %s: %v", game.Ply+1, notation, err)
		}
		describe(&text, fmt.Sprintf("%d. %s", game.Ply, notation), events, game)
	}
	var last []Event
	for _, event := range events {
		if marbleEvent, ok := event.(*Event); ok {
			last = append(last, *marbleEvent)
		}
	}
	if ended, ok := endings[ending]; !ok || !ended(v, game.Outcome(), last) {
		t.Errorf("the game does not end as the name of its file says, but with %v", game.Outcome())
	}
	return text.String()
}

// describe writes down one move: what happened and where it led.
func describe(text *strings.Builder, title string, events []engine.Event, game engine.Game) {
	fmt.Fprintf(text, "\n%s\n", title)
	for _, event := range events {
		fmt.Fprintf(text, "    %v\n", event)
	}
	fmt.Fprintf(text, "  %v\n", game.Position)
	if outcome := game.Outcome(); outcome.Over() {
		fmt.Fprintf(text, "\nresult: %s\n", resultText(outcome))
	}
}
