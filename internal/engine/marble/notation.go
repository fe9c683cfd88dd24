package marble

import (
	"fmt"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// Color is the color of a marble, in the order of the color rotation.
type Color uint8

// The colors. Editions with three colors have no green.
const (
	Red Color = iota
	Yellow
	Blue
	Green
	// MaxColors is the number of colors of the edition with most.
	MaxColors = 4
)

const colorLetters = "rybg"

// String is the color's letter in notations.
func (c Color) String() string { return colorLetters[c : c+1] }

func (c Color) name() string { return [...]string{"red", "yellow", "blue", "green"}[c] }

func parseColor(letter byte) (Color, bool) {
	i := strings.IndexByte(colorLetters, letter)
	return Color(max(i, 0)), i >= 0
}

// Lane is one of the eight lanes, 0 to 7 from the left. Lanes 1 to 6 have a chute.
type Lane uint8

// The lanes at the rim, and the first and last one that has a chute.
const (
	LeftLane   Lane = 0
	FirstChute Lane = 1
	LastChute  Lane = 6
	RightLane  Lane = 7
	// Chutes is the number of lanes with a chute.
	Chutes = 6
)

// String is the chute's letter, or 0 and 7 for the lanes without one.
func (l Lane) String() string { return "0ABCDEF7"[l : l+1] }

// Move is a move of any marble game. Its order is that of LegalMoves.
type Move uint8

// Pass and Resign are the moves that drop no marble.
const (
	Pass   Move = Chutes * MaxColors
	Resign Move = Pass + 1
)

// Drop is the move of dropping a marble into the chute of a lane from FirstChute to
// LastChute.
func Drop(chute Lane, color Color) Move {
	return Move(chute-FirstChute)*MaxColors + Move(color)
}

// IsDrop tells whether the move drops a marble.
func (m Move) IsDrop() bool { return m < Pass }

// Chute is the lane into which a drop goes.
func (m Move) Chute() Lane { return FirstChute + Lane(m/MaxColors) }

// Color is the color that a drop uses.
func (m Move) Color() Color { return Color(m % MaxColors) }

// String is the move's notation: chute letter and color letter, "pass" or "resign".
func (m Move) String() string {
	switch m {
	case Pass:
		return engine.PassNotation
	case Resign:
		return engine.ResignNotation
	default:
		return m.Chute().String() + m.Color().String()
	}
}

// ParseMove reads a move's notation without regard to case.
func ParseMove(notation string) (Move, error) {
	if len(notation) == 2 {
		chute := strings.IndexByte("ABCDEF", notation[0]&^0x20)
		color, ok := parseColor(notation[1] | 0x20)
		if chute >= 0 && ok {
			return Drop(FirstChute+Lane(chute), color), nil
		}
	}
	for _, move := range [...]Move{Pass, Resign} {
		// Equal lengths leave out letters beyond ASCII that fold to those of the word.
		if word := move.String(); len(notation) == len(word) && strings.EqualFold(notation, word) {
			return move, nil
		}
	}
	return 0, engine.Refuse(engine.MoveMalformed,
		"%.32q is no move of a marble game: give a chute A to F and a color r, y, b or g, such as \"Br\", or \"pass\" or \"resign\"", notation)
}

// Marbles counts marbles by color, at most 127 of each. Each color has a byte, red the
// lowest, so that a single instruction adds up or compares all of them.
type Marbles uint32

// some counts marbles of one color.
func some(c Color, n int) Marbles { return Marbles(n) << (c & 3 << 3) }

// Of is the number of marbles of a color.
func (m Marbles) Of(c Color) int { return int(m >> (c & 3 << 3) & 0xff) }

func (m Marbles) total() int { return m.Of(Red) + m.Of(Yellow) + m.Of(Blue) + m.Of(Green) }

// atMost is the smaller count of each color.
func (m Marbles) atMost(limit Marbles) Marbles {
	const top = 0x80808080
	// The top bit of a byte stays where the limit is not above.
	reached := ((m | top) - limit) & top
	all := reached >> 7 * 0xff
	return limit&all | m&^all
}

// take takes marbles away, unless there are too few.
func (m *Marbles) take(marbles Marbles) bool {
	if marbles.atMost(*m) != marbles {
		return false
	}
	*m -= marbles
	return true
}

// String lists the counts that are not zero, such as "4r4y3b", or "-" for none.
func (m Marbles) String() string {
	if m == 0 {
		return "-"
	}
	var b strings.Builder
	for c := range Color(MaxColors) {
		if n := m.Of(c); n > 0 {
			fmt.Fprintf(&b, "%d%c", n, colorLetters[c])
		}
	}
	return b.String()
}

// parseMarbles reads Marbles.String. Counts have one or two digits and no leading
// zero; colors come in the order of the rotation.
func parseMarbles(text string) (Marbles, bool) {
	var m Marbles
	if text == "-" {
		return m, true
	}
	last := -1
	for rest := text; rest != ""; {
		digits := 0
		n := 0
		for digits < len(rest) && digits < 2 && rest[digits] >= '0' && rest[digits] <= '9' {
			n = 10*n + int(rest[digits]-'0')
			digits++
		}
		if digits == 0 || rest[0] == '0' || digits == len(rest) {
			return m, false
		}
		color, ok := parseColor(rest[digits])
		if !ok || int(color) <= last {
			return m, false
		}
		m += some(color, n)
		last = int(color)
		rest = rest[digits+1:]
	}
	return m, last >= 0
}
