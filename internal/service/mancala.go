package service

import (
	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine/mancala"
)

func mancalaTable(p mancala.Position) *avalanchev1.Game_Mancala {
	table := &avalanchev1.MancalaGame{}
	for seat := 1; seat <= p.Players(); seat++ {
		message := &avalanchev1.MancalaGame_Seat{Store: int32(p.Store(seat))}
		for _, stones := range p.Pits(seat) {
			message.Pits = append(message.Pits, int32(stones))
		}
		table.Seats = append(table.Seats, message)
	}
	return &avalanchev1.Game_Mancala{Mancala: table}
}

func mancalaMoveMessage(move mancala.Move) *avalanchev1.Move {
	return &avalanchev1.Move{Kind: &avalanchev1.Move_Sow{Sow: &avalanchev1.Sow{Pit: int32(move.Pit())}}}
}

// mancalaPreview shows what a legal move would do, and nothing for any other.
func mancalaPreview(p mancala.Position, move mancala.Move) *avalanchev1.SowingSummary {
	summary, err := p.Preview(move.Pit())
	if err != nil {
		return nil
	}
	return sowingSummaryMessage(summary)
}

func sowingSummaryMessage(summary mancala.SowingSummary) *avalanchev1.SowingSummary {
	return &avalanchev1.SowingSummary{
		Laps:        int32(summary.Laps),
		StonesSown:  int32(summary.StonesSown),
		StoreGain:   int32(summary.StoreGain),
		AnotherTurn: summary.Next == mancala.AnotherTurn,
		EndsGame:    summary.Next == mancala.EndOfGame,
	}
}

func mancalaParameters(r *mancala.Ruleset) *avalanchev1.Ruleset_Mancala {
	return &avalanchev1.Ruleset_Mancala{Mancala: &avalanchev1.MancalaParameters{
		PitsPerSide:   mancala.PitsPerSide,
		DefaultStones: mancala.DefaultStonesPerPit,
		MinStones:     mancala.MinStonesPerPit,
		MaxStones:     mancala.MaxStonesPerPit,
		Relay:         !r.Captures(),
		Captures:      r.Captures(),
	}}
}

// landingMessage relies on both sides listing the landings in the same order; a test
// compares the names.
func landingMessage(landing mancala.Landing) avalanchev1.LapSown_Landing {
	return avalanchev1.LapSown_Landing(landing)
}

// mancalaEvent shows an event.
func mancalaEvent(event mancala.Event) *avalanchev1.Event {
	switch e := event.(type) {
	case mancala.BoardSet:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_BoardSet{BoardSet: &avalanchev1.BoardSet{Board: e.Position.String()}}}
	case mancala.TurnStarted:
		return turnStartedEvent(int32(e.Seat))
	case mancala.LapSown:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_LapSown{LapSown: &avalanchev1.LapSown{
			Seat:    int32(e.Seat),
			PitSeat: int32(e.PitSeat), Pit: int32(e.Pit),
			Stones:   int32(e.Stones),
			LastSeat: int32(e.LastSeat), LastPit: int32(e.LastPit),
			Landing: landingMessage(e.Landing),
		}}}
	case mancala.StonesCaptured:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_StonesCaptured{StonesCaptured: &avalanchev1.StonesCaptured{
			Seat: int32(e.Seat), Pit: int32(e.Pit), OppositePit: int32(e.OppositePit), Stones: int32(e.Stones),
		}}}
	case mancala.SowingSummary:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_SowingSummary{SowingSummary: sowingSummaryMessage(e)}}
	case mancala.StonesSwept:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_StonesSwept{StonesSwept: &avalanchev1.StonesSwept{
			Seat: int32(e.Seat), Stones: int32(e.Stones),
		}}}
	case mancala.SeatOut:
		return seatOutEvent(int32(e.Seat), avalanchev1.SeatOut_RESIGNED)
	case mancala.GameEnded:
		return gameEndedEvent(e.Outcome)
	default:
		return &avalanchev1.Event{}
	}
}
