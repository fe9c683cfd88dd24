package shiverpeak

import (
	"fmt"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// Event is one thing that happened in the card game, one of the types below.
type Event interface {
	engine.Event
	isEvent()
}

func (DieRolled) isEvent()          {}
func (TurnStarted) isEvent()        {}
func (TurnSkipped) isEvent()        {}
func (DeckReshuffled) isEvent()     {}
func (CardRevealed) isEvent()       {}
func (CardMoved) isEvent()          {}
func (CardsPassed) isEvent()        {}
func (AvalancheStarted) isEvent()   {}
func (EncounterResolved) isEvent()  {}
func (EncounterUnpayable) isEvent() {}
func (TargetChosen) isEvent()       {}
func (LivesChanged) isEvent()       {}
func (SkipImposed) isEvent()        {}
func (ExtraRevealGranted) isEvent() {}
func (ExtraRevealTaken) isEvent()   {}
func (EffectLapsed) isEvent()       {}
func (SeatOut) isEvent()            {}
func (GameEnded) isEvent()          {}

// Purpose says what a die was rolled for.
type Purpose uint8

// The purposes.
const (
	// ForTurnOrder: the highest roll moves first.
	ForTurnOrder Purpose = iota + 1
	// ToAvoid, ToFace and ToKeep: what a player does about an Encounter.
	ToAvoid
	ToFace
	ToKeep
	// ForDirection: 1 to 3 sends an Avalanche clockwise, 4 to 6 the other way.
	ForDirection
)

// String names the purpose; chance is asked for under this name.
func (p Purpose) String() string {
	return [...]string{"", "turn order", "avoid", "face", "keep", "direction"}[p]
}

// What else is asked of chance.
const (
	purposeDraw         = "draw"
	purposeLoseFinished = "lose finished"
)

// PileKind is the sort of a place where a card lies.
type PileKind uint8

// The piles. Active, passed-on and finished cards belong to a seat.
const (
	// RevealedPile: the card just turned over, on the table.
	RevealedPile PileKind = iota + 1
	// DiscardPile: used cards, which become the deck again.
	DiscardPile
	// ActivePile: Encounters kept by a seat.
	ActivePile
	// PassedPile: Encounters that an Avalanche passed on to a seat.
	PassedPile
	// FinishedPile: Encounters overcome by a seat.
	FinishedPile
)

// Pile is a place where a card lies.
type Pile struct {
	Kind PileKind
	// Seat is whose pile it is, from 1, or 0 for the piles of all.
	Seat int
}

// String is the pile in words, such as "the finished pile of seat 2".
func (p Pile) String() string {
	name := [...]string{"", "the table", "the discard pile", "the active pile", "the passed cards", "the finished pile"}[p.Kind]
	if p.Seat == 0 {
		return name
	}
	return fmt.Sprintf("%s of seat %d", name, p.Seat)
}

// DieRolled is one roll of a die.
type DieRolled struct {
	Purpose Purpose
	Seat    int
	Die     int
	// Need is what the die had to show.
	Need Need
	// Met tells whether it did; a die that needs nothing always does. It need not
	// settle the attempt, for some tests roll two dice.
	Met bool
}

// TurnStarted says that a seat's turn began: it is to reveal a card.
type TurnStarted struct{ Seat int }

// TurnSkipped says that a seat's turn was skipped, which uses up what imposed it.
type TurnSkipped struct{ Seat int }

// DeckReshuffled says that the discard pile has become the draw pile.
type DeckReshuffled struct{ Cards int }

// CardRevealed says that a card was turned over from the draw pile.
type CardRevealed struct {
	Seat int
	Card ID
}

// CardMoved says that a card went from one pile to another.
type CardMoved struct {
	Card     ID
	From, To Pile
}

// CardsPassed says that an Avalanche passed all active cards of a seat to another.
// They are dealt with in the order given.
type CardsPassed struct {
	From, To int
	Cards    []ID
}

// AvalancheStarted says which way active cards go.
type AvalancheStarted struct{ Direction Direction }

// EncounterResolved says that an attempt at an Encounter succeeded or failed; what
// follows from that comes after it.
type EncounterResolved struct {
	Seat int
	Card ID
	// Action is Avoid, Face or Keep.
	Action  Action
	Success bool
}

// EncounterUnpayable says that a player without lives met an Encounter that costs
// lives. It is discarded.
type EncounterUnpayable struct {
	Seat int
	Card ID
}

// TargetChosen says that a seat named the rival whom its card hits.
type TargetChosen struct {
	Seat, Target int
	Card         ID
}

// LifeReason says why lives changed.
type LifeReason uint8

// The reasons.
const (
	// ByEffect: an effect of the card.
	ByEffect LifeReason = iota + 1
	// ByFailure: the life that failing to face or to keep costs.
	ByFailure
	// ByPayment: the life that facing the card asks for.
	ByPayment
)

// String is the reason in one word.
func (r LifeReason) String() string { return [...]string{"", "effect", "failure", "payment"}[r] }

// LivesChanged says that a seat gained or lost lives.
type LivesChanged struct {
	Seat int
	// Change is never 0; Lives is what the seat has now, 0 to 9.
	Change, Lives int
	Reason        LifeReason
	// Card is the card that did it.
	Card ID
}

// SkipImposed says that a seat will skip its next turn.
type SkipImposed struct {
	Seat int
	Card ID
}

// ExtraRevealGranted says that a seat will reveal once more when its turn, or its
// next one, ends.
type ExtraRevealGranted struct {
	Seat int
	Card ID
}

// ExtraRevealTaken says that a seat's turn goes on with another card to reveal.
type ExtraRevealTaken struct{ Seat int }

// EffectLapsed says that an effect of a card could not change anything.
type EffectLapsed struct {
	Seat   int
	Card   ID
	Effect Effect
}

// SeatOut says that a seat resigned. Its lives, its skipped turn and its extra
// reveal are gone; its cards that are discarded follow.
type SeatOut struct{ Seat int }

// GameEnded is the last event of a game.
type GameEnded struct{ Outcome engine.Outcome }

// String implements engine.Event.
func (e DieRolled) String() string {
	if e.Need == (Need{}) {
		return fmt.Sprintf("seat %d rolls %d for the %v", e.Seat, e.Die, e.Purpose)
	}
	return fmt.Sprintf("seat %d rolls %d to %v, needs %v: %s", e.Seat, e.Die, e.Purpose, e.Need, yesNo(e.Met))
}

// String implements engine.Event.
func (e TurnStarted) String() string { return fmt.Sprintf("turn of seat %d", e.Seat) }

// String implements engine.Event.
func (e ExtraRevealTaken) String() string { return fmt.Sprintf("seat %d reveals again", e.Seat) }

// String implements engine.Event.
func (e TurnSkipped) String() string { return fmt.Sprintf("seat %d skips its turn", e.Seat) }

// String implements engine.Event.
func (e DeckReshuffled) String() string {
	return fmt.Sprintf("the discard pile, %d cards, becomes the draw pile", e.Cards)
}

// String implements engine.Event.
func (e CardRevealed) String() string {
	return fmt.Sprintf("seat %d reveals %v %s", e.Seat, e.Card, e.Card.Card().Name)
}

// String implements engine.Event.
func (e CardMoved) String() string { return fmt.Sprintf("%v goes from %v to %v", e.Card, e.From, e.To) }

// String implements engine.Event.
func (e CardsPassed) String() string {
	return fmt.Sprintf("seat %d passes %s to seat %d", e.From, joinIDs(e.Cards), e.To)
}

// String implements engine.Event.
func (e AvalancheStarted) String() string {
	return fmt.Sprintf("the avalanche goes %v", e.Direction)
}

// String implements engine.Event.
func (e EncounterResolved) String() string {
	return fmt.Sprintf("seat %d tries to %v %v: %s", e.Seat, e.Action, e.Card, yesNo(e.Success))
}

// String implements engine.Event.
func (e EncounterUnpayable) String() string {
	return fmt.Sprintf("seat %d has no life to pay for %v", e.Seat, e.Card)
}

// String implements engine.Event.
func (e TargetChosen) String() string {
	return fmt.Sprintf("seat %d aims %v at seat %d", e.Seat, e.Card, e.Target)
}

// String implements engine.Event.
func (e LivesChanged) String() string {
	return fmt.Sprintf("seat %d %+d lives, now %d (%v, %v)", e.Seat, e.Change, e.Lives, e.Reason, e.Card)
}

// String implements engine.Event.
func (e SkipImposed) String() string {
	return fmt.Sprintf("seat %d will skip a turn (%v)", e.Seat, e.Card)
}

// String implements engine.Event.
func (e ExtraRevealGranted) String() string {
	return fmt.Sprintf("seat %d will reveal again (%v)", e.Seat, e.Card)
}

// String implements engine.Event.
func (e EffectLapsed) String() string {
	return fmt.Sprintf("nothing happens to seat %d (%v, %v)", e.Seat, e.Effect, e.Card)
}

// String implements engine.Event.
func (e SeatOut) String() string { return fmt.Sprintf("seat %d resigns", e.Seat) }

// String implements engine.Event.
func (e GameEnded) String() string {
	if e.Outcome.Status == engine.Drawn {
		return fmt.Sprintf("the game is drawn: %v", e.Outcome.Ending)
	}
	return fmt.Sprintf("seat %d wins: %v", e.Outcome.Winners.Seats()[0], e.Outcome.Ending)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// joinIDs lists cards as in notations.
func joinIDs(ids []ID) string {
	codes := make([]string, len(ids))
	for i, id := range ids {
		codes[i] = id.String()
	}
	return strings.Join(codes, "+")
}
