package mancala

// PitsPerSide is the number of pits of each player.
const PitsPerSide = 6

// The board as the mover sees it. Holes are numbered in the order in which the
// hand passes them: the mover's pits from the left, the mover's store, the
// opponent's pits from the opponent's left. The opponent's store is not on the
// way. After the last hole the hand is back at the first.
const (
	storeHole = PitsPerSide
	holes     = 2*PitsPerSide + 1
	// maxStones is what the largest game has, six stones in each of twelve pits.
	maxStones = 72
)

// board holds the stones in the twelve pits, five bits ("a lane") for each: the
// mover's six from bit 0, then the opponent's six from bit 30. A pit with c
// stones has c%16 in low and c/16 in tall. The fifth bit of a lane of low is free to
// catch the carry of a lap, which adds at most 6 to a pit: 72 stones pass it 6 times.
// Pits of 16 and more stones are rare. That tall is almost always 0 makes sowing fast.
type board struct {
	low, tall uint64
}

const (
	laneBits  = 5
	laneMask  = 1<<laneBits - 1
	sideBits  = PitsPerSide * laneBits
	sideMask  = 1<<sideBits - 1
	boardMask = 1<<(2*sideBits) - 1
	// storeShift leads past the lanes to bits that are always 0: seen from the hand
	// the store is empty, which ends a relay there as an empty pit does.
	storeShift = 2 * sideBits
	// carries has the fifth bit of every lane.
	carries = 0x0842108421084210
	// highest is the largest count that a lane of low holds between two laps.
	highest = 15
)

// shiftOf tells where the lane of a hole begins.
func shiftOf(hole int) int {
	switch {
	case hole < storeHole:
		return hole * laneBits
	case hole == storeHole:
		return storeShift
	default:
		return (hole - 1) * laneBits
	}
}

// lane counts the stones in the lane at a shift.
func (b board) lane(shift uint8) uint64 {
	count := b.low >> (shift & 63) & highest
	if b.tall != 0 {
		count += b.tall >> (shift & 63) & laneMask << 4
	}
	return count
}

// at counts the stones in a pit.
func (b board) at(hole int) int { return int(b.lane(uint8(shiftOf(hole)))) }

// with is the board with another count in a pit.
func (b board) with(hole, count int) board {
	shift := shiftOf(hole)
	b.low = b.low&^(laneMask<<shift) | uint64(count%16)<<shift
	b.tall = b.tall&^(laneMask<<shift) | uint64(count/16)<<shift
	return b
}

// turned is the board as the opponent sees it.
func (b board) turned() board {
	b.low = b.low>>sideBits | b.low<<sideBits&boardMask
	if b.tall != 0 {
		b.tall = b.tall>>sideBits | b.tall<<sideBits&boardMask
	}
	return b
}

// side counts the stones in the six pits from a hole on, which begins a side.
func (b board) side(first int) int {
	shift := shiftOf(first)
	return sum(b.low>>shift) + sum(b.tall>>shift)<<4
}

// sum adds up six lanes: two by two first, which leaves three digits of base 1024,
// whose sum a number shares with its remainder by 1023.
func sum(lanes uint64) int {
	const pairs = laneMask | laneMask<<(2*laneBits) | laneMask<<(4*laneBits)
	return int((lanes&pairs + lanes>>laneBits&pairs) % (1<<(2*laneBits) - 1))
}

// moverEmpty and otherEmpty tell whether a side has no stones in its pits.
func (b board) moverEmpty() bool { return (b.low|b.tall)&sideMask == 0 }
func (b board) otherEmpty() bool { return (b.low|b.tall)>>sideBits == 0 }

// lap is what sowing one handful does to the board, by addition, and where it ends.
type lap struct {
	// low takes the sown stones out of the lane in which they lie, as far as they are
	// in low, and adds one to each lane for each time that the hand passes it.
	low uint64
	// row is the index of the laps from the last hole.
	row uint16
	// shift tells where the lane of the last hole begins, and opposite that of the pit
	// opposite to it, if it is a pit of the mover; otherwise opposite is storeShift.
	shift, opposite uint8
}

const (
	rowBits = 7 // a row has a lap for each number of stones
	lapMask = 1<<(rowBits+4) - 1
)

// laps has the laps of every number of stones from every hole, in rows. A lap of no
// stones changes nothing. The table is longer than its 13 rows so that a masked
// index is always within.
var laps = lapTable()

func lapTable() (table [lapMask + 1]lap) {
	for hole := range holes {
		for stones := range maxStones + 1 {
			var low uint64
			if hole != storeHole {
				low -= uint64(stones%16) << shiftOf(hole)
			}
			last := hole
			for range stones {
				last = (last + 1) % holes
				if last != storeHole {
					low += 1 << shiftOf(last)
				}
			}
			across := storeHole
			if last < storeHole {
				across = opposite(last)
			}
			table[hole<<rowBits|stones] = lap{
				low:      low,
				row:      uint16(last << rowBits),
				shift:    uint8(shiftOf(last)),
				opposite: uint8(shiftOf(across)),
			}
		}
	}
	return table
}

// opposite is the hole across the board.
func opposite(hole int) int { return 2*storeHole - hole }

// sowing is a move under way: the board, and the hole where the hand is.
type sowing struct {
	board board
	hand  *lap
}

// reach begins a move at a hole.
func (b board) reach(hole int) sowing { return sowing{b, &laps[hole<<rowBits&lapMask]} }

// hole is where the hand is.
func (s sowing) hole() int { return int(s.hand.row >> rowBits) }

// count is the number of stones where the hand is, 0 at the store.
func (s sowing) count() uint64 { return s.board.lane(s.hand.shift) }

// lap sows a handful, all stones that are where the hand is, and leaves the hand
// where the last stone fell.
func (s sowing) lap(stones uint64) sowing {
	if stones > highest {
		s.board.tall -= stones >> 4 << (s.hand.shift & 63)
	}
	s.hand = &laps[(uint64(s.hand.row)+stones)&lapMask]
	s.board.low += s.hand.low
	if carry := s.board.low & carries; carry != 0 {
		s.board.low ^= carry
		s.board.tall += carry >> 4
	}
	return s
}

// relay sows from a pit that is not empty and goes on from each pit that held stones
// before its last one. It also counts the laps, and the stones sown in them.
//
// A relay has no small bound, but it ends: every 13 stones leave one in the store.
//
// Whether it goes on is close to a coin toss, and a wrong guess costs the processor
// more than a lap. So each round sows two laps and asks once: where the relay ended
// with the first, the second is a lap of no stones, which changes nothing.
func (s sowing) relay() (end sowing, laps, stones uint64) {
	for handful := s.count(); ; {
		stones += handful
		s = s.lap(handful)
		handful = s.count()
		again := uint64(int64(1-handful) >> 63) // every bit if there is more than one
		handful &= again
		laps += 1 - again
		stones += handful
		s = s.lap(handful)
		if handful = s.count(); handful <= 1 {
			return s, laps, stones
		}
	}
}

// prize counts the stones opposite to the hand if it dropped its last stone in a pit
// of the mover that was empty, and 0 otherwise.
func (s sowing) prize() uint64 {
	prize := s.board.lane(s.hand.opposite)
	if s.count() != 1 {
		prize = 0
	}
	return prize
}

// captured is the board without the last stone and those opposite to it.
func (s sowing) captured() board {
	return s.board.with(s.hole(), 0).with(opposite(s.hole()), 0)
}
