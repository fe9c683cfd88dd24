package marble

import "github.com/avalanched/avalanched/internal/engine"

// validate refuses what cannot be a position of the variant, and stocks the trays.
//
// It asks for a position that the rules can go on from and that holds what every turn
// keeps true, not for a game that leads there from a start: a creator may give marbles to
// whom she likes, and name marbles as out of the game that her box has lost.
func (p *Position) validate() *engine.Refusal {
	// Written out, because a list of functions would move every position to the heap.
	if refusal := p.checkCards(); refusal != nil {
		return refusal
	}
	if refusal := p.checkHands(); refusal != nil {
		return refusal
	}
	if refusal := p.stockTrays(); refusal != nil {
		return refusal
	}
	if refusal := p.checkTurn(); refusal != nil {
		return refusal
	}
	return p.checkResult()
}

func inconsistent(format string, args ...any) *engine.Refusal {
	return engine.Refuse(engine.PositionInconsistent, format, args...)
}

func (p *Position) checkCards() *engine.Refusal {
	if p.variant.cards == nil {
		return nil
	}
	var dealt [cardsPerSet]bool
	for i := range p.players {
		seat := &p.seats[i]
		if seat.out {
			continue
		}
		if dealt[seat.card] {
			return inconsistent("seat %d has a card that another seat has, and there is one of each", i+1)
		}
		dealt[seat.card] = true
		layout := p.layout(int(i))
		if seat.filled != layout.fitting(seat.filled) {
			return inconsistent("seat %d has more marbles on its card than it has holes", i+1)
		}
		if p.fillsInOrder() && !layout.filledInOrder(seat.filled) {
			return inconsistent("seat %d has filled its card out of order", i+1)
		}
	}
	return nil
}

func (p *Position) checkHands() *engine.Refusal {
	for i := range p.players {
		seat := &p.seats[i]
		switch {
		case seat.hand == 0:
		case p.variant.source == fromTrays:
			return inconsistent("seat %d has own marbles, which nobody has in this game", i+1)
		case p.variant.cards != nil && p.layout(int(i)).fitting(seat.filled+seat.hand) != seat.filled:
			return inconsistent("seat %d has extra marbles that fit into its card, where they must lie", i+1)
		}
	}
	return nil
}

func (p *Position) checkTurn() *engine.Refusal {
	if p.over() {
		return nil
	}
	limit := p.variant.openingLimit
	switch {
	case p.seats[p.turn].out:
		return inconsistent("seat %d is to move and is out", p.turn+1)
	case p.remaining() < 2:
		return inconsistent("all seats but one are out, which ends the game")
	case int(p.drops) > p.board.heldCount():
		return inconsistent("%d drops without a fall leave as many marbles on the board, which holds %d", p.drops, p.board.heldCount())
	case p.opening && (limit == 0 || p.drops >= limit):
		return inconsistent("no opening turn with %d drops goes on in this game", p.drops)
	case p.opening && p.rules&openingLimitForAll == 0 && p.turn != 0:
		return inconsistent("only seat 1 has an opening turn")
	case p.passes > 0 && !p.canHavePassed():
		return inconsistent("there cannot have been %d passes in a row", p.passes)
	}
	return nil
}

// canHavePassed tells whether as many seats before the mover as have passed in a row can
// have done so. Passing changes nothing, so that they can still pass.
func (p *Position) canHavePassed() bool {
	if !p.variant.needsMarbles || p.drops > 0 || p.passes >= p.remaining() {
		return false
	}
	seats := make([]uint8, 0, maxPlayers)
	for seat := p.turn; len(seats) < int(p.passes); {
		seat = p.before(seat)
		seats = append(seats, seat)
	}
	return p.cannotCauseFall(seats)
}

// cannotCauseFall tells whether each of the seats has marbles and none can make one fall.
func (p *Position) cannotCauseFall(seats []uint8) bool {
	most := 0
	for _, seat := range seats {
		hand := p.seats[seat].hand.total()
		if hand == 0 {
			return false
		}
		most = max(most, hand)
	}
	return !p.board.CanFall(most)
}

// checkResult refuses a position in progress that is already won, and a result that the
// position does not show.
func (p *Position) checkResult() *engine.Refusal {
	byGoal := p.ending == p.variant.goal.ending()
	for seat := range p.players {
		mayHaveReached := seat == p.turn && (byGoal || p.goalMayPass())
		if !p.seats[seat].out && p.reached(seat) && !mayHaveReached {
			return inconsistent("seat %d has already won", seat+1)
		}
	}
	shown := false
	winnerIn := !p.seats[p.turn].out
	switch {
	case !p.over():
		shown = true
	case p.ending == engine.AllPassed:
		shown = p.remaining() > 1 && p.allStuck()
	case p.ending == engine.LastOneLeft:
		shown = p.remaining() == 1 && winnerIn
	case byGoal:
		shown = p.remaining() > 1 && winnerIn && p.reached(p.turn)
	}
	if !shown {
		return inconsistent("the game cannot have ended with the result %s", resultText(p.Outcome()))
	}
	return nil
}

// goalMayPass tells whether the mover may have reached the goal without having won: in the
// middle of a turn, in games that are won at its end.
func (p *Position) goalMayPass() bool {
	return !p.variant.winsInMidTurn && p.variant.cards == nil && p.drops > 0
}

// allStuck tells whether everybody still in the game would pass.
func (p *Position) allStuck() bool {
	seats := make([]uint8, 0, maxPlayers)
	for seat := range p.players {
		if p.seats[seat].out {
			continue
		}
		if !p.variant.needsMarbles && p.droppable(seat) != 0 {
			return false
		}
		seats = append(seats, seat)
	}
	return !p.variant.needsMarbles || p.cannotCauseFall(seats)
}
