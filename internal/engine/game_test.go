package engine_test

import (
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/marble"
)

// TestPlyLimit makes the last move that a game may have: one that does not end the game
// draws it, and resigning still loses it.
func TestPlyLimit(t *testing.T) {
	ruleset := marble.Rulesets()[0]
	position, _, err := ruleset.Start(engine.Setup{Players: 2, Board: "LRL/LRLL/RLL/LLRL"}, engine.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	game := engine.Game{Ruleset: ruleset, Position: position, Ply: engine.MaxPly - 1}
	if outcome := game.Outcome(); outcome.Over() {
		t.Fatalf("before the last move the game has ended: %+v", outcome)
	}
	drawn, events, err := game.Play(marble.Drop(marble.FirstChute, marble.Red), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := drawn.Outcome(), engine.DrawnGame(engine.PlyLimit); got != want {
		t.Errorf("outcome %+v, want %+v", got, want)
	}
	if last := events[len(events)-1]; last != (engine.LimitReached{}) {
		t.Errorf("the last event is %v", last)
	}
	if drawn.Turn() != (engine.Turn{}) || drawn.LegalMoves() != nil {
		t.Errorf("the drawn game has turn %+v and moves %v", drawn.Turn(), drawn.LegalMoves())
	}
	if _, _, err := drawn.Play(marble.Resign, nil); err == nil {
		t.Error("the drawn game takes a move")
	}
	resigned, events, err := game.Play(marble.Resign, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := resigned.Outcome(), engine.WonBy(2, engine.LastOneLeft); got != want {
		t.Errorf("outcome %+v, want %+v", got, want)
	}
	if last := events[len(events)-1]; last == (engine.LimitReached{}) {
		t.Error("a won game is drawn, too")
	}
}
