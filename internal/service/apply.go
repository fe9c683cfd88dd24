package service

import (
	"context"

	"google.golang.org/grpc/codes"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/ledger"
)

// ApplyMove implements the GameService.
func (s *Service) ApplyMove(ctx context.Context, request *avalanchev1.ApplyMoveRequest) (*avalanchev1.ApplyMoveResponse, error) {
	game, err := s.open(ctx, "state", request.GetState(), request.GetContext())
	if err != nil {
		return nil, err
	}
	move, err := parseMove(game.Ruleset, request.GetMove())
	if err != nil {
		return nil, inField(err, "move")
	}
	if err := game.checkSeatKey(move, request.GetSeatKey()); err != nil {
		return nil, err
	}
	if request.GetValidateOnly() {
		return game.validate(move)
	}
	next, events, err := game.play(move)
	if err != nil {
		return nil, moveProblem(err, game.Game, "move")
	}
	token, err := next.key.Sign(next.state, request.GetContext())
	if err != nil {
		return nil, err
	}
	if err := s.advance(ctx, game, next, request.GetState(), token); err != nil {
		return nil, problemOf(err)
	}
	s.observer.MoveMade(ctx, game.Ruleset.Info().ID, len(events), next.Outcome())
	return &avalanchev1.ApplyMoveResponse{State: token, Game: gameMessage(next), Events: eventMessages(events)}, nil
}

// checkSeatKey lets only the holder of a sealed seat move for it. The host may resign for
// a player who has vanished.
func (g openGame) checkSeatKey(move engine.Move, key string) error {
	if !g.state.SealedSeats || g.Outcome().Over() || g.isSeatKey(key) {
		return nil
	}
	if move.String() == engine.ResignNotation && g.key.IsHostKey(g.state, key) {
		return nil
	}
	return &Problem{
		Code: codes.PermissionDenied, Reason: avalanchev1.ErrorReason_SEAT_KEY_INVALID,
		Message: "the seats of this game are sealed: a move needs the key of the seat to move in seatKey; the host key can only resign for it",
	}
}

// validate checks a move without making it. Where moves need chance, it says only that
// the move is legal: its result would be a roll that has not happened.
func (g openGame) validate(move engine.Move) (*avalanchev1.ApplyMoveResponse, error) {
	if g.Ruleset.Info().ChanceInMoves {
		// Any chance tells whether the move is legal, and this one tells nothing else.
		if _, _, err := g.Play(move, engine.Seeded(0)); err != nil {
			return nil, moveProblem(err, g.Game, "move")
		}
		return &avalanchev1.ApplyMoveResponse{}, nil
	}
	next, events, err := g.play(move)
	if err != nil {
		return nil, moveProblem(err, g.Game, "move")
	}
	return &avalanchev1.ApplyMoveResponse{Game: gameMessage(next), Events: eventMessages(events)}, nil
}

// advance records the move in the ledger, if the game is kept in one. Nothing may be
// returned to the client before.
func (s *Service) advance(ctx context.Context, game, next openGame, presented, result string) error {
	if !game.state.Ledgered {
		return nil
	}
	_, err := s.ledger.Advance(ctx, ledger.GameID(game.state.GameID),
		ledger.Entry{Ply: game.Ply, Token: presented}, ledger.Entry{Ply: next.Ply, Token: result})
	return err
}
