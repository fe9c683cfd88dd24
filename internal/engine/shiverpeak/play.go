package shiverpeak

import (
	"fmt"
	"slices"

	"github.com/avalanched/avalanched/internal/engine"
)

// Apply implements engine.Position.
func (p Position) Apply(move engine.Move, chance engine.Chance) (engine.Position, []engine.Event, error) {
	m, ok := move.(Move)
	switch {
	case !ok:
		return nil, nil, engine.Refuse(engine.MoveMalformed, "%v is no move of the card game", move)
	case p.Outcome().Over():
		return nil, nil, engine.Refuse(engine.GameOver, "the game is over and takes no more moves")
	case m.Action != Resign && !p.legal(m):
		return nil, nil, engine.Refuse(engine.MoveIllegal, "%s", p.whyNot(m))
	}
	g := &play{Position: p, chance: chance}
	seat, id := g.due()
	switch m.Action {
	case Reveal:
		g.reveal()
	case Target:
		g.emit(TargetChosen{Seat: seat + 1, Target: m.Seat, Card: id})
		g.hit(m.Seat-1, id)
	case Resign:
		g.resign(seat)
	default:
		g.attempt(m.Action, seat, id)
	}
	g.settle()
	return g.Position, g.events, nil
}

func (p Position) legal(move Move) bool { return slices.Contains(p.LegalMoves(), engine.Move(move)) }

// whyNot says why a move is not legal.
func (p Position) whyNot(move Move) string {
	turn := p.Turn()
	seat, id := p.due()
	lives := int(p.seats[seat].lives)
	switch {
	case turn.Phase == engine.PhaseReveal:
		return fmt.Sprintf("seat %d has to reveal a card", turn.Seat)
	case turn.Phase == engine.PhaseTarget && move.Action != Target:
		return fmt.Sprintf("seat %d has to choose the rival whom %v hits", turn.Seat, id)
	case turn.Phase == engine.PhaseTarget:
		return p.whyNoTarget(move.Seat)
	case move.Action == Face:
		return fmt.Sprintf("facing %v costs %d lives and seat %d has %d", id, id.Card().Face.Price(), turn.Seat, lives)
	case move.Action != Avoid && move.Action != Keep:
		return fmt.Sprintf("seat %d has to deal with %v", turn.Seat, id)
	case lives == 0:
		return "without lives an Encounter can only be faced"
	case turn.Phase == engine.PhasePassed:
		return "an Encounter that was passed on cannot be kept"
	default:
		return fmt.Sprintf("seat %d has %d active Encounters and can keep no more", turn.Seat, MaxActive)
	}
}

// whyNoTarget says why a card cannot hit a seat.
func (p Position) whyNoTarget(target int) string {
	_, id := p.due()
	switch {
	case target > p.Players():
		return fmt.Sprintf("there is no seat %d", target)
	case target == p.Turn().Seat:
		return fmt.Sprintf("seat %d is no rival of itself", target)
	case p.Out(target):
		return fmt.Sprintf("seat %d is out", target)
	default:
		return fmt.Sprintf("%v would do nothing to seat %d", id, target)
	}
}

// play is a position while a move is made: it changes in place and collects what
// happens.
type play struct {
	Position
	chance engine.Chance
	events []engine.Event
}

func (g *play) emit(event Event) { g.events = append(g.events, event) }

func (g *play) over() bool { return g.Outcome().Over() }

// roll rolls a die. index tells apart the rolls of one move for one purpose.
func (g *play) roll(purpose Purpose, index, seat int, need Need) int {
	die := 1 + g.chance.Draw(purpose.String(), index, 6)
	g.lastRoll = uint8(die)
	g.emit(DieRolled{Purpose: purpose, Seat: seat + 1, Die: die, Need: need, Met: need.met(die)})
	return die
}

// pile names the pile at a place.
func (g *play) pile(at place) Pile {
	switch {
	case at == onTable:
		return Pile{Kind: RevealedPile}
	case at == inDiscard:
		return Pile{Kind: DiscardPile}
	case at.isFinished():
		return Pile{Kind: FinishedPile, Seat: at.seat() + 1}
	case g.direction != NoDirection:
		return Pile{Kind: PassedPile, Seat: at.seat() + 1}
	default:
		return Pile{Kind: ActivePile, Seat: at.seat() + 1}
	}
}

