package state

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func parts(texts ...string) [][]byte {
	list := make([][]byte, 0, len(texts))
	for _, text := range texts {
		list = append(list, []byte(text))
	}
	return list
}

func TestGameIDDependsOnEveryPart(t *testing.T) {
	ring := twoKeys(t)
	key := ring.Primary()
	lists := [][][]byte{
		parts(),
		parts(""),
		parts("", ""),
		parts("tenant", "marble-basic", "1", "4 players", "request"),
		parts("tenan", "tmarble-basic", "1", "4 players", "request"),
		parts("tenant", "marble-basic", "2", "4 players", "request"),
		parts("tenant", "marble-basic", "1", "3 players", "request"),
		parts("tenant", "marble-basic", "1", "4 players", "another"),
		parts("tenant", "marble-basic", "1", "4 players", "request", ""),
		parts("", "tenant", "marble-basic", "1", "4 players", "request"),
		parts("tenantmarble-basic14 playersrequest"),
	}
	seen := make(map[GameID]int)
	for i, list := range lists {
		id := key.GameID(list...)
		if id != key.GameID(list...) {
			t.Errorf("list %d has two ids", i)
		}
		if other, clash := seen[id]; clash {
			t.Errorf("lists %d and %d have the same id", i, other)
		}
		seen[id] = i
		if id == ring.keys[secondID&0xff].GameID(list...) {
			t.Errorf("list %d has the same id with another key", i)
		}
	}
}

func TestGameIDTellsListsApart(t *testing.T) {
	key := twoKeys(t).Primary()
	list := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 'a'}), 0, 3), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = string(a[i]) == string(b[i])
		}
		if (key.GameID(a...) == key.GameID(b...)) != same {
			t.Fatalf("%q and %q", a, b)
		}
	})
}

func TestSeatKeysStayTheSameInAGame(t *testing.T) {
	key := twoKeys(t).Primary()
	first := example()
	rapid.Check(t, func(t *rapid.T) {
		later := drawState(t)
		later.Ruleset, later.RulesetVersion, later.GameID = first.Ruleset, first.RulesetVersion, first.GameID
		for seat := 1; seat <= 8; seat++ {
			if !key.IsSeatKey(later, seat, key.SeatKey(first, seat)) {
				t.Fatalf("the key of seat %d is no longer accepted", seat)
			}
		}
		if !key.IsHostKey(later, key.HostKey(first)) {
			t.Fatal("the host key is no longer accepted")
		}
	})
}

func TestSeatKeysDifferByGameSeatAndKey(t *testing.T) {
	ring := twoKeys(t)
	first := example()
	others := map[string]State{"the same game": first}
	for name, change := range map[string]func(*State){
		"another game":    func(s *State) { s.GameID[7]++ },
		"another ruleset": func(s *State) { s.Ruleset++ },
		"another version": func(s *State) { s.RulesetVersion++ },
	} {
		state := first
		change(&state)
		others[name] = state
	}
	form := regexp.MustCompile(`^[A-Za-z0-9_-]{16}$`)
	seen := make(map[string]string)
	add := func(whose, secret string) {
		t.Helper()
		if !form.MatchString(secret) {
			t.Errorf("%s is %q", whose, secret)
		}
		if other, clash := seen[secret]; clash {
			t.Errorf("%s is that of %s", whose, other)
		}
		seen[secret] = whose
	}
	for name, state := range others {
		for _, key := range []*Key{ring.Primary(), ring.keys[secondID&0xff]} {
			for seat := 1; seat <= 16; seat++ {
				add(name+", seat "+string(rune('A'+seat)), key.SeatKey(state, seat))
			}
			add(name+", host", key.HostKey(state))
		}
	}
	key := ring.Primary()
	seat1 := key.SeatKey(first, 1)
	for _, wrong := range []string{"", seat1[:15], seat1 + "A", seat1 + "\n", key.SeatKey(first, 2), key.HostKey(first), "AAAAAAAAAAAAAAAA"} {
		if key.IsSeatKey(first, 1, wrong) {
			t.Errorf("%q is accepted for seat 1", wrong)
		}
	}
	if key.IsHostKey(first, seat1) || key.IsHostKey(first, "") {
		t.Error("a wrong host key is accepted")
	}
}

// What games in progress rely on must never change. The values were computed from
// the package's documentation alone, in another language.
func TestDerivedValuesAreKept(t *testing.T) {
	key := twoKeys(t).Primary()
	state := example()
	move := key.MoveChance(state, "Br")
	start := key.StartChance(state, parts("2", "rows=4")...)
	for name, value := range map[string]struct{ got, want any }{
		"game id":    {key.GameID(parts("tenant", "marble-basic", "1", "request")...).String(), "0d39b2c1eb96a223"},
		"seat key":   {key.SeatKey(state, 1), "xmgn1tr3AAI0hNQ1"},
		"host key":   {key.HostKey(state), "FcU0FpgSazv_xSyE"},
		"move":       {move.Draw("die", 0, 1_000_000), 227154},
		"move again": {move.Draw("die", 1, 1_000_000), 531075},
		"block 1":    {move.Draw("die", 580, 1<<62+1), 4251939827228142152},
		"start":      {start.Draw("gate", 3, 1_000_000), 111528},
		"simulation": {key.SimulationChance(state, "hint 0").Draw("die", 0, 1_000_000), 761964},
	} {
		if value.got != value.want {
			t.Errorf("%s is %v, want %v", name, value.got, value.want)
		}
	}
}
