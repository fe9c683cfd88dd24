package shiverpeak

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

// TestChances compares the chances of tests with those worked out by hand, in
// thirty-sixths.
func TestChances(t *testing.T) {
	for text, want := range map[string][3]int{
		// With no, one and two active Encounters, at four lives.
		"roll 2":             {30, 30, 30},
		"roll 6":             {6, 6, 6},
		"roll odd":           {18, 18, 18},
		"roll even":          {18, 18, 18},
		"pay 1":              {36, 36, 36},
		"pay 3":              {36, 36, 36},
		"either of two 5":    {20, 20, 20},
		"either of two 6":    {11, 11, 11},
		"both of two 5":      {4, 4, 4},
		"both of two 3":      {16, 16, 16},
		"sum of two 8":       {15, 15, 15},
		"sum of two 10":      {6, 6, 6},
		"sum of two 12":      {1, 1, 1},
		"roll up to lives":   {24, 24, 24},
		"roll 6 with active": {6, 12, 18},
		"roll 3 with active": {24, 30, 36},
	} {
		test, err := parseTest(text)
		if err != nil {
			t.Fatal(err)
		}
		for active, ways := range want {
			if got, want := test.percent(skier{lives: 4, active: active}), (ways*1000/36+5)/10; got != want {
				t.Errorf("%s with %d active: %d%%, want %d%%", text, active, got, want)
			}
		}
	}
	upToLives := Test{Kind: RollUpToLives}
	for lives, want := range []int{17, 17, 33, 50, 67, 83, 100, 100, 100, 100} {
		if got := upToLives.percent(skier{lives: lives}); got != want {
			t.Errorf("up to %d lives: %d%%, want %d%%", lives, got, want)
		}
	}
}

// TestDiceStop checks that no die is rolled once a test is decided.
func TestDiceStop(t *testing.T) {
	for _, test := range []struct {
		text  string
		dice  []int
		pass  bool
		needs []Need
	}{
		{"either of two 4", []int{4}, true, []Need{{AtLeast: 4}}},
		{"either of two 4", []int{3, 4}, true, []Need{{AtLeast: 4}, {AtLeast: 4}}},
		{"either of two 4", []int{3, 3}, false, []Need{{AtLeast: 4}, {AtLeast: 4}}},
		{"both of two 4", []int{3}, false, []Need{{AtLeast: 4}}},
		{"both of two 4", []int{4, 3}, false, []Need{{AtLeast: 4}, {AtLeast: 4}}},
		{"both of two 4", []int{4, 4}, true, []Need{{AtLeast: 4}, {AtLeast: 4}}},
		{"sum of two 9", []int{2}, false, []Need{{AtLeast: 3}}},
		{"sum of two 9", []int{3, 5}, false, []Need{{AtLeast: 3}, {AtLeast: 6}}},
		{"sum of two 9", []int{3, 6}, true, []Need{{AtLeast: 3}, {AtLeast: 6}}},
		{"sum of two 8", []int{6, 1}, false, []Need{{AtLeast: 2}, {AtLeast: 2}}},
		{"roll odd", []int{3}, true, []Need{{Parity: Odd}}},
		{"roll odd", []int{4}, false, []Need{{Parity: Odd}}},
		{"roll even", []int{3}, false, []Need{{Parity: Even}}},
		{"roll up to lives", []int{4}, false, []Need{{AtMost: 3}}},
		{"roll up to lives", []int{3}, true, []Need{{AtMost: 3}}},
		{"roll 6 with active", []int{4}, true, []Need{{AtLeast: 4}}},
		{"roll 6 with active", []int{3}, false, []Need{{AtLeast: 4}}},
		{"pay 2", nil, true, nil},
	} {
		parsed, err := parseTest(test.text)
		if err != nil {
			t.Fatal(err)
		}
		var needs []Need
		dice := test.dice
		pass := parsed.pass(skier{lives: 3, active: 2}, func(need Need) int {
			if len(dice) == 0 {
				t.Fatalf("%s wants another die after %v", test.text, test.dice)
			}
			die := dice[0]
			dice, needs = dice[1:], append(needs, need)
			return die
		})
		if pass != test.pass || len(dice) > 0 || len(needs) != len(test.needs) {
			t.Fatalf("%s with %v: %v, needs %v", test.text, test.dice, pass, needs)
		}
		for i := range needs {
			if needs[i] != test.needs[i] {
				t.Errorf("%s with %v needs %v, want %v", test.text, test.dice, needs, test.needs)
			}
		}
	}
}

// TestOddsAreKept plays decisions of random games many times over and compares how
// often they succeed with what was said before.
func TestOddsAreKept(t *testing.T) {
	const trials = 600
	rapid.Check(t, func(t *rapid.T) {
		p := midgame(t)
		for _, move := range p.LegalMoves() {
			percent, ok := p.Odds(move)
			action := move.(Move).Action
			if want := action == Avoid || action == Face || action == Keep; ok != want {
				t.Fatalf("%v: odds of %v: %v", p, move, ok)
			}
			if !ok {
				continue
			}
			succeeded := 0
			seed := engine.Seeded(rapid.Uint64().Draw(t, "seed"))
			for range trials {
				seed = seed.Next()
				if succeeds(t, p, move, seed) {
					succeeded++
				}
			}
			// Five standard deviations and the rounding of the percents.
			expected, deviation := trials*percent/100, 5*12+trials/200
			if succeeded < expected-deviation || succeeded > expected+deviation {
				t.Fatalf("%v: %v succeeded %d times of %d, said %d%%", p, move, succeeded, trials, percent)
			}
			if percent == 100 && succeeded != trials {
				t.Fatalf("%v: %v failed at 100%%", p, move)
			}
		}
		for _, move := range alphabet() {
			if _, ok := p.Odds(move); ok && !p.legal(move.(Move)) {
				t.Fatalf("%v has odds for %v", p, move)
			}
		}
	})
}

// midgame draws a position from a random game.
func midgame(t *rapid.T) Position {
	seed := engine.Seeded(rapid.Uint64().Draw(t, "game"))
	position, _, err := Ruleset().Start(anyPlayers(t), seed)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 120).Draw(t, "plies") {
		seed = seed.Next()
		next, _, err := position.Apply(likely(position, position.LegalMoves(), seed), seed)
		if err != nil {
			t.Fatal(err)
		}
		if next.Outcome().Over() {
			break
		}
		position = next
	}
	return position.(Position)
}

func succeeds(t *rapid.T, p Position, move engine.Move, chance engine.Chance) bool {
	_, events, err := p.Apply(move, chance)
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events {
		if resolved, ok := event.(EncounterResolved); ok {
			return resolved.Success
		}
	}
	t.Fatalf("%v: %v resolves nothing", p, move)
	return false
}
