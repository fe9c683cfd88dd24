package marble

import (
	"testing"
	"time"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/floor"
)

// The work of the service beside the rules is to check and to make the tag of a state.
// That is the floor here: the benchmarks report what an operation costs as a multiple of
// one HMAC-SHA256 over 64 bytes, a metric named HMACs.

// samples is the number of different positions that a benchmark goes through. It is more
// than a branch predictor learns by heart.
const samples = 4096

// reportHMACs measures a part of the samples at a time, in turn with a batch of HMACs, and
// compares the fastest times of many rounds: other programs on the machine slow down most
// of them.
func reportHMACs(b *testing.B, operate func(from, to int)) {
	b.Helper()
	const rounds, part, hmacs = 500, 256, 64
	var parts [samples / part]time.Duration
	leastHMACs := time.Hour
	hmac := floor.HMAC()
	for round := range rounds {
		for p := range parts {
			start := time.Now()
			for range hmacs {
				hmac()
			}
			middle := time.Now()
			operate(p*part, (p+1)*part)
			end := time.Now()
			leastHMACs = min(leastHMACs, middle.Sub(start))
			if round == 0 || end.Sub(middle) < parts[p] {
				parts[p] = end.Sub(middle)
			}
		}
	}
	total := time.Duration(0)
	for _, fastest := range parts {
		total += fastest
	}
	b.ReportMetric(float64(total)/samples/(float64(leastHMACs)/hmacs), "HMACs")
}

// sample plays random games of two and returns positions in them, with a legal move each.
func sample(tb testing.TB, v *Variant, rows int) ([]Position, []Move) {
	tb.Helper()
	positions := make([]Position, 0, samples)
	moves := make([]Move, 0, samples)
	legal := make([]Move, 0, Resign)
	for seed := engine.Seeded(1); len(positions) < samples; seed = seed.Next() {
		started, _, err := v.Start(engine.Setup{Players: 2, Rows: rows}, seed)
		if err != nil {
			tb.Fatal(err)
		}
		position := started.(Position)
		for ply := 0; !position.over() && ply < engine.MaxPly && len(positions) < samples; ply++ {
			legal = position.AppendLegal(legal[:0])
			move := legal[seed.Draw("move", ply, len(legal))]
			positions = append(positions, position)
			moves = append(moves, move)
			if position, err = position.Play(move, nil); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return positions, moves
}

// BenchmarkDrop drops marbles into boards of the standard game, without events.
func BenchmarkDrop(b *testing.B) {
	positions, moves := sample(b, variantOf(b, "marble-standard"), DefaultRows)
	boards := make([]Board, samples)
	for i := range boards {
		boards[i] = positions[i].board
	}
	fallen := 0
	drop := func(from, to int) {
		for i := from; i < to; i++ {
			board := boards[i]
			if board.Drop(moves[i].Chute(), moves[i].Color(), nil) != 0 {
				fallen++
			}
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		drop(i%samples, i%samples+1)
	}
	if fallen == 0 {
		b.Error("no marble fell")
	}
	reportHMACs(b, drop)
}

// BenchmarkPlay makes a move with its events and lists the moves that are legal then.
func BenchmarkPlay(b *testing.B) {
	for v := range variants {
		v := &variants[v]
		b.Run(v.info.ID, func(b *testing.B) {
			positions, moves := sample(b, v, DefaultRows)
			events := make([]Event, 0, 256)
			legal := make([]Move, 0, Resign)
			play := func(from, to int) {
				for i := from; i < to; i++ {
					events = events[:0]
					next, err := positions[i].Play(moves[i], &events)
					if err != nil {
						b.Fatal(err)
					}
					legal = next.AppendLegal(legal[:0])
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				play(i%samples, i%samples+1)
			}
			reportHMACs(b, play)
		})
	}
}

// randomGame plays a game between two players who move at random, and returns its length.
func randomGame(start Position, seed engine.Seeded, legal *[]Move) int {
	position := start
	ply := 0
	for ; !position.over() && ply < engine.MaxPly; ply++ {
		*legal = position.AppendLegal((*legal)[:0])
		move := (*legal)[seed.Draw("move", ply, len(*legal))]
		position, _ = position.Play(move, nil)
	}
	return ply
}

// BenchmarkRandomGame plays whole games.
func BenchmarkRandomGame(b *testing.B) {
	for i := range variants {
		v := &variants[i]
		b.Run(v.info.ID, func(b *testing.B) {
			started, _, err := v.Start(engine.Setup{Players: 2}, engine.Seeded(1))
			if err != nil {
				b.Fatal(err)
			}
			start := started.(Position)
			legal := make([]Move, 0, Resign)
			seed := engine.Seeded(1)
			plies := 0
			b.ReportAllocs()
			for b.Loop() {
				seed = seed.Next()
				plies += randomGame(start, seed, &legal)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "games/s")
			b.ReportMetric(float64(plies)/b.Elapsed().Seconds(), "plies/s")
		})
	}
}

// TestPlayDoesNotAllocate checks that moves need no memory beyond the slices that are
// reused.
func TestPlayDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	for i := range variants {
		positions, moves := sample(t, &variants[i], MaxRows)
		events := make([]Event, 0, 256)
		legal := make([]Move, 0, Resign)
		allocations := testing.AllocsPerRun(3, func() {
			for i := range positions {
				events = events[:0]
				next, err := positions[i].Play(moves[i], &events)
				if err != nil {
					t.Fatal(err)
				}
				legal = next.AppendLegal(legal[:0])
			}
		})
		if perPly := allocations / samples; perPly >= 0.01 {
			t.Errorf("%s: %v allocations per ply", variants[i].info.ID, perPly)
		}
	}
}
