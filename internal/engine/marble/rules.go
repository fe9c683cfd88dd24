package marble

import (
	"math/bits"

	"github.com/avalanched/avalanched/internal/engine"
)

// record appends an event unless nobody wants them.
func record(events *[]Event, event Event) {
	if events != nil {
		*events = append(*events, event)
	}
}

func (p *Position) drop(move Move, events *[]Event) {
	mover := &p.seats[p.turn]
	color := move.Color()
	// An own marble is used before one of the same color from a tray.
	fromTray := mover.hand.Of(color) == 0
	if fromTray {
		p.trays -= some(color, 1)
	} else {
		mover.hand -= some(color, 1)
	}
	record(events, Event{
		Kind: MarbleDropped, Seat: p.turn + 1, Lane: move.Chute(), Color: color, FromTray: fromTray,
	})
	fallen := p.board.Drop(move.Chute(), color, events)
	p.drops++
	p.passes = 0
	switch {
	case fallen != 0:
		p.collect(fallen, events)
		p.endTurn(events)
	case p.variant.winsInMidTurn && p.reached(p.turn):
		p.finish(p.turn, p.variant.goal.ending(), events)
	case p.opening && p.drops == p.variant.openingLimit:
		p.endTurn(events)
	default:
		p.settle(events)
	}
}

// collect puts the fallen marbles where the variant wants them.
func (p *Position) collect(fallen Marbles, events *[]Event) {
	mover := &p.seats[p.turn]
	switch p.variant.falls {
	case toCardRestToTrays:
		rest := p.fill(p.turn, fallen, events)
		if p.rules&passLeftovers != 0 {
			rest = p.offer(rest, events)
		}
		p.trays += rest
		p.move(rest, Bottom, Trays, events)
	case toCardRestToHand:
		rest := p.fill(p.turn, fallen, events)
		mover.hand += rest
		p.move(rest, Bottom, Hand, events)
	case outOfGame:
		if p.rules&hangUp == 0 {
			p.discarded += fallen
			p.move(fallen, Bottom, Discard, events)
			p.takeBack(events)
			return
		}
		fallthrough
	case toHand:
		mover.hand += fallen
		p.move(fallen, Bottom, Hand, events)
	}
}

func (p *Position) move(marbles Marbles, from, to Place, events *[]Event) {
	if marbles == 0 {
		return
	}
	record(events, Event{Kind: MarblesMoved, Seat: p.turn + 1, Marbles: marbles, From: from, To: to})
}

// fill puts marbles on a seat's card as far as they fit and returns the rest. Their
// order of falling does not matter. On a card that is filled in order, the first hole
// that no marble fits ends the filling.
func (p *Position) fill(seat uint8, marbles Marbles, events *[]Event) Marbles {
	owner := &p.seats[seat]
	layout := p.layout(int(seat))
	for hole, color := range layout.holes {
		if int(layout.rank[hole]) < owner.filled.Of(color) {
			continue
		}
		if marbles.Of(color) > 0 {
			marbles -= some(color, 1)
			owner.filled += some(color, 1)
			record(events, Event{Kind: HoleFilled, Seat: seat + 1, Hole: uint8(hole) + 1, Color: color})
		} else if p.fillsInOrder() {
			break
		}
	}
	return marbles
}

// fillsInOrder tells whether holes are filled only in the order printed on the card.
func (p *Position) fillsInOrder() bool { return p.variant.inOrder && p.rules&freeOrder == 0 }

// offer gives the seats after the mover, in order, what fits on their cards, as long as
// no card is full, and returns the rest (house rule pass_leftovers).
func (p *Position) offer(rest Marbles, events *[]Event) Marbles {
	seat := p.turn
	for !p.cardFull(seat) && rest != 0 {
		if seat = p.after(seat); seat == p.turn {
			break
		}
		rest = p.fill(seat, rest, events)
	}
	return rest
}

// takeBack gives the mover every marble that the board holds; no gate moves.
func (p *Position) takeBack(events *[]Event) {
	mover := &p.seats[p.turn]
	mover.hand += p.board.HeldMarbles()
	for loaded := p.board.loaded; loaded != 0; loaded &= loaded - 1 {
		gate := Gate(bits.TrailingZeros64(loaded))
		color, _ := p.board.Held(gate)
		record(events, Event{Kind: MarbleTakenBack, Seat: p.turn + 1, Gate: gate, Color: color})
	}
	p.board.takeAll()
}

func (p *Position) cardFull(seat uint8) bool {
	return p.seats[seat].filled == p.layout(int(seat)).count
}

