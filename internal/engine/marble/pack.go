package marble

import (
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
	buffer  [maxPacked]byte
	at      uint // bit
	reading bool
}

// field writes the lowest bits of value and returns it, or reads so many bits.
func (c *bitCodec) field(value, width uint) uint {
	if c.reading {
		value = 0
	}
	for width > 0 && c.at < maxPacked*8 {
		// Fields are filled from the most significant bit of each byte.
		free := 8 - c.at&7
		n := min(free, width)
		shift := free - n
		mask := uint(1)<<n - 1
		if c.reading {
			value = value<<n | uint(c.buffer[c.at>>3])>>shift&mask
		} else {
			c.buffer[c.at>>3] |= byte(value >> (width - n) & mask << shift)
		}
		c.at += n
		width -= n
	}
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
	position, err := v.UnpackPosition(packed)
	if err != nil {
		return nil, err
	}
	return position, nil
}

// UnpackPosition is Unpack without hiding the type.
func (v *Variant) UnpackPosition(packed []byte) (Position, error) {
	codec := bitCodec{reading: true}
	copy(codec.buffer[:], packed)
	position := Position{variant: v}
	// One position has one packed form: nothing follows it, and padding is zero.
	if !position.fields(&codec) || codec.len() != uint(len(packed)) || codec.field(0, -codec.at&7) != 0 {
		return Position{}, v.noPacked()
	}
	if refusal := position.validate(); refusal != nil {
		return Position{}, refusal
	}
	settled := position
	settled.settle(nil)
	if settled != position {
		return Position{}, v.noPacked()
	}
	return position, nil
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
	if c.flag(p.discarded != Marbles{}) {
		p.marbleFields(c, &p.discarded)
		return p.discarded != Marbles{}
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
	threeColorGatesPerGroup = 16
	fourColorGatesPerGroup  = 3
)

var fourColorGroupBits = [fourColorGatesPerGroup + 1]uint{1: 4, 2: 7, 3: 10}

// boardFields visits the gates.
func (p *Position) boardFields(c *bitCodec) bool {
	gates := p.board.gates()
	states, perGroup := uint(8), threeColorGatesPerGroup
	if p.variant.colors == MaxColors {
		states, perGroup = 10, fourColorGatesPerGroup
	}
	for len(gates) > 0 {
		group := gates[:min(perGroup, len(gates))]
		gates = gates[len(group):]
		number := uint(0)
		if !c.reading {
			for _, gate := range group {
				number = number*states + p.gateState(gate)
			}
		}
		width := fourColorGroupBits[len(group)&3]
		if states == 8 {
			width = 3 * uint(len(group))
		}
		number = c.field(number, width)
		if !c.reading {
			continue
		}
		for _, gate := range slices.Backward(group) {
			p.setGateState(gate, number%states)
			number /= states
		}
		if number != 0 {
			return false
		}
	}
	return true
}

// gateState is twice what the gate holds (0 for nothing, else the color from 1), plus 1
// if it leans right.
func (p *Position) gateState(gate Gate) uint {
	state := uint(p.board.right >> gate & 1)
	if color, held := p.board.Held(gate); held {
		state |= uint(color+1) << 1
	}
	return state
}

func (p *Position) setGateState(gate Gate, state uint) {
	p.board.setGate(gate, state&1 == 1)
	if state > 1 {
		p.board.load(gate, Color(state>>1-1))
	}
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
		for color, holes := range layout.count {
			seat.filled[color] = c.small(seat.filled[color], uint(bits.Len8(holes)))
		}
		return true
	}
	// Whatever fits lies on the card, so that one number per color says both.
	owned := seat.filled.plus(seat.hand)
	p.marbleFields(c, &owned)
	seat.filled = layout.fitting(owned)
	seat.hand = owned.minus(seat.filled)
	return true
}

func (p *Position) marbleFields(c *bitCodec, marbles *Marbles) {
	width := uint(bits.Len(uint(p.variant.perColor)))
	for color := range p.variant.colors {
		marbles[color] = c.small(marbles[color], width)
	}
}
