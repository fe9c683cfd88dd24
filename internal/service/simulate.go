package service

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/marble"
)

// SimulateDrop implements the GameService.
func (s *Service) SimulateDrop(ctx context.Context, request *avalanchev1.SimulateDropRequest) (*avalanchev1.SimulateDropResponse, error) {
	board, colors, err := s.boardOf(ctx, request)
	if err != nil {
		return nil, err
	}
	moves := make([]marble.Move, len(request.GetDrops()))
	for i, drop := range request.GetDrops() {
		if moves[i], err = marble.ParseMove(dropNotation(drop)); err != nil {
			return nil, inField(err, fmt.Sprintf("drops[%d]", i))
		}
		if int(moves[i].Color()) >= colors {
			return nil, inField(engine.Refuse(engine.MoveMalformed, "this game's edition has no marbles of this color"),
				fmt.Sprintf("drops[%d].color", i))
		}
	}
	response := &avalanchev1.SimulateDropResponse{}
	for _, move := range moves {
		response.Steps = append(response.Steps, dropStep(&board, move))
	}
	return response, nil
}

// boardOf is the board of a request, and the number of colors that may be dropped on it.
func (s *Service) boardOf(ctx context.Context, request *avalanchev1.SimulateDropRequest) (marble.Board, int, error) {
	if on, ok := request.GetOn().(*avalanchev1.SimulateDropRequest_Board); ok {
		board, refusal := marble.ParseBoard(on.Board)
		if refusal != nil {
			return marble.Board{}, 0, inField(refusal, "board")
		}
		return board, marble.MaxColors, nil
	}
	game, err := s.open(ctx, "state", request.GetState(), request.GetContext())
	if err != nil {
		return marble.Board{}, 0, err
	}
	position, ok := game.Position.(marble.Position)
	if !ok {
		return marble.Board{}, 0, &Problem{
			Code: codes.InvalidArgument, Reason: avalanchev1.ErrorReason_OPTION_UNSUPPORTED,
			Message:    game.Ruleset.Info().ID + " has no board to drop marbles on: give the state of a marble game",
			Violations: []Violation{{Field: "state", Description: "must be the state of a marble game"}},
		}
	}
	return position.Board(), position.Variant().Colors(), nil
}

func dropStep(board *marble.Board, move marble.Move) *avalanchev1.SimulateDropResponse_Step {
	var events []marble.Event
	board.Drop(move.Chute(), move.Color(), &events)
	step := &avalanchev1.SimulateDropResponse_Step{
		Board: board.String(),
		Events: []*avalanchev1.Event{{Kind: &avalanchev1.Event_MarbleDropped{MarbleDropped: &avalanchev1.MarbleDropped{
			Chute: chuteMessage(move.Chute()), Color: colorMessage(move.Color()), Source: avalanchev1.MarbleDropped_SIMULATED,
		}}}},
	}
	for i := range events {
		step.Events = append(step.Events, marbleEvent(&events[i]))
		if events[i].Kind == marble.MarbleExited {
			step.Out = append(step.Out, &avalanchev1.MarbleExit{
				Lane: events[i].Lane.String(), Color: colorMessage(events[i].Color),
			})
		}
	}
	return step
}

// SimulateMoves implements the GameService.
func (s *Service) SimulateMoves(ctx context.Context, request *avalanchev1.SimulateMovesRequest) (*avalanchev1.SimulateMovesResponse, error) {
	game, err := s.open(ctx, "state", request.GetState(), request.GetContext())
	if err != nil {
		return nil, err
	}
	if info := game.Ruleset.Info(); info.ChanceInMoves {
		return nil, &Problem{
			Code: codes.FailedPrecondition, Reason: avalanchev1.ErrorReason_GAME_HAS_CHANCE,
			Message: "moves of " + info.ID + " throw dice or draw cards: where they lead is known only when they are made",
		}
	}
	response := &avalanchev1.SimulateMovesResponse{}
	for i, requested := range request.GetMoves() {
		field := fmt.Sprintf("moves[%d]", i)
		move, err := parseMove(game.Ruleset, requested)
		if err != nil {
			return nil, inField(err, field)
		}
		next, events, err := game.play(move)
		if err != nil {
			return nil, moveProblem(err, game.Game, field)
		}
		response.Steps = append(response.Steps, &avalanchev1.SimulateMovesResponse_Step{
			Notation: move.String(),
			Seat:     int32(game.Turn().Seat),
			Events:   eventMessages(events),
			Position: next.Position.String(),
		})
		game = next
	}
	response.Game = gameMessage(game)
	return response, nil
}
