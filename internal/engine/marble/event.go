package marble

import (
	"fmt"

	"github.com/avalanched/avalanched/internal/engine"
)

// EventKind tells what an Event says and which of its fields count.
type EventKind uint8

// The kinds of events. Seat is 0 in simulated drops.
const (
	// BoardSet: the game starts on Board.
	BoardSet EventKind = iota + 1
	// CardDealt: Seat got Card.
	CardDealt
	// TurnStarted: it is Seat's turn.
	TurnStarted
	// MarbleDropped: Seat put a marble of Color into the chute of Lane, from its hand
	// or (FromTray) from a tray.
	MarbleDropped
	// GateFlipped: a marble passed the empty Gate, which leans to the other side now.
	GateFlipped
	// GateLoaded: a marble of Color came to rest on Gate.
	GateLoaded
	// MarbleShunted: a marble of Color changed lanes at the loaded Gate.
	MarbleShunted
	// MarbleReleased: Gate let its marble of Color go; it leans as before.
	MarbleReleased
	// MarbleExited: a marble of Color left the board in Lane.
	MarbleExited
	// HoleFilled: a marble of Color went to Hole of Seat's card.
	HoleFilled
	// MarblesMoved: Marbles went from From to To, of Seat where a hand is meant.
	MarblesMoved
	// MarbleTakenBack: Seat took the marble of Color off Gate.
	MarbleTakenBack
	// SeatPassed: Seat did nothing, because it could not (Automatic) or chose to.
	SeatPassed
	// SeatOut: Seat is out of the game, having Resigned or run out of marbles.
	SeatOut
	// GameEnded: the game is over with Outcome.
	GameEnded
)

// Place is where marbles lie beside the board.
type Place uint8

// The places.
const (
	Trays Place = iota + 1
	Hand
	OnCard
	Discard
	Bottom
)

// String is the place's name.
func (p Place) String() string {
	return [...]string{Trays: "trays", Hand: "hand", OnCard: "card", Discard: "discard", Bottom: "bottom"}[p]
}

// Event is one thing that happened in a marble game. Kind tells which fields count. Where
// engine.Event is asked for, it is an *Event.
type Event struct {
	Kind      EventKind
	Seat      uint8 // from 1
	Gate      Gate
	Right     bool // leans right
	Color     Color
	Lane      Lane
	Hole      uint8 // from 1
	From, To  Place
	FromTray  bool
	Automatic bool
	Resigned  bool
	Marbles   Marbles
	Outcome   engine.Outcome
	// Card is set for CardDealt, Board for BoardSet.
	Card  *Card
	Board *Board
}

// String is a short readable form.
func (e Event) String() string {
	switch e.Kind {
	case BoardSet:
		return "board " + e.Board.String()
	case CardDealt:
		return fmt.Sprintf("seat %d gets card %s", e.Seat, e.Card)
	case TurnStarted:
		return fmt.Sprintf("seat %d to move", e.Seat)
	case MarbleDropped:
		source := Hand
		if e.FromTray {
			source = Trays
		}
		return fmt.Sprintf("seat %d drops %v%v from %v", e.Seat, e.Lane, e.Color, source)
	case GateFlipped:
		return "flip " + e.Gate.String() + " " + lean(e.Right)
	case GateLoaded:
		return "load " + e.Gate.String() + " " + e.Color.String()
	case MarbleShunted:
		return "shunt " + e.Gate.String() + " " + e.Color.String()
	case MarbleReleased:
		return "release " + e.Gate.String() + " " + e.Color.String()
	case MarbleExited:
		return "exit " + e.Lane.String() + " " + e.Color.String()
	case HoleFilled:
		return fmt.Sprintf("seat %d fills hole %d with %v", e.Seat, e.Hole, e.Color)
	case MarblesMoved:
		return fmt.Sprintf("seat %d: %v from %v to %v", e.Seat, e.Marbles, e.From, e.To)
	case MarbleTakenBack:
		return fmt.Sprintf("seat %d takes %v off %v", e.Seat, e.Color, e.Gate)
	case SeatPassed:
		if e.Automatic {
			return fmt.Sprintf("seat %d can drop nothing", e.Seat)
		}
		return fmt.Sprintf("seat %d passes", e.Seat)
	case SeatOut:
		if e.Resigned {
			return fmt.Sprintf("seat %d resigns", e.Seat)
		}
		return fmt.Sprintf("seat %d has no marble and is out", e.Seat)
	case GameEnded:
		return "game " + resultText(e.Outcome)
	default:
		return "?"
	}
}

func lean(right bool) string {
	if right {
		return "R"
	}
	return "L"
}
