package service

import (
	"context"

	"google.golang.org/grpc/codes"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/state"
)

// openGame is a game that was read from a state.
type openGame struct {
	engine.Game
	state state.State
	key   *state.Key
}

// open reads the state in a field of a request.
func (s *Service) open(ctx context.Context, field, token, binding string) (openGame, error) {
	game, err := s.read(token, binding)
	s.observer.StateOpened(ctx, err)
	if err != nil {
		return openGame{}, inField(err, field)
	}
	return game, nil
}

func (s *Service) read(token, binding string) (openGame, error) {
	opened, key, err := s.keys().Open(token, binding)
	if err != nil {
		return openGame{}, err
	}
	ruleset, version, known := s.rulesets.ByNumber(opened.Ruleset)
	if !known {
		// The tag is good, so only a newer release can have made it.
		return openGame{}, state.ErrTooNew
	}
	if opened.RulesetVersion > version {
		return openGame{}, state.ErrTooNew
	}
	if opened.RulesetVersion < version {
		return openGame{}, &Problem{
			Code:    codes.FailedPrecondition,
			Reason:  avalanchev1.ErrorReason_RULESET_RETIRED,
			Message: "the version of the rules by which this game is played is no longer served: create a new game",
		}
	}
	if opened.Ledgered && s.ledger == nil {
		return openGame{}, &Problem{
			Code:    codes.FailedPrecondition,
			Reason:  avalanchev1.ErrorReason_LEDGER_REQUIRED,
			Message: "this game is kept in a ledger, and this service has none: ask a service that has the ledger",
		}
	}
	position, err := ruleset.Unpack(opened.Position)
	if err != nil {
		return openGame{}, state.ErrInvalid
	}
	return openGame{
		Game:  engine.Game{Ruleset: ruleset, Position: position, Ply: opened.Ply},
		state: opened,
		key:   key,
	}, nil
}

// play makes a move with the game's own chance.
func (g openGame) play(move engine.Move) (openGame, []engine.Event, error) {
	next, events, err := g.Play(move, g.key.MoveChance(g.state, move.String()))
	if err != nil {
		return openGame{}, nil, err
	}
	after := g
	after.Game = next
	after.state.Ply = next.Ply
	after.state.Position = next.Position.AppendPacked(nil)
	return after, events, nil
}

// isSeatKey tells whether a key is that of the seat to move.
func (g openGame) isSeatKey(key string) bool {
	return g.key.IsSeatKey(g.state, g.Turn().Seat, key)
}

// isAnyKey tells whether a key is that of some seat or of the host.
func (g openGame) isAnyKey(key string) bool {
	found := g.key.IsHostKey(g.state, key)
	for seat := range g.Position.Players() {
		found = g.key.IsSeatKey(g.state, seat+1, key) || found
	}
	return found
}
