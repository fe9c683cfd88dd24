package engine

import "math/bits"

// Status is the coarse state of a game.
type Status uint8

// The statuses.
const (
	InProgress Status = iota
	Won
	Drawn
)

// Ending says why a game ended.
type Ending uint8

// The endings.
const (
	NotEnded Ending = iota
	// CardFull: a card has marbles in all its holes (and no extras are left).
	CardFull
	// NoMarblesLeft: the winner has got rid of all marbles.
	NoMarblesLeft
	// OneColor: the winner holds enough marbles of one color and no other.
	OneColor
	// EqualColors: the winner holds equally many marbles of every color.
	EqualColors
	// LastOneLeft: all others are out.
	LastOneLeft
	// AllPassed: everybody still in the game passed in a row.
	AllPassed
	// PlyLimit: the last move that a game may have was made.
	PlyLimit
	// MostStones: a side ran out of stones and the stores were counted.
	MostStones
	// EncountersFinished: a player finished as many Encounters as are needed.
	EncountersFinished
	// DeckExhausted: no Encounter is left to play for.
	DeckExhausted
)

var endingNames = [...]string{
	NotEnded:           "NOT_ENDED",
	CardFull:           "CARD_FULL",
	NoMarblesLeft:      "NO_MARBLES_LEFT",
	OneColor:           "ONE_COLOR",
	EqualColors:        "EQUAL_COLORS",
	LastOneLeft:        "LAST_ONE_LEFT",
	AllPassed:          "ALL_PASSED",
	PlyLimit:           "PLY_LIMIT",
	MostStones:         "MOST_STONES",
	EncountersFinished: "ENCOUNTERS_FINISHED",
	DeckExhausted:      "DECK_EXHAUSTED",
}

// String is the ending's name in the API and in notations.
func (e Ending) String() string { return endingNames[e] }

// ParseEnding finds the ending of a name.
func ParseEnding(name string) (Ending, bool) {
	for ending, known := range endingNames {
		if name == known {
			return Ending(ending), true
		}
	}
	return NotEnded, false
}

// Outcome is the result of a game. The zero value is a game in progress.
type Outcome struct {
	Status  Status
	Winners SeatSet
	Ending  Ending
}

// Over tells whether the game has ended.
func (o Outcome) Over() bool { return o.Status != InProgress }

// WonBy is the outcome of a game that one seat won.
func WonBy(seat int, why Ending) Outcome {
	return Outcome{Status: Won, Winners: SeatSet(0).With(seat), Ending: why}
}

// DrawnGame is the outcome of a game without a winner.
func DrawnGame(why Ending) Outcome { return Outcome{Status: Drawn, Ending: why} }

// SeatSet is a set of seats, numbered from 1 to 16.
type SeatSet uint16

// With is the set with one seat more.
func (s SeatSet) With(seat int) SeatSet { return s | 1<<(seat-1) }

// Has tells whether a seat is in the set.
func (s SeatSet) Has(seat int) bool { return seat >= 1 && s>>(seat-1)&1 == 1 }

// Len is the number of seats in the set.
func (s SeatSet) Len() int { return bits.OnesCount16(uint16(s)) }

// Seats lists the set in rising order.
func (s SeatSet) Seats() []int {
	seats := make([]int, 0, s.Len())
	for rest := uint16(s); rest != 0; rest &= rest - 1 {
		seats = append(seats, bits.TrailingZeros16(rest)+1)
	}
	return seats
}
