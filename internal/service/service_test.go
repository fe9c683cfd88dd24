package service

import (
	"context"
	"errors"
	"testing"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/rulesets"
	"github.com/avalanched/avalanched/internal/state"
)

// newService makes a service with a key of its own and no ledger.
func newService(t testing.TB) *Service {
	t.Helper()
	keyring, err := state.Throwaway()
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Rulesets: rulesets.Registry(), Keys: func() *state.Keyring { return keyring }})
}

// TestWholeGames plays every ruleset from creation to its end on nothing but the state,
// and audits the record.
func TestWholeGames(t *testing.T) {
	for _, ruleset := range rulesets.Registry().All() {
		info := ruleset.Info()
		t.Run(info.ID, func(t *testing.T) {
			t.Parallel()
			ctx, service := t.Context(), newService(t)
			created, err := service.CreateGame(ctx, &avalanchev1.CreateGameRequest{
				Ruleset: info.ID, Players: int32(info.MaxPlayers), Context: "a chat",
			})
			if err != nil {
				t.Fatal(err)
			}
			var record []*avalanchev1.Move
			current, game := created.GetState(), created.GetGame()
			seed := engine.Seeded(1)
			for game.GetStatus() == avalanchev1.Game_IN_PROGRESS {
				seed = seed.Next()
				legal := game.GetLegalMoves()
				move := legal[seed.Draw("choice", 0, len(legal))].GetMove()
				applied, err := service.ApplyMove(ctx, &avalanchev1.ApplyMoveRequest{State: current, Move: move, Context: "a chat"})
				if err != nil {
					t.Fatalf("%s: %v: %v", game.GetPosition(), move, err)
				}
				record = append(record, move)
				current, game = applied.GetState(), applied.GetGame()
			}
			if game.GetTurn() != nil || game.Ended == nil || len(game.GetLegalMoves()) != 0 {
				t.Errorf("the finished game is %v", game)
			}
			replay, err := service.ReplayGame(ctx, &avalanchev1.ReplayGameRequest{
				FirstState: created.GetState(), LastState: current, Moves: record, Context: "a chat",
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := len(replay.GetSteps()); got != min(len(record), replayPageSize) {
				t.Errorf("the replay has %d steps of %d", got, len(record))
			}
		})
	}
}

// TestNobodyWaitsForAReplay gives a replay up before it begins.
func TestNobodyWaitsForAReplay(t *testing.T) {
	service := newService(t)
	created, err := service.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: "mancala-kalah"})
	if err != nil {
		t.Fatal(err)
	}
	move := created.GetGame().GetLegalMoves()[0].GetMove()
	applied, err := service.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: created.GetState(), Move: move})
	if err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	_, err = service.ReplayGame(ctx, &avalanchev1.ReplayGameRequest{
		FirstState: created.GetState(), LastState: applied.GetState(), Moves: []*avalanchev1.Move{move},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the replay answers %v", err)
	}
}

// TestNamesAgree compares the names that the engine and the API give to the same things,
// which are converted by number.
func TestNamesAgree(t *testing.T) {
	for ending := engine.CardFull; ending <= engine.DeckExhausted; ending++ {
		if got, want := endingMessage(ending).String(), ending.String(); got != want {
			t.Errorf("ending %d is %s in the API and %s in the engine", ending, got, want)
		}
	}
	for status, want := range map[engine.Status]string{engine.InProgress: "IN_PROGRESS", engine.Won: "WON", engine.Drawn: "DRAWN"} {
		if got := statusMessage(status).String(); got != want {
			t.Errorf("status %d is %s, want %s", status, got, want)
		}
	}
	for phase, want := range map[engine.Phase]string{
		engine.PhaseDrop: "DROP", engine.PhaseSow: "SOW", engine.PhaseReveal: "REVEAL", engine.PhaseTarget: "TARGET",
		engine.PhaseEncounter: "ENCOUNTER", engine.PhasePassed: "PASSED", engine.PhaseChoice: "CHOICE",
	} {
		if got := phaseMessage(phase).String(); got != want {
			t.Errorf("phase %d is %s, want %s", phase, got, want)
		}
	}
	for family, want := range map[engine.Family]string{
		engine.Marble: "MARBLE", engine.Mancala: "MANCALA", engine.ShiverPeak: "SHIVER_PEAK",
	} {
		if got := avalanchev1.Ruleset_Family(family).String(); got != want {
			t.Errorf("family %d is %s, want %s", family, got, want)
		}
	}
}
