package mancala

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/enginetest"
)

var alphabet = []engine.Move{Move(1), Move(2), Move(3), Move(4), Move(5), Move(6), Resign}

func TestLaws(t *testing.T) {
	for _, ruleset := range rulesets {
		t.Run(ruleset.Info().ID, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				enginetest.CheckLaws(t, enginetest.Spec{
					Ruleset:       ruleset,
					Setup:         func(t *rapid.T) engine.Setup { return drawSetup(t, ruleset) },
					Alphabet:      alphabet,
					ResignPercent: 1,
					Invariant:     checkMove,
				})
			})
		})
	}
}

func drawSetup(t *rapid.T, ruleset engine.Ruleset) engine.Setup {
	if rapid.IntRange(0, 3).Draw(t, "given") == 0 {
		p := drawPosition(t, ruleset)
		return engine.Setup{Position: p.String(), HouseRules: p.Options().HouseRules}
	}
	return engine.Setup{
		Players:    rapid.SampledFrom([]int{0, 2}).Draw(t, "players"),
		Stones:     rapid.SampledFrom([]int{0, 3, 4, 5, 6}).Draw(t, "stones"),
		HouseRules: drawHouseRules(t, ruleset),
	}
}

// checkMove checks that no stone is lost, that stores never shrink, and that the
// events alone lead a client from one position to the next.
func checkMove(t *rapid.T, before, after engine.Position, events []engine.Event) {
	if before == nil {
		return
	}
	p, next := before.(Position), after.(Position)
	if p.Stones() != next.Stones() {
		t.Fatalf("%v becomes %v: %d stones become %d", p, next, p.Stones(), next.Stones())
	}
	table := &table{pits: [2][6]int{p.Pits(South), p.Pits(North)}, stores: [2]int{p.Store(South), p.Store(North)}}
	for _, event := range events {
		table.show(t, event)
	}
	for seat := South; seat <= North; seat++ {
		if next.Store(seat) < p.Store(seat) {
			t.Fatalf("%v becomes %v: the store of %s shrinks", p, next, seatName(seat))
		}
		if table.pits[seat-South] != next.Pits(seat) || table.stores[seat-South] != next.Store(seat) {
			t.Fatalf("%v becomes %v, but by its events %+v", p, next, table)
		}
	}
	if table.turn != next.Turn().Seat || table.outcome != next.Outcome() {
		t.Fatalf("%v becomes %v, but by its events %+v", p, next, table)
	}
}

// table is a client that knows no rules but the way around the board, and believes
// the events.
type table struct {
	pits    [2][6]int
	stores  [2]int
	turn    int
	outcome engine.Outcome

	// What the laps of the move added up to.
	laps, sown, gain int
	// last is the previous lap of a relay.
	last *LapSown
}

func (b *table) show(t *rapid.T, event engine.Event) {
	if lap, ok := event.(LapSown); !ok && b.last != nil && b.last.Landing == Relay {
		t.Fatalf("%v after %v", event, b.last)
	} else if ok {
		b.sow(t, lap)
		return
	}
	switch e := event.(type) {
	case StonesCaptured:
		if b.last.Landing != Capture || b.last.LastSeat != e.Seat || b.last.LastPit != e.Pit || e.Pit+e.OppositePit != 7 {
			t.Fatalf("%v after %v", e, b.last)
		}
		taken := b.lift(e.Seat, e.Pit) + b.lift(otherSeat(e.Seat), e.OppositePit)
		if taken != e.Stones {
			t.Fatalf("%v: there are %d stones", e, taken)
		}
		b.stores[e.Seat-South] += taken
		b.gain += taken
	case SowingSummary:
		if e.Laps != b.laps || e.StonesSown != b.sown || e.StoreGain != b.gain {
			t.Fatalf("%v, but the laps add up to %+v", e, b)
		}
		if e.Next == AnotherTurn && b.last.Landing != Store {
			t.Fatalf("%v after %v", e, b.last)
		}
	case StonesSwept:
		swept := 0
		for pit := 1; pit <= 6; pit++ {
			swept += b.lift(e.Seat, pit)
		}
		if swept != e.Stones {
			t.Fatalf("%v: there are %d stones", e, swept)
		}
		b.stores[e.Seat-South] += swept
	case TurnStarted:
		b.turn = e.Seat
	case SeatOut:
	case GameEnded:
		b.outcome = e.Outcome
	default:
		t.Fatalf("unexpected event %v", e)
	}
}

func (b *table) lift(seat, pit int) int {
	stones := b.pits[seat-South][pit-1]
	b.pits[seat-South][pit-1] = 0
	return stones
}

