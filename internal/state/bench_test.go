package state

import (
	"testing"

	"github.com/avalanched/avalanched/internal/floor"
)

// fortyBytes is a state of 40 bytes, as a two-player marble game has.
func fortyBytes() State {
	state := example()
	state.Position = make([]byte, 40-headerLength-trailerLength)
	for i := range state.Position {
		state.Position[i] = byte(37 * i)
	}
	return state
}

// BenchmarkOpenAndSign verifies, parses and signs a state again, which is what a move costs
// besides the rules. It reports also how many HMACs over 64 bytes take the same time.
func BenchmarkOpenAndSign(b *testing.B) {
	ring := twoKeys(b)
	token := mustSign(b, ring.Primary(), fortyBytes(), "")
	move := func() {
		state, key, err := ring.Open(token, "")
		if err != nil {
			b.Fatal(err)
		}
		state.Ply++
		if _, err := key.Sign(state, ""); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		move()
	}
	b.ReportMetric(floor.Ratio(move), "HMACs")
}

func BenchmarkOpen(b *testing.B) {
	ring := twoKeys(b)
	token := mustSign(b, ring.Primary(), fortyBytes(), "")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ring.Open(token, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenForged(b *testing.B) {
	ring := twoKeys(b)
	token := mustSign(b, ring.Primary(), fortyBytes(), "another context")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ring.Open(token, ""); err == nil {
			b.Fatal("accepted")
		}
	}
}

func BenchmarkSign(b *testing.B) {
	key, state := twoKeys(b).Primary(), fortyBytes()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := key.Sign(state, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	chance := twoKeys(b).Primary().MoveChance(fortyBytes(), "Br")
	b.ReportAllocs()
	for b.Loop() {
		chance.Draw("card", 1, 54)
	}
}

func BenchmarkIsSeatKey(b *testing.B) {
	key, state := twoKeys(b).Primary(), fortyBytes()
	secret := key.SeatKey(state, 1)
	b.ReportAllocs()
	for b.Loop() {
		if !key.IsSeatKey(state, 1, secret) {
			b.Fatal("refused")
		}
	}
}

// The allocations that remain are the results: a position, a text.
func TestHotPathsAllocateOnlyTheirResults(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector changes how pools allocate")
	}
	ring := twoKeys(t)
	key, state := ring.Primary(), fortyBytes()
	token := mustSign(t, key, state, "chat")
	chance := key.MoveChance(state, "Br")
	for name, test := range map[string]struct {
		limit float64
		call  func()
	}{
		"open":        {1, func() { _, _, _ = ring.Open(token, "chat") }},
		"open forged": {0, func() { _, _, _ = ring.Open(token, "another chat") }},
		"sign":        {1, func() { _, _ = key.Sign(state, "chat") }},
		"draw":        {0, func() { chance.Draw("die", 0, 6) }},
	} {
		if count := testing.AllocsPerRun(1000, test.call); count > test.limit {
			t.Errorf("%s allocates %v times, want at most %v", name, count, test.limit)
		}
	}
}
