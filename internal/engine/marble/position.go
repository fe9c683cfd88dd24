package marble

import "github.com/avalanched/avalanched/internal/engine"

// Position is a marble game between two moves: the board, what lies beside it, and
// whose turn it is. Positions are values and can be compared; the zero value is none.
type Position struct {
	variant *Variant
	board   Board
	seats   [maxPlayers]seat
	trays   Marbles
	// discarded is what is out of the game.
	discarded Marbles
	rules     houseRule // the house rules in force, as bits
	players   uint8
	turn      uint8 // index of the seat to move, or of the winner
	drops     uint8 // in the present turn
	passes    uint8 // made in a row, chosen and automatic ones
	// opening tells that the present turn ends after the variant's opening limit.
	opening bool
	ending  engine.Ending
}

// seat is what lies before a player.
type seat struct {
	hand   Marbles
	filled Marbles
	card   uint8 // index in the variant's set
	out    bool
}

// Players implements engine.Position.
func (p Position) Players() int { return int(p.players) }

// Options implements engine.Position.
func (p Position) Options() engine.Options {
	var rules []string
	for _, rule := range p.variant.houseRules {
		if p.rules&rule != 0 {
			rules = append(rules, houseRuleInfo[rule].ID)
		}
	}
	return engine.Options{HouseRules: rules, Rows: p.board.Rows()}
}

// Turn implements engine.Position.
func (p Position) Turn() engine.Turn {
	if p.over() {
		return engine.Turn{}
	}
	return engine.Turn{Seat: int(p.turn) + 1, Phase: engine.PhaseDrop}
}

// Outcome implements engine.Position.
func (p Position) Outcome() engine.Outcome {
	switch p.ending {
	case engine.NotEnded:
		return engine.Outcome{}
	case engine.AllPassed:
		return engine.DrawnGame(engine.AllPassed)
	default:
		return engine.WonBy(int(p.turn)+1, p.ending)
	}
}

func (p *Position) over() bool { return p.ending != engine.NotEnded }

// Board is the board with the marbles that it holds.
func (p Position) Board() Board { return p.board }

// Variant is the ruleset by which the game is played.
func (p Position) Variant() *Variant { return p.variant }

// Trays counts the marbles that are open to all.
func (p Position) Trays() Marbles { return p.trays }

// Discarded counts the marbles that are out of the game.
func (p Position) Discarded() Marbles { return p.discarded }

// Drops is the number of marbles dropped in the present turn.
func (p Position) Drops() int { return int(p.drops) }

// Hand counts the own marbles of a seat, which counts from 1.
func (p Position) Hand(seat int) Marbles { return p.seats[seat-1].hand }

// Out tells whether a seat, which counts from 1, is out of the game.
func (p Position) Out(seat int) bool { return p.seats[seat-1].out }

// Card is the card of a seat, which counts from 1. It is nil in games without cards and
// for seats that are out.
func (p Position) Card(seat int) *Card {
	if p.variant.cards == nil || p.seats[seat-1].out {
		return nil
	}
	return p.layout(seat - 1).card(p.seats[seat-1].filled)
}

func (p *Position) layout(seat int) *layout { return &p.variant.cards[p.seats[seat].card] }

// remaining is the number of seats still in the game.
func (p *Position) remaining() uint8 {
	n := uint8(0)
	for i := range p.players {
		if !p.seats[i].out {
			n++
		}
	}
	return n
}

// LegalMoves implements engine.Position.
func (p Position) LegalMoves() []engine.Move {
	var buffer [Resign]Move
	legal := p.AppendLegal(buffer[:0])
	moves := make([]engine.Move, len(legal))
	for i, move := range legal {
		moves[i] = move
	}
	return moves
}

// AppendLegal appends the legal moves, except Resign, in the order of their numbers.
func (p Position) AppendLegal(moves []Move) []Move {
	if p.over() {
		return moves
	}
	droppable := p.droppable(p.turn)
	for chute := FirstChute; chute <= LastChute; chute++ {
		for color := range Color(MaxColors) {
			if droppable.Of(color) > 0 {
				moves = append(moves, Drop(chute, color))
			}
		}
	}
	if p.mayPass() {
		moves = append(moves, Pass)
	}
	return moves
}

