package state

import (
	"encoding/binary"
	"math"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

// draws is long enough that two independent chances never agree in it.
func draws(chance engine.Chance, purpose string) [8]int {
	var list [8]int
	for i := range list {
		list[i] = chance.Draw(purpose, i, 1<<30)
	}
	return list
}

func TestChanceDependsOnWhatIsDecided(t *testing.T) {
	ring := twoKeys(t)
	key, otherKey := ring.Primary(), ring.keys[secondID&0xff]
	state := example()
	changed := func(change func(*State)) State {
		other := state
		change(&other)
		return other
	}
	all := map[string][8]int{
		"move":                   draws(key.MoveChance(state, "Br"), "die"),
		"other move":             draws(key.MoveChance(state, "Bb"), "die"),
		"no move":                draws(key.MoveChance(state, ""), "die"),
		"other purpose":          draws(key.MoveChance(state, "Br"), "card"),
		"move runs on":           draws(key.MoveChance(state, "B"), "rdie"),
		"other ply":              draws(key.MoveChance(changed(func(s *State) { s.Ply++ }), "Br"), "die"),
		"other position":         draws(key.MoveChance(changed(func(s *State) { s.Position = []byte("other") }), "Br"), "die"),
		"other game":             draws(key.MoveChance(changed(func(s *State) { s.GameID[0]++ }), "Br"), "die"),
		"other ruleset":          draws(key.MoveChance(changed(func(s *State) { s.Ruleset++ }), "Br"), "die"),
		"other version":          draws(key.MoveChance(changed(func(s *State) { s.RulesetVersion++ }), "Br"), "die"),
		"other flag":             draws(key.MoveChance(changed(func(s *State) { s.CustomStart = true }), "Br"), "die"),
		"other key":              draws(otherKey.MoveChance(state, "Br"), "die"),
		"simulation":             draws(key.SimulationChance(state, "Br"), "die"),
		"other simulation":       draws(key.SimulationChance(state, "Bb"), "die"),
		"simulation, other ply":  draws(key.SimulationChance(changed(func(s *State) { s.Ply++ }), "Br"), "die"),
		"start":                  draws(key.StartChance(state, parts("Br")...), "die"),
		"start without parts":    draws(key.StartChance(state), "die"),
		"start, parts run on":    draws(key.StartChance(state, parts("B", "r")...), "die"),
		"start, empty part":      draws(key.StartChance(state, parts("Br", "")...), "die"),
		"start, part is purpose": draws(key.StartChance(state, parts("Br", "die")...), ""),
		"start, other game":      draws(key.StartChance(changed(func(s *State) { s.GameID[0]++ }), parts("Br")...), "die"),
		"start, other ruleset":   draws(key.StartChance(changed(func(s *State) { s.Ruleset++ }), parts("Br")...), "die"),
		"start, other version":   draws(key.StartChance(changed(func(s *State) { s.RulesetVersion++ }), parts("Br")...), "die"),
		"start, other key":       draws(otherKey.StartChance(state, parts("Br")...), "die"),
	}
	seen := make(map[[8]int]string)
	for name, list := range all {
		if other, clash := seen[list]; clash {
			t.Errorf("%q and %q draw the same", name, other)
		}
		seen[list] = name
	}
	if again := draws(key.MoveChance(state, "Br"), "die"); again != all["move"] {
		t.Errorf("the same move draws %v and %v", all["move"], again)
	}
	if again := draws(twoKeys(t).Primary().MoveChance(state, "Br"), "die"); again != all["move"] {
		t.Errorf("another process draws %v and %v", all["move"], again)
	}
	for i, drawn := range all["move"] {
		for j := range i {
			if all["move"][j] == drawn {
				t.Errorf("indices %d and %d draw the same", i, j)
			}
		}
	}
}

// A start is the same whatever the service's ledger and the position are: the
// game id says already what was asked for.
func TestStartChanceDependsOnTheIdentityOnly(t *testing.T) {
	key := twoKeys(t).Primary()
	rapid.Check(t, func(t *rapid.T) {
		first, other := drawState(t), drawState(t)
		other.Ruleset, other.RulesetVersion, other.GameID = first.Ruleset, first.RulesetVersion, first.GameID
		if draws(key.StartChance(first), "gate") != draws(key.StartChance(other), "gate") {
			t.Fatal("the start depends on more than ruleset and game id")
		}
	})
}

func TestDrawsAreUniform(t *testing.T) {
	key := twoKeys(t).Primary()
	state := example()
	const samples = 10_000
	for _, n := range []int{2, 3, 6, 7, 54, 100} {
		for name, draw := range map[string]func(i int) int{
			"indices": func(i int) int { return key.MoveChance(state, "Br").Draw("die", i, n) },
			"moves":   func(i int) int { return key.MoveChance(state, strconv.Itoa(i)).Draw("die", 0, n) },
			"starts": func(i int) int {
				s := state
				binary.BigEndian.PutUint64(s.GameID[:], uint64(i))
				return key.StartChance(s).Draw("die", 0, n)
			},
		} {
			counts := make([]float64, n)
			for i := range samples {
				counts[draw(i)]++
			}
			// The chance of a sum that far off is below one in a million; the keys
			// are fixed, so a good one stays good.
			expected, sum := float64(samples)/float64(n), 0.0
			for _, count := range counts {
				sum += (count - expected) * (count - expected) / expected
			}
			if limit := chiSquareLimit(n - 1); sum > limit {
				t.Errorf("%s: chi-square of %d answers is %.1f, above %.1f", name, n, sum, limit)
			}
		}
	}
}

// chiSquareLimit is the value that chi-square exceeds about once in a million
// times (Wilson and Hilferty, 1931).
func chiSquareLimit(freedom int) float64 {
	const z = 4.75
	k := float64(freedom)
	return k * math.Pow(1-2/(9*k)+z*math.Sqrt(2/(9*k)), 3)
}

func TestUniformSkipsTheSurplus(t *testing.T) {
	block := func(words ...uint64) (b [32]byte) {
		for i, word := range words {
			binary.BigEndian.PutUint64(b[8*i:], word)
		}
		return b
	}
	for _, test := range []struct {
		name   string
		n      uint64
		blocks [][32]byte
		want   uint64
	}{
		// 2^64 mod 3 = 1, mod 6 = 4, mod 10 = 6; powers of two leave nothing over.
		{"first word", 3, [][32]byte{block(7, 0, 0, 0)}, 1},
		{"0 is over", 3, [][32]byte{block(0, 5, 0, 0)}, 2},
		{"3 is over, 4 is not", 6, [][32]byte{block(3, 4, 0, 0)}, 4},
		{"last word", 10, [][32]byte{block(0, 5, 1, 6)}, 6},
		{"second block", 10, [][32]byte{block(0, 1, 2, 3), block(4, 17, 0, 0)}, 7},
		{"third block", 10, [][32]byte{block(), block(), block(9)}, 9},
		{"power of two", 8, [][32]byte{block(0)}, 0},
		{"one answer", 1, [][32]byte{block(0)}, 0},
		{"greatest word", 6, [][32]byte{block(math.MaxUint64)}, 3},
		{"half is over", 1<<63 + 1, [][32]byte{block(1<<63-2, 1<<63-1)}, 1<<63 - 1},
	} {
		asked := 0
		got := uniform(test.n, func(number uint64) [32]byte {
			if number != uint64(asked) {
				t.Fatalf("%s: asked for block %d, want %d", test.name, number, asked)
			}
			asked++
			return test.blocks[number]
		})
		if got != test.want || asked != len(test.blocks) {
			t.Errorf("%s: %d after %d blocks, want %d after %d", test.name, got, asked, test.want, len(test.blocks))
		}
	}
}

func TestDrawsStayInRange(t *testing.T) {
	key := twoKeys(t).Primary()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, math.MaxInt).Draw(t, "n")
		chance := key.MoveChance(drawState(t), rapid.String().Draw(t, "move"))
		if got := chance.Draw(rapid.String().Draw(t, "purpose"), rapid.Int().Draw(t, "index"), n); got < 0 || got >= n {
			t.Fatalf("drew %d of %d", got, n)
		}
	})
}

func TestKeysAreSafeForConcurrentUse(t *testing.T) {
	ring := twoKeys(t)
	key := ring.Primary()
	chance := key.MoveChance(example(), "Br")
	token, drawn := mustSign(t, key, example(), "chat"), draws(chance, "die")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				if again, err := key.Sign(example(), "chat"); err != nil || again != token {
					t.Errorf("signed %q, %v", again, err)
				}
				if _, _, err := ring.Open(token, "chat"); err != nil {
					t.Error(err)
				}
				if draws(chance, "die") != drawn {
					t.Error("other draws")
				}
			}
		})
	}
	group.Wait()
}