// reached tells whether a seat has reached the variant's goal.
func (p *Position) reached(seat uint8) bool {
	hand := p.seats[seat].hand
	switch p.variant.goal {
	case fullCard:
		return p.cardFull(seat)
	case fullCardNoExtras:
		return hand == 0 && p.cardFull(seat)
	case emptyHand:
		return hand == 0
	case fiveOfOneColor:
		return p.hasFiveOfOneColor(hand)
	default:
		return p.hasEqualColors(hand)
	}
}

func (p *Position) hasFiveOfOneColor(hand Marbles) bool {
	total := hand.total()
	if total < 5 || p.rules&exactlyFive != 0 && total != 5 {
		return false
	}
	for c := range Color(MaxColors) {
		if hand.Of(c) == total {
			return true
		}
	}
	return false
}

func (p *Position) hasEqualColors(hand Marbles) bool {
	each := hand.Of(Red)
	if each < int(p.variant.equalEach[p.players]) {
		return false
	}
	for c := range Color(p.variant.colors) {
		if hand.Of(c) != each {
			return false
		}
	}
	return true
}

// endTurn looks for a winner and gives the turn to the next seat. The mover's own goal
// comes first; the others can only reach theirs by leftovers.
func (p *Position) endTurn(events *[]Event) {
	if p.reached(p.turn) {
		p.finish(p.turn, p.variant.goal.ending(), events)
		return
	}
	if p.rules&passLeftovers != 0 {
		for seat := p.after(p.turn); seat != p.turn; seat = p.after(seat) {
			if p.reached(seat) {
				p.finish(seat, p.variant.goal.ending(), events)
				return
			}
		}
	}
	p.advance(events)
	p.settle(events)
}

// after is the next seat in the order of play that is still in the game.
func (p *Position) after(seat uint8) uint8 {
	for {
		seat = (seat + 1) % p.players
		if !p.seats[seat].out {
			return seat
		}
	}
}

// before is the seat whose next one is this seat.
func (p *Position) before(seat uint8) uint8 {
	for {
		seat = (seat + p.players - 1) % p.players
		if !p.seats[seat].out {
			return seat
		}
	}
}

// advance gives the turn to the next seat.
func (p *Position) advance(events *[]Event) {
	previous := p.turn
	p.turn = p.after(p.turn)
	p.drops = 0
	// The opening limit is for the first seat's first turn, or for everybody's.
	p.opening = p.opening && p.rules&openingLimitForAll != 0 && p.turn > previous
	record(events, Event{Kind: TurnStarted, Seat: p.turn + 1})
}

// settle lets seats that can do nothing pass, or go out where a marble is needed, until
// one can decide or the game ends.
func (p *Position) settle(events *[]Event) {
	for !p.settled() {
		if !p.variant.needsMarbles {
			p.pass(true, events)
			continue
		}
		p.seats[p.turn].out = true
		record(events, Event{Kind: SeatOut, Seat: p.turn + 1})
		p.leave(events)
	}
	if !p.variant.needsMarbles {
		// Where passing is never chosen, the seat that can drop ends the row of passes
		// by whatever it does, so that its length means nothing.
		p.passes = 0
	}
}

// settled tells whether the game is over or the seat to move can do something.
func (p *Position) settled() bool { return p.over() || p.droppable(p.turn) != 0 }

// pass makes the mover do nothing, because it can do nothing or by choice.
func (p *Position) pass(automatic bool, events *[]Event) {
	record(events, Event{Kind: SeatPassed, Seat: p.turn + 1, Automatic: automatic})
	p.passes++
	if !p.drawn(events) {
		p.advance(events)
	}
}

// drawn ends the game if everybody still in it has passed in a row.
func (p *Position) drawn(events *[]Event) bool {
	if p.passes < p.remaining() {
		return false
	}
	p.finish(0, engine.AllPassed, events)
	return true
}

// resign takes the mover and all its marbles out of the game.
func (p *Position) resign(events *[]Event) {
	mover := &p.seats[p.turn]
	record(events, Event{Kind: SeatOut, Seat: p.turn + 1, Resigned: true})
	p.move(mover.hand, Hand, Discard, events)
	p.move(mover.filled, OnCard, Discard, events)
	p.discarded += mover.hand + mover.filled
	*mover = seat{out: true}
	p.leave(events)
	p.settle(events)
}

// leave goes on after the mover has gone out.
func (p *Position) leave(events *[]Event) {
	switch {
	case p.remaining() == 1:
		p.finish(p.after(p.turn), engine.LastOneLeft, events)
	case !p.drawn(events):
		p.advance(events)
	}
}

// finish ends the game. What no longer matters is cleared, so that one result has one
// notation.
func (p *Position) finish(winner uint8, why engine.Ending, events *[]Event) {
	p.turn = winner
	p.ending = why
	p.drops = 0
	p.passes = 0
	p.opening = false
	record(events, Event{Kind: GameEnded, Outcome: p.Outcome()})
}