// move puts a card elsewhere; a second open card moves up when the first leaves.
func (g *play) move(id ID, to place) {
	from := g.places[id]
	g.emit(CardMoved{Card: id, From: g.pile(from), To: g.pile(to)})
	g.places[id] = to
	if from.ofSeat() && from == before(from.seat(), 0) {
		if second := g.find(before(from.seat(), 1)); second != 0 {
			g.places[second] = from
		}
	}
}

// reveal turns over a card. Each card of the draw pile is equally likely, which
// is the same as drawing from a shuffled pile whose order nobody knows.
func (g *play) reveal() {
	if g.find(inDraw) == 0 {
		discarded := g.all(inDiscard)
		for _, id := range discarded {
			g.places[id] = inDraw
		}
		g.emit(DeckReshuffled{Cards: len(discarded)})
	}
	pile := g.all(inDraw)
	id := pile[g.chance.Draw(purposeDraw, 0, len(pile))]
	g.places[id] = onTable
	seat := int(g.turn)
	g.emit(CardRevealed{Seat: seat + 1, Card: id})
	switch id.Kind() {
	case Bonus:
		g.help(seat, id)
	case Avalanche:
		g.avalanche()
	}
}

// avalanche rolls for the direction and passes all active cards on at once.
func (g *play) avalanche() {
	die := g.roll(ForDirection, 0, int(g.turn), Need{})
	kept := g.Position
	g.direction = Clockwise
	if die > 3 {
		g.direction = CounterClockwise
	}
	g.emit(AvalancheStarted{Direction: g.direction})
	for i := range g.Players() {
		from := g.following(int(g.turn), i)
		cards := kept.open(from)
		if len(cards) == 0 {
			continue
		}
		to := g.following(from, 1)
		for g.seats[to].out {
			to = g.following(to, 1)
		}
		for slot, id := range cards {
			g.places[id] = before(to, slot)
		}
		g.emit(CardsPassed{From: from + 1, To: to + 1, Cards: cards})
	}
}

// rollsFor is the purpose of the dice of each action.
var rollsFor = map[Action]Purpose{Avoid: ToAvoid, Face: ToFace, Keep: ToKeep}

// attempt tries to avoid, face or keep an Encounter.
func (g *play) attempt(action Action, seat int, id ID) {
	test := attempt(action, id.Card())
	skier := g.skier(seat)
	g.changeLives(seat, -test.Price(), ByPayment, id)
	rolled := 0
	success := test.pass(skier, func(need Need) int {
		rolled++
		return g.roll(rollsFor[action], rolled-1, seat, need)
	})
	g.emit(EncounterResolved{Seat: seat + 1, Card: id, Action: action, Success: success})
	switch {
	case !success:
		if action != Avoid {
			g.changeLives(seat, -1, ByFailure, id)
		}
		for _, effect := range id.Card().Failure {
			g.suffer(effect, seat, id)
		}
		g.move(id, inDiscard)
	case action == Avoid:
		g.move(id, inDiscard)
	case action == Keep:
		g.move(id, before(seat, skier.active))
	case action == Face:
		g.move(id, finishedBy(seat))
		g.help(seat, id)
	}
}

// help gives a seat the good effects of its card. An effect that leaves a choice
// of rivals waits for it; a game that is over needs no more effects.
func (g *play) help(seat int, id ID) {
	for _, effect := range id.Card().Success {
		if g.over() {
			break
		}
		if !effect.Targeted() {
			g.gain(effect, seat, id)
			continue
		}
		rivals := g.targets(seat, effect)
		switch {
		case len(rivals) == 0:
			g.emit(EffectLapsed{Seat: seat + 1, Card: id, Effect: effect})
		case len(rivals) == 1:
			g.suffer(effect, rivals[0], id)
		case id.Kind() == Encounter:
			g.effect = id
			return
		default:
			return
		}
	}
	g.clearTable(id)
}

// hit carries out an effect that waited for its target.
func (g *play) hit(target int, id ID) {
	effect, _ := id.Card().targeted()
	g.effect = 0
	g.suffer(effect, target, id)
	g.clearTable(id)
}

// clearTable discards a card that is done with, if it is still on the table.
func (g *play) clearTable(id ID) {
	if g.places[id] == onTable {
		g.move(id, inDiscard)
	}
}