// droppable counts the marbles from which a seat that is to move may take the next one.
func (p *Position) droppable(seat uint8) Marbles {
	hand := p.seats[seat].hand
	switch p.variant.source {
	case fromTrays:
		return p.trays
	case extrasThenTrays:
		if hand == 0 {
			return p.trays
		}
		return hand
	case ownOrTrays:
		return hand + p.trays
	default:
		return hand
	}
}

// mayPass tells whether the seat to move may choose to do nothing: at the start of a
// turn, if no sequence of drops of its marbles could make one fall.
func (p *Position) mayPass() bool {
	return p.variant.needsMarbles && p.drops == 0 && !p.board.CanFall(p.seats[p.turn].hand.total())
}

// Apply implements engine.Position. Marble games ask for no chance after the start.
func (p Position) Apply(move engine.Move, _ engine.Chance) (engine.Position, []engine.Event, error) {
	marbleMove, ok := move.(Move)
	if !ok {
		return nil, nil, engine.Refuse(engine.MoveMalformed, "%v is no move of a marble game", move)
	}
	var events []Event
	next, err := p.Play(marbleMove, &events)
	if err != nil {
		return nil, nil, err
	}
	return next, eraseEvents(events), nil
}

func eraseEvents(events []Event) []engine.Event {
	erased := make([]engine.Event, len(events))
	for i := range events {
		erased[i] = &events[i]
	}
	return erased
}

// Play makes a move. What happens is appended to events, unless that is nil. An illegal
// move is refused with an *engine.Refusal.
func (p Position) Play(move Move, events *[]Event) (Position, error) {
	if err := p.check(move); err != nil {
		return p, err
	}
	switch move {
	case Resign:
		p.resign(events)
	case Pass:
		p.pass(false, events)
		p.settle(events)
	default:
		p.drop(move, events)
	}
	return p, nil
}

// check refuses illegal moves, saying which rule forbids them.
func (p *Position) check(move Move) error {
	switch {
	case p.over():
		return engine.Refuse(engine.GameOver, "the game is over and takes no more moves")
	case move == Resign:
		return nil
	case move == Pass:
		return p.checkPass()
	case move > Resign:
		return engine.Refuse(engine.MoveMalformed, "move number %d does not exist", move)
	case int(move.Color()) >= p.variant.colors:
		return engine.Refuse(engine.MoveIllegal, "this edition has no %s marbles", move.Color().name())
	case p.droppable(p.turn).Of(move.Color()) > 0:
		return nil
	}
	color := move.Color().name()
	switch hand := p.seats[p.turn].hand; {
	case p.variant.source == fromTrays, p.variant.source == extrasThenTrays && hand == 0:
		return engine.Refuse(engine.MoveIllegal, "the %s tray is empty", color)
	case p.variant.source == extrasThenTrays:
		return engine.Refuse(engine.MoveIllegal,
			"extra marbles are dropped first: seat %d has %v", p.turn+1, hand)
	case p.variant.source == ownOrTrays:
		return engine.Refuse(engine.MoveIllegal,
			"there is no %s marble in the trays, and none among those of seat %d", color, p.turn+1)
	default:
		return engine.Refuse(engine.MoveIllegal,
			"seat %d has no %s marble: it has %v", p.turn+1, color, hand)
	}
}

func (p *Position) checkPass() error {
	switch {
	case !p.variant.needsMarbles:
		return engine.Refuse(engine.MoveIllegal, "nobody passes by choice in this game")
	case p.drops > 0:
		return engine.Refuse(engine.MoveIllegal, "a turn that has begun goes on until a marble falls or none is left")
	case !p.mayPass():
		return engine.Refuse(engine.MoveIllegal, "seat %d may not pass: its marbles can make one fall", p.turn+1)
	}
	return nil
}
