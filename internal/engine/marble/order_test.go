package marble

import (
	"slices"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

// otherOrders are those in which marbles in motion do not run.
var otherOrders = map[string]schedule{
	"the one released first runs next": func(moving []referenceMarble) int {
		return least(moving, func(m referenceMarble) int { return m.number })
	},
	"a freed marble runs at once": func(moving []referenceMarble) int {
		return least(moving, func(m referenceMarble) int { return -m.number })
	},
	"the leftmost marble moves": func(moving []referenceMarble) int {
		return least(moving, func(m referenceMarble) int { return m.lane })
	},
	"one speed, a freed marble before its releaser": func(moving []referenceMarble) int {
		return least(moving, func(m referenceMarble) int { return m.row*1000 - m.number })
	},
	"one speed, a freed marble behind all others": func(moving []referenceMarble) int {
		return least(moving, func(m referenceMarble) int { return m.row*1000 + m.number })
	},
}

// oneSpeed is the order of marbles that fall at one speed, each released one right behind
// its releaser.
func oneSpeed(moving []referenceMarble) int {
	return least(moving, func(m referenceMarble) int { return m.row })
}

// least is the place of the first marble with the least value.
func least(moving []referenceMarble, value func(referenceMarble) int) int {
	best := 0
	for i, m := range moving {
		if value(m) < value(moving[best]) {
			best = i
		}
	}
	return best
}

// TestVectorsNeedTheOrder checks that the vectors, which TestVectors plays, fail under any
// other order.
func TestVectorsNeedTheOrder(t *testing.T) {
	results := map[string]int{}
	vectors := readVectors(t)
	for _, vector := range vectors {
		if !vector.agrees(t, lastReleasedNext) {
			t.Errorf("%s: the reference disagrees under the order of the rules", vector.Start)
		}
		if !vector.agrees(t, oneSpeed) {
			t.Errorf("%s: one speed leads elsewhere", vector.Start)
		}
		for name, order := range otherOrders {
			if !vector.agrees(t, order) {
				results[name]++
			}
		}
	}
	for name := range otherOrders {
		if results[name] == 0 {
			t.Errorf("none of %d vectors disagrees with the order %q", len(vectors), name)
		}
	}
	t.Logf("of %d vectors, so many disagree: %v", len(vectors), results)
}

// agrees tells whether the vector's boards and exits are those of the reference under an
// order. Exits are compared as a set, because marbles may leave at one time.
func (v *vector) agrees(t *testing.T, order schedule) bool {
	board := parseReference(v.Start)
	for _, step := range v.Steps {
		move, err := ParseMove(step.Move)
		if err != nil {
			t.Fatal(err)
		}
		_, exits := board.drop(int(move.Chute()), step.Move[1], order)
		want := step.exits()
		slices.Sort(want)
		slices.Sort(exits)
		if board.String() != step.Board || !slices.Equal(exits, want) {
			return false
		}
	}
	return true
}

// TestOrderIsOneSpeed checks what the order of the rules means: it leads to the same board
// and exits as if all marbles fell at one speed, each released one right behind its
// releaser.
func TestOrderIsOneSpeed(t *testing.T) {
	seed := engine.Seeded(11)
	for i := range 5000 {
		board := randomBoard(seed, i, 1+seed.Draw("rows", i, MaxRows))
		chute := FirstChute + Lane(seed.Draw("chute", i, Chutes))
		ruled, together := parseReference(board.String()), parseReference(board.String())
		_, exits := ruled.drop(int(chute), 'r', lastReleasedNext)
		_, others := together.drop(int(chute), 'r', oneSpeed)
		slices.Sort(exits)
		slices.Sort(others)
		if ruled.String() != together.String() || !slices.Equal(exits, others) {
			t.Fatalf("%v, %v: %v and %v by the rule, %v and %v at one speed", board, chute, ruled, exits, together, others)
		}
	}
}
