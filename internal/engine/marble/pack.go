package marble

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/avalanched/avalanched/internal/engine"
)

// maxPacked is more than the packed form of any position has, in bytes. It is a buffer's
// size, not a budget: a signed state has to fit into a chat bot's button, so that
// every bit counts.
const maxPacked = 64

// bitCodec writes fields of bits to a buffer or reads them from it, so that one
// function says what the packed form is.
type bitCodec struct {
	// A field is read and written with the seven bytes behind its first.
	buffer  [maxPacked + 8]byte
	at      uint // bit
	reading bool
}

// maxFieldWidth is the number of bits that fit into eight bytes wherever in the first one
// they begin.
const maxFieldWidth = 57

// field writes the lowest bits of value, at most maxFieldWidth, and returns it, or reads
// so many bits. Fields are filled from the most significant bit of each byte.
func (c *bitCodec) field(value, width uint) uint {
	bytes := c.buffer[c.at>>3%maxPacked:]
	if c.reading {
		value = uint(binary.BigEndian.Uint64(bytes) << (c.at & 7) >> (64 - width))
	} else {
		// All but the first byte are still empty.
		begun := uint64(bytes[0]) << 56
		binary.BigEndian.PutUint64(bytes, begun|uint64(value)<<(64-width)>>(c.at&7))
	}
	c.at += width
	return value
}

func (c *bitCodec) flag(value bool) bool {
	bit := uint(0)
	if value {
		bit = 1
	}
	return c.field(bit, 1) == 1
}

func (c *bitCodec) small(value uint8, width uint) uint8 { return uint8(c.field(uint(value), width)) }

func (c *bitCodec) len() uint { return (c.at + 7) / 8 }

// AppendPacked implements engine.Position.
func (p Position) AppendPacked(dst []byte) []byte {
	var codec bitCodec
	p.fields(&codec)
	return append(dst, codec.buffer[:codec.len()]...)
}

// Unpack implements engine.Ruleset.
func (v *Variant) Unpack(packed []byte) (engine.Position, error) {
	position := Position{variant: v}
	if refusal := position.unpack(packed); refusal != nil {
		return nil, refusal
	}
	return position, nil
}

// unpack reads what AppendPacked has written. One position has one packed form: nothing
// follows it, and padding is zero.
func (p *Position) unpack(packed []byte) *engine.Refusal {
	codec := bitCodec{reading: true}
	copy(codec.buffer[:], packed)
	if !p.fields(&codec) || codec.len() != uint(len(packed)) || codec.field(0, -codec.at&7) != 0 {
		return p.variant.noPacked()
	}
	if refusal := p.validate(); refusal != nil {
		return refusal
	}
	if !p.settled() {
		return p.variant.noPacked()
	}
	return nil
}

func (v *Variant) noPacked() *engine.Refusal {
	return engine.Refuse(engine.PositionMalformed, "the bytes are no packed position of %s", v.info.ID)
}

// fields visits everything that makes up a position. It returns false if what it reads
// cannot be one.
func (p *Position) fields(c *bitCodec) bool {
	v := p.variant
	p.players = c.small(p.players-2, 3) + 2
	if int(p.players) > v.info.MaxPlayers {
		return false
	}
	rows := int(c.field(uint(p.board.Rows()-1), 4)) + 1
	if c.reading {
		p.board = NewBoard(rows)
	}
	for _, rule := range v.houseRules {
		if c.flag(p.rules&rule != 0) {
			p.rules |= rule
		}
	}
	p.turn = c.small(p.turn, 3)
	if p.turn >= p.players {
		return false
	}
	if c.flag(p.over()) {
		if !p.endingField(c) {
			return false
		}
	} else {
		p.turnFields(c)
	}
	if !p.boardFields(c) {
		return false
	}
	for i := range p.players {
		if !p.seatFields(c, i) {
			return false
		}
	}
	if c.flag(p.discarded != 0) {
		p.marbleFields(c, &p.discarded)
		return p.discarded != 0
	}
	return true
}

// endingField visits why the game ended, by its place among the reasons that the variant
// has.
func (p *Position) endingField(c *bitCodec) bool {
	endings := []engine.Ending{engine.AllPassed, engine.LastOneLeft, p.variant.goal.ending()}
	i := int(c.field(uint(slices.Index(endings, p.ending)), 2))
	if i >= len(endings) {
		return false
	}
	p.ending = endings[i]
	// Nobody is to move after a draw, and nobody has won: one spelling of that is enough.
	return p.ending != engine.AllPassed || p.turn == 0
}

