package marble

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// referenceBoard is a slow board for comparison, written from the rule book alone: rows
// of gates by the name of their divider, no bits, no tables.
type referenceBoard []map[byte]referenceGate

type referenceGate struct {
	lean byte // 'L' or 'R'
	held byte // a color's letter, or 0
}

// dividersOf names the dividers of a row, which counts from 0.
func dividersOf(row int) string {
	if row%2 == 0 {
		return "UWY"
	}
	return "TVXZ"
}

func parseReference(text string) referenceBoard {
	var board referenceBoard
	for row, line := range strings.Split(text, "/") {
		gates := map[byte]referenceGate{}
		dividers := dividersOf(row)
		at := -1
		for _, letter := range []byte(line) {
			if letter == 'L' || letter == 'R' {
				at++
				gates[dividers[at]] = referenceGate{lean: letter}
				continue
			}
			gate := gates[dividers[at]]
			gate.held = letter
			gates[dividers[at]] = gate
		}
		board = append(board, gates)
	}
	return board
}

func (b referenceBoard) clone() referenceBoard {
	clone := make(referenceBoard, len(b))
	for row, gates := range b {
		clone[row] = maps.Clone(gates)
	}
	return clone
}

func (b referenceBoard) String() string {
	var rows []string
	for row, gates := range b {
		line := ""
		for _, divider := range []byte(dividersOf(row)) {
			line += string(gates[divider].lean)
			if held := gates[divider].held; held != 0 {
				line += string(held)
			}
		}
		rows = append(rows, line)
	}
	return strings.Join(rows, "/")
}

// referenceMarble is a marble in motion: the row and lane that it comes to next, and how
// many were in motion before it in this drop.
type referenceMarble struct {
	row, lane int
	color     byte
	number    int
}

// schedule picks the marble that comes to its next row, by its place. Each marble stands
// right behind the one that released it.
type schedule func(moving []referenceMarble) int

// lastReleasedNext is the rule: a marble runs until it stops or leaves, then the one that
// was released last runs next.
func lastReleasedNext([]referenceMarble) int { return 0 }

// drop lets a marble of a color fall into a lane and returns the events and the exits, as
// lane and color.
func (b referenceBoard) drop(lane int, color byte, next schedule) (events, exits []string) {
	moving := []referenceMarble{{lane: lane, color: color}}
	released := 0
	for len(moving) > 0 {
		at := next(moving)
		m := &moving[at]
		if m.row == len(b) {
			exits = append(exits, "0ABCDEF7"[m.lane:m.lane+1]+string(m.color))
			events = append(events, "exit "+"0ABCDEF7"[m.lane:m.lane+1]+" "+string(m.color))
			moving = slices.Delete(moving, at, at+1)
			continue
		}
		divider, side := dividerBeside(m.lane, m.row)
		row := b[m.row]
		m.row++
		if divider == 0 {
			continue
		}
		gate := row[divider]
		name := string(divider) + strconv.Itoa(m.row)
		blocked := gate.lean == side
		switch {
		case blocked && gate.held == 0:
			row[divider] = referenceGate{gate.lean, m.color}
			events = append(events, "load "+name+" "+string(m.color))
			moving = slices.Delete(moving, at, at+1)
		case !blocked && gate.held == 0:
			row[divider] = referenceGate{'L' + 'R' - gate.lean, 0}
			events = append(events, "flip "+name+" "+string(row[divider].lean))
		default:
			// Divider T stands between the lanes 0 and 1, U between 1 and 2, and so on.
			leftLane := int(divider - 'T')
			heldLane := leftLane
			if gate.lean == 'R' {
				heldLane++
			}
			if blocked {
				events = append(events, "shunt "+name+" "+string(m.color))
				m.lane = leftLane + leftLane + 1 - m.lane
			}
			events = append(events, "release "+name+" "+string(gate.held))
			row[divider] = referenceGate{gate.lean, 0}
			released++
			moving = slices.Insert(moving, at+1, referenceMarble{m.row, heldLane, gate.held, released})
		}
	}
	return events, exits
}

// dividerBeside is the divider with a gate beside a lane in a row, and the gate's side on
// which the lane is; 0 if there is none.
func dividerBeside(lane, row int) (divider, side byte) {
	for _, d := range []byte(dividersOf(row)) {
		switch lane {
		case int(d - 'T'):
			return d, 'L'
		case int(d-'T') + 1:
			return d, 'R'
		}
	}
	return 0, 0
}
