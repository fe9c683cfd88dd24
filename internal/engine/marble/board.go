package marble

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// MaxRows and DefaultRows bound and choose the number of gate rows.
const (
	MaxRows     = 16
	DefaultRows = 4
)

// Board is the inclined board: rows of gates, each leaning to one side and holding
// at most one marble. The zero value has no rows; make one with NewBoard or
// ParseBoard. Boards are values and can be compared.
//
// Lanes and the dividers between them stand like this:
//
//	0 T A U B V C W D X E Y F Z 7
//
// Odd rows, counted from 1, have gates on U, W and Y, even rows on T, V, X and Z.
type Board struct {
	// Each gate is one bit of the four that its row has in these words; see Gate.
	right  uint64 // leans right
	loaded uint64 // holds a marble
	// The held marble's color in binary; 0 for a gate that holds none.
	color0, color1 uint64
	// The bits of all rows that the board has.
	rows uint64
}

// Gate names a gate: four times the row (from 0), plus the gate's place in its row. Rows
// of four gates use the places 0 to 3, rows of three 1 to 3.
type Gate uint8

// oddRow is 1 for the rows 1, 3, 5, … (counted from 1, so at the indices 0, 2, 4, …).
func oddRow(row int) Lane { return Lane(^row & 1) }

// rowGates is the first gate of a row and the first gate behind it.
func rowGates(row int) (first, end Gate) {
	return Gate(row<<2) + Gate(oddRow(row)), Gate(row<<2) + 4
}

func (g Gate) row() int { return int(g >> 2) }

// leftLane is the lane on the left side of the gate.
func (g Gate) leftLane() Lane { return Lane(g&3)<<1 - oddRow(g.row()) }

// String is the divider's letter and the row, counted from 1: "U1" to "Z16".
func (g Gate) String() string {
	row := g.row() + 1
	name := []byte{"TUVWXYZ"[g.leftLane()]}
	if row >= 10 {
		name = append(name, '1')
	}
	return string(append(name, byte('0'+row%10)))
}

// NewBoard is a board whose gates all lean left, with 1 to MaxRows rows.
func NewBoard(rows int) Board { return Board{rows: ^uint64(0) >> ((MaxRows - rows) * 4)} }

// Rows is the number of gate rows.
func (b Board) Rows() int { return bits.Len64(b.rows) / 4 }

// allGates are the gates of the largest board, with which those of any other begin.
var allGates = func() (gates []Gate) {
	for row := range MaxRows {
		for gate, end := rowGates(row); gate < end; gate++ {
			gates = append(gates, gate)
		}
	}
	return gates
}()

// Gates lists the board's gates, row by row from the top, left to right.
func (b Board) Gates() []Gate { return slices.Clone(b.gates()) }

func (b Board) gates() []Gate { return allGates[:gateCount(b.Rows())] }

// gateCount is 3 for each odd row and 4 for each even one.
func gateCount(rows int) int { return 3*rows + rows/2 }

// LeansRight tells to which side a gate leans. It blocks the lane on that side.
func (b Board) LeansRight(g Gate) bool { return b.right>>g&1 == 1 }

// Held is the color of the marble that a gate holds, if it holds one.
func (b Board) Held(g Gate) (Color, bool) {
	return Color(b.color0>>g&1 | b.color1>>g&1<<1), b.loaded>>g&1 == 1
}

// HeldMarbles counts the marbles on the board.
func (b Board) HeldMarbles() Marbles {
	return some(Red, bits.OnesCount64(b.loaded&^b.color0&^b.color1)) +
		some(Yellow, bits.OnesCount64(b.color0&^b.color1)) +
		some(Blue, bits.OnesCount64(b.color1&^b.color0)) +
		some(Green, bits.OnesCount64(b.color1&b.color0))
}

func (b Board) heldCount() int { return bits.OnesCount64(b.loaded) }

func (b *Board) setGate(g Gate, right bool) {
	b.right &^= 1 << g
	if right {
		b.right |= 1 << g
	}
}

func (b *Board) load(g Gate, c Color) {
	b.loaded |= 1 << g
	b.color0 |= uint64(c&1) << g
	b.color1 |= uint64(c>>1) << g
}

// takeAll empties every gate without moving one.
func (b *Board) takeAll() { b.loaded, b.color0, b.color1 = 0, 0, 0 }

// path is what lies ahead of a marble in motion: the gates in its lane, and which of
// them have that lane on their right.
type path struct {
	gates, onRight uint64
	lane           Lane
	_              uint64 // A power of two is a faster size to index by.
}

// chutePaths holds the paths from the top of each lane. pathsBelow holds the paths
// that begin below a gate, in its left and its right lane.
var chutePaths, pathsBelow = func() (fromTop [RightLane + 1]path, below [MaxRows * 4][2]path) {
	for lane := range fromTop {
		fromTop[lane].lane = Lane(lane)
	}
	for _, gate := range allGates {
		left := gate.leftLane()
		fromTop[left].gates |= 1 << gate
		fromTop[left+1].gates |= 1 << gate
		fromTop[left+1].onRight |= 1 << gate
	}
	for _, gate := range allGates {
		_, end := rowGates(gate.row())
		for side := range below[gate] {
			below[gate][side] = fromTop[gate.leftLane()+Lane(side)]
			below[gate][side].gates &= ^uint64(0) << end
		}
	}
	return fromTop, below
}()

