package shiverpeak

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// maxNotation bounds the text of a position; the longest has under 400 bytes.
const maxNotation = 512

// nothing stands in place of an empty list or a missing card.
const nothing = "-"

// rolls spell the die rolled last.
var rolls = []string{nothing, "1", "2", "3", "4", "5", "6"}

// String implements engine.Position. The text has seven labeled fields in a fixed
// order; "-" is an empty list. Cards not mentioned are in the draw pile.
//
//	seats 5:E03+E11:E07/4s:-:-/out:-:E01 turn 2 table E12 avalanche none effect - discard B03+A01 roll 4
//
// Seats are divided by "/" and hold lives, the Encounters open before the player
// in the order of keeping (active ones, or passed ones while an Avalanche goes
// down), and the finished ones. Behind the lives stand "s" if the next turn is
// skipped and "e" if an extra reveal is due. "turn" is the seat whose turn it is,
// "table" the revealed card, "effect" a finished Encounter whose effect waits for
// a target, "roll" the die rolled last.
func (p Position) String() string {
	seats := make([]string, p.Players())
	for i := range seats {
		seats[i] = fmt.Sprintf("%s:%s:%s", p.seats[i], list(p.open(i)), list(p.all(finishedBy(i))))
	}
	return fmt.Sprintf("seats %s turn %d table %v avalanche %v effect %v discard %s roll %s",
		strings.Join(seats, "/"), p.turn+1, p.find(onTable), p.direction, p.effect, list(p.all(inDiscard)), rolls[p.lastRoll])
}

// String is the first part of a seat's notation, such as "4s" or "out".
func (s seatState) String() string {
	if s.out {
		return "out"
	}
	text := strconv.Itoa(int(s.lives))
	if s.skip {
		text += "s"
	}
	if s.again {
		text += "e"
	}
	return text
}

func list(ids []ID) string {
	if len(ids) == 0 {
		return nothing
	}
	return joinIDs(ids)
}

// labels are the fields of a position's text.
var labels = [...]string{"seats", "turn", "table", "avalanche", "effect", "discard", "roll"}

// parsePosition reads what Position.String writes, and nothing else: each
// position has one spelling.
func parsePosition(text string) (Position, *engine.Refusal) {
	if len(text) > maxNotation {
		return Position{}, engine.Refuse(engine.PositionMalformed, "a position has at most %d bytes, not %d", maxNotation, len(text))
	}
	words := strings.Split(text, " ")
	if len(words) != 2*len(labels) {
		return Position{}, engine.Refuse(engine.PositionMalformed, "a position has the fields %s, each followed by a space and its value", strings.Join(labels[:], ", "))
	}
	for i, label := range labels {
		if words[2*i] != label {
			return Position{}, engine.Refuse(engine.PositionMalformed, "%q stands where the field %q belongs", words[2*i], label)
		}
	}
	r := &reader{}
	p := &r.position
	r.readSeats(words[1])
	p.turn = int8(r.oneOf("turn", words[3], seatNumbers[:p.players]))
	r.readCards("the table", words[5], 1, func(int) place { return onTable })
	p.direction = Direction(r.oneOf("avalanche", words[7], directionWords))
	if words[9] != nothing {
		p.effect = r.readCard(words[9])
	}
	r.readCards("the discard pile", words[11], Cards, func(int) place { return inDiscard })
	p.lastRoll = uint8(r.oneOf("roll", words[13], rolls))
	if r.refusal != nil {
		return Position{}, r.refusal
	}
	if message := p.inconsistency(); message != "" {
		return Position{}, engine.Refuse(engine.PositionInconsistent, "%s", message)
	}
	if canonical := p.String(); canonical != text {
		return Position{}, engine.Refuse(engine.PositionMalformed, "the position is to be written %q", canonical)
	}
	return *p, nil
}

var seatNumbers = []string{"1", "2", "3", "4", "5", "6", "7", "8"}

// reader fills a position from text and keeps the first refusal.
type reader struct {
	position Position
	refusal  *engine.Refusal
}

func (r *reader) refuse(reason engine.Reason, format string, args ...any) {
	if r.refusal == nil {
		r.refusal = engine.Refuse(reason, format, args...)
	}
}

// oneOf returns where a word stands among those allowed.
func (r *reader) oneOf(field, word string, allowed []string) int {
	i := slices.Index(allowed, word)
	if i < 0 {
		r.refuse(engine.PositionMalformed, "%s is %q and must be one of %s", field, word, strings.Join(allowed, ", "))
		return 0
	}
	return i
}

func (r *reader) readSeats(text string) {
	seats := strings.Split(text, "/")
	if len(seats) < MinPlayers || len(seats) > MaxPlayers {
		r.refuse(engine.PositionMalformed, "%d seats are given; the game is for %d to %d", len(seats), MinPlayers, MaxPlayers)
		return
	}
	r.position.players = int8(len(seats))
	for i, seat := range seats {
		parts := strings.Split(seat, ":")
		if len(parts) != 3 {
			r.refuse(engine.PositionMalformed, "seat %d is %q and must be lives, open and finished Encounters, such as %q", i+1, seat, "5:E03+E11:-")
			return
		}
		r.readState(i, parts[0])
		r.readCards(fmt.Sprintf("the open Encounters of seat %d", i+1), parts[1], MaxActive, func(slot int) place { return before(i, slot) })
		r.readCards(fmt.Sprintf("the finished Encounters of seat %d", i+1), parts[2], Encounters, func(int) place { return finishedBy(i) })
	}
}

// readState reads what seatState.String writes.
func (r *reader) readState(seat int, text string) {
	state := &r.position.seats[seat]
	if state.out = text == "out"; state.out {
		return
	}
	if text == "" || text[0] < '0' || text[0] > '0'+MaxLives || strings.Trim(text[1:], "se") != "" {
		r.refuse(engine.PositionMalformed, "seat %d begins with %q and must begin with lives from 0 to %d, then s if it skips a turn and e if it has an extra reveal, or be %q",
			seat+1, text, MaxLives, "out")
		return
	}
	state.lives = text[0] - '0'
	state.skip = strings.Contains(text, "s")
	state.again = strings.Contains(text, "e")
}

// readCards puts the cards of a list at their places.
func (r *reader) readCards(what, text string, most int, at func(slot int) place) {
	if text == nothing {
		return
	}
	codes := strings.Split(text, "+")
	if len(codes) > most {
		r.refuse(engine.PositionMalformed, "%s: there are %d cards and can be %d", what, len(codes), most)
		return
	}
	for slot, code := range codes {
		id := r.readCard(code)
		if id == 0 {
			return
		}
		if r.position.places[id] != inDraw {
			r.refuse(engine.PositionInconsistent, "%v is in two places", id)
		}
		r.position.places[id] = at(slot)
	}
}

// readCard reads a card's code, or refuses and returns no card.
func (r *reader) readCard(code string) ID {
	id, ok := parseID(code)
	if !ok {
		r.refuse(engine.PositionMalformed, "%q is no card; cards are E01 to E%02d, B01 to B%02d and A01 to A%02d", code, Encounters, Bonuses, Avalanches)
		return 0
	}
	return id
}
