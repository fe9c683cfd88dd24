package marble

import (
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

// variantOf finds a ruleset by its ID.
func variantOf(t testing.TB, id string) *Variant {
	t.Helper()
	for i := range variants {
		if variants[i].info.ID == id {
			return &variants[i]
		}
	}
	t.Fatalf("no ruleset %q", id)
	return nil
}

// parse reads a position with house rules separated by spaces.
func parse(t testing.TB, id, houseRules, text string) Position {
	t.Helper()
	position, err := variantOf(t, id).ParsePosition(text, strings.Fields(houseRules))
	if err != nil {
		t.Fatalf("%s: %s: %v", id, text, err)
	}
	return position.(Position)
}

// playMoves makes moves separated by spaces and returns the last position and all events.
func playMoves(t testing.TB, p Position, moves string) (Position, []Event) {
	t.Helper()
	var events []Event
	for notation := range strings.FieldsSeq(moves) {
		move, err := ParseMove(notation)
		if err != nil {
			t.Fatal(err)
		}
		next, err := p.Play(move, &events)
		if err != nil {
			t.Fatalf("%v: %s: %v", p, notation, err)
		}
		p = next
	}
	return p, events
}

func eventStrings(events []Event) []string {
	texts := make([]string, len(events))
	for i, event := range events {
		texts[i] = event.String()
	}
	return texts
}

// legalText lists the legal moves, separated by spaces.
func legalText(p Position) string {
	var notations []string
	for _, move := range p.AppendLegal(nil) {
		notations = append(notations, move.String())
	}
	return strings.Join(notations, " ")
}

// randomBoard is a board with gates at random, a part of which hold marbles.
func randomBoard(seed engine.Seeded, i, rows int) Board {
	board := NewBoard(rows)
	percent := seed.Draw("percent", i, 100)
	for j, gate := range board.Gates() {
		board.setGate(gate, seed.Draw("lean", i<<8|j, 2) == 1)
		if seed.Draw("loaded", i<<8|j, 100) < percent {
			board.load(gate, Color(seed.Draw("color", i<<8|j, MaxColors)))
		}
	}
	return board
}

// inventory counts all marbles of a game, wherever they lie.
func inventory(p Position) Marbles {
	all := p.board.HeldMarbles() + p.trays + p.discarded
	for _, seat := range p.seats {
		all += seat.hand + seat.filled
	}
	return all
}
