package mancala

import (
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// Move is a move of a mancala game: the pit to sow, 1 to 6 from the mover's left,
// or Resign.
type Move uint8

// Resign is the move of leaving the game. It is never listed as legal and always
// accepted from the seat to move.
const Resign Move = PitsPerSide + 1

// Pit is the pit that a move other than Resign sows.
func (m Move) Pit() int { return int(m) }

// String is the move's notation, the pit's number or "resign".
func (m Move) String() string {
	if m == Resign {
		return engine.ResignNotation
	}
	return string('0' + rune(m))
}

// ParseMove reads a move's notation, without regard to case.
func ParseMove(notation string) (Move, error) {
	if len(notation) == 1 && notation[0] >= '1' && notation[0] <= '0'+PitsPerSide {
		return Move(notation[0] - '0'), nil
	}
	if strings.EqualFold(notation, engine.ResignNotation) {
		return Resign, nil
	}
	return 0, engine.Refuse(engine.MoveMalformed,
		`%.32q is no move of a mancala game: give the number of a pit, "1" to "6" from your left, or "resign"`, notation)
}