// sow shows a lap stone by stone.
func (b *table) sow(t *rapid.T, lap LapSown) {
	if b.last != nil && (b.last.Landing != Relay || b.last.LastSeat != lap.PitSeat || b.last.LastPit != lap.Pit) {
		t.Fatalf("%v after %v", lap, b.last)
	}
	if stones := b.lift(lap.PitSeat, lap.Pit); stones != lap.Stones {
		t.Fatalf("%v lifts %d stones", lap, stones)
	}
	seat, pit := lap.PitSeat, lap.Pit
	for range lap.Stones {
		switch {
		case pit == 6 && seat == lap.Seat:
			pit = 0
			b.stores[seat-South]++
			b.gain++
			continue
		case pit == 6 || pit == 0:
			seat, pit = otherSeat(seat), 1
		default:
			pit++
		}
		b.pits[seat-South][pit-1]++
	}
	if seat != lap.LastSeat || pit != lap.LastPit {
		t.Fatalf("%v ends in %s", lap, holeName(seat, pit))
	}
	b.laps++
	b.sown += lap.Stones
	b.last = &lap
}

// TestReference compares every move of positions of all kinds with the reference.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPosition(t, drawRuleset(t))
		for pit := 1; pit <= 6; pit++ {
			g := newReference(p)
			if !slices.Contains(g.legal(), pit) {
				continue
			}
			next, summary, err := p.Sow(pit)
			if err != nil {
				t.Fatalf("%v, pit %d: %v", p, pit, err)
			}
			did := g.sow(pit)
			want := SowingSummary{Laps: did.laps, StonesSown: did.sown, StoreGain: did.gain, Next: did.next}
			if next.String() != g.String() || summary != want {
				t.Fatalf("%v, pit %d: %v, %+v; the reference says %v, %+v", p, pit, next, summary, g, want)
			}
			if preview, err := p.Preview(pit); err != nil || preview != summary {
				t.Fatalf("%v, pit %d: preview %+v, %v", p, pit, preview, err)
			}
			if summary.StonesSown >= 13*(p.Stones()+1) {
				t.Fatalf("%v, pit %d sows %d stones", p, pit, summary.StonesSown)
			}
		}
	})
}

// TestSymmetry exchanges the sides: the same pit does the same.
func TestSymmetry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ruleset := drawRuleset(t)
		p := drawPosition(t, ruleset)
		mirrored, err := ruleset.ParsePosition(mirror(p.String()), p.Options().HouseRules)
		if err != nil {
			t.Fatal(err)
		}
		for _, move := range p.AppendLegal(nil) {
			next, did, err := p.Sow(int(move))
			if err != nil {
				t.Fatal(err)
			}
			mirroredNext, mirroredDid, err := mirrored.(Position).Sow(int(move))
			if err != nil {
				t.Fatal(err)
			}
			if mirror(next.String()) != mirroredNext.String() || did != mirroredDid {
				t.Fatalf("%v, %v: %v, %v; mirrored: %v, %v", p, move, next, did, mirroredNext, mirroredDid)
			}
		}
	})
}

// mirror exchanges the sides in the text of a position.
func mirror(text string) string {
	fields := strings.Split(text, " ")
	south, north, _ := strings.Cut(fields[0], "/")
	southStore, northStore, _ := strings.Cut(fields[1], "-")
	side := strings.Map(func(r rune) rune {
		switch r {
		case 's':
			return 'n'
		case 'n':
			return 's'
		}
		return r
	}, fields[2])
	return north + "/" + south + " " + northStore + "-" + southStore + " " + side
}

// TestMoverNeverEmptiesOpponent: a relay cannot leave the opponent's side empty
// unless it was empty before.
//
// Pits of the opponent are lifted by relay only, with two stones or more, so that
// the next hole gets one. The pit lifted last, if all end up empty, is therefore the
// sixth. The lap that ended there passed the fifth pit and left a stone in it, which
// nobody lifts anymore, unless it came from the fifth pit itself with one stone; but
// a relay lifts two.
func TestMoverNeverEmptiesOpponent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPosition(t, avalancheGame)
		if p.board.otherEmpty() {
			return
		}
		for _, move := range p.AppendLegal(nil) {
			if end, _, _ := p.board.reach(int(move) - 1).relay(); end.board.otherEmpty() {
				t.Fatalf("%v, %v empties the other side", p, move)
			}
		}
	})
}

// TestNoAllocation: looking ahead costs no memory.
func TestNoAllocation(t *testing.T) {
	for _, ruleset := range rulesets {
		start, _, err := ruleset.Start(engine.Setup{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := start.(Position)
		buffer := make([]Move, 0, PitsPerSide)
		var next Position
		var did SowingSummary
		allocs := testing.AllocsPerRun(100, func() {
			buffer = p.AppendLegal(buffer[:0])
			for _, move := range buffer {
				next, did, _ = p.Sow(int(move))
				did, _ = p.Preview(int(move))
			}
		})
		if allocs != 0 || did == (SowingSummary{}) || next == p {
			t.Errorf("%s: %v allocations", ruleset.Info().ID, allocs)
		}
	}
}
