package mancala

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

// reference plays by the rule book, stone by stone, with nothing taken from the
// package but the notation of its positions.
type reference struct {
	kalah, noSweep bool
	pits           [2][6]int
	stores         [2]int
	mover          int // 0 south, 1 north
	over           bool
}

// referenceSummary is what a move of the reference did.
type referenceSummary struct {
	laps, sown, gain int
	next             Next
}

func (g *reference) sow(pit int) referenceSummary {
	me := g.mover
	side, i := me, pit-1
	before := g.stores[me]
	var did referenceSummary
	for {
		hand := g.pits[side][i]
		g.pits[side][i] = 0
		did.laps++
		did.sown += hand
		inStore := false
		for hand > 0 {
			hand--
			inStore = false
			switch {
			case i < 5:
				i++
				g.pits[side][i]++
			case i == 5 && side == me:
				i = 6
				g.stores[me]++
				inStore = true
			default:
				side, i = 1-side, 0
				g.pits[side][i]++
			}
		}
		if inStore {
			did.next = AnotherTurn
			break
		}
		if g.kalah {
			across := &g.pits[1-side][5-i]
			if side == me && g.pits[side][i] == 1 && *across > 0 {
				g.stores[me] += 1 + *across
				g.pits[side][i], *across = 0, 0
			}
			break
		}
		if g.pits[side][i] == 1 {
			break
		}
	}
	did.gain = g.stores[me] - before
	if g.pits[0] == [6]int{} || g.pits[1] == [6]int{} {
		g.over = true
		did.next = EndOfGame
		if !g.noSweep {
			for side := range g.pits {
				for i, n := range g.pits[side] {
					g.stores[side] += n
					g.pits[side][i] = 0
				}
			}
		}
	}
	if did.next == OpponentsTurn {
		g.mover = 1 - me
	}
	return did
}

func (g *reference) legal() []int {
	var pits []int
	for i, n := range g.pits[g.mover] {
		if n > 0 && !g.over {
			pits = append(pits, i+1)
		}
	}
	return pits
}

func (g *reference) String() string {
	side := "sn"[g.mover : g.mover+1]
	if g.over {
		side = "-"
	}
	var rows [2]string
	for s, row := range g.pits {
		rows[s] = fmt.Sprintf("%d,%d,%d,%d,%d,%d", row[0], row[1], row[2], row[3], row[4], row[5])
	}
	return fmt.Sprintf("%s/%s %d-%d %s", rows[0], rows[1], g.stores[0], g.stores[1], side)
}

// newReference takes over a position in progress.
func newReference(p Position) *reference {
	return &reference{
		kalah:   p.status.has(kalah),
		noSweep: p.status.has(noSweep),
		pits:    [2][6]int{p.Pits(South), p.Pits(North)},
		stores:  [2]int{p.Store(South), p.Store(North)},
		mover:   p.mover() - South,
	}
}

var (
	rulesets      = Rulesets()
	avalancheGame = rulesets[0]
	kalahGame     = rulesets[1]
)

func drawRuleset(t *rapid.T) engine.Ruleset {
	return rapid.SampledFrom(rulesets).Draw(t, "ruleset")
}

// drawHouseRules draws house rules that a ruleset knows.
func drawHouseRules(t *rapid.T, ruleset engine.Ruleset) []string {
	if len(ruleset.Info().HouseRules) > 0 && rapid.Bool().Draw(t, noSweepID) {
		return []string{noSweepID}
	}
	return nil
}

// drawPosition draws a position in progress, of any number of stones: crowded pits
// and empty sides are much more frequent in it than in play.
func drawPosition(t *rapid.T, ruleset engine.Ruleset) Position {
	var counts [14]int // pits, then stores
	stones := rapid.IntRange(1, maxStones).Draw(t, "stones")
	heap := rapid.SampledFrom([]int{1, 1, 3, 20, 60}).Draw(t, "heap")
	seat := rapid.IntRange(South, North).Draw(t, "seat")
	first := (seat - South) * PitsPerSide
	counts[first+rapid.IntRange(0, PitsPerSide-1).Draw(t, "pit")]++
	for left := stones - 1; left > 0; {
		n := rapid.IntRange(1, min(heap, left)).Draw(t, "n")
		counts[rapid.IntRange(0, len(counts)-1).Draw(t, "place")] += n
		left -= n
	}
	s := setup{seat: seat, stores: [2]int(counts[12:])}
	s.pits[0], s.pits[1] = [6]int(counts[:6]), [6]int(counts[6:12])
	if ruleset == kalahGame {
		s.flags |= kalah
	}
	if drawHouseRules(t, ruleset) != nil {
		s.flags |= noSweep
	}
	p, err := s.position()
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return p
}
