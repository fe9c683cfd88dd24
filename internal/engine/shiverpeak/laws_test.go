package shiverpeak

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/enginetest"
)

// alphabet is every move of the game.
func alphabet() []engine.Move {
	moves := []engine.Move{Move{Action: Reveal}, Move{Action: Avoid}, Move{Action: Face}, Move{Action: Keep}, Move{Action: Resign}}
	for seat := 1; seat <= MaxPlayers; seat++ {
		moves = append(moves, Move{Action: Target, Seat: seat})
	}
	return moves
}

func anyPlayers(t *rapid.T) engine.Setup {
	return engine.Setup{Players: rapid.IntRange(MinPlayers, MaxPlayers).Draw(t, "players")}
}

func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		enginetest.CheckLaws(t, enginetest.Spec{
			Ruleset:       Ruleset(),
			Setup:         anyPlayers,
			Alphabet:      alphabet(),
			ResignPercent: rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "resign percent"),
			Choose:        likely,
			Invariant:     checkInvariant,
		})
	})
}

// likely prefers facing and keeping, so that games end and Avalanches find cards.
func likely(p engine.Position, legal []engine.Move, seed engine.Seeded) engine.Move {
	if choice := seed.Draw("test taste", 0, 4); choice > 0 {
		return legal[len(legal)-1-choice%min(2, len(legal))]
	}
	return legal[seed.Draw("test choice", 0, len(legal))]
}

// checkInvariant checks what every position keeps, and that the events tell all
// that has changed: a table that only follows the events shows the same.
func checkInvariant(t *rapid.T, before, after engine.Position, events []engine.Event) {
	p := after.(Position)
	cards := p.DrawPile() + p.DiscardPile() + len(p.Passed())
	if _, revealed := p.Revealed(); revealed {
		cards++
	}
	for seat := 1; seat <= p.Players(); seat++ {
		if lives := p.Lives(seat); lives < 0 || lives > MaxLives {
			t.Fatalf("seat %d has %d lives", seat, lives)
		}
		if len(p.Active(seat)) > MaxActive {
			t.Fatalf("seat %d has active %v", seat, p.Active(seat))
		}
		cards += len(p.Active(seat)) + len(p.Finished(seat))
	}
	if cards != Cards {
		t.Fatalf("%v has %d cards", p, cards)
	}
	if before == nil {
		before = newPosition(p.Players())
	}
	want := tableOf(p)
	got := tableOf(before.(Position))
	for _, event := range events {
		got.follow(event)
	}
	if !slices.Equal(got.lives, want.lives) || !slices.Equal(got.skips, want.skips) || !slices.Equal(got.again, want.again) ||
		got.lastRoll != want.lastRoll || got.cards != want.cards {
		t.Fatalf("the events %v lead from %v to\n%+v, not to\n%+v", events, before, got, want)
	}
	ended := slices.ContainsFunc(events, func(event engine.Event) bool { return event == GameEnded{p.Outcome()} })
	if ended != p.Outcome().Over() {
		t.Fatalf("the events %v lead to %v", events, p)
	}
}

// table is what a client shows that follows events without knowing the rules.
type table struct {
	lives        []int
	skips, again []bool
	lastRoll     int
	cards        [Cards + 1]Pile
}

func tableOf(p Position) *table {
	t := &table{lastRoll: p.LastRoll()}
	g := &play{Position: p}
	for seat := 1; seat <= p.Players(); seat++ {
		t.lives = append(t.lives, p.Lives(seat))
		t.skips = append(t.skips, p.Skips(seat))
		t.again = append(t.again, p.RevealsAgain(seat))
	}
	for id := ID(1); id <= Cards; id++ {
		if at := p.places[id]; at != inDraw {
			t.cards[id] = g.pile(at)
		}
	}
	return t
}

func (t *table) follow(event engine.Event) {
	switch e := event.(type) {
	case DieRolled:
		t.lastRoll = e.Die
	case ExtraRevealTaken:
		t.again[e.Seat-1] = false
	case TurnSkipped:
		t.skips[e.Seat-1] = false
	case DeckReshuffled:
		for id, pile := range t.cards {
			if pile.Kind == DiscardPile {
				t.cards[id] = Pile{}
			}
		}
	case CardRevealed:
		t.cards[e.Card] = Pile{Kind: RevealedPile}
	case CardMoved:
		if t.cards[e.Card] != e.From {
			t.cards[e.Card] = Pile{Kind: 99}
			return
		}
		t.cards[e.Card] = e.To
	case CardsPassed:
		for _, id := range e.Cards {
			t.cards[id] = Pile{Kind: PassedPile, Seat: e.To}
		}
	case LivesChanged:
		t.lives[e.Seat-1] += e.Change
		if t.lives[e.Seat-1] != e.Lives {
			t.lives[e.Seat-1] = -1
		}
	case SkipImposed:
		t.skips[e.Seat-1] = true
	case ExtraRevealGranted:
		t.again[e.Seat-1] = true
	case SeatOut:
		t.lives[e.Seat-1], t.skips[e.Seat-1], t.again[e.Seat-1] = 0, false, false
	}
}

// TestFullTable plays with eight at the table and most cards kept, where packed
// positions are longest and Avalanches pass most.
func TestFullTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		enginetest.CheckLaws(t, enginetest.Spec{
			Ruleset:  Ruleset(),
			Setup:    func(*rapid.T) engine.Setup { return engine.Setup{Players: MaxPlayers} },
			Alphabet: alphabet(),
			MaxPlies: 150,
			Choose: func(_ engine.Position, legal []engine.Move, _ engine.Seeded) engine.Move {
				return legal[len(legal)-1]
			},
			Invariant: checkInvariant,
		})
	})
}
