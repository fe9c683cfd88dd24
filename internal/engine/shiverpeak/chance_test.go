package shiverpeak

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

// trials is the number of rolls and draws of each chi-square test.
const trials = 100_000

// chiSquare is Pearson's statistic against equal chances.
func chiSquare(counts []int) float64 {
	total := 0
	for _, count := range counts {
		total += count
	}
	expected := float64(total) / float64(len(counts))
	sum := 0.0
	for _, count := range counts {
		sum += (float64(count) - expected) * (float64(count) - expected) / expected
	}
	return sum
}

// The values that chance exceeds once in ten thousand times, by degrees of freedom.
const limit5, limit35, limit53 = 25.74, 73.2, 97.9

func checkUniform(t *testing.T, what string, counts []int, limit float64) {
	t.Helper()
	if got := chiSquare(counts); got > limit {
		t.Errorf("%s: chi-square %.1f is above %.1f: %v", what, got, limit, counts)
	}
}

func apply(t testing.TB, p engine.Position, notation string, chance engine.Chance) (Position, []engine.Event) {
	t.Helper()
	move, err := Ruleset().ParseMove(notation)
	if err != nil {
		t.Fatal(err)
	}
	next, events, err := p.Apply(move, chance)
	if err != nil {
		t.Fatalf("%v: %s: %v", p, notation, err)
	}
	return next.(Position), events
}

func parse(t testing.TB, text string) Position {
	t.Helper()
	position, err := Ruleset().ParsePosition(text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return position.(Position)
}

// TestRollsAreFair rolls for every purpose.
func TestRollsAreFair(t *testing.T) {
	encounter := parse(t, "seats 5:-:-/4:-:-/3:-:- turn 2 table E26 avalanche none effect - discard - roll 1")
	onlyAvalanches := parse(t, "seats 5:-:-/4:-:-/3:-:- turn 2 table - avalanche none effect - discard "+
		run('E', 1, 36)+"+"+run('B', 1, 12)+" roll 1")
	for move, p := range map[string]Position{"avoid": encounter, "keep": encounter, "reveal": onlyAvalanches} {
		counts := make([]int, 6)
		seed := engine.Seeded(1)
		for range trials {
			seed = seed.Next()
			_, events := apply(t, p, move, seed)
			for _, event := range events {
				if rolled, ok := event.(DieRolled); ok {
					counts[rolled.Die-1]++
				}
			}
		}
		checkUniform(t, move, counts, limit5)
	}
	first, seats := make([]int, 6), make([]int, 6)
	seed := engine.Seeded(2)
	for range trials {
		seed = seed.Next()
		position, events, err := Ruleset().Start(engine.Setup{Players: 6}, seed)
		if err != nil {
			t.Fatal(err)
		}
		first[events[0].(DieRolled).Die-1]++
		seats[position.Turn().Seat-1]++
	}
	checkUniform(t, "turn order", first, limit5)
	checkUniform(t, "first seat", seats, limit5)
}

// TestDiceAreIndependent rolls pairs: the second die must not depend on the first.
func TestDiceAreIndependent(t *testing.T) {
	pairs := make([]int, 36)
	seed := engine.Seeded(3)
	for range trials {
		seed = seed.Next()
		g := &play{Position: newPosition(3), chance: seed}
		pairs[(g.roll(ToFace, 0, 0, Need{})-1)*6+g.roll(ToFace, 1, 0, Need{})-1]++
	}
	checkUniform(t, "pairs", pairs, limit35)
}

// TestDrawsAreFair draws the first card of many games, and the next card of a game
// in which some are gone.
func TestDrawsAreFair(t *testing.T) {
	counts := make([]int, Cards)
	seed := engine.Seeded(4)
	for range trials {
		seed = seed.Next()
		_, events := apply(t, newPosition(3), "reveal", seed)
		counts[events[0].(CardRevealed).Card-1]++
	}
	checkUniform(t, "first draws", counts, limit53)

	p := parse(t, "seats 5:E04:E02/4:-:E07/3:-:- turn 2 table - avalanche none effect - discard "+run('E', 9, 36)+"+"+run('B', 1, 12)+"+"+run('A', 1, 6)+" roll 1")
	left := map[ID]int{}
	for range trials {
		seed = seed.Next()
		_, events := apply(t, p, "reveal", seed)
		left[events[0].(CardRevealed).Card]++
	}
	pile := p.all(inDraw)
	counts = make([]int, len(pile))
	for i, id := range pile {
		counts[i] = left[id]
	}
	if len(counts) != 5 || len(left) != 5 {
		t.Fatalf("drawn were %v", left)
	}
	checkUniform(t, "later draws", counts, limit5)
}

// TestNoFutureInTheState plays the same moves with the same results under different
// chances: the bytes agree, and the next draws do not.
func TestNoFutureInTheState(t *testing.T) {
	var (
		packed []byte
		drawn  = make(map[ID]bool)
	)
	for seed := engine.Seeded(1); seed < 300; seed++ {
		position, _, err := Ruleset().Start(engine.Setup{Players: 4}, seed)
		if err != nil {
			t.Fatal(err)
		}
		p := position.(Position)
		if p.turn != 0 || p.lastRoll != 5 {
			continue
		}
		if packed == nil {
			packed = p.AppendPacked(nil)
		}
		if !bytes.Equal(p.AppendPacked(nil), packed) {
			t.Fatalf("%v packs to %x, and before to %x", p, p.AppendPacked(nil), packed)
		}
		_, events := apply(t, p, "reveal", seed.Next())
		drawn[events[0].(CardRevealed).Card] = true
	}
	if len(drawn) < 2 {
		t.Errorf("only %v were drawn", drawn)
	}
}

// onceChance minds that a move never asks for the same random number twice: two rolls
// would always agree.
type onceChance struct {
	engine.Seeded
	t     *rapid.T
	asked map[string]bool
}

func (c onceChance) Draw(purpose string, index, n int) int {
	key := fmt.Sprintf("%s %d", purpose, index)
	if c.asked[key] {
		c.t.Fatalf("%s is asked for twice", key)
	}
	c.asked[key] = true
	return c.Seeded.Draw(purpose, index, n)
}

func TestChanceIsAskedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := midgame(t)
		for _, move := range p.LegalMoves() {
			chance := onceChance{engine.Seeded(rapid.Uint64().Draw(t, "seed")), t, make(map[string]bool)}
			if _, _, err := p.Apply(move, chance); err != nil {
				t.Fatal(err)
			}
		}
		chance := onceChance{engine.Seeded(rapid.Uint64().Draw(t, "seed")), t, make(map[string]bool)}
		if _, _, err := Ruleset().Start(anyPlayers(t), chance); err != nil {
			t.Fatal(err)
		}
	})
}
