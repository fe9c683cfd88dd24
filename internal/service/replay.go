package service

import (
	"bytes"
	"context"

	"google.golang.org/grpc/codes"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
)

// replayPageSize is the number of steps of a page, unless fewer are asked for.
const replayPageSize = 100

// ReplayGame implements the GameService. What it says of a record that does not end in
// the given last state is always the same, whatever is wrong: else trying invented moves
// would show rolls that have not happened.
func (s *Service) ReplayGame(ctx context.Context, request *avalanchev1.ReplayGameRequest) (*avalanchev1.ReplayGameResponse, error) {
	first, err := s.open(ctx, "firstState", request.GetFirstState(), request.GetContext())
	if err != nil {
		return nil, err
	}
	last, err := s.open(ctx, "lastState", request.GetLastState(), request.GetContext())
	if err != nil {
		return nil, err
	}
	size := int(request.GetPageSize())
	if size == 0 {
		size = replayPageSize
	}
	from, to, next, err := page(request.GetPageToken(), size, len(request.GetMoves()))
	if err != nil {
		return nil, err
	}
	if !sameGame(first, last) || last.Ply-first.Ply != len(request.GetMoves()) {
		return nil, replayMismatch()
	}
	response := &avalanchev1.ReplayGameResponse{NextPageToken: next, Game: gameMessage(last)}
	game := first
	for i, requested := range request.GetMoves() {
		// A long record takes a while, for which nobody may be waiting any more.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		move, err := parseMove(game.Ruleset, requested)
		if err != nil {
			return nil, replayMismatch()
		}
		after, events, err := game.play(move)
		if err != nil {
			return nil, replayMismatch()
		}
		if i >= from && i < to {
			response.Steps = append(response.Steps, replayStep(game, after, move, events, request.GetIncludeGames()))
		}
		game = after
	}
	if !bytes.Equal(game.state.Position, last.state.Position) {
		return nil, replayMismatch()
	}
	return response, nil
}

// sameGame tells whether two states belong to one game.
func sameGame(a, b openGame) bool {
	return a.key.ID() == b.key.ID() && a.state.GameID == b.state.GameID &&
		a.state.Ruleset == b.state.Ruleset && a.state.RulesetVersion == b.state.RulesetVersion &&
		a.state.CustomStart == b.state.CustomStart && a.state.SealedSeats == b.state.SealedSeats && a.state.Ledgered == b.state.Ledgered
}

func replayMismatch() error {
	return &Problem{
		Code: codes.FailedPrecondition, Reason: avalanchev1.ErrorReason_REPLAY_MISMATCH,
		Message: "the moves do not lead from the first state to the last one",
	}
}

func replayStep(before, after openGame, move engine.Move, events []engine.Event, withGame bool) *avalanchev1.ReplayGameResponse_Step {
	step := &avalanchev1.ReplayGameResponse_Step{
		Ply:      int32(after.Ply),
		Seat:     int32(before.Turn().Seat),
		Notation: move.String(),
		Events:   eventMessages(events),
	}
	if withGame {
		step.Game = gameMessage(after)
	}
	return step
}
