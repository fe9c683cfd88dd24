package service

import (
	"testing"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/floor"
)

// BenchmarkStateRoundTrip verifies and parses the state of a two-player marble game in
// mid-game, checks its position against the rules, and packs and signs it again. It also
// reports how many HMACs over 64 bytes take the same time.
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
	b.ReportAllocs()
	for b.Loop() {
		trip()
	}
	b.ReportMetric(floor.Ratio(trip), "HMACs")
}
