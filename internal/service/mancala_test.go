package service

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/mancala"
)

// TestLandingNamesAgree compares the names that the engine and the API give to landings,
// which are converted by number.
func TestLandingNamesAgree(t *testing.T) {
	names := map[mancala.Landing]string{
		mancala.Relay: "RELAY", mancala.Store: "STORE", mancala.EmptyPit: "EMPTY_PIT",
		mancala.Capture: "CAPTURE", mancala.OccupiedPit: "OCCUPIED_PIT",
	}
	for landing, want := range names {
		if got := landingMessage(landing).String(); got != want {
			t.Errorf("landing %v is %s in the API, want %s", landing, got, want)
		}
	}
	if n := avalanchev1.LapSown_Landing(0).Descriptor().Values().Len() - 1; n != len(names) {
		t.Errorf("the API knows %d landings, the engine %d", n, len(names))
	}
}

// TestMancalaEvents plays games of both rulesets and checks that no event is lost: each
// message says what happened.
func TestMancalaEvents(t *testing.T) {
	seen := map[protoreflect.Name]int{}
	for _, ruleset := range mancala.Rulesets() {
		for seed := range engine.Seeded(20) {
			position, events, err := ruleset.Start(engine.Setup{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			chance := seed
			for {
				for i, message := range eventMessages(events) {
					kind := message.ProtoReflect().WhichOneof(message.ProtoReflect().Descriptor().Oneofs().ByName("kind"))
					if kind == nil {
						t.Fatalf("%v has no message", events[i])
					}
					seen[kind.Name()]++
				}
				legal := position.LegalMoves()
				if len(legal) == 0 {
					break
				}
				chance = chance.Next()
				var move engine.Move = mancala.Resign
				if pick := chance.Draw("pick", 0, 100*len(legal)); pick > 0 {
					move = legal[pick%len(legal)]
				}
				if position, events, err = position.Apply(move, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, kind := range []protoreflect.Name{
		"board_set", "turn_started", "lap_sown", "stones_captured", "sowing_summary", "stones_swept", "seat_out", "game_ended",
	} {
		if seen[kind] == 0 {
			t.Errorf("no %s in any game: %v", kind, seen)
		}
	}
}

// TestLongMoveIsCompact: a move of 14 laps fits into an answer of a few kilobytes, and
// the longest known one of 118 laps is still no burden.
func TestLongMoveIsCompact(t *testing.T) {
	for position, limit := range map[string]int{
		"4,4,4,4,4,4/4,4,4,4,4,4 0-0 s":  3500,
		"10,2,5,2,1,6/4,3,6,3,2,3 1-0 s": 14000,
	} {
		service := newService(t)
		created, err := service.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{
			Ruleset: "mancala-avalanche", Options: &avalanchev1.GameOptions{Position: position},
		})
		if err != nil {
			t.Fatal(err)
		}
		applied, err := service.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{
			State: created.GetState(),
			Move:  &avalanchev1.Move{Kind: &avalanchev1.Move_Sow{Sow: &avalanchev1.Sow{Pit: 1}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		body, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(applied)
		if err != nil {
			t.Fatal(err)
		}
		if len(body) > limit {
			t.Errorf("%s: the answer has %d bytes, want at most %d: %s", position, len(body), limit, body)
		}
		t.Logf("%s: %d events, %d bytes", position, len(applied.GetEvents()), len(body))
	}
}
