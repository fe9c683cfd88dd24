package mancala

import (
	"fmt"

	"github.com/avalanched/avalanched/internal/engine"
)

// Event is one thing that happened in a mancala game, one of the types below. Those of
// a move come in this order: a LapSown for each handful, StonesCaptured if the last one
// captured, SowingSummary, StonesSwept if the game ended with stones left, and
// TurnStarted or GameEnded. A resignation is SeatOut and GameEnded, a start BoardSet
// and TurnStarted.
type Event interface {
	engine.Event
	isEvent()
}

func (BoardSet) isEvent()       {}
func (LapSown) isEvent()        {}
func (StonesCaptured) isEvent() {}
func (SowingSummary) isEvent()  {}
func (StonesSwept) isEvent()    {}
func (TurnStarted) isEvent()    {}
func (SeatOut) isEvent()        {}
func (GameEnded) isEvent()      {}

// BoardSet says how the board stands when a game begins.
type BoardSet struct {
	Position Position
}

// LapSown says that a seat lifted all stones of a pit and sowed them one by one
// counterclockwise, into its own store as it passed it but not into the other.
type LapSown struct {
	// Seat is the mover.
	Seat int
	// PitSeat owns the pit, Pit counts from that seat's left: a relay goes on from
	// pits of either side.
	PitSeat, Pit int
	// Stones is the number of stones lifted and sown.
	Stones int
	// LastSeat and LastPit tell where the last stone fell; LastPit is 0 for the store.
	LastSeat, LastPit int
	// Landing says what followed from it.
	Landing Landing
}

// Landing is what follows from the place of a lap's last stone.
type Landing uint8

// The landings.
const (
	// Relay: the pit held stones. They are lifted with the last one and sown on.
	Relay Landing = iota + 1
	// Store: the mover's store. The mover has another turn unless the game is over.
	Store
	// EmptyPit: the pit was empty. The turn ends.
	EmptyPit
	// Capture: the pit is the mover's and was empty, and the one opposite is not. The
	// turn ends with a capture.
	Capture
	// OccupiedPit: the pit held stones, in a game without relay. The turn ends.
	OccupiedPit
)

// String is the landing in words.
func (l Landing) String() string {
	return [...]string{
		Relay:       "sows on",
		Store:       "in the store",
		EmptyPit:    "in an empty pit",
		Capture:     "captures",
		OccupiedPit: "among stones",
	}[l]
}

// StonesCaptured says that a seat put the last stone that it sowed and those in the
// opposite pit into its store.
type StonesCaptured struct {
	// Seat is the mover, and Pit its pit where the last stone fell.
	Seat, Pit int
	// OppositePit is the opponent's pit, counted from the opponent's left.
	OppositePit int
	// Stones is the number of stones put into the store, the mover's one included.
	Stones int
}

// SowingSummary sums up what sowing a pit does or did. It is an event and also what
// Position.Sow and Position.Preview answer.
type SowingSummary struct {
	// Laps counts the handfuls.
	Laps int
	// StonesSown counts the stones in all handfuls; a stone sown twice counts twice.
	StonesSown int
	// StoreGain is the number of stones that came to the mover's store by sowing and
	// by capture, without those swept at the end of the game.
	StoreGain int
	// Next tells what comes after the move.
	Next Next
}

// Next is what comes after a move.
type Next uint8

// The ways to go on.
const (
	// OpponentsTurn: the other seat is to move.
	OpponentsTurn Next = iota
	// AnotherTurn: the mover is to move again.
	AnotherTurn
	// EndOfGame: a side has no stones left.
	EndOfGame
)

// StonesSwept says that the game is over and a seat put the stones left in its pits
// into its own store.
type StonesSwept struct {
	Seat, Stones int
}

// TurnStarted says that a seat is to move; after a last stone in its store, again.
type TurnStarted struct {
	Seat int
}

// SeatOut says that a seat resigned.
type SeatOut struct {
	Seat int
}

// GameEnded says that the game is over, and how.
type GameEnded struct {
	Outcome engine.Outcome
}

// String implements engine.Event.
func (e BoardSet) String() string { return "board " + e.Position.String() }

// String implements engine.Event.
func (e LapSown) String() string {
	return fmt.Sprintf("%s sows %s, %d to %s: %s", seatName(e.Seat), holeName(e.PitSeat, e.Pit), e.Stones,
		holeName(e.LastSeat, e.LastPit), e.Landing)
}

// String implements engine.Event.
func (e StonesCaptured) String() string {
	return fmt.Sprintf("%s captures %s from %s: %d", seatName(e.Seat), holeName(otherSeat(e.Seat), e.OppositePit),
		holeName(e.Seat, e.Pit), e.Stones)
}

// String implements engine.Event.
func (e SowingSummary) String() string {
	text := fmt.Sprintf("laps %d, stones sown %d, store +%d", e.Laps, e.StonesSown, e.StoreGain)
	switch e.Next {
	case AnotherTurn:
		text += ", another turn"
	case EndOfGame:
		text += ", end of the game"
	}
	return text
}

// String implements engine.Event.
func (e StonesSwept) String() string { return fmt.Sprintf("%s sweeps %d", seatName(e.Seat), e.Stones) }

// String implements engine.Event.
func (e TurnStarted) String() string { return seatName(e.Seat) + " to move" }

// String implements engine.Event.
func (e SeatOut) String() string { return seatName(e.Seat) + " resigns" }

// String implements engine.Event.
func (e GameEnded) String() string {
	if e.Outcome.Status == engine.Drawn {
		return "tie"
	}
	return seatName(e.Outcome.Winners.Seats()[0]) + " wins"
}

// holeName is a pit such as "s1", or "s store" for pit 0.
func holeName(seat, pit int) string {
	if pit == 0 {
		return seatLetter(seat) + " store"
	}
	return seatLetter(seat) + Move(pit).String()
}