// turnFields visits how far the present turn has come.
func (p *Position) turnFields(c *bitCodec) {
	// Each drop of a turn that goes on loaded a gate.
	p.drops = c.small(p.drops, uint(bits.Len(uint(gateCount(p.board.Rows())))))
	if p.variant.openingLimit > 0 {
		p.opening = c.flag(p.opening)
	}
	if p.variant.needsMarbles {
		p.passes = c.small(p.passes, 3)
	}
}

// Gates of four colors have ten states each, so that three of them fit into ten bits;
// those of three colors have eight, and are grouped for speed alone. fourColorGroupBits
// is the width of a group by its number of gates.
const (
	threeColorGatesPerGroup = maxFieldWidth / 3
	fourColorGatesPerGroup  = 3
)

var fourColorGroupBits = [fourColorGatesPerGroup + 1]uint{1: 4, 2: 7, 3: 10}

// boardFields visits the gates.
func (p *Position) boardFields(c *bitCodec) bool {
	fourColors := p.variant.colors == MaxColors
	base, perGroup := uint(8), threeColorGatesPerGroup
	if fourColors {
		base, perGroup = 10, fourColorGatesPerGroup
	}
	states := statesOf(p.board)
	for gates := p.board.gates(); len(gates) > 0; {
		group := gates[:min(perGroup, len(gates))]
		gates = gates[len(group):]
		width := 3 * uint(len(group))
		if fourColors {
			width = fourColorGroupBits[len(group)]
		}
		if !c.reading {
			number := uint(0)
			for _, gate := range group {
				number = number*base + states.at(gate)
			}
			c.field(number, width)
			continue
		}
		number := c.field(0, width)
		for ; len(group) > 0; group = group[:len(group)-1] {
			gate := group[len(group)-1]
			// Constants are fast to divide by.
			if fourColors {
				states.set(gate, number%10)
				number /= 10
			} else {
				states.set(gate, number%8)
				number /= 8
			}
		}
		if number != 0 {
			return false
		}
	}
	if c.reading {
		states.put(&p.board)
	}
	return true
}

// gateStates has a state for each gate: twice what the gate holds (0 for nothing, else the
// color from 1), plus 1 if it leans right. Each word has one bit of all states, so that
// they are made of the board's words all at once.
type gateStates [4]uint64

func statesOf(b Board) gateStates {
	return gateStates{b.right, b.loaded &^ b.color0, b.color0 ^ b.color1, b.color0 & b.color1}
}

// put gives the states to an empty board.
func (s *gateStates) put(b *Board) {
	b.right = s[0]
	b.loaded = s[1] | s[2] | s[3]
	b.color0 = b.loaded &^ s[1]
	b.color1 = s[1]&s[2] | s[3]
}

func (s *gateStates) at(gate Gate) uint {
	gate &= 63
	return uint(s[0]>>gate&1 | s[1]>>gate&1<<1 | s[2]>>gate&1<<2 | s[3]>>gate&1<<3)
}

func (s *gateStates) set(gate Gate, state uint) {
	gate &= 63
	s[0] |= uint64(state&1) << gate
	s[1] |= uint64(state>>1&1) << gate
	s[2] |= uint64(state>>2&1) << gate
	s[3] |= uint64(state>>3&1) << gate
}

func (p *Position) seatFields(c *bitCodec, i uint8) bool {
	seat := &p.seats[i]
	if seat.out = c.flag(seat.out); seat.out {
		return true
	}
	if p.variant.cards == nil {
		p.marbleFields(c, &seat.hand)
		return true
	}
	seat.card = c.small(seat.card, 3)
	if seat.card >= cardsPerSet {
		return false
	}
	layout := p.layout(int(i))
	if p.variant.source == fromTrays {
		filled := Marbles(0)
		for color := range Color(MaxColors) {
			width := uint(bits.Len(uint(layout.count.Of(color))))
			filled += some(color, int(c.field(uint(seat.filled.Of(color)), width)))
		}
		seat.filled = filled
		return true
	}
	// Whatever fits lies on the card, so that one number per color says both.
	owned := seat.filled + seat.hand
	p.marbleFields(c, &owned)
	seat.filled = layout.fitting(owned)
	seat.hand = owned - seat.filled
	return true
}

// marbleFields visits a count for each color.
func (p *Position) marbleFields(c *bitCodec, marbles *Marbles) {
	width := uint(bits.Len(uint(p.variant.perColor)))
	counts := uint(0)
	for color := range Color(p.variant.colors) {
		counts = counts<<width | uint(marbles.Of(color))
	}
	counts = c.field(counts, width*uint(p.variant.colors))
	*marbles = 0
	for color := Color(p.variant.colors); color > 0; color-- {
		*marbles += some(color-1, int(counts&(1<<width-1)))
		counts >>= width
	}
}
