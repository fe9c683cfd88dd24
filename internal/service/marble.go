package service

import (
	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine/marble"
)

func marbleTable(p marble.Position) *avalanchev1.Game_Marble {
	table := &avalanchev1.MarbleGame{
		Board:         p.Board().String(),
		Gates:         gateMessages(p.Board()),
		Trays:         marblesMessage(p.Trays()),
		Discarded:     marblesMessage(p.Discarded()),
		DropsThisTurn: int32(p.Drops()),
	}
	for seat := 1; seat <= p.Players(); seat++ {
		message := &avalanchev1.MarbleGame_Seat{Hand: marblesMessage(p.Hand(seat)), Out: p.Out(seat)}
		if card := p.Card(seat); card != nil {
			message.Card = cardMessage(card)
		}
		table.Seats = append(table.Seats, message)
	}
	return &avalanchev1.Game_Marble{Marble: table}
}

func gateMessages(board marble.Board) []*avalanchev1.Gate {
	gates := board.Gates()
	messages := make([]*avalanchev1.Gate, len(gates))
	for i, gate := range gates {
		messages[i] = &avalanchev1.Gate{Gate: gate.String(), Lean: leanMessage(board.LeansRight(gate))}
		if color, held := board.Held(gate); held {
			messages[i].Held = colorMessage(color).Enum()
		}
	}
	return messages
}

func leanMessage(right bool) avalanchev1.Gate_Lean {
	if right {
		return avalanchev1.Gate_RIGHT
	}
	return avalanchev1.Gate_LEFT
}

// colorMessage relies on both sides listing the colors in the order of the rotation.
func colorMessage(color marble.Color) avalanchev1.Marble_Color {
	return avalanchev1.Marble_Color(color) + avalanchev1.Marble_RED
}

func chuteMessage(lane marble.Lane) avalanchev1.MarbleDrop_Chute {
	return avalanchev1.MarbleDrop_Chute(lane-marble.FirstChute) + avalanchev1.MarbleDrop_A
}

func marblesMessage(marbles marble.Marbles) *avalanchev1.Marbles {
	return &avalanchev1.Marbles{
		Red:    int32(marbles.Of(marble.Red)),
		Yellow: int32(marbles.Of(marble.Yellow)),
		Blue:   int32(marbles.Of(marble.Blue)),
		Green:  int32(marbles.Of(marble.Green)),
	}
}

func cardMessage(card *marble.Card) *avalanchev1.MarbleGame_Card {
	message := &avalanchev1.MarbleGame_Card{}
	for _, hole := range card.Holes {
		message.Holes = append(message.Holes,
			&avalanchev1.MarbleGame_Hole{Color: colorMessage(hole.Color), Filled: hole.Filled})
	}
	return message
}

func marbleMoveMessage(move marble.Move) *avalanchev1.Move {
	return &avalanchev1.Move{Kind: &avalanchev1.Move_Drop{Drop: &avalanchev1.MarbleDrop{
		Chute: chuteMessage(move.Chute()),
		Color: colorMessage(move.Color()),
	}}}
}

func marbleParameters(v *marble.Variant) *avalanchev1.Ruleset_Marble {
	return &avalanchev1.Ruleset_Marble{Marble: &avalanchev1.MarbleParameters{
		Colors:          int32(v.Colors()),
		MarblesPerColor: int32(v.PerColor()),
		DefaultRows:     marble.DefaultRows,
		MaxRows:         marble.MaxRows,
	}}
}

func placeMessage(place marble.Place) avalanchev1.MarblesMoved_Place {
	return map[marble.Place]avalanchev1.MarblesMoved_Place{
		marble.Trays:   avalanchev1.MarblesMoved_TRAYS,
		marble.Hand:    avalanchev1.MarblesMoved_HAND,
		marble.OnCard:  avalanchev1.MarblesMoved_CARD,
		marble.Discard: avalanchev1.MarblesMoved_DISCARD,
		marble.Bottom:  avalanchev1.MarblesMoved_BOTTOM,
	}[place]
}

// marbleEvent shows an event. Events of one kind of game and those that all games have
// stand side by side in the API.
func marbleEvent(e *marble.Event) *avalanchev1.Event {
	seat := int32(e.Seat)
	switch e.Kind {
	case marble.BoardSet:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_BoardSet{BoardSet: &avalanchev1.BoardSet{Board: e.Board.String()}}}
	case marble.CardDealt:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_CardDealt{CardDealt: &avalanchev1.CardDealt{Seat: seat, Card: cardMessage(e.Card)}}}
	case marble.TurnStarted:
		return turnStartedEvent(seat)
	case marble.MarbleDropped:
		source := avalanchev1.MarbleDropped_HAND
		if e.FromTray {
			source = avalanchev1.MarbleDropped_TRAY
		}
		return &avalanchev1.Event{Kind: &avalanchev1.Event_MarbleDropped{MarbleDropped: &avalanchev1.MarbleDropped{
			Seat: seat, Chute: chuteMessage(e.Lane), Color: colorMessage(e.Color), Source: source,
		}}}
	case marble.GateFlipped:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_GateFlipped{GateFlipped: &avalanchev1.GateFlipped{
			Gate: e.Gate.String(), Lean: leanMessage(e.Right),
		}}}
	case marble.GateLoaded:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_GateLoaded{GateLoaded: &avalanchev1.GateLoaded{
			Gate: e.Gate.String(), Color: colorMessage(e.Color),
		}}}
	case marble.MarbleShunted:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_MarbleShunted{MarbleShunted: &avalanchev1.MarbleShunted{
			Gate: e.Gate.String(), Color: colorMessage(e.Color),
		}}}
	case marble.MarbleReleased:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_MarbleReleased{MarbleReleased: &avalanchev1.MarbleReleased{
			Gate: e.Gate.String(), Color: colorMessage(e.Color),
		}}}
	case marble.MarbleExited:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_MarbleExited{MarbleExited: &avalanchev1.MarbleExited{
			Lane: e.Lane.String(), Color: colorMessage(e.Color),
		}}}
	case marble.HoleFilled:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_HoleFilled{HoleFilled: &avalanchev1.HoleFilled{
			Seat: seat, Hole: int32(e.Hole), Color: colorMessage(e.Color),
		}}}
	case marble.MarblesMoved:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_MarblesMoved{MarblesMoved: &avalanchev1.MarblesMoved{
			Seat: seat, From: placeMessage(e.From), To: placeMessage(e.To), Marbles: marblesMessage(e.Marbles),
		}}}
	case marble.MarbleTakenBack:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_MarbleTakenBack{MarbleTakenBack: &avalanchev1.MarbleTakenBack{
			Seat: seat, Gate: e.Gate.String(), Color: colorMessage(e.Color),
		}}}
	case marble.SeatPassed:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_SeatPassed{SeatPassed: &avalanchev1.SeatPassed{
			Seat: seat, Automatic: e.Automatic,
		}}}
	case marble.SeatOut:
		cause := avalanchev1.SeatOut_OUT_OF_MARBLES
		if e.Resigned {
			cause = avalanchev1.SeatOut_RESIGNED
		}
		return seatOutEvent(seat, cause)
	case marble.GameEnded:
		return gameEndedEvent(e.Outcome)
	default:
		return &avalanchev1.Event{}
	}
}
