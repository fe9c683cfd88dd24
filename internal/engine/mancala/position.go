package mancala

import (
	"github.com/avalanched/avalanched/internal/engine"
)

// The seats. South moves first.
const (
	South = 1
	North = 2
)

func otherSeat(seat int) int { return South + North - seat }

func seatName(seat int) string {
	if seat == South {
		return "south"
	}
	return "north"
}

func seatLetter(seat int) string { return seatName(seat)[:1] }

// Position is a state of a mancala game between two moves. Ruleset.Start,
// ParsePosition and Unpack make positions; == compares them.
type Position struct {
	// board is seen by the mover. In a finished game the "mover" is the one who cannot
	// go on: the seat that resigned, which has stones, or else one without stones,
	// south if both have none.
	board  board
	status status
}

// status is everything beside the board, in one word, which Sow passes around faster
// than five fields: the mover's store, the other store, and flags.
type status uint32

const (
	storeBits = 8
	storeMask = 1<<storeBits - 1
)

// The flags.
const (
	// moverNorth: the mover is north.
	moverNorth status = 1 << (2*storeBits + iota)
	// over: the game is over.
	over
	// noSweep is the house rule: stones left on the board are nobody's.
	noSweep
	// kalah: no relay, captures.
	kalah
)

// moverStore and otherStore count the stones in the stores.
func (s status) moverStore() int { return int(s & storeMask) }
func (s status) otherStore() int { return int(s >> storeBits & storeMask) }

// plus is the status with more stones in the stores.
func (s status) plus(mover, other int) status { return s + status(mover) + status(other)<<storeBits }

// has tells whether a flag is set.
func (s status) has(flag status) bool { return s&flag != 0 }

// turned is the status as the other seat sees it.
func (s status) turned() status {
	const stores = 1<<(2*storeBits) - 1
	return s&^stores ^ moverNorth | s<<storeBits&stores | s>>storeBits&storeMask
}

// mover is the seat whose view the board is.
func (p Position) mover() int {
	if p.status.has(moverNorth) {
		return North
	}
	return South
}

// Players implements engine.Position: two.
func (p Position) Players() int { return North }

// Options implements engine.Position. Stones is what each pit had at the start of a
// game with this many stones, or 0 if no game starts with so many.
func (p Position) Options() engine.Options {
	var options engine.Options
	if p.status.has(noSweep) {
		options.HouseRules = []string{noSweepID}
	}
	if each := p.Stones() / (2 * PitsPerSide); each*2*PitsPerSide == p.Stones() && each >= MinStonesPerPit {
		options.Stones = each
	}
	return options
}

// Turn implements engine.Position.
func (p Position) Turn() engine.Turn {
	if p.status.has(over) {
		return engine.Turn{}
	}
	return engine.Turn{Seat: p.mover(), Phase: engine.PhaseSow}
}

// resigned tells whether a finished game ended by resignation. Otherwise it ended
// because a side ran out of stones.
func (p Position) resigned() bool { return p.status.has(over) && !p.board.moverEmpty() }

// Outcome implements engine.Position. Only the stores count; stones that a house
// rule leaves on the board are nobody's.
func (p Position) Outcome() engine.Outcome {
	seat := p.mover()
	switch {
	case !p.status.has(over):
		return engine.Outcome{}
	case p.resigned():
		return engine.WonBy(otherSeat(seat), engine.LastOneLeft)
	case p.status.moverStore() == p.status.otherStore():
		return engine.DrawnGame(engine.MostStones)
	case p.status.moverStore() > p.status.otherStore():
		return engine.WonBy(seat, engine.MostStones)
	default:
		return engine.WonBy(otherSeat(seat), engine.MostStones)
	}
}

// Pits lists the stones in the pits of a seat, from that seat's own left.
func (p Position) Pits(seat int) [PitsPerSide]int {
	first := 0
	if seat != p.mover() {
		first = storeHole + 1
	}
	var pits [PitsPerSide]int
	for i := range pits {
		pits[i] = p.board.at(first + i)
	}
	return pits
}

// Store counts the stones in the store of a seat.
func (p Position) Store(seat int) int {
	if seat == p.mover() {
		return p.status.moverStore()
	}
	return p.status.otherStore()
}

// Stones counts all stones of the game, which never change in number.
func (p Position) Stones() int {
	return p.board.side(0) + p.board.side(storeHole+1) + p.status.moverStore() + p.status.otherStore()
}

// turned is the same position with the board seen from the other side.
func (p Position) turned() Position {
	return Position{p.board.turned(), p.status.turned()}
}

// finished is a position that ended because a side has no stones, seen as finished
// ones are.
func (p Position) finished() Position {
	p.status |= over
	if !p.board.moverEmpty() || p.status.has(moverNorth) && p.board.otherEmpty() {
		p = p.turned()
	}
	return p
}

// setup is everything that makes a position, not yet known to be one. Counts are 0
// to 127, south's first.
type setup struct {
	pits   [2][PitsPerSide]int
	stores [2]int
	// seat is to move, or has resigned if the game is over. It is 0 in a game that
	// ended because a side ran out of stones.
	seat int
	// flags are over, noSweep and kalah.
	flags status
}

// position checks a setup.
func (s setup) position() (Position, error) {
	p := Position{status: s.flags.plus(s.stores[0], s.stores[1])}
	for i := range PitsPerSide {
		p.board = p.board.with(i, s.pits[0][i]).with(storeHole+1+i, s.pits[1][i])
	}
	if n := p.Stones(); n == 0 || n > maxStones {
		return Position{}, inconsistent("there are %d stones; a game has 1 to %d", n, maxStones)
	}
	if s.seat == 0 {
		return p.checkFinished()
	}
	if s.seat == North {
		p = p.turned()
	}
	if p.board.moverEmpty() {
		return Position{}, inconsistent("%s has no stones in its pits, so that it cannot be its turn", seatName(s.seat))
	}
	return p, nil
}

// checkFinished makes the position of a game that ended because a side ran out of
// stones.
func (p Position) checkFinished() (Position, error) {
	moverEmpty, otherEmpty := p.board.moverEmpty(), p.board.otherEmpty()
	if !moverEmpty && !otherEmpty {
		return Position{}, inconsistent(`both sides have stones, so that the game is not over: name the seat to move, "s" or "n"`)
	}
	if !p.status.has(noSweep) && (!moverEmpty || !otherEmpty) {
		return Position{}, inconsistent("the game is over and stones lie in the pits: they belong in the store of their side")
	}
	return p.finished(), nil
}

func inconsistent(format string, args ...any) error {
	return engine.RefuseField(engine.PositionInconsistent, "position", format, args...)
}
