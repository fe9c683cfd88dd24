package mancala

import (
	"bytes"

	"github.com/avalanched/avalanched/internal/engine"
)

// The packed form of a position is plain fields, the most significant bit first:
//
//	7 bits each   south's pits from its left, south's store, north's pits, north's store
//	1 bit         the seat to move, 0 for south; in a finished game the seat that
//	              resigned, or else the one without stones, south if both have none
//	1 bit         whether the game is over
//	1 bit         whether stones left on the board are nobody's (house rule no_sweep)
//	3 bits        0
const (
	packedLength = 13
	countBits    = 7
	padBits      = 3
)

// packedFlags are the flags of a position that are packed, in this order.
var packedFlags = [...]status{moverNorth, over, noSweep}

// AppendPacked implements engine.Position.
func (p Position) AppendPacked(dst []byte) []byte {
	var pending, bits uint
	write := func(value, width uint) {
		pending = pending<<width | value
		for bits += width; bits >= 8; bits -= 8 {
			dst = append(dst, byte(pending>>(bits-8)))
		}
	}
	for seat := South; seat <= North; seat++ {
		for _, stones := range p.Pits(seat) {
			write(uint(stones), countBits)
		}
		write(uint(p.Store(seat)), countBits)
	}
	for _, flag := range packedFlags {
		if p.status.has(flag) {
			write(1, 1)
		} else {
			write(0, 1)
		}
	}
	write(0, padBits)
	return dst
}

// unpack reads the packed form of a position. The flags say which game it is.
func unpack(packed []byte, flags status) (Position, error) {
	if len(packed) != packedLength {
		return Position{}, notPacked()
	}
	rest := packed
	var pending, bits uint
	read := func(width uint) uint {
		for ; bits < width; bits += 8 {
			pending = pending<<8 | uint(rest[0])
			rest = rest[1:]
		}
		bits -= width
		return pending >> bits & (1<<width - 1)
	}
	s := setup{flags: flags}
	for side := range s.pits {
		for i := range s.pits[side] {
			s.pits[side][i] = int(read(countBits))
		}
		s.stores[side] = int(read(countBits))
	}
	for _, flag := range packedFlags {
		s.flags |= flag * status(read(1))
	}
	s.seat = South
	if s.flags.has(moverNorth) {
		s.seat = North
	}
	if s.flags.has(over) && s.pits[s.seat-South] == [PitsPerSide]int{} {
		s.seat = 0
	}
	s.flags &^= moverNorth
	p, err := s.position()
	if err != nil {
		return Position{}, err
	}
	if p.status.has(kalah) && p.status.has(noSweep) || !bytes.Equal(p.AppendPacked(nil), packed) {
		return Position{}, notPacked()
	}
	return p, nil
}

func notPacked() error {
	return engine.Refuse(engine.PositionMalformed, "these bytes are not the packed form of a mancala position")
}