// gain carries out a good effect on the seat that has it.
func (g *play) gain(effect Effect, seat int, id ID) {
	done := false
	switch effect.Kind {
	case GainLives:
		done = g.changeLives(seat, effect.N, ByEffect, id)
	case GainPerActive:
		done = g.changeLives(seat, g.active(seat), ByEffect, id)
	case RevealAgain:
		if done = !g.seats[seat].again; done {
			g.seats[seat].again = true
			g.emit(ExtraRevealGranted{Seat: seat + 1, Card: id})
		}
	case FinishActive:
		if done = g.active(seat) > 0; done {
			g.move(g.find(before(seat, 0)), finishedBy(seat))
		}
	case RivalsLoseLives:
		for i := range g.Players() {
			if i != seat && g.changeLives(i, -effect.N, ByEffect, id) {
				done = true
			}
		}
	}
	if !done {
		g.emit(EffectLapsed{Seat: seat + 1, Card: id, Effect: effect})
	}
}

// suffer carries out a bad effect on a seat: that of its own failure, or that of
// a rival's card.
func (g *play) suffer(effect Effect, seat int, id ID) {
	done := false
	switch effect.Kind {
	case LoseLives, RivalLosesLives:
		done = g.changeLives(seat, -effect.N, ByEffect, id)
	case SkipTurn, RivalSkips:
		if done = !g.seats[seat].skip; done {
			g.seats[seat].skip = true
			g.emit(SkipImposed{Seat: seat + 1, Card: id})
		}
	case DropActive:
		if done = g.active(seat) > 0; done {
			g.move(g.find(before(seat, 0)), inDiscard)
		}
	case LoseFinished, RivalLosesFinished:
		finished := g.all(finishedBy(seat))
		if done = len(finished) > 0; done {
			g.move(finished[g.chance.Draw(purposeLoseFinished, 0, len(finished))], inDiscard)
		}
	}
	if !done {
		g.emit(EffectLapsed{Seat: seat + 1, Card: id, Effect: effect})
	}
}

// changeLives adds lives within the bounds and tells whether any changed.
func (g *play) changeLives(seat, change int, reason LifeReason, id ID) bool {
	lives := int(g.seats[seat].lives)
	change = min(max(lives+change, 0), MaxLives) - lives
	if change == 0 {
		return false
	}
	g.seats[seat].lives = uint8(lives + change)
	g.emit(LivesChanged{Seat: seat + 1, Change: change, Lives: lives + change, Reason: reason, Card: id})
	return true
}

// resign takes the seat to move out of the game: its open Encounters and the card
// it deals with are discarded, its finished ones stay with it and out of play.
func (g *play) resign(seat int) {
	g.emit(SeatOut{Seat: seat + 1})
	for _, id := range g.open(seat) {
		g.move(id, inDiscard)
	}
	if id := g.find(onTable); id != 0 && id.Kind() != Avalanche {
		g.move(id, inDiscard)
	}
	g.effect = 0
	g.seats[seat] = seatState{out: true}
}

// settle does what happens by itself, up to the next decision or the end.
func (g *play) settle() {
	for !g.over() {
		seat, id := g.due()
		switch {
		case id == 0:
			g.nextTurn()
			return
		case id.Kind() == Avalanche:
			g.move(id, inDiscard)
			g.direction = NoDirection
		case g.unpayable(seat, id):
			g.emit(EncounterUnpayable{Seat: seat + 1, Card: id})
			g.move(id, inDiscard)
		default:
			return
		}
	}
	g.emit(GameEnded{Outcome: g.Outcome()})
}

// nextTurn ends the turn, unless its player is to reveal once more.
func (g *play) nextTurn() {
	if player := &g.seats[g.turn]; player.again {
		player.again = false
		g.emit(ExtraRevealTaken{Seat: int(g.turn) + 1})
		return
	}
	for {
		g.turn = int8(g.following(int(g.turn), 1))
		player := &g.seats[g.turn]
		switch {
		case player.out:
		case player.skip:
			player.skip = false
			g.emit(TurnSkipped{Seat: int(g.turn) + 1})
		default:
			g.emit(TurnStarted{Seat: int(g.turn) + 1})
			return
		}
	}
}
