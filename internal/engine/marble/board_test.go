package marble

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

// vector is a sequence of drops whose results are known from elsewhere: the worked
// examples of the rules, and boards on which independent implementations agree.
type vector struct {
	Source, Start string
	Steps         []vectorStep
}

type vectorStep struct {
	Move, Board string
	Out         []struct{ Lane, Color string }
	Events      [][]string
}

// exits lists the marbles that leave, as lane and color.
func (s *vectorStep) exits() []string {
	var exits []string
	for _, out := range s.Out {
		exits = append(exits, out.Lane+out.Color)
	}
	return exits
}

func readVectors(t *testing.T) []vector {
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func TestVectors(t *testing.T) {
	drops := 0
	for _, vector := range readVectors(t) {
		board, refusal := ParseBoard(vector.Start)
		if refusal != nil {
			t.Fatal(refusal)
		}
		for i, step := range vector.Steps {
			move, err := ParseMove(step.Move)
			if err != nil {
				t.Fatal(err)
			}
			var events []Event
			fallen := board.Drop(move.Chute(), move.Color(), &events)
			if got := board.String(); got != step.Board {
				t.Fatalf("%s, %s, step %d, %s: board %s, want %s", vector.Source, vector.Start, i+1, step.Move, got, step.Board)
			}
			var want []string
			for _, event := range step.Events {
				want = append(want, strings.Join(event, " "))
			}
			if got := eventStrings(events); !slices.Equal(got, want) {
				t.Fatalf("%s, %s, step %d, %s:\nevents %q\nwant   %q", vector.Source, vector.Start, i+1, step.Move, got, want)
			}
			var exits []string
			for _, event := range events {
				if event.Kind == MarbleExited {
					exits = append(exits, event.Lane.String()+event.Color.String())
				}
			}
			if !slices.Equal(exits, step.exits()) || fallen.total() != len(exits) {
				t.Fatalf("%s, step %d, %s: exits %v (%v), want %v", vector.Start, i+1, step.Move, exits, fallen, step.exits())
			}
			drops++
		}
	}
	if drops < 100 {
		t.Fatalf("only %d drops in the vectors", drops)
	}
}

// TestReferenceAgrees compares the board with the slow one over a million random drops,
// and over fewer in a short run or under the race detector.
func TestReferenceAgrees(t *testing.T) {
	drops := 1_000_000
	if testing.Short() || raceEnabled {
		drops = 50_000
	}
	seed := engine.Seeded(42)
	var (
		board     Board
		reference referenceBoard
		events    []Event
	)
	for i := range drops {
		if i%50 == 0 {
			board = randomBoard(seed, i, 1+seed.Draw("rows", i, MaxRows))
			reference = parseReference(board.String())
		}
		chute := FirstChute + Lane(seed.Draw("chute", i, Chutes))
		color := Color(seed.Draw("drop color", i, MaxColors))
		before := board
		events = events[:0]
		fallen := board.Drop(chute, color, &events)
		want, exits := reference.drop(int(chute), colorLetters[color], lastReleasedNext)
		if len(events) != len(want) || fallen.total() != len(exits) {
			t.Fatalf("%v, %v%v: events %q, want %q", before, chute, color, eventStrings(events), want)
		}
		for j := range events {
			if events[j].String() != want[j] {
				t.Fatalf("%v, %v%v: events %q, want %q", before, chute, color, eventStrings(events), want)
			}
		}
		if i%10 == 9 && board.String() != reference.String() {
			t.Fatalf("%v, %v%v: board %v, want %v", before, chute, color, board, reference)
		}
	}
}

// mirror turns a board over: left becomes right.
func mirror(board Board) Board {
	mirrored := NewBoard(board.Rows())
	for row := range board.Rows() {
		first, end := rowGates(row)
		for gate := first; gate < end; gate++ {
			opposite := first + end - 1 - gate
			mirrored.setGate(opposite, !board.LeansRight(gate))
			if color, held := board.Held(gate); held {
				mirrored.load(opposite, color)
			}
		}
	}
	return mirrored
}

func TestMirrorSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := engine.Seeded(rapid.Uint64().Draw(t, "seed"))
		board := randomBoard(seed, 0, rapid.IntRange(1, MaxRows).Draw(t, "rows"))
		mirrored := mirror(board)
		for i := range 20 {
			chute := FirstChute + Lane(seed.Draw("chute", i, Chutes))
			color := Color(seed.Draw("drop color", i, MaxColors))
			var events, mirroredEvents []Event
			fallen := board.Drop(chute, color, &events)
			if mirroredFallen := mirrored.Drop(RightLane-chute, color, &mirroredEvents); mirroredFallen != fallen {
				t.Fatalf("%v fell, and %v on the mirrored board", fallen, mirroredFallen)
			}
			if mirror(board) != mirrored {
				t.Fatalf("mirrored board: %v, want %v", mirrored, mirror(board))
			}
			if len(events) != len(mirroredEvents) {
				t.Fatalf("events %v, mirrored %v", events, mirroredEvents)
			}
			for j, event := range events {
				other := mirroredEvents[j]
				if event.Kind != other.Kind || event.Color != other.Color ||
					event.Kind == MarbleExited && event.Lane != RightLane-other.Lane {
					t.Fatalf("event %v, mirrored %v", event, other)
				}
			}
		}
	})
}

