package shiverpeak

import "github.com/avalanched/avalanched/internal/engine"

// The bounds of the game.
const (
	// MinPlayers is the least number of seats. The source says three or more.
	MinPlayers = 3
	// MaxPlayers is the largest number of seats.
	MaxPlayers = 8
	// StartLives is the number of lives that each player starts with.
	StartLives = 5
	// MaxLives is the largest number of lives that a player can have.
	MaxLives = 9
	// MaxActive is how many active Encounters a player may have.
	MaxActive = 2
)

// Needed is how many finished Encounters win a game of so many players.
func Needed(players int) int {
	switch players {
	case 3:
		return 8
	case 4:
		return 7
	default:
		return 6
	}
}

// Direction is the way an Avalanche goes.
type Direction uint8

// The directions. Clockwise is the order of play.
const (
	NoDirection Direction = iota
	Clockwise
	CounterClockwise
)

// directionWords spell the directions in notations.
var directionWords = []string{NoDirection: "none", Clockwise: "clockwise", CounterClockwise: "counterclockwise"}

// String is the direction in one word.
func (d Direction) String() string { return directionWords[d] }

// place is where a card lies: one of the common places or one of three of each
// seat's. Two of a seat's hold the Encounters face up before it, in the order of
// keeping. While an Avalanche goes down, those are the passed cards: active ones
// do not exist then, for all were passed on at once and none of them can be kept.
type place uint8

const (
	inDraw place = iota
	inDiscard
	seatPlaces
	onTable place = 255
)

// ofSeat tells whether the place is one of a seat's.
func (p place) ofSeat() bool { return p >= seatPlaces && p != onTable }

// seat is whose place it is, counted from 0.
func (p place) seat() int { return int(p-seatPlaces) / 3 }

// isFinished tells whether the place is a finished pile.
func (p place) isFinished() bool { return p.ofSeat() && p == finishedBy(p.seat()) }

// finishedBy is the finished pile of a seat, counted from 0 like all seats inside
// a position.
func finishedBy(seat int) place { return seatPlaces + place(3*seat) }

// before is the first (slot 0) or second (slot 1) place for open Encounters
// before a seat.
func before(seat, slot int) place { return seatPlaces + place(3*seat+1+slot) }

// Position is a state of the game between two moves. It knows which cards are
// still in the draw pile and not their order, for there is none: each card is
// drawn by chance when it is revealed. Positions can be compared.
type Position struct {
	players int8
	// turn is the seat that revealed the card on the table, or is to reveal one.
	turn      int8
	direction Direction
	// effect is the Encounter just finished whose last effect waits for a target.
	effect ID
	// lastRoll is the die rolled last, or 0.
	lastRoll uint8
	seats    [MaxPlayers]seatState
	// places says where each card is; index 0 is unused.
	places [Cards + 1]place
}

// seatState is what a player has besides cards. A seat that is out has nothing.
type seatState struct {
	lives uint8
	// skip: the next turn is skipped.
	skip bool
	// again: when the turn, or the next one, ends, the player reveals once more.
	again bool
	out   bool
}

// Players implements engine.Position.
func (p Position) Players() int { return int(p.players) }

// Options implements engine.Position: there are none.
func (p Position) Options() engine.Options { return engine.Options{} }

// Lives is the number of lives of a seat, counted from 1 like all seats outside.
func (p Position) Lives(seat int) int { return int(p.seats[seat-1].lives) }

// Out tells whether a seat has resigned.
func (p Position) Out(seat int) bool { return p.seats[seat-1].out }

// Skips tells whether a seat will skip its next turn.
func (p Position) Skips(seat int) bool { return p.seats[seat-1].skip }

// RevealsAgain tells whether a seat will reveal once more when its turn, or its
// next one, ends.
func (p Position) RevealsAgain(seat int) bool { return p.seats[seat-1].again }

// Finished lists the finished Encounters of a seat by number. They lie face down,
// but everybody has seen them go there.
func (p Position) Finished(seat int) []ID { return p.all(finishedBy(seat - 1)) }

// Active lists the active Encounters of a seat, the one kept first in front.
func (p Position) Active(seat int) []ID {
	if p.direction != NoDirection {
		return nil
	}
	return p.open(seat - 1)
}

