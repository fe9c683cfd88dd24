package shiverpeak

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avalanched/avalanched/internal/engine"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestPlaythroughs plays games with given dice and draws and compares all that they
// show, move by move, with files that a person can read and check.
func TestPlaythroughs(t *testing.T) {
	for name, game := range map[string]struct {
		setup engine.Setup
		// start answers what the start asks of chance. Each move is a notation and,
		// after a colon, what it asks: dice, the card drawn, or the place of the lost
		// Encounter in the finished pile.
		start string
		moves []string
	}{
		"three-players": {
			setup: engine.Setup{Players: 3},
			start: "6 2 6 4 5",
			moves: []string{
				"reveal: E10", "face: 5", "target 1", "reveal: E24", "face: 3", "reveal: E35", "keep: 2", "reveal: B01", "reveal: E12", "face", "reveal: E05", "avoid: 2",
				"reveal: E07", "face: 4", "reveal: E14", "face: 3", "target 1", "reveal: A03 2", "avoid: 6", "reveal: B10",
			},
		},
		"bonuses": {
			setup: given("5:E13:-/4:-:-/1:E17+E03:E01/0s:-:-", "turn 1 table - avalanche none effect - discard - roll 3"),
			moves: []string{
				"reveal: B01", "reveal: B05", "reveal: B08", "reveal: B10", "reveal: B11", "target 2", "reveal: B12", "target 3", "reveal: E02", "avoid: 6",
			},
		},
		"bonus-with-one-rival-left": {
			setup: given("5:-:-/3:-:-/out:-:-", "turn 1 table - avalanche none effect - discard - roll 3"),
			moves: []string{"reveal: B11", "reveal: E11", "face: 2", "reveal: E14", "face: 1"},
		},
		"avalanche-clockwise": {
			setup: given("5:E03+E13:E01/4:E35:E02/3:E26+E09:-", "turn 2 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A02 1", "avoid: 4", "face: 3 0", "face: 2", "face: 5 6", "avoid: 3", "reveal: E04"},
		},
		"avalanche-counterclockwise": {
			setup: given("5:E03+E13:E01/4:E35:E02/3:E26+E09:-", "turn 2 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A02 6", "avoid: 5", "avoid: 2", "face: 6", "avoid: 1", "avoid: 1", "reveal: E04"},
		},
		"avalanche-of-nothing": {
			setup: given("5:-:-/4:-:-/3:-:-", "turn 2 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A06 3", "reveal: A05 4"},
		},
		"avalanche-past-empty-seats": {
			setup: given("5:E03:-/out:-:E02/3:E26:-/out:-:-/2:E09+E13:-", "turn 5 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A02 2", "face: 5 5", "avoid: 6", "resign", "face: 6", "reveal: A01 4"},
		},
		"avalanche-with-an-effect-on-a-rival": {
			setup: given("5:E07:-/4:E15:-/3:-:E02/4:-:-", "turn 1 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A02 2", "face: 4", "target 4", "face: 3", "target 1", "reveal: E01", "face: 1", "reveal: E06"},
		},
		"win-in-an-avalanche": {
			setup: given("5:E03+E13:E01/4:E35:E10+E11+E14+E15+E16+E20+E21/3:E26+E09:-", "turn 2 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A02 1", "face: 6"},
		},
		"win-by-an-active-encounter": {
			setup: given("5:E03:E01+E02+E04+E05+E06+E07/4:-:-/3:-:-/3:-:-", "turn 1 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: B05"},
		},
		"zero-lives": {
			setup: given("0:E13:E01/4:-:-/3:E26:-", "turn 1 table - avalanche none effect - discard - roll 1"),
			moves: []string{
				"reveal: E05", "reveal: E30", "avoid: 3", "reveal: E31", "avoid: 4", "reveal: E12", "reveal: E10",
				"keep: 5", "reveal: E32", "avoid: 4", "reveal: E11", "face: 2 0", "reveal: E20", "avoid: 6", "reveal: E21", "avoid: 6",
				"reveal: E02", "face: 1", "reveal: E22", "face",
			},
		},
		"zero-lives-in-an-avalanche": {
			setup: given("1:E28+E17:E02/0:E05+E33:E04/2:-:-", "turn 3 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A01 3", "avoid: 2", "face: 5", "face: 5", "reveal: E01"},
		},
		"skip-and-extra-reveal": {
			setup: given("5:-:-/4:-:-/3s:-:-", "turn 1 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: E01", "face: 5", "reveal: E03", "face: 5", "reveal: E02", "face: 4", "reveal: E14", "face: 4", "target 1", "reveal: E15", "avoid: 3", "reveal: E30", "keep: 6"},
		},
		"reshuffle": {
			setup: given("5:-:"+run('E', 1, 5)+"/4:-:"+run('E', 6, 11)+"/3:-:"+run('E', 12, 18), "turn 1 table - avalanche none effect - discard "+run('E', 19, 36)+"+"+run('B', 1, 12)+"+"+run('A', 1, 6)+" roll 1"),
			moves: []string{"reveal: E19", "keep: 6"},
		},
		"deck-exhausted": {
			setup: given("5:E36:"+run('E', 1, 5)+"/out:-:"+run('E', 6, 10)+"/out:-:"+run('E', 11, 15)+"/out:-:"+run('E', 16, 20)+"/out:-:"+run('E', 21, 25)+"/out:-:"+run('E', 26, 30)+"/out:-:"+run('E', 31, 35)+"/3:-:-", "turn 1 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A01 2", "face: 5"},
		},
		"deck-exhausted-in-a-draw": {
			setup: given("5:-:"+run('E', 1, 5)+"/4:-:"+run('E', 6, 10)+"/3:-:"+run('E', 11, 15)+"/2:-:"+run('E', 16, 20)+"/1:-:"+run('E', 21, 25)+"/9:E33:"+run('E', 26, 29)+"/8:-:"+run('E', 30, 32)+"/8:-:"+run('E', 34, 36), "turn 7 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A01 2", "face: 2"},
		},
		"resignations": {
			setup: given("5:E03:E01/4:E09+E13:-/3:-:E02/2:-:E04/2:E26:-", "turn 1 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: A01 3", "resign", "avoid: 4", "resign", "reveal: E07", "face: 2", "resign", "reveal: E10", "resign"},
		},
		"resigning-with-a-bonus": {
			setup: given("5:E03:E01/4:E09+E13:-/3:-:E02", "turn 1 table - avalanche none effect - discard - roll 1"),
			moves: []string{"reveal: B12", "resign"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, name, playthrough(t, game.setup, game.start, game.moves))
		})
	}
}

