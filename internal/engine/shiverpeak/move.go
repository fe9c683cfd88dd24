package shiverpeak

import (
	"strconv"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// Action is the sort of a move.
type Action uint8

// The actions.
const (
	// Reveal turns over the next card of the deck.
	Reveal Action = iota + 1
	// Avoid tries to get past an Encounter.
	Avoid
	// Face tries to overcome an Encounter.
	Face
	// Keep tries to add an Encounter to the player's active ones.
	Keep
	// Target names the rival whom a card hits.
	Target
	// Resign leaves the game.
	Resign
)

// actions lists the notations and their short forms.
var actions = [...]struct{ notation, short string }{
	Reveal: {"reveal", "r"},
	Avoid:  {"avoid", "a"},
	Face:   {"face", "f"},
	Keep:   {"keep", "k"},
	Target: {"target", "t"},
	Resign: {engine.ResignNotation, engine.ResignNotation},
}

// String is the action's name in lower case.
func (a Action) String() string {
	if int(a) >= len(actions) {
		return ""
	}
	return actions[a].notation
}

// Move is a move of the card game.
type Move struct {
	Action Action
	// Seat is the rival's seat, from 1, if the action is Target, else 0.
	Seat int
}

// String implements engine.Move: "reveal", "avoid", "face", "keep", "target 3",
// "resign".
func (m Move) String() string {
	if m.Action == Target {
		return m.Action.String() + " " + strconv.Itoa(m.Seat)
	}
	return m.Action.String()
}

// parseMove reads the notation of a move, in any case. The words may be cut to
// their first letters (but for "resign"), and a seat alone stands for "target".
func parseMove(notation string) (Move, error) {
	word := lower(notation)
	for action := Reveal; action <= Resign; action++ {
		if action != Target && (word == actions[action].notation || word == actions[action].short) {
			return Move{Action: action}, nil
		}
	}
	seat := word
	for _, prefix := range []string{actions[Target].notation, actions[Target].short} {
		if rest, found := strings.CutPrefix(word, prefix); found {
			seat = strings.TrimPrefix(rest, " ")
			break
		}
	}
	if len(seat) == 1 && seat[0] >= '1' && seat[0] <= '0'+MaxPlayers {
		return Move{Action: Target, Seat: int(seat[0] - '0')}, nil
	}
	return Move{}, engine.Refuse(engine.MoveMalformed,
		"a move of the card game is reveal, avoid, face, keep, resign, or target and a seat from 1 to %d, such as %q", MaxPlayers, "target 2")
}

// lower is the notation in lower case, or nothing if it is too long for one. Only
// ASCII letters have a case here: strings.ToLower would make a k of the Kelvin sign.
func lower(notation string) string {
	if len(notation) > len("target 8") {
		return ""
	}
	word := []byte(notation)
	for i, c := range word {
		if c >= 'A' && c <= 'Z' {
			word[i] = c + 'a' - 'A'
		}
	}
	return string(word)
}
