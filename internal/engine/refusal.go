package engine

import "fmt"

// Reason classifies why something was refused.
type Reason uint8

// The reasons for which rules refuse something.
const (
	// MoveMalformed: the text is no move of this family.
	MoveMalformed Reason = iota + 1
	// MoveIllegal: the move exists but the rules forbid it now.
	MoveIllegal
	// GameOver: the game has ended and takes no moves.
	GameOver
	// PlayersOutOfRange: the ruleset is not for that many players.
	PlayersOutOfRange
	// OptionUnsupported: the ruleset does not know the option, or not that value.
	OptionUnsupported
	// BoardMalformed: the text is no board.
	BoardMalformed
	// PositionMalformed: the text or bytes are no position.
	PositionMalformed
	// PositionInconsistent: the position reads well but cannot occur.
	PositionInconsistent
)

// Refusal is the error of everything that rules refuse.
type Refusal struct {
	Reason Reason
	// Field names the field of Setup that is at fault, if one is: "players",
	// "houseRules", "position", "board", "rows" or "stones".
	Field string
	// Message says what is wrong and what would be right.
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Refuse makes a refusal that concerns no field of a setup.
func Refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// RefuseField makes a refusal of one field of a setup.
func RefuseField(reason Reason, field, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Field: field, Message: fmt.Sprintf(format, args...)}
}

// RefusePlayers refuses to start a game for so many players, 0 if nobody said how many.
func RefusePlayers(players int, ruleset string, least, most int) *Refusal {
	if players == 0 {
		return RefuseField(PlayersOutOfRange, "players", "%s is for %d to %d players: say how many", ruleset, least, most)
	}
	return RefuseField(PlayersOutOfRange, "players", "%s is for %d to %d players, not %d", ruleset, least, most, players)
}