// given is a setup with a position, of its seats and the rest.
func given(seats, rest string) engine.Setup {
	return engine.Setup{Position: "seats " + seats + " " + rest}
}

// run lists cards of one kind from one number to another.
func run(letter byte, from, to int) string {
	codes := make([]string, 0, to-from+1)
	for number := from; number <= to; number++ {
		codes = append(codes, fmt.Sprintf("%c%02d", letter, number))
	}
	return strings.Join(codes, "+")
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "playthroughs", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
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
}

func playthrough(t *testing.T, setup engine.Setup, start string, moves []string) string {
	t.Helper()
	var b strings.Builder
	chance := &script{t: t, answers: strings.Fields(start)}
	position, events, err := Ruleset().Start(setup, chance)
	if err != nil {
		t.Fatal(err)
	}
	chance.finish()
	writeEvents(&b, events)
	writePosition(&b, position.(Position))
	for i, line := range moves {
		notation, answers, _ := strings.Cut(line, ":")
		move, err := Ruleset().ParseMove(notation)
		if err != nil {
			t.Fatal(err)
		}
		p := position.(Position)
		chance := &script{t: t, position: p, answers: strings.Fields(answers)}
		if position, events, err = p.Apply(move, chance); err != nil {
			t.Fatalf("move %d, %s: %v", i+1, line, err)
		}
		chance.finish()
		fmt.Fprintf(&b, "\n%d. seat %d: %s\n", i+1, p.Turn().Seat, move)
		writeEvents(&b, events)
		writePosition(&b, position.(Position))
	}
	return b.String()
}

func writeEvents(b *strings.Builder, events []engine.Event) {
	for _, event := range events {
		fmt.Fprintf(b, "  %s\n", event)
	}
}

func writePosition(b *strings.Builder, p Position) {
	fmt.Fprintf(b, "position %v\npacked %x\n", p, p.AppendPacked(nil))
	for _, move := range p.LegalMoves() {
		if percent, ok := p.Odds(move); ok {
			fmt.Fprintf(b, "legal %v %d%%\n", move, percent)
		} else {
			fmt.Fprintf(b, "legal %v\n", move)
		}
	}
}

