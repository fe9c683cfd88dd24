package mancala

import (
	"testing"
	"time"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/floor"
)

// sowingOf is a position and the pit that was sown in it.
type sowingOf struct {
	position Position
	pit      int
}

// played lists the moves of random games that begin with four stones in each pit.
// There are so many of them that the processor cannot learn their outcomes by heart.
func played(b *testing.B, ruleset engine.Ruleset) []sowingOf {
	b.Helper()
	const moves = 1 << 14
	list := make([]sowingOf, 0, moves)
	seed := engine.Seeded(1)
	for len(list) < moves {
		position, _, err := ruleset.Start(engine.Setup{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		for p := position.(Position); !p.status.has(over) && len(list) < moves; seed = seed.Next() {
			legal := p.AppendLegal(nil)
			pit := int(legal[seed.Draw("bench", 0, len(legal))])
			list = append(list, sowingOf{p, pit})
			if p, _, err = p.Sow(pit); err != nil {
				b.Fatal(err)
			}
		}
	}
	return list
}

// fastest runs something often and answers the shortest time that it took: what the
// machine can do when nobody else uses it.
func fastest(runs int, something func()) time.Duration {
	best := time.Hour
	for range runs {
		start := time.Now()
		something()
		best = min(best, time.Since(start))
	}
	return best
}

// hmacTime is what the floor takes, in nanoseconds.
func hmacTime() float64 {
	const sums = 1000
	hmac := floor.HMAC()
	best := fastest(200, func() {
		for range sums {
			hmac()
		}
	})
	return float64(best.Nanoseconds()) / sums
}

// BenchmarkSow applies the moves of random games, without events. Its figures are
// those of the fastest of many runs over the same moves, so that they hardly depend
// on what else the machine does.
func BenchmarkSow(b *testing.B) {
	for _, ruleset := range rulesets {
		b.Run(ruleset.Info().ID, func(b *testing.B) {
			list := played(b, ruleset)
			stones := 0
			best := time.Hour
			b.ReportAllocs()
			for b.Loop() {
				best = min(best, fastest(1, func() { stones = sowAll(list) }))
			}
			perMove := float64(best.Nanoseconds()) / float64(len(list))
			b.ReportMetric(1e9/perMove, "moves/s")
			b.ReportMetric(perMove, "ns/move")
			b.ReportMetric(float64(best.Nanoseconds())/float64(stones), "ns/stone")
			b.ReportMetric(perMove/hmacTime(), "HMACs/move")
		})
	}
}

// sowAll applies moves and counts the stones sown.
func sowAll(list []sowingOf) int {
	stones := 0
	for i := range list {
		_, did, err := list[i].position.Sow(list[i].pit)
		if err != nil {
			panic(err)
		}
		stones += did.StonesSown
	}
	return stones
}

// BenchmarkApply applies the same moves with their events.
func BenchmarkApply(b *testing.B) {
	for _, ruleset := range rulesets {
		b.Run(ruleset.Info().ID, func(b *testing.B) {
			list := played(b, ruleset)
			b.ReportAllocs()
			moves := 0
			for b.Loop() {
				move := &list[moves%len(list)]
				if _, _, err := move.position.Apply(Move(move.pit), nil); err != nil {
					b.Fatal(err)
				}
				moves++
			}
		})
	}
}
