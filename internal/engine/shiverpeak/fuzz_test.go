package shiverpeak

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

func FuzzParsePosition(f *testing.F) {
	f.Add(startText)
	f.Add("seats 5:E03+E13:E01/4s:-:E02/3e:-:- turn 2 table E26 avalanche none effect - discard E04+B01 roll 4")
	f.Add("seats 5:E03:-/4s:-:E14/3:-:-/out:-:- turn 3 table A01 avalanche counterclockwise effect E14 discard - roll -")
	f.Add("seats 2:-:-/5s:-:-/5:-:-/out:-:-/1:-:- turn 1 table B12 avalanche none effect - discard - roll -")
	f.Add(exhausted(5, 5, 5, 5, 5, 5, 4, 2))
	f.Fuzz(func(t *testing.T, text string) {
		position, err := Ruleset().ParsePosition(text, nil)
		if err != nil {
			return
		}
		if position.String() != text {
			t.Fatalf("%q reads as %v", text, position)
		}
		unpacked, err := Ruleset().Unpack(position.AppendPacked(nil))
		if err != nil || unpacked != position {
			t.Fatalf("%v unpacks as %v, %v", position, unpacked, err)
		}
		checkPlayable(t, position.(Position))
	})
}

func FuzzUnpack(f *testing.F) {
	for players := MinPlayers; players <= MaxPlayers; players++ {
		seed := engine.Seeded(players)
		position, _, err := Ruleset().Start(engine.Setup{Players: players}, seed)
		for range 40 {
			if err != nil {
				f.Fatal(err)
			}
			f.Add(position.AppendPacked(nil))
			if seed = seed.Next(); position.Outcome().Over() {
				break
			}
			position, _, err = position.Apply(likely(position, position.LegalMoves(), seed), seed)
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		position, err := Ruleset().Unpack(packed)
		if err != nil {
			return
		}
		if again := position.AppendPacked(nil); !slices.Equal(again, packed) {
			t.Fatalf("%x unpacks as %v, which packs as %x", packed, position, again)
		}
		parsed, err := Ruleset().ParsePosition(position.String(), nil)
		if err != nil || parsed != position {
			t.Fatalf("%v parses as %v, %v", position, parsed, err)
		}
		checkPlayable(t, position.(Position))
	})
}

func FuzzParseMove(f *testing.F) {
	for _, text := range []string{"reveal", "A", "target 3", "t3", "8", "ReSiGn", "keep", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		move, err := Ruleset().ParseMove(text)
		if err != nil {
			return
		}
		if again, err := Ruleset().ParseMove(move.String()); err != nil || again != move {
			t.Fatalf("%q reads as %v, which reads as %v, %v", text, move, again, err)
		}
	})
}

func FuzzParseDeck(f *testing.F) {
	f.Add(deckFile)
	f.Add("E01 E02 Leaning Pine (3)\n  flavor  Tall.\n  face    roll 3\n  success gain 1\n  failure lose 1, skip\n")
	f.Add("B01 Cocoa\n  effect gain 1\n\n# more\nA01 Slide\n  flavor .\n")
	f.Fuzz(func(t *testing.T, text string) {
		cards, err := parseDeck(text)
		if mistake, ok := errors.AsType[*deckError](err); ok {
			if mistake.line < 0 || mistake.line > strings.Count(text, "\n")+1 || mistake.message == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for i, card := range cards {
			if card.ID != ID(i+1) || card.Name == "" || card.Flavor == "" || card.Kind != card.ID.Kind() ||
				(card.Kind == Encounter) != (card.Rating >= minRating && card.Rating <= maxRating && card.Face.Text() != "" && len(card.Failure) > 0) ||
				(card.Kind == Avalanche) != (len(card.Success) == 0) {
				t.Fatalf("card %d is %+v", i+1, card)
			}
		}
	})
}

// checkPlayable checks that what the notations let through can be played: every legal
// move leads to another position that the notations let through.
func checkPlayable(t *testing.T, p Position) {
	t.Helper()
	legal := p.LegalMoves()
	if p.Outcome().Over() != (len(legal) == 0) {
		t.Fatalf("%v has outcome %+v and legal moves %v", p, p.Outcome(), legal)
	}
	if !p.Outcome().Over() {
		legal = append(legal, Move{Action: Resign})
	}
	for _, move := range legal {
		for _, roll := range []extreme{1, 6} {
			next, _, err := p.Apply(move, roll)
			if err != nil {
				t.Fatalf("%v, %v: %v", p, move, err)
			}
			if _, err := Ruleset().Unpack(next.AppendPacked(nil)); err != nil {
				t.Fatalf("%v, %v, leads to %v: %v", p, move, next, err)
			}
		}
	}
}
