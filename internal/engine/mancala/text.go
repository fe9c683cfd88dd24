package mancala

import (
	"strconv"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// The text of a position has these fields, each after one space:
//
//	4,4,0,5,5,5/4,4,4,4,4,4   south's pits and north's, each from its own left
//	1-0                       the stores of south and north
//	s                         the seat to move, s or n, or - in a finished game
//	n resigned                only in a game that ended so: who resigned
//
// Numbers have no leading zeros, and there is exactly one text for a position.

const (
	// maxTextLength is more than any position needs.
	maxTextLength = 64
	overField     = "-"
	resignedField = "resigned"
)

// String implements engine.Position.
func (p Position) String() string {
	text := make([]byte, 0, maxTextLength)
	for seat := South; seat <= North; seat++ {
		for i, stones := range p.Pits(seat) {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, int64(stones), 10)
		}
		text = append(text, "/ "[seat-South])
	}
	text = strconv.AppendInt(text, int64(p.Store(South)), 10)
	text = append(text, '-')
	text = strconv.AppendInt(text, int64(p.Store(North)), 10)
	text = append(text, ' ')
	seat := seatLetter(p.mover())
	switch {
	case !p.status.has(over):
		text = append(text, seat...)
	case p.resigned():
		text = append(text, overField+" "+seat+" "+resignedField...)
	default:
		text = append(text, overField...)
	}
	return string(text)
}

// parsePosition reads Position.String.
func parsePosition(text string, flags status) (Position, error) {
	s := setup{flags: flags}
	if len(text) > maxTextLength || !s.read(text) {
		return Position{}, malformed()
	}
	p, err := s.position()
	if err != nil {
		return Position{}, err
	}
	// The reader is lenient: it takes 04 for 4, and any word for "resigned".
	if p.String() != text {
		return Position{}, malformed()
	}
	return p, nil
}

// read fills the setup from a text and tells whether the text has the right fields.
func (s *setup) read(text string) bool {
	fields := strings.Split(text, " ")
	if len(fields) < 3 {
		return false
	}
	south, north, found := strings.Cut(fields[0], "/")
	if !found || !readCounts(south, ",", s.pits[0][:]) || !readCounts(north, ",", s.pits[1][:]) ||
		!readCounts(fields[1], "-", s.stores[:]) {
		return false
	}
	end := fields[2:]
	if end[0] == overField {
		s.flags |= over
		switch {
		case len(end) == 1:
			return true
		case len(end) == 3:
			end = end[1:2]
		}
	}
	for seat := South; seat <= North; seat++ {
		if len(end) == 1 && end[0] == seatLetter(seat) {
			s.seat = seat
		}
	}
	return s.seat != 0
}

// readCounts reads as many numbers as counts has room for.
func readCounts(text, separator string, counts []int) bool {
	parts := strings.Split(text, separator)
	if len(parts) != len(counts) {
		return false
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 7)
		if err != nil {
			return false
		}
		counts[i] = int(n)
	}
	return true
}

func malformed() error {
	return engine.RefuseField(engine.PositionMalformed, "position",
		`that is no mancala position: give south's pits and north's, each from its own left, the stores, and the seat to move, `+
			`such as "4,4,4,4,4,4/4,4,4,4,4,4 0-0 s"`)
}