// PassedCard is an Encounter that an Avalanche passed on to a seat.
type PassedCard struct {
	Seat int
	Card ID
}

// Passed lists the passed Encounters that are still to be dealt with, in order.
func (p Position) Passed() []PassedCard {
	if p.direction == NoDirection {
		return nil
	}
	var passed []PassedCard
	for i := range p.Players() {
		seat := p.following(int(p.turn), i)
		for _, id := range p.open(seat) {
			passed = append(passed, PassedCard{Seat: seat + 1, Card: id})
		}
	}
	return passed
}

// DrawPile is the number of cards still to be drawn.
func (p Position) DrawPile() int { return p.count(inDraw) }

// DiscardPile is the number of discarded cards.
func (p Position) DiscardPile() int { return p.count(inDiscard) }

// Revealed is the card turned over and not yet done with, if there is one.
func (p Position) Revealed() (ID, bool) {
	id := p.find(onTable)
	return id, id != 0
}

// Direction is the way of the Avalanche going down, if one is.
func (p Position) Direction() Direction { return p.direction }

// LastRoll is the die rolled last, 1 to 6, or 0 if none was.
func (p Position) LastRoll() int { return int(p.lastRoll) }

// Card is the card that the seat to move has to deal with, if there is one: the
// revealed card, the first of the passed ones, or the card whose effect waits for
// a target.
func (p Position) Card() (ID, bool) {
	if p.Outcome().Over() {
		return 0, false
	}
	_, id := p.due()
	return id, id != 0
}

// due returns the seat to decide, counted from 0, and the card it deals with, if
// it has one. The game must not be over.
func (p *Position) due() (int, ID) {
	switch {
	case p.effect != 0:
		return p.places[p.effect].seat(), p.effect
	case p.direction != NoDirection:
		return p.firstPassed()
	default:
		return int(p.turn), p.find(onTable)
	}
}

// firstPassed returns the seat and the passed card to deal with next, or the seat
// of the turn and the Avalanche if none is left.
func (p *Position) firstPassed() (int, ID) {
	for i := range int(p.players) {
		seat := p.following(int(p.turn), i)
		if id := p.find(before(seat, 0)); id != 0 {
			return seat, id
		}
	}
	return int(p.turn), p.find(onTable)
}

// following is the seat some steps after another in the direction of play, or in
// that of an Avalanche going down. Seats that are out count.
func (p *Position) following(seat, steps int) int {
	if p.direction == CounterClockwise {
		steps = int(p.players) - steps
	}
	return (seat + steps) % int(p.players)
}

// distance is how many seats of an Avalanche's order come before a seat.
func (p *Position) distance(seat int) int {
	steps := seat - int(p.turn)
	if p.direction == CounterClockwise {
		steps = -steps
	}
	return (steps + int(p.players)) % int(p.players)
}

// Turn implements engine.Position.
func (p Position) Turn() engine.Turn {
	if p.Outcome().Over() {
		return engine.Turn{}
	}
	seat, id := p.due()
	turn := engine.Turn{Seat: seat + 1}
	switch {
	case id == 0:
		turn.Phase = engine.PhaseReveal
	case p.effect != 0 || id.Kind() == Bonus:
		turn.Phase = engine.PhaseTarget
	case p.direction != NoDirection:
		turn.Phase = engine.PhasePassed
	default:
		turn.Phase = engine.PhaseEncounter
	}
	return turn
}

// Outcome implements engine.Position.
func (p Position) Outcome() engine.Outcome {
	var finished [MaxPlayers]int
	left := Encounters
	for id := ID(1); id <= Encounters; id++ {
		if at := p.places[id]; at.isFinished() {
			finished[at.seat()]++
			left--
		}
	}
	needed := Needed(int(p.players))
	playing, last, best, leader, tied := 0, 0, -1, 0, false
	for i := range int(p.players) {
		if p.seats[i].out {
			continue
		}
		if finished[i] >= needed {
			return engine.WonBy(i+1, engine.EncountersFinished)
		}
		playing, last = playing+1, i
		if finished[i] >= best {
			tied = finished[i] == best
			best, leader = finished[i], i
		}
	}
	switch {
	case playing == 1:
		return engine.WonBy(last+1, engine.LastOneLeft)
	case left > 0:
		return engine.Outcome{}
	case tied:
		return engine.DrawnGame(engine.DeckExhausted)
	default:
		return engine.WonBy(leader+1, engine.DeckExhausted)
	}
}