// script is a chance that answers what a test says, and minds that it is asked for
// exactly that.
type script struct {
	t        *testing.T
	position Position
	answers  []string
}

func (s *script) Draw(purpose string, _, n int) int {
	s.t.Helper()
	if len(s.answers) == 0 {
		s.t.Fatalf("%v: nothing is scripted for %q", s.position, purpose)
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	switch number, err := strconv.Atoi(answer); {
	case purpose == purposeDraw:
		pile := s.position.all(inDraw)
		if len(pile) == 0 {
			pile = s.position.all(inDiscard)
		}
		for i, id := range pile {
			if id.String() == answer && n == len(pile) {
				return i
			}
		}
		s.t.Fatalf("%v: %s is not in the draw pile of %d", s.position, answer, n)
	case err == nil && purpose == purposeLoseFinished && number < n:
		return number
	case err == nil && purpose != purposeLoseFinished && n == 6:
		return number - 1
	}
	s.t.Fatalf("%v: %s does not answer %q of %d", s.position, answer, purpose, n)
	return 0
}

func (s *script) finish() {
	s.t.Helper()
	if len(s.answers) > 0 {
		s.t.Fatalf("%v: nobody asked for %v", s.position, s.answers)
	}
}

// extreme is a chance that always rolls its number, and takes the first of what is
// drawn.
type extreme int

func (e extreme) Draw(_ string, _, n int) int {
	if n == 6 {
		return int(e) - 1
	}
	return 0
}

// TestEveryCard reveals each card of the deck to the same players and shows what every
// move leads to with the lowest and with the highest roll.
func TestEveryCard(t *testing.T) {
	var b strings.Builder
	named := make(map[string]bool)
	for _, card := range Deck() {
		if named[card.Name] {
			continue
		}
		named[card.Name] = true
		fmt.Fprintf(&b, "%v %s (%d): %s\n", card.ID, card.Name, card.Rating, card.Flavor)
		switch card.Kind {
		case Encounter:
			fmt.Fprintf(&b, "Face: %s\nSuccess: %s\nFailure: %s\n", card.Face.Text(), Text(card.Success), Text(card.Failure))
		case Bonus:
			fmt.Fprintf(&b, "Effect: %s\n", Text(card.Success))
		}
		p := exhibit(card.ID)
		position, events, err := p.Apply(Move{Action: Reveal}, &script{t: t, position: p, answers: []string{card.ID.String(), "3"}})
		if err != nil {
			t.Fatal(err)
		}
		p = position.(Position)
		if card.Kind != Encounter {
			writeEvents(&b, events[1:])
		}
		if p.Turn().Phase != engine.PhaseReveal && card.Kind != Avalanche {
			writeMoves(t, &b, p, card.Kind == Encounter)
		}
		b.WriteByte('\n')
	}
	checkGolden(t, "every-card", b.String())
}

// exhibit is a table with something to win and to lose for everybody, and a card still
// in the draw pile.
func exhibit(id ID) Position {
	spare := make([]ID, 0, 5)
	for other := ID(1); len(spare) < cap(spare); other++ {
		if other.Card().Name != id.Card().Name {
			spare = append(spare, other)
		}
	}
	p := newPosition(4)
	p.places[spare[0]] = before(0, 0)
	p.places[spare[1]] = finishedBy(0)
	p.places[spare[2]] = finishedBy(1)
	p.places[spare[3]] = finishedBy(2)
	p.places[spare[4]] = before(2, 0)
	return p
}

func writeMoves(t *testing.T, b *strings.Builder, p Position, odds bool) {
	t.Helper()
	for _, move := range p.LegalMoves() {
		rolls := []extreme{1, 6}
		if !odds {
			rolls = rolls[:1]
		}
		for _, roll := range rolls {
			percent, ok := p.Odds(move)
			if ok != odds {
				t.Fatalf("%v: odds of %v: %v", p, move, ok)
			}
			_, events, err := p.Apply(move, roll)
			if err != nil {
				t.Fatal(err)
			}
			if odds {
				fmt.Fprintf(b, "%v, %d%%, with a %d:\n", move, percent, roll)
			} else {
				fmt.Fprintf(b, "%v:\n", move)
			}
			writeEvents(b, events)
		}
	}
}
