package service

import (
	"context"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/ledger"
)

// InspectGame implements the GameService.
func (s *Service) InspectGame(ctx context.Context, request *avalanchev1.InspectGameRequest) (*avalanchev1.InspectGameResponse, error) {
	game, err := s.open(ctx, "state", request.GetState(), request.GetContext())
	if err != nil {
		return nil, err
	}
	response := &avalanchev1.InspectGameResponse{Game: gameMessage(game)}
	// The newest state lets its holder move, unless the seats are sealed; and a sealed
	// game's progress is for its players alone.
	if !game.state.Ledgered || game.state.SealedSeats && !game.isAnyKey(request.GetSeatKey()) {
		return response, nil
	}
	newest, known, err := s.ledger.Newest(ctx, ledger.GameID(game.state.GameID))
	if err != nil {
		return nil, problemOf(err)
	}
	if known {
		response.Newest = newest.Token
	}
	return response, nil
}
