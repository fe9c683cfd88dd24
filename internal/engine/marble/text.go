package marble

import (
	"fmt"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// The position notation has five fields, separated by one space:
//
//	LRL/LRyLL/RLL/LLRL RRYrryrry,YYryyryyr+1b - 1.1 *
//
// the board; the seats, separated by commas; what is out of the game; the turn; the
// result. A seat is its card, if it has one, with the filled holes in upper case, and
// its own marbles; with a card they stand behind a "+" and are left out if there are
// none. A seat that is out is "x". The turn is the seat and the number of drops made in
// it, then "o" while the opening limit applies, or "p" and the number of passes in a
// row; "-" in a finished game. The result is "*" while the game goes on, otherwise the
// winner's seat (or "-" for a draw), a colon and why the game ended.
//
// The house rules are not part of the notation, and neither are the trays: they have what
// lies nowhere else.

// maxText is more than any position's notation has, in bytes.
const maxText = 512

// String implements engine.Position.
func (p Position) String() string {
	seats := make([]string, p.players)
	for i := range seats {
		seats[i] = p.seatText(i)
	}
	turn := "-"
	if !p.over() {
		turn = fmt.Sprintf("%d.%d", p.turn+1, p.drops)
		if p.opening {
			turn += "o"
		}
		if p.passes > 0 {
			turn += fmt.Sprintf("p%d", p.passes)
		}
	}
	return strings.Join([]string{
		p.board.String(), strings.Join(seats, ","), p.discarded.String(), turn, resultText(p.Outcome()),
	}, " ")
}

func (p *Position) seatText(i int) string {
	seat := &p.seats[i]
	switch {
	case seat.out:
		return "x"
	case p.variant.cards == nil:
		return seat.hand.String()
	case seat.hand == 0:
		return p.Card(i + 1).String()
	default:
		return p.Card(i+1).String() + "+" + seat.hand.String()
	}
}

func resultText(outcome engine.Outcome) string {
	switch outcome.Status {
	case engine.Won:
		return fmt.Sprintf("%d:%v", outcome.Winners.Seats()[0], outcome.Ending)
	case engine.Drawn:
		return fmt.Sprintf("-:%v", outcome.Ending)
	default:
		return "*"
	}
}

// ParsePosition implements engine.Ruleset.
func (v *Variant) ParsePosition(text string, houseRules []string) (engine.Position, error) {
	rules, err := v.parseHouseRules(houseRules)
	if err != nil {
		return nil, err
	}
	position, err := v.parsePosition(text, rules)
	if err != nil {
		return nil, err
	}
	position.settle(nil)
	return position, nil
}

// parsePosition reads the notation. Seats that can do nothing have not passed yet.
func (v *Variant) parsePosition(text string, rules houseRule) (Position, error) {
	malformed := func(format string, args ...any) (Position, error) {
		return Position{}, engine.RefuseField(engine.PositionMalformed, "position", format, args...)
	}
	if len(text) > maxText {
		return malformed("a position has at most %d characters, not %d", maxText, len(text))
	}
	fields := strings.Split(text, " ")
	if len(fields) != 5 {
		return malformed("a position has five fields separated by one space: board, seats, discarded marbles, turn, result")
	}
	board, err := ParseBoard(fields[0])
	if err != nil {
		err.Field = "position"
		return Position{}, err
	}
	p := Position{variant: v, board: board, rules: rules}
	seats := strings.Split(fields[1], ",")
	if len(seats) < minPlayers || len(seats) > v.info.MaxPlayers {
		return malformed("%s is for %d to %d players, not %d", v.info.ID, minPlayers, v.info.MaxPlayers, len(seats))
	}
	p.players = uint8(len(seats))
	for i, seat := range seats {
		if !p.parseSeat(i, seat) {
			return malformed("seat %d, %.40q: it must be %s, or \"x\" if it is out", i+1, seat, v.seatForm())
		}
	}
	var ok bool
	if p.discarded, ok = parseMarbles(fields[2]); !ok {
		return malformed("discarded marbles, %.40q: give counts and colors in the order r, y, b, g such as \"2r1b\", or \"-\" for none", fields[2])
	}
	if !p.parseResult(fields[4]) {
		return malformed("result, %.40q: it must be \"*\", or a seat (\"-\" for a draw), a colon and a reason", fields[4])
	}
	if !p.parseTurn(fields[3]) {
		return malformed("turn, %.40q: it must be seat and drops such as \"1.0\", then \"o\" or \"p\" and passes, or \"-\" in a finished game",
			fields[3])
	}
	if refusal := p.validate(); refusal != nil {
		refusal.Field = "position"
		return Position{}, refusal
	}
	// A second spelling of the same position would be a second identity.
	if p.String() != text {
		return malformed("the position must be written %q", p.String())
	}
	return p, nil
}

func (v *Variant) seatForm() string {
	if v.cards == nil {
		return "counts and colors in the order r, y, b, g such as \"4r4y3b\", or \"-\" for none"
	}
	form := fmt.Sprintf("a card such as %q with filled holes in upper case, the first ones of a color first", v.cards[0].card(0))
	if v.source != fromTrays {
		form += ", then own marbles such as \"+2r1b\" if there are any"
	}
	return form
}

func (p *Position) parseSeat(i int, text string) bool {
	seat := &p.seats[i]
	if text == "x" {
		seat.out = true
		return true
	}
	hand := text
	if p.variant.cards != nil {
		card, extras, hasExtras := strings.Cut(text, "+")
		if !p.parseCard(i, card) {
			return false
		}
		if hand = extras; !hasExtras {
			hand = "-"
		}
	}
	var ok bool
	seat.hand, ok = parseMarbles(hand)
	return ok
}

func (p *Position) parseCard(i int, text string) bool {
	seat := &p.seats[i]
	lower := strings.ToLower(text)
	for kind := range p.variant.cards {
		layout := &p.variant.cards[kind]
		if layout.card(0).String() != lower {
			continue
		}
		seat.card = uint8(kind)
		for hole, color := range layout.holes {
			if text[hole] != lower[hole] {
				seat.filled += some(color, 1)
			}
		}
		return layout.card(seat.filled).String() == text
	}
	return false
}

// parseTurn reads seat.drops, then o or p with a digit. Spellings that String would not
// write are found by comparing with it.
func (p *Position) parseTurn(text string) bool {
	if p.over() || text == "-" {
		return p.over() && text == "-"
	}
	var seat, drops, passes int
	rest, opening := strings.CutSuffix(text, "o")
	p.opening = opening
	turn, passText, hasPasses := strings.Cut(rest, "p")
	if hasPasses {
		if !scanNumber(passText, &passes) {
			return false
		}
	}
	seatText, dropText, ok := strings.Cut(turn, ".")
	if !ok || !scanNumber(seatText, &seat) || !scanNumber(dropText, &drops) || seat < 1 || seat > p.Players() {
		return false
	}
	p.turn, p.drops, p.passes = uint8(seat-1), uint8(drops), uint8(passes)
	return true
}

// scanNumber reads one or two digits.
func scanNumber(text string, n *int) bool {
	if text == "" || len(text) > 2 {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
		*n = 10**n + int(text[i]-'0')
	}
	return true
}

func (p *Position) parseResult(text string) bool {
	if text == "*" {
		return true
	}
	winner, why, ok := strings.Cut(text, ":")
	ending, known := engine.ParseEnding(why)
	if !ok || !known || ending == engine.NotEnded {
		return false
	}
	p.ending = ending
	if ending == engine.AllPassed {
		return winner == "-"
	}
	var seat int
	if !scanNumber(winner, &seat) || seat < 1 || seat > p.Players() {
		return false
	}
	p.turn = uint8(seat - 1)
	return true
}
