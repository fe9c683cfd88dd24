package service

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"
	"time"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
)

// BenchmarkStateRoundTrip verifies and parses the state of a two-player marble game in
// mid-game, and packs and signs it again. It also reports how many HMAC-SHA256 over 64
// bytes, with the hash reused, take the same time in the same run.
func BenchmarkStateRoundTrip(b *testing.B) {
	service := newService(b)
	created, err := service.CreateGame(b.Context(), &avalanchev1.CreateGameRequest{Ruleset: "marble-standard", Players: 2})
	if err != nil {
		b.Fatal(err)
	}
	token, seed := created.GetState(), engine.Seeded(1)
	legal := created.GetGame().GetLegalMoves()
	for range 12 {
		seed = seed.Next()
		applied, err := service.ApplyMove(b.Context(), &avalanchev1.ApplyMoveRequest{
			State: token, Move: legal[seed.Draw("choice", 0, len(legal))].GetMove(),
		})
		if err != nil {
			b.Fatal(err)
		}
		token, legal = applied.GetState(), applied.GetGame().GetLegalMoves()
	}
	trip := func() {
		game, err := service.read(token, "")
		if err != nil {
			b.Fatal(err)
		}
		game.state.Position = game.Position.AppendPacked(game.state.Position[:0])
		if again, err := game.key.Sign(game.state, ""); err != nil || again != token {
			b.Fatalf("the state comes back as %q, %v", again, err)
		}
	}
	mac, message, sum := hmac.New(sha256.New, make([]byte, 32)), make([]byte, 64), make([]byte, 0, sha256.Size)
	floor := leastTime(func() {
		mac.Reset()
		mac.Write(message)
		sum = mac.Sum(sum[:0])
	})
	least := leastTime(trip)
	b.ReportAllocs()
	for b.Loop() {
		trip()
	}
	b.ReportMetric(float64(least)/float64(floor), "HMACs")
}

// leastTime is the least time that many calls take in several rounds: whatever else the
// machine does only ever adds to it.
func leastTime(call func()) time.Duration {
	least := time.Hour
	for range 400 {
		began := time.Now()
		for range 50 {
			call()
		}
		least = min(least, time.Since(began))
	}
	return least
}
