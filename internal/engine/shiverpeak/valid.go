package shiverpeak

import "fmt"

// inconsistency says why a position of which each part makes sense cannot occur
// as a whole, or nothing if it can. Each card is somewhere by construction, so
// the cards always add up.
func (p *Position) inconsistency() string {
	if message := p.wrongCards(); message != "" {
		return message
	}
	playing, winner := 0, -1
	for i := range int(p.players) {
		finished := p.count(finishedBy(i))
		switch needed := Needed(int(p.players)); {
		case p.seats[i].out:
			if p.seats[i] != (seatState{out: true}) || p.find(before(i, 0)) != 0 {
				return fmt.Sprintf("seat %d is out and can have nothing but finished Encounters", i+1)
			}
			if finished >= needed {
				return fmt.Sprintf("seat %d is out with %d finished Encounters, which would have won before", i+1, finished)
			}
			continue
		case finished > needed:
			return fmt.Sprintf("seat %d has %d finished Encounters and won with %d", i+1, finished, needed)
		case finished == needed && winner >= 0:
			return fmt.Sprintf("seats %d and %d both have the %d finished Encounters that win", winner+1, i+1, needed)
		case finished == needed:
			winner = i
		}
		playing++
	}
	table := p.find(onTable)
	switch {
	case playing == 0:
		return "all seats are out; the last one left has won and stays in"
	case (p.direction != NoDirection) != (table.Kind() == Avalanche):
		return "an avalanche has a direction if, and only if, an Avalanche card is on the table"
	case p.Outcome().Over():
		return p.wrongEnd(table)
	case p.direction == NoDirection && p.seats[p.turn].out:
		return fmt.Sprintf("it is the turn of seat %d, which is out", p.turn+1)
	case p.effect != 0:
		return p.wrongEffect(table)
	}
	seat, id := p.due()
	switch {
	case id.Kind() == Avalanche:
		return fmt.Sprintf("%v is on the table with no passed Encounter left, and would be discarded", id)
	case id.Kind() == Bonus:
		if effect, targeted := id.Card().targeted(); !targeted || len(p.targets(seat, effect)) < 2 {
			return fmt.Sprintf("%v is on the table and leaves no choice of a rival, so it would be discarded", id)
		}
	case p.unpayable(seat, id):
		return fmt.Sprintf("seat %d has no life to pay for %v, which would be discarded", seat+1, id)
	}
	return ""
}

// wrongCards says which card lies where its kind never does.
func (p *Position) wrongCards() string {
	for id := ID(1); id <= Cards; id++ {
		if p.places[id].ofSeat() && id.Kind() != Encounter {
			return fmt.Sprintf("%v is no Encounter and cannot lie before a seat", id)
		}
	}
	for i := range int(p.players) {
		first, second := p.count(before(i, 0)), p.count(before(i, 1))
		if first > 1 || second > first {
			return fmt.Sprintf("the open Encounters of seat %d are not one behind the other", i+1)
		}
	}
	return ""
}

// wrongEnd says why a finished position cannot occur. The end comes at once: an
// Avalanche and passed cards may still be there, a card being dealt with not.
func (p *Position) wrongEnd(table ID) string {
	switch {
	case p.effect != 0:
		return "the game is over and no effect waits for a target"
	case table != 0 && table.Kind() != Avalanche:
		return fmt.Sprintf("the game is over and %v would be off the table", table)
	}
	return ""
}

// wrongEffect says why no effect can wait for a target.
func (p *Position) wrongEffect(table ID) string {
	id := p.effect
	if id.Kind() != Encounter || !p.places[id].isFinished() {
		return fmt.Sprintf("the effect of %v waits, which is no finished Encounter", id)
	}
	owner := p.places[id].seat()
	effect, targeted := id.Card().targeted()
	switch {
	case !targeted || p.seats[owner].out || len(p.targets(owner, effect)) < 2:
		return fmt.Sprintf("the effect of %v waits, but seat %d has no choice of rivals", id, owner+1)
	case p.direction == NoDirection && (table != 0 || owner != int(p.turn)):
		return fmt.Sprintf("the effect of %v waits, but it is not what seat %d deals with", id, p.turn+1)
	case p.direction != NoDirection:
		if next, passed := p.firstPassed(); passed.Kind() == Encounter && p.distance(owner) > p.distance(next) {
			return fmt.Sprintf("the effect of %v waits, but seat %d deals with its passed cards before seat %d", id, next+1, owner+1)
		}
	}
	return ""
}
