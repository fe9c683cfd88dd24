package service

import (
	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

func shiverPeakTable(p shiverpeak.Position) *avalanchev1.Game_ShiverPeak {
	table := &avalanchev1.ShiverPeakGame{
		Needed:      int32(shiverpeak.Needed(p.Players())),
		DrawPile:    int32(p.DrawPile()),
		DiscardPile: int32(p.DiscardPile()),
	}
	for seat := 1; seat <= p.Players(); seat++ {
		table.Seats = append(table.Seats, &avalanchev1.ShiverPeakGame_Seat{
			Lives:       int32(p.Lives(seat)),
			Finished:    int32(len(p.Finished(seat))),
			Active:      cardIDs(p.Active(seat)),
			Skip:        p.Skips(seat),
			ExtraReveal: p.RevealsAgain(seat),
			Out:         p.Out(seat),
		})
	}
	for _, passed := range p.Passed() {
		table.Pending = append(table.Pending, &avalanchev1.ShiverPeakGame_PassedCard{
			Seat: int32(passed.Seat), Card: passed.Card.String(),
		})
	}
	if id, revealed := p.Revealed(); revealed {
		table.Revealed = new(id.String())
	}
	if p.Direction() != shiverpeak.NoDirection {
		table.Direction = directionMessage(p.Direction()).Enum()
	}
	if id, deciding := p.Card(); deciding {
		table.Deciding = new(id.String())
	}
	if roll := p.LastRoll(); roll > 0 {
		table.LastRoll = new(int32(roll))
	}
	return &avalanchev1.Game_ShiverPeak{ShiverPeak: table}
}

func cardIDs(ids []shiverpeak.ID) []string {
	codes := make([]string, len(ids))
	for i, id := range ids {
		codes[i] = id.String()
	}
	return codes
}

// directionMessage, actionMessage and the conversions of kinds, purposes and reasons rely
// on both sides listing the values in the same order; a test compares the names.
func directionMessage(direction shiverpeak.Direction) avalanchev1.ShiverPeakGame_Direction {
	return avalanchev1.ShiverPeakGame_Direction(direction)
}

func actionMessage(action shiverpeak.Action) avalanchev1.CardAction_Action {
	return avalanchev1.CardAction_Action(action)
}

func shiverPeakMoveMessage(move shiverpeak.Move) *avalanchev1.Move {
	return &avalanchev1.Move{Kind: &avalanchev1.Move_Card{Card: &avalanchev1.CardAction{
		Action: actionMessage(move.Action), Target: int32(move.Seat),
	}}}
}

// successPercent is the chance of a legal move, in games where moves can fail.
func successPercent(position engine.Position, move engine.Move) *int32 {
	if p, ok := position.(shiverpeak.Position); ok {
		if percent, ok := p.Odds(move); ok {
			return new(int32(percent))
		}
	}
	return nil
}

func shiverPeakParameters() *avalanchev1.Ruleset_ShiverPeak {
	parameters := &avalanchev1.ShiverPeakParameters{
		StartLives: shiverpeak.StartLives,
		MaxLives:   shiverpeak.MaxLives,
		MaxActive:  shiverpeak.MaxActive,
	}
	for players := shiverpeak.MinPlayers; players <= shiverpeak.MaxPlayers; players++ {
		parameters.Goals = append(parameters.Goals, &avalanchev1.ShiverPeakParameters_Goal{
			Players: int32(players), Needed: int32(shiverpeak.Needed(players)),
		})
	}
	return &avalanchev1.Ruleset_ShiverPeak{ShiverPeak: parameters}
}

// deckMessage is the deck as it is printed.
func deckMessage() []*avalanchev1.ShiverPeakCard {
	deck := shiverpeak.Deck()
	messages := make([]*avalanchev1.ShiverPeakCard, len(deck))
	for i, card := range deck {
		messages[i] = &avalanchev1.ShiverPeakCard{
			Card:    card.ID.String(),
			Kind:    avalanchev1.ShiverPeakCard_Kind(card.Kind),
			Name:    card.Name,
			Flavor:  card.Flavor,
			Success: effectMessages(card.Success),
			Failure: effectMessages(card.Failure),
		}
		if card.Kind == shiverpeak.Encounter {
			messages[i].Rating = new(int32(card.Rating))
			messages[i].Face = &avalanchev1.FaceTest{
				Kind: avalanchev1.FaceTest_Kind(card.Face.Kind), Number: unlessZero(card.Face.N), Text: card.Face.Text(),
			}
		}
	}
	return messages
}

func effectMessages(effects []shiverpeak.Effect) []*avalanchev1.CardEffect {
	messages := make([]*avalanchev1.CardEffect, len(effects))
	for i, effect := range effects {
		messages[i] = effectMessage(effect)
	}
	return messages
}

func effectMessage(effect shiverpeak.Effect) *avalanchev1.CardEffect {
	return &avalanchev1.CardEffect{
		Kind: avalanchev1.CardEffect_Kind(effect.Kind), Lives: unlessZero(effect.N), Text: effect.Text(),
	}
}

// unlessZero is a number that is absent where it is zero.
func unlessZero(n int) *int32 {
	if n == 0 {
		return nil
	}
	return new(int32(n))
}

func pileMessage(pile shiverpeak.Pile) *avalanchev1.CardPile {
	return &avalanchev1.CardPile{Kind: avalanchev1.CardPile_Kind(pile.Kind), Seat: int32(pile.Seat)}
}

func dieMessage(e shiverpeak.DieRolled) *avalanchev1.DieRolled {
	message := &avalanchev1.DieRolled{
		Purpose: avalanchev1.DieRolled_Purpose(e.Purpose), Seat: int32(e.Seat), Die: int32(e.Die), Met: e.Met,
	}
	switch {
	case e.Need.Parity != shiverpeak.AnyParity:
		message.Need = &avalanchev1.DieRolled_Parity_{Parity: avalanchev1.DieRolled_Parity(e.Need.Parity)}
	case e.Need.AtMost > 0:
		message.Need = &avalanchev1.DieRolled_AtMost{AtMost: int32(e.Need.AtMost)}
	case e.Need.AtLeast > 0:
		message.Need = &avalanchev1.DieRolled_AtLeast{AtLeast: int32(e.Need.AtLeast)}
	}
	return message
}

// shiverPeakEvent shows an event.
func shiverPeakEvent(event shiverpeak.Event) *avalanchev1.Event {
	switch e := event.(type) {
	case shiverpeak.DieRolled:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_DieRolled{DieRolled: dieMessage(e)}}
	case shiverpeak.TurnStarted:
		return turnStartedEvent(int32(e.Seat))
	case shiverpeak.TurnSkipped:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_TurnSkipped{TurnSkipped: &avalanchev1.TurnSkipped{Seat: int32(e.Seat)}}}
	case shiverpeak.DeckReshuffled:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_DeckReshuffled{DeckReshuffled: &avalanchev1.DeckReshuffled{Cards: int32(e.Cards)}}}
	case shiverpeak.CardRevealed:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_CardRevealed{CardRevealed: &avalanchev1.CardRevealed{
			Seat: int32(e.Seat), Card: e.Card.String(),
		}}}
	case shiverpeak.CardMoved:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_CardMoved{CardMoved: &avalanchev1.CardMoved{
			Card: e.Card.String(), From: pileMessage(e.From), To: pileMessage(e.To),
		}}}
	case shiverpeak.CardsPassed:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_CardsPassed{CardsPassed: &avalanchev1.CardsPassed{
			FromSeat: int32(e.From), ToSeat: int32(e.To), Cards: cardIDs(e.Cards),
		}}}
	case shiverpeak.AvalancheStarted:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_AvalancheStarted{AvalancheStarted: &avalanchev1.AvalancheStarted{
			Direction: directionMessage(e.Direction),
		}}}
	case shiverpeak.EncounterResolved:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_EncounterResolved{EncounterResolved: &avalanchev1.EncounterResolved{
			Seat: int32(e.Seat), Card: e.Card.String(), Action: actionMessage(e.Action), Success: e.Success,
		}}}
	case shiverpeak.EncounterUnpayable:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_EncounterUnpayable{EncounterUnpayable: &avalanchev1.EncounterUnpayable{
			Seat: int32(e.Seat), Card: e.Card.String(),
		}}}
	case shiverpeak.TargetChosen:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_TargetChosen{TargetChosen: &avalanchev1.TargetChosen{
			Seat: int32(e.Seat), Target: int32(e.Target), Card: e.Card.String(),
		}}}
	case shiverpeak.LivesChanged:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_LivesChanged{LivesChanged: &avalanchev1.LivesChanged{
			Seat: int32(e.Seat), Change: int32(e.Change), Lives: int32(e.Lives),
			Reason: avalanchev1.LivesChanged_Reason(e.Reason), Card: e.Card.String(),
		}}}
	case shiverpeak.SkipImposed:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_SkipImposed{SkipImposed: &avalanchev1.SkipImposed{
			Seat: int32(e.Seat), Card: e.Card.String(),
		}}}
	case shiverpeak.ExtraRevealGranted:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_ExtraRevealGranted{ExtraRevealGranted: &avalanchev1.ExtraRevealGranted{
			Seat: int32(e.Seat), Card: e.Card.String(),
		}}}
	case shiverpeak.ExtraRevealTaken:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_ExtraRevealTaken{ExtraRevealTaken: &avalanchev1.ExtraRevealTaken{Seat: int32(e.Seat)}}}
	case shiverpeak.EffectLapsed:
		return &avalanchev1.Event{Kind: &avalanchev1.Event_EffectLapsed{EffectLapsed: &avalanchev1.EffectLapsed{
			Seat: int32(e.Seat), Card: e.Card.String(), Effect: effectMessage(e.Effect),
		}}}
	case shiverpeak.SeatOut:
		return seatOutEvent(int32(e.Seat), avalanchev1.SeatOut_RESIGNED)
	case shiverpeak.GameEnded:
		return gameEndedEvent(e.Outcome)
	default:
		return &avalanchev1.Event{}
	}
}
