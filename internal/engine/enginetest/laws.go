// Package enginetest checks the laws that every ruleset must keep, by playing
// random games.
package enginetest

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

// Spec says how to test one ruleset.
type Spec struct {
	Ruleset engine.Ruleset
	// Setup draws a setup that the ruleset accepts.
	Setup func(t *rapid.T) engine.Setup
	// Alphabet lists every move that the notation knows, resigning included.
	Alphabet []engine.Move
	// MaxPlies ends the check of long games. 0 plays each to its end.
	MaxPlies int
	// ResignPercent is how often a player resigns instead of moving.
	ResignPercent int
	// Choose picks one of the legal moves; nil picks any with equal chance.
	Choose func(engine.Position, []engine.Move, engine.Seeded) engine.Move
	// Invariant checks what the ruleset conserves, at the start and after each ply.
	Invariant func(t *rapid.T, before, after engine.Position, events []engine.Event)
}

// CheckLaws plays a random game and checks at every ply that the legal moves are
// exactly the accepted ones, that text and bytes come back as the same position,
// that applying is deterministic and leaves its receiver alone, and at the end
// that replaying the moves gives the same positions, byte for byte.
func CheckLaws(t *rapid.T, spec Spec) {
	setup := spec.Setup(t)
	seed := engine.Seeded(rapid.Uint64().Draw(t, "seed"))
	position, events, err := spec.Ruleset.Start(setup, seed)
	if err != nil {
		t.Fatalf("start %+v: %v", setup, err)
	}
	if spec.Invariant != nil {
		spec.Invariant(t, nil, position, events)
	}
	first := position
	var (
		moves  []engine.Move
		seeds  []engine.Seeded
		record = [][]byte{position.AppendPacked(nil)}
	)
	for !position.Outcome().Over() && (spec.MaxPlies == 0 || len(moves) < spec.MaxPlies) {
		CheckPosition(t, spec.Ruleset, position)
		checkAlphabet(t, spec, position, seed)
		seed = seed.Next()
		move := choose(t, spec, position, seed)
		next, events, err := position.Apply(move, seed)
		if err != nil {
			t.Fatalf("%v: %v: %v", position, move, err)
		}
		if spec.Invariant != nil {
			spec.Invariant(t, position, next, events)
		}
		position = next
		moves = append(moves, move)
		seeds = append(seeds, seed)
		record = append(record, position.AppendPacked(nil))
	}
	CheckPosition(t, spec.Ruleset, position)
	if position.Outcome().Over() {
		checkFinished(t, spec, position)
	}
	replay := first
	for i, move := range moves {
		if replay, _, err = replay.Apply(move, seeds[i]); err != nil {
			t.Fatalf("replay of move %d, %v: %v", i+1, move, err)
		}
		if !slices.Equal(replay.AppendPacked(nil), record[i+1]) {
			t.Fatalf("replay of move %d, %v, leads to %v", i+1, move, replay)
		}
	}
}

// CheckPosition checks that a position's text and bytes read back as itself.
func CheckPosition(t *rapid.T, ruleset engine.Ruleset, position engine.Position) {
	packed := position.AppendPacked(nil)
	unpacked, err := ruleset.Unpack(packed)
	if err != nil {
		t.Fatalf("unpack %v: %v", position, err)
	}
	if again := unpacked.AppendPacked(nil); !slices.Equal(again, packed) {
		t.Fatalf("%v packs to %x, which unpacks to %v and packs to %x", position, packed, unpacked, again)
	}
	if unpacked.String() != position.String() || unpacked.Outcome() != position.Outcome() || unpacked.Turn() != position.Turn() {
		t.Fatalf("%v unpacks to %v", position, unpacked)
	}
	parsed, err := ruleset.ParsePosition(position.String(), position.Options().HouseRules)
	if err != nil {
		t.Fatalf("parse %v: %v", position, err)
	}
	if !slices.Equal(parsed.AppendPacked(nil), packed) {
		t.Fatalf("%v parses to %v", position, parsed)
	}
}

// checkAlphabet checks that a move is accepted exactly if it is legal (or resigning).
func checkAlphabet(t *rapid.T, spec Spec, position engine.Position, seed engine.Seeded) {
	legal := make(map[string]bool)
	for _, move := range position.LegalMoves() {
		if legal[move.String()] {
			t.Fatalf("%v lists %v twice", position, move)
		}
		legal[move.String()] = true
	}
	if len(legal) == 0 {
		t.Fatalf("%v is in progress without a legal move", position)
	}
	before := position.String()
	listed := 0
	for _, move := range spec.Alphabet {
		parsed, err := spec.Ruleset.ParseMove(move.String())
		if err != nil || parsed != move {
			t.Fatalf("move %v reads back as %v, %v", move, parsed, err)
		}
		_, _, err = position.Apply(move, seed)
		var refusal *engine.Refusal
		switch accept := legal[move.String()] || move.String() == engine.ResignNotation; {
		case accept && err != nil:
			t.Fatalf("%v lists %v and refuses it: %v", position, move, err)
		case !accept && err == nil:
			t.Fatalf("%v accepts %v, which is not listed", position, move)
		case !accept && (!errors.As(err, &refusal) || refusal.Reason != engine.MoveIllegal):
			t.Fatalf("%v refuses %v with %#v", position, move, err)
		}
		if legal[move.String()] {
			listed++
		}
	}
	if position.String() != before {
		t.Fatalf("trying moves changed %s to %v", before, position)
	}
	if listed != len(legal) {
		t.Fatalf("%v lists moves outside the alphabet: %v", position, position.LegalMoves())
	}
}

func checkFinished(t *rapid.T, spec Spec, position engine.Position) {
	if moves := position.LegalMoves(); len(moves) != 0 {
		t.Fatalf("finished %v lists %v", position, moves)
	}
	if turn := position.Turn(); turn != (engine.Turn{}) {
		t.Fatalf("finished %v has a turn: %+v", position, turn)
	}
	outcome := position.Outcome()
	if won := outcome.Status == engine.Won; won != (outcome.Winners.Len() > 0) || outcome.Ending == engine.NotEnded {
		t.Fatalf("finished %v has outcome %+v", position, outcome)
	}
	for _, move := range spec.Alphabet {
		_, _, err := position.Apply(move, engine.Seeded(0))
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != engine.GameOver {
			t.Fatalf("finished %v answers %v with %v", position, move, err)
		}
	}
}

func choose(t *rapid.T, spec Spec, position engine.Position, seed engine.Seeded) engine.Move {
	legal := position.LegalMoves()
	if seed.Draw("test resign", 0, 100) < spec.ResignPercent {
		move, err := spec.Ruleset.ParseMove(engine.ResignNotation)
		if err != nil {
			t.Fatal(err)
		}
		return move
	}
	if spec.Choose != nil {
		return spec.Choose(position, legal, seed)
	}
	return legal[seed.Draw("test choice", 0, len(legal))]
}
