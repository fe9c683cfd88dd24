package service

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/state"
)

// refusals maps what rules refuse to the API.
var refusals = map[engine.Reason]struct {
	code   codes.Code
	reason avalanchev1.ErrorReason_Reason
}{
	engine.MoveMalformed:        {codes.InvalidArgument, avalanchev1.ErrorReason_MOVE_MALFORMED},
	engine.MoveIllegal:          {codes.FailedPrecondition, avalanchev1.ErrorReason_MOVE_ILLEGAL},
	engine.GameOver:             {codes.FailedPrecondition, avalanchev1.ErrorReason_GAME_OVER},
	engine.PlayersOutOfRange:    {codes.InvalidArgument, avalanchev1.ErrorReason_PLAYERS_OUT_OF_RANGE},
	engine.OptionUnsupported:    {codes.InvalidArgument, avalanchev1.ErrorReason_OPTION_UNSUPPORTED},
	engine.BoardMalformed:       {codes.InvalidArgument, avalanchev1.ErrorReason_BOARD_MALFORMED},
	engine.PositionMalformed:    {codes.InvalidArgument, avalanchev1.ErrorReason_POSITION_MALFORMED},
	engine.PositionInconsistent: {codes.InvalidArgument, avalanchev1.ErrorReason_POSITION_INCONSISTENT},
}

// retryAfter is when to try again what is not available.
const retryAfter = time.Second

// problemOf maps an error of the engine, the state or the ledger to what clients see. A
// *Problem stays as it is; so does an error that it does not know, which the server
// reports as a fault.
func problemOf(err error) error {
	var (
		refusal    *engine.Refusal
		superseded *ledger.SupersededError
	)
	switch {
	case errors.As(err, &refusal):
		mapped := refusals[refusal.Reason]
		return &Problem{Code: mapped.code, Reason: mapped.reason, Message: refusal.Message}
	case errors.Is(err, state.ErrInvalid):
		return &Problem{Code: codes.InvalidArgument, Reason: avalanchev1.ErrorReason_STATE_INVALID, Message: state.ErrInvalid.Error()}
	case errors.Is(err, state.ErrTooNew):
		return &Problem{Code: codes.Unavailable, Reason: avalanchev1.ErrorReason_STATE_TOO_NEW, Message: state.ErrTooNew.Error(), RetryAfter: retryAfter}
	case errors.Is(err, state.ErrKeyRetired):
		return &Problem{Code: codes.FailedPrecondition, Reason: avalanchev1.ErrorReason_KEY_RETIRED, Message: state.ErrKeyRetired.Error()}
	case errors.As(err, &superseded):
		return &Problem{
			Code: codes.Aborted, Reason: avalanchev1.ErrorReason_STATE_SUPERSEDED,
			Message:  "the game has gone on from this state: go on from its newest state, which is in the metadata",
			Metadata: map[string]string{"newest": superseded.Newest.Token},
		}
	case errors.Is(err, ledger.ErrFull):
		return &Problem{Code: codes.ResourceExhausted, Reason: avalanchev1.ErrorReason_LEDGER_FULL, Message: "the ledger has no room for another game: try again later"}
	case errors.Is(err, ledger.ErrForgotten):
		return &Problem{
			Code: codes.FailedPrecondition, Reason: avalanchev1.ErrorReason_LEDGER_REQUIRED,
			Message: "the ledger does not know this game up to this state, and takes nobody's word for it",
		}
	case errors.Is(err, ledger.ErrUnavailable):
		return &Problem{
			Code: codes.Unavailable, Reason: avalanchev1.ErrorReason_LEDGER_UNAVAILABLE,
			Message:    "the ledger cannot be reached: send the same request again; until then nobody knows whether a move was recorded",
			RetryAfter: retryAfter,
		}
	}
	return err
}

// inField says in which field of the request an error lies. Only errors in the request
// itself have a field; the others pass through problemOf alone.
func inField(err error, field string) error {
	err = problemOf(err)
	var problem *Problem
	if errors.As(err, &problem) && problem.Code == codes.InvalidArgument {
		problem.Violations = append(problem.Violations, Violation{Field: field, Description: problem.Message})
	}
	return err
}

// setupProblem maps a refused creation, naming the option at fault.
func setupProblem(err error, family engine.Family) error {
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) || refusal.Field == "" {
		return problemOf(err)
	}
	prefix := "options."
	switch {
	case refusal.Field == "players":
		prefix = ""
	case refusal.Field == "position":
	case refusal.Field == "stones":
		prefix = "options.mancala."
	case refusal.Field == "houseRules" && family == engine.Mancala:
		prefix = "options.mancala."
	default:
		prefix = "options.marble."
	}
	return inField(err, prefix+refusal.Field)
}

// moveProblem maps a refused move. What would be legal is in the metadata.
func moveProblem(err error, game engine.Game, field string) error {
	err = inField(err, field)
	var problem *Problem
	if errors.As(err, &problem) && problem.Reason == avalanchev1.ErrorReason_MOVE_ILLEGAL {
		legal := notations(game.LegalMoves())
		problem.Metadata = map[string]string{"legalMoves": legal, "field": field}
		problem.Message += "; legal are " + legal + " and resign"
	}
	return err
}

func notations(moves []engine.Move) string {
	var b strings.Builder
	for i, move := range moves {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(move.String())
	}
	return b.String()
}
