package service

import (
	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/mancala"
	"github.com/avalanched/avalanched/internal/engine/marble"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

// gameMessage shows a game.
func gameMessage(g openGame) *avalanchev1.Game {
	info := g.Ruleset.Info()
	outcome := g.Outcome()
	message := &avalanchev1.Game{
		Ruleset:        info.ID,
		RulesetVersion: int32(g.state.RulesetVersion),
		GameId:         g.state.GameID.String(),
		Ply:            int32(g.Ply),
		Players:        int32(g.Position.Players()),
		Options:        optionsMessage(g),
		Status:         statusMessage(outcome.Status),
		Winners:        seatNumbers(outcome.Winners),
		LegalMoves:     legalMoveMessages(g.Game),
		Position:       g.Position.String(),
	}
	if outcome.Over() {
		message.Ended = endingMessage(outcome.Ending).Enum()
	} else {
		turn := g.Turn()
		message.Turn = &avalanchev1.Turn{Seat: int32(turn.Seat), Phase: phaseMessage(turn.Phase)}
	}
	switch position := g.Position.(type) {
	case marble.Position:
		message.Table = marbleTable(position)
	case mancala.Position:
		message.Table = mancalaTable(position)
	case shiverpeak.Position:
		message.Table = shiverPeakTable(position)
	}
	return message
}

func optionsMessage(g openGame) *avalanchev1.GameOptions {
	options := g.Position.Options()
	message := &avalanchev1.GameOptions{
		SealedSeats: g.state.SealedSeats,
		CustomStart: g.state.CustomStart,
	}
	switch g.Ruleset.Info().Family {
	case engine.Marble:
		message.Family = &avalanchev1.GameOptions_Marble{Marble: &avalanchev1.MarbleOptions{
			Rows: int32(options.Rows), HouseRules: options.HouseRules,
		}}
	case engine.Mancala:
		message.Family = &avalanchev1.GameOptions_Mancala{Mancala: &avalanchev1.MancalaOptions{
			Stones: int32(options.Stones), HouseRules: options.HouseRules,
		}}
	}
	return message
}

// statusMessage, endingMessage and phaseMessage rely on both sides listing the values in
// the same order; a test compares the names.
func statusMessage(status engine.Status) avalanchev1.Game_Status {
	return avalanchev1.Game_Status(status) + avalanchev1.Game_IN_PROGRESS
}

func endingMessage(ending engine.Ending) avalanchev1.Game_Ending {
	return avalanchev1.Game_Ending(ending)
}

func phaseMessage(phase engine.Phase) avalanchev1.Turn_Phase { return avalanchev1.Turn_Phase(phase) }

func seatNumbers(seats engine.SeatSet) []int32 {
	numbers := make([]int32, 0, seats.Len())
	for _, seat := range seats.Seats() {
		numbers = append(numbers, int32(seat))
	}
	return numbers
}

// eventMessages shows events of any game.
func eventMessages(events []engine.Event) []*avalanchev1.Event {
	messages := make([]*avalanchev1.Event, len(events))
	for i, event := range events {
		switch event := event.(type) {
		case *marble.Event:
			messages[i] = marbleEvent(event)
		case mancala.Event:
			messages[i] = mancalaEvent(event)
		case shiverpeak.Event:
			messages[i] = shiverPeakEvent(event)
		case engine.LimitReached:
			messages[i] = gameEndedEvent(engine.DrawnGame(engine.PlyLimit))
		}
	}
	return messages
}

func turnStartedEvent(seat int32) *avalanchev1.Event {
	return &avalanchev1.Event{Kind: &avalanchev1.Event_TurnStarted{TurnStarted: &avalanchev1.TurnStarted{Seat: seat}}}
}

func seatOutEvent(seat int32, cause avalanchev1.SeatOut_Cause) *avalanchev1.Event {
	return &avalanchev1.Event{Kind: &avalanchev1.Event_SeatOut{SeatOut: &avalanchev1.SeatOut{Seat: seat, Cause: cause}}}
}

func gameEndedEvent(outcome engine.Outcome) *avalanchev1.Event {
	return &avalanchev1.Event{Kind: &avalanchev1.Event_GameEnded{GameEnded: &avalanchev1.GameEnded{
		Status:  statusMessage(outcome.Status),
		Winners: seatNumbers(outcome.Winners),
		Ended:   endingMessage(outcome.Ending),
	}}}
}