// Drop lets a marble fall into a chute and returns the marbles that leave the board.
// If events is not nil, what happens is appended to it.
//
// A marble in motion runs until it stops or leaves the board; then the marble that
// was released last runs next. Gates do not commute, so this order is part of the
// rules.
func (b *Board) Drop(chute Lane, color Color, events *[]Event) Marbles {
	var (
		// Released marbles wait at their gates, which go on saying their colors. All that
		// runs before one of them runs below it, so that the last one is the lowest one,
		// and its gate leans as it did.
		waiting uint64
		fallen  Marbles
	)
	right, loaded, color0, color1, rows := b.right, b.loaded, b.color0, b.color1, b.rows
	ahead := &chutePaths[chute&7]
	moving := uint64(color)
	for {
		gates := ahead.gates & rows
		// The marble flips every gate before the first one that blocks its lane or
		// holds a marble, and is caught there.
		catches := gates & (loaded | ^(right ^ ahead.onRight))
		bit := catches & -catches
		flips := gates & (bit - 1)
		right ^= flips
		if events != nil {
			b.right, b.loaded, b.color0, b.color1 = right, loaded, color0, color1
			*events = b.appendRun(*events, ahead, flips, bit, Color(moving))
		}
		if loaded&bit != 0 {
			// The gate frees its marble into the lane that it blocks; the moving one
			// takes the other lane, be it its own or not. Two flips cancel out.
			loaded ^= bit
			waiting |= bit
			open := 1
			if right&bit != 0 {
				open = 0
			}
			ahead = &pathsBelow[bits.TrailingZeros64(bit)&63][open]
			continue
		}
		if bit != 0 {
			loaded |= bit
			color0 |= bit & -(moving & 1)
			color1 |= bit & -(moving >> 1)
		} else {
			fallen += some(Color(moving), 1)
		}
		if waiting == 0 {
			break
		}
		gate := (bits.Len64(waiting) - 1) & 63
		freed := uint64(1) << gate
		waiting ^= freed
		moving = color0>>gate&1 | color1>>gate&1<<1
		color0 &^= freed
		color1 &^= freed
		ahead = &pathsBelow[gate][right>>gate&1]
	}
	b.right, b.loaded, b.color0, b.color1 = right, loaded, color0, color1
	return fallen
}

// appendRun appends the events of a marble's run down its lane: the gates that it has
// flipped, and what happens at the gate that catches it (bit), or its exit if none does.
func (b *Board) appendRun(events []Event, ahead *path, flips, bit uint64, moving Color) []Event {
	for ; flips != 0; flips &= flips - 1 {
		gate := Gate(bits.TrailingZeros64(flips))
		events = append(events, Event{Kind: GateFlipped, Gate: gate, Right: b.LeansRight(gate)})
	}
	if bit == 0 {
		return append(events, Event{Kind: MarbleExited, Lane: ahead.lane, Color: moving})
	}
	gate := Gate(bits.TrailingZeros64(bit))
	held, loaded := b.Held(gate)
	if !loaded {
		return append(events, Event{Kind: GateLoaded, Gate: gate, Color: moving})
	}
	if blocked := (b.right^ahead.onRight)&bit == 0; blocked {
		events = append(events, Event{Kind: MarbleShunted, Gate: gate, Color: moving})
	}
	return append(events, Event{Kind: MarbleReleased, Gate: gate, Color: held})
}

// ParseBoard reads Board.String: 1 to MaxRows rows, all four colors allowed.
func ParseBoard(text string) (Board, *engine.Refusal) {
	rows := strings.Count(text, "/") + 1
	if len(text) > MaxRows*9 || rows > MaxRows {
		return Board{}, engine.Refuse(engine.BoardMalformed,
			"a board has 1 to %d rows of gates, separated by \"/\"", MaxRows)
	}
	board := NewBoard(rows)
	row := 0
	for line := range strings.SplitSeq(text, "/") {
		gate, end := rowGates(row)
		for i := range len(line) {
			letter := line[i]
			if color, isColor := parseColor(letter); isColor && i > 0 && (line[i-1] == 'L' || line[i-1] == 'R') {
				board.load(gate-1, color)
				continue
			}
			if letter != 'L' && letter != 'R' {
				return Board{}, engine.Refuse(engine.BoardMalformed,
					"row %d, %.40q: a gate is L or R, with r, y, b or g behind it if it holds a marble", row+1, line)
			}
			if gate == end {
				return Board{}, tooManyGates(row, line)
			}
			board.setGate(gate, letter == 'R')
			gate++
		}
		if gate != end {
			return Board{}, tooManyGates(row, line)
		}
		row++
	}
	return board, nil
}

func tooManyGates(row int, line string) *engine.Refusal {
	first, end := rowGates(row)
	return engine.Refuse(engine.BoardMalformed, "row %d, %.40q: it must have %d gates", row+1, line, end-first)
}

// String is the board's notation: rows from the top, separated by "/", each gate L or
// R with the held marble's letter behind it. Example: "LRL/LRyLL/RLL/LLRL".
func (b Board) String() string {
	text := make([]byte, 0, 5*b.Rows()+b.heldCount())
	for row := range b.Rows() {
		if row > 0 {
			text = append(text, '/')
		}
		for gate, end := rowGates(row); gate < end; gate++ {
			if b.LeansRight(gate) {
				text = append(text, 'R')
			} else {
				text = append(text, 'L')
			}
			if color, held := b.Held(gate); held {
				text = append(text, colorLetters[color])
			}
		}
	}
	return string(text)
}
