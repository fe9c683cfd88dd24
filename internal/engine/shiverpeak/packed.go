package shiverpeak

import (
	"bytes"
	"slices"

	"github.com/avalanched/avalanched/internal/engine"
)

// maxPacked is the size of the packed position of eight players, in bytes.
const maxPacked = 32

// packedSizes is the size of a packed position for each number of players.
var packedSizes = func() (sizes [MaxPlayers + 1]int) {
	for players := MinPlayers; players <= MaxPlayers; players++ {
		var radices []int
		p := newPosition(players)
		p.digits(func(value, radix int) int {
			radices = append(radices, radix)
			return value
		})
		number := make([]byte, 2*maxPacked)
		for _, radix := range slices.Backward(radices) {
			multiplyAdd(number, radix, radix-1)
		}
		sizes[players] = len(bytes.TrimLeft(number, "\x00"))
	}
	return sizes
}()

// AppendPacked implements engine.Position. The bytes are one number, most
// significant byte first, in a mixed radix with the parts of the position as its
// digits; its length depends on the number of players alone. There is no order
// of the draw pile in it, for there is none.
func (p Position) AppendPacked(dst []byte) []byte {
	type digit struct{ value, radix int }
	var digits [MaxPlayers + Cards + 8]digit
	n := 0
	p.digits(func(value, radix int) int {
		digits[n] = digit{value, radix}
		n++
		return value
	})
	var number [maxPacked]byte
	for i := n - 1; i >= 0; i-- {
		multiplyAdd(number[:], digits[i].radix, digits[i].value)
	}
	return append(dst, number[maxPacked-packedSizes[p.players]:]...)
}

// unpack reads what AppendPacked wrote and refuses all other bytes.
func unpack(packed []byte) (Position, *engine.Refusal) {
	if len(packed) > maxPacked {
		return Position{}, engine.Refuse(engine.PositionMalformed, "a packed position has at most %d bytes, not %d", maxPacked, len(packed))
	}
	var p Position
	number := bytes.Clone(packed)
	p.digits(func(_, radix int) int { return divide(number, radix) })
	if message := p.inconsistency(); message != "" {
		return Position{}, engine.Refuse(engine.PositionInconsistent, "%s", message)
	}
	if !bytes.Equal(p.AppendPacked(nil), packed) {
		return Position{}, engine.Refuse(engine.PositionMalformed, "the bytes are not the packed form of a position")
	}
	return p, nil
}

// digits visits the parts of a position one after another, each with its value
// and its number of values, and sets it to what the visitor returns. That one
// function reads and writes, so that both agree.
func (p *Position) digits(visit func(value, radix int) int) {
	p.players = MinPlayers + int8(visit(int(p.players)-MinPlayers, MaxPlayers-MinPlayers+1))
	players := p.Players()
	p.turn = int8(visit(int(p.turn), players))
	p.direction = Direction(visit(int(p.direction), len(directionWords)))
	p.effect = ID(visit(int(p.effect), Encounters+1))
	p.lastRoll = uint8(visit(int(p.lastRoll), len(rolls)))
	for i := range players {
		p.seats[i] = seatStateOf(visit(p.seats[i].digit(), seatStates))
	}
	table := ID(visit(int(p.find(onTable)), Cards+1))
	for id := ID(1); id <= Cards; id++ {
		at, places := p.places[id], int(seatPlaces)
		if at == onTable {
			at = inDraw
		}
		if id.Kind() == Encounter {
			places += 3 * players
		}
		p.places[id] = place(visit(int(at), places))
	}
	if table != 0 {
		p.places[table] = onTable
	}
}

// seatStates is the number of states of a seat: lives and two flags, or out.
const seatStates = (MaxLives+1)*4 + 1

func (s seatState) digit() int {
	if s.out {
		return seatStates - 1
	}
	digit := int(s.lives) * 4
	if s.skip {
		digit += 2
	}
	if s.again {
		digit++
	}
	return digit
}

func seatStateOf(digit int) seatState {
	if digit == seatStates-1 {
		return seatState{out: true}
	}
	return seatState{lives: uint8(digit / 4), skip: digit&2 != 0, again: digit&1 != 0}
}

// multiplyAdd makes number*radix + digit of a number, most significant byte
// first. It must fit.
func multiplyAdd(number []byte, radix, digit int) {
	for i := len(number) - 1; i >= 0; i-- {
		digit += int(number[i]) * radix
		number[i] = byte(digit)
		digit >>= 8
	}
}

// divide divides a number by radix and returns the remainder.
func divide(number []byte, radix int) int {
	remainder := 0
	for i := range number {
		remainder = remainder<<8 | int(number[i])
		number[i] = byte(remainder / radix)
		remainder %= radix
	}
	return remainder
}