// LegalMoves implements engine.Position.
func (p Position) LegalMoves() []engine.Move {
	turn := p.Turn()
	switch turn.Phase {
	case engine.PhaseReveal:
		return []engine.Move{Move{Action: Reveal}}
	case engine.PhaseTarget:
		_, id := p.due()
		effect, _ := id.Card().targeted()
		var moves []engine.Move
		for _, rival := range p.targets(turn.Seat-1, effect) {
			moves = append(moves, Move{Action: Target, Seat: rival + 1})
		}
		return moves
	case engine.PhaseEncounter, engine.PhasePassed:
		lives := p.Lives(turn.Seat)
		if lives == 0 {
			return []engine.Move{Move{Action: Face}}
		}
		moves := []engine.Move{Move{Action: Avoid}}
		if _, id := p.due(); id.Card().Face.Price() <= lives {
			moves = append(moves, Move{Action: Face})
		}
		if turn.Phase == engine.PhaseEncounter && p.active(turn.Seat-1) < MaxActive {
			moves = append(moves, Move{Action: Keep})
		}
		return moves
	default:
		return nil
	}
}

// Odds returns the chance, in whole percent, that a legal move succeeds. Only
// avoiding, facing and keeping can fail; for all else ok is false. It is a
// property of the card and says nothing about the roll to come.
func (p Position) Odds(move engine.Move) (percent int, ok bool) {
	m, known := move.(Move)
	phase := p.Turn().Phase
	if !known || phase != engine.PhaseEncounter && phase != engine.PhasePassed || !p.legal(m) {
		return 0, false
	}
	seat, id := p.due()
	return attempt(m.Action, id.Card()).percent(p.skier(seat)), true
}

// attempt is the test of avoiding, facing or keeping an Encounter.
func attempt(action Action, card Card) Test {
	if action == Face {
		return card.Face
	}
	return Test{Kind: RollAtLeast, N: card.Rating}
}

// unpayable tells whether an Encounter costs a life that the seat dealing with it
// does not have.
func (p *Position) unpayable(seat int, id ID) bool {
	return p.effect == 0 && id.Kind() == Encounter && p.seats[seat].lives == 0 && id.Card().Face.Price() > 0
}

// targets lists the rivals of a seat whom an effect would do something to.
func (p *Position) targets(seat int, effect Effect) []int {
	var rivals []int
	for i := range int(p.players) {
		rival := p.seats[i]
		if i == seat || rival.out {
			continue
		}
		switch {
		case effect.Kind == RivalLosesLives && rival.lives > 0,
			effect.Kind == RivalSkips && !rival.skip,
			effect.Kind == RivalLosesFinished && p.find(finishedBy(i)) != 0:
			rivals = append(rivals, i)
		}
	}
	return rivals
}

// skier is what a seat's tests depend on.
func (p *Position) skier(seat int) skier {
	return skier{lives: int(p.seats[seat].lives), active: p.active(seat)}
}

// active is the number of active Encounters of a seat.
func (p *Position) active(seat int) int {
	if p.direction != NoDirection {
		return 0
	}
	return len(p.open(seat))
}

// open lists the Encounters lying face up before a seat, in order.
func (p *Position) open(seat int) []ID {
	var ids []ID
	for slot := range MaxActive {
		if id := p.find(before(seat, slot)); id != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// find returns the first card at a place, or 0.
func (p *Position) find(at place) ID {
	for id := ID(1); id <= Cards; id++ {
		if p.places[id] == at {
			return id
		}
	}
	return 0
}

// all lists the cards at a place by number.
func (p *Position) all(at place) []ID {
	var ids []ID
	for id := ID(1); id <= Cards; id++ {
		if p.places[id] == at {
			ids = append(ids, id)
		}
	}
	return ids
}

// count is the number of cards at a place.
func (p *Position) count(at place) int {
	n := 0
	for _, place := range p.places[1:] {
		if place == at {
			n++
		}
	}
	return n
}