// TestOuterLanesNeedShunt checks that a marble leaves in an outer lane only after a shunt
// or release at T or Z.
func TestOuterLanesNeedShunt(t *testing.T) {
	seed := engine.Seeded(3)
	exits := 0
	for i := range 20_000 {
		board := randomBoard(seed, i, 1+seed.Draw("rows", i, MaxRows))
		var events []Event
		board.Drop(FirstChute+Lane(seed.Draw("chute", i, Chutes)), Red, &events)
		outer, atRim := 0, 0
		for _, event := range events {
			switch {
			case event.Kind == MarbleExited && (event.Lane == LeftLane || event.Lane == RightLane):
				outer++
			case event.Kind == MarbleReleased && strings.ContainsAny(event.Gate.String(), "TZ"):
				atRim++
			}
		}
		exits += outer
		if outer > atRim {
			t.Fatalf("%d marbles in outer lanes after %d releases at T or Z: %v", outer, atRim, eventStrings(events))
		}
	}
	if exits == 0 {
		t.Fatal("no marble ever came into an outer lane")
	}
}

func TestParseBoardRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"empty":             "",
		"too few gates":     "LRL/LRL/RLL/LLRL",
		"too many gates":    "LRLL/LRLL/RLL/LLRL",
		"wrong letter":      "LRL/LRXL/RLL/LLRL",
		"wrong color":       "LRL/LRpLL/RLL/LLRL",
		"two marbles":       "LRryL/LRLL",
		"marble first":      "rLRL/LRLL",
		"lower case gate":   "lRL/LRLL",
		"seventeen rows":    strings.Repeat("LRL/LRLL/", 8) + "LRL",
		"slash at the end":  "LRL/",
		"space":             "LRL/LRLL ",
		"very long":         strings.Repeat("L", 1<<20),
		"very many slashes": strings.Repeat("/", 1<<20),
	} {
		board, refusal := ParseBoard(text)
		if refusal == nil {
			t.Errorf("%s: accepted as %v", name, board)
		} else if refusal.Reason != engine.BoardMalformed || len(refusal.Message) > 300 {
			t.Errorf("%s: refused with reason %d and %d bytes of text", name, refusal.Reason, len(refusal.Message))
		}
	}
}

func TestParseMove(t *testing.T) {
	for text, want := range map[string]Move{
		"Ar": Drop(FirstChute, Red), "aR": Drop(FirstChute, Red), "fG": Drop(LastChute, Green), "Cy": Drop(3, Yellow),
		"pass": Pass, "PASS": Pass, "Resign": Resign,
	} {
		if move, err := ParseMove(text); err != nil || move != want {
			t.Errorf("%q reads as %v, %v", text, move, err)
		}
	}
	// The long s is a letter that folds to s.
	for _, text := range []string{"", "A", "0r", "7r", "Gr", "Ax", "Arr", " Ar", "rA", "pas", "pa\u017fs", "re\u017fign", strings.Repeat("A", 1<<20)} {
		move, err := ParseMove(text)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != engine.MoveMalformed || len(refusal.Message) > 300 {
			t.Errorf("%.40q reads as %v, %v", text, move, err)
		}
	}
}

func FuzzParseBoard(f *testing.F) {
	f.Add("LRL/LRyLL/RLL/LLRL")
	f.Add("LrRyLb")
	f.Fuzz(func(t *testing.T, text string) {
		board, refusal := ParseBoard(text)
		if refusal == nil && board.String() != text {
			t.Errorf("%q reads as %v", text, board)
		}
	})
}

func FuzzParseMove(f *testing.F) {
	for _, seed := range []string{"Ar", "fB", "pass", "RESIGN", "Gx"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		move, err := ParseMove(text)
		if err == nil && !strings.EqualFold(move.String(), text) {
			t.Errorf("%q reads as %v", text, move)
		}
	})
}
