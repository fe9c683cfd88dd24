package marble

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

// twoCards are the seats of a game for two in the editions with two-color cards.
const twoCards = "rryrryrry,bbybbybby"

func TestRefusedPositions(t *testing.T) {
	for _, test := range []struct {
		ruleset, houseRules, text string
		reason                    engine.Reason
		want                      string // a part of the message
	}{
		// What is no position.
		{"marble-basic", "", "", engine.PositionMalformed, "five fields"},
		{"marble-basic", "", "LLL " + twoCards + " - 1.0", engine.PositionMalformed, "five fields"},
		{"marble-basic", "", "LLL  " + twoCards + " - 1.0 *", engine.PositionMalformed, "five fields"},
		{"marble-basic", "", "LLL " + twoCards + " - 1.0 * ", engine.PositionMalformed, "five fields"},
		{"marble-basic", "", "LLL " + strings.Repeat("x,", 1<<20) + "x - 1.0 *", engine.PositionMalformed, "at most 512 characters"},
		{"marble-basic", "", "LLX " + twoCards + " - 1.0 *", engine.BoardMalformed, "row 1"},
		{"marble-basic", "", "LLL rryrryrry - 1.0 *", engine.PositionMalformed, "2 to 6 players, not 1"},
		{"marble-expert-1", "", "LLL 1r,1r,1r,1r,1r,1r,1r - 1.0 *", engine.PositionMalformed, "2 to 6 players, not 7"},
		{"marble-hang-up", "", "LLL 1r,1r,1r,1r,1r - 1.0 *", engine.PositionMalformed, "2 to 4 players, not 5"},
		{"marble-basic", "", "LLL rrrrrryyy,bbybbybby - 1.0 *", engine.PositionMalformed, "seat 1, \"rrrrrryyy\": it must be a card"},
		{"marble-basic", "", "LLL rRyrryrry,bbybbybby - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-basic", "", "LLL rryrryrry,bbybbybby+ - 1.0 *", engine.PositionMalformed, "seat 2"},
		{"marble-standard", "", "LLL rryrryrry,bbybbybby+- - 1.0 *", engine.PositionMalformed, "must be written \"LLL rryrryrry,bbybbybby - 1.0 *\""},
		{"marble-expert-1", "", "LLL rryrryrry,1r - 1.0 *", engine.PositionMalformed, "seat 1, \"rryrryrry\": it must be counts"},
		{"marble-expert-1", "", "LLL ,1r - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-expert-1", "", "LLL 0r,1r - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-expert-1", "", "LLL 01r,1r - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-expert-1", "", "LLL 100r,1r - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-expert-1", "", "LLL 1y1r,1r - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-expert-1", "", "LLL 1r1r,1r - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-expert-1", "", "LLL 1r2,1r - 1.0 *", engine.PositionMalformed, "seat 1"},
		{"marble-expert-1", "", "LLL 1r,X - 1.0 *", engine.PositionMalformed, "seat 2"},
		{"marble-basic", "", "LLL " + twoCards + " r 1.0 *", engine.PositionMalformed, "discarded marbles, \"r\""},
		{"marble-basic", "", "LLL " + twoCards + " - 0.0 *", engine.PositionMalformed, "turn, \"0.0\""},
		{"marble-basic", "", "LLL " + twoCards + " - 3.0 *", engine.PositionMalformed, "turn"},
		{"marble-basic", "", "LLL " + twoCards + " - 1 *", engine.PositionMalformed, "turn"},
		{"marble-basic", "", "LLL " + twoCards + " - 1.000 *", engine.PositionMalformed, "turn"},
		{"marble-basic", "", "LLL " + twoCards + " - 1.-1 *", engine.PositionMalformed, "turn"},
		{"marble-basic", "", "LLL " + twoCards + " - 01.00 *", engine.PositionMalformed, "must be written"},
		{"marble-expert-2", "", "LLL 1r,1r - 1.0p0 *", engine.PositionMalformed, "must be written"},
		{"marble-expert-2", "", "LLL 1r,1r - 1.0p *", engine.PositionMalformed, "turn"},
		{"marble-basic", "", "LLL " + twoCards + " - - *", engine.PositionMalformed, "turn"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - 1.0 1:CARD_FULL", engine.PositionMalformed, "turn"},
		{"marble-basic", "", "LLL " + twoCards + " - 1.0 ", engine.PositionMalformed, "result, \"\""},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - - 1:FULL_CARD", engine.PositionMalformed, "result"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - - 1:NOT_ENDED", engine.PositionMalformed, "result"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - - 3:CARD_FULL", engine.PositionMalformed, "result"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - - -:CARD_FULL", engine.PositionMalformed, "result"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - - 01:CARD_FULL", engine.PositionMalformed, "must be written"},
		{"marble-oddball", "", "LLL -,- 10r10y10b10g - 1:ALL_PASSED", engine.PositionMalformed, "result"},
		{"marble-basic", "", "LLL " + twoCards + " - - -:PLY_LIMIT", engine.PositionMalformed, "result"},

		// Marbles that the box does not have.
		{"marble-basic", "", "LLL " + twoCards + " 21r 1.0 *", engine.PositionInconsistent, "21 red marbles, but the edition has 20"},
		{"marble-basic", "", "LLL Rryrryrry,bbybbybby 20r 1.0 *", engine.PositionInconsistent, "21 red marbles"},
		{"marble-basic", "", "LrLL " + twoCards + " 20r 1.0 *", engine.PositionInconsistent, "21 red marbles"},
		{"marble-basic", "", "LgLL " + twoCards + " - 1.0 *", engine.PositionInconsistent, "1 green marbles, but the edition has 0"},
		{"marble-sequence", "", "LLL rybybrbry,ybrbryryb 16b 1.0 *", engine.PositionInconsistent, "16 blue marbles, but the edition has 15"},
		{"marble-hang-up", "", "LLL 6g,5g - 1.0 *", engine.PositionInconsistent, "11 green marbles, but the edition has 10"},
		{"marble-expert-2", "", "LLL 99r1y,99r1y,58r1y - 1.0 *", engine.PositionInconsistent, "256 red marbles"},
		{"marble-expert-2", "", "LLL 99r1y,99r1y,99r1y,99r1y,99r1y,1r1y 17r 1.0 *", engine.PositionInconsistent, "513 red marbles"},

		// What lies where it cannot lie.
		{"marble-basic", "", "LLL rryrryrry,rryrryrry - 1.0 *", engine.PositionInconsistent, "seat 2 has a card that another seat has"},
		{"marble-basic", "", "LLL rryrryrry,bbybbybby+1r - 1.0 *", engine.PositionInconsistent, "seat 2 has own marbles, which nobody has"},
		{"marble-standard", "", "LLL rryrryrry,bbybbybby+1y - 1.0 *", engine.PositionInconsistent, "seat 2 has extra marbles that fit into its card"},
		{"marble-standard", "", "LLL RRyRRyrry+1r,bbybbybby - 1.0 *", engine.PositionInconsistent, "seat 1 has extra marbles that fit into its card"},
		{"marble-sequence", "", "LLL rYbybrbry,ybrbryryb - 1.0 *", engine.PositionInconsistent, "seat 1 has filled its card out of order"},
		{"marble-sequence", "pass_leftovers", "LLL rYbybrbry,ybrbryryb - 1.0 *", engine.PositionInconsistent, "out of order"},

		// Turns that cannot be.
		{"marble-basic", "", "LLL x,bbybbybby,yyryyryyr - 1.0 *", engine.PositionInconsistent, "seat 1 is to move and is out"},
		{"marble-basic", "", "LLL x,bbybbybby - 2.0 *", engine.PositionInconsistent, "all seats but one are out"},
		{"marble-basic", "", "LLL x,x - 1.0 *", engine.PositionInconsistent, "seat 1 is to move and is out"},
		{"marble-basic", "", "LrLL " + twoCards + " - 1.2 *", engine.PositionInconsistent, "2 drops without a fall"},
		{"marble-basic", "", "LLL " + twoCards + " - 1.99 *", engine.PositionInconsistent, "99 drops without a fall"},
		{"marble-basic", "", "LLL " + twoCards + " - 1.0o *", engine.PositionInconsistent, "no opening turn"},
		{"marble-standard", "", "LrLrLr/LrLrLL " + twoCards + " - 1.5o *", engine.PositionInconsistent, "no opening turn with 5 drops"},
		{"marble-standard", "", "LLL " + twoCards + " - 2.0o *", engine.PositionInconsistent, "only seat 1 has an opening turn"},
		{"marble-oddball", "", "LLL 1r,1y - 1.0p1 *", engine.PositionInconsistent, "there cannot have been 1 passes"},
		{"marble-oddball", "", hardBoard + " 1r,1y - 1.0p1 *", engine.PositionInconsistent, "there cannot have been 1 passes"},
		{"marble-expert-2", "", hardBoard + " 3r,x,3b - 1.0p2 *", engine.PositionInconsistent, "there cannot have been 2 passes"},
		{"marble-expert-2", "", hardBoard + " 3r,3b,1y,2r2y - 1.0p2 *", engine.PositionInconsistent, "there cannot have been 2 passes"},
		{"marble-expert-2", "", hardBoard + " 3r,3b - 1.0p2 *", engine.PositionInconsistent, "there cannot have been 2 passes"},
		{"marble-expert-2", "", hardBoard + " 3r,3b - 1.0p99 *", engine.PositionInconsistent, "there cannot have been 99 passes"},
		{"marble-expert-2", "", hardBoard + " 3r,3b - 1.1p1 *", engine.PositionInconsistent, "there cannot have been 1 passes"},
		{"marble-expert-2", "", hardBoard + " 3r,1y3b,2y - 3.0p1 *", engine.PositionInconsistent, "there cannot have been 1 passes"},
		{"marble-expert-2", "", hardBoard + " 3r,-,2y - 3.0p1 *", engine.PositionInconsistent, "there cannot have been 1 passes"},
		{"marble-expert-2", "", "LLL 1r,1b - 1.0p1 *", engine.PositionInconsistent, "there cannot have been 1 passes"},

		// Games that are won already.
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - 1.0 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-basic", "", "LLL rryrryrry,BBYBBYBBY - 1.0 *", engine.PositionInconsistent, "seat 2 has already won"},
		{"marble-basic", "", "LrLL RRYRRYRRY,bbybbybby - 1.1 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-standard", "", "LrLL RRYRRYRRY,bbybbybby - 1.1 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-expert-1", "", "LLL 1r,- - 1.0 *", engine.PositionInconsistent, "seat 2 has already won"},
		{"marble-expert-1", "", "LrLL -,1r - 1.1 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-expert-2", "", "LLL 5r,1r - 1.0 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-expert-2", "", "LrLL 5r,5b - 1.1 *", engine.PositionInconsistent, "seat 2 has already won"},
		{"marble-sequence", "", "LLL RYBYBRBRY,ybrbryryb - 1.0 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-oddball", "", "LLL 4r4y4b4g,- - 1.0 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-oddball", "", "LrLL -,4r4y4b4g - 1.1 *", engine.PositionInconsistent, "seat 2 has already won"},
		{"marble-hang-up", "", "LLL -,1r - 1.0 *", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-avalanche", "", "LLL 6g,1r - 1.0 *", engine.PositionInconsistent, "seat 1 has already won"},

		// Results that the position does not show.
		{"marble-basic", "", "LLL RRYRRYRRy,bbybbybby - - 1:CARD_FULL", engine.PositionInconsistent, "cannot have ended with the result 1:CARD_FULL"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - - 2:CARD_FULL", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-basic", "", "LLL RRYRRYRRY,BBYBBYBBY - - 2:CARD_FULL", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-basic", "", "LLL x,bbybbybby,yyryyryyr - - 1:CARD_FULL", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL RRYRRYRRY,x - - 1:CARD_FULL", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby - - 1:ONE_COLOR", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-basic", "", "LLL rryrryrry,bbybbybby - - 1:MOST_STONES", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL rryrryrry,bbybbybby - - 1:PLY_LIMIT", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL rryrryrry,bbybbybby - - 1:LAST_ONE_LEFT", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL x,bbybbybby - - 1:LAST_ONE_LEFT", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL x,x - - 1:LAST_ONE_LEFT", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL RRYRRYRRY,x - - 1:LAST_ONE_LEFT", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-basic", "", "LLL rryrryrry,bbybbybby 20r20y19b - -:ALL_PASSED", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL x,bbybbybby 20r20y20b - -:ALL_PASSED", engine.PositionInconsistent, "cannot have ended"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby 14r17y20b - -:ALL_PASSED", engine.PositionInconsistent, "seat 1 has already won"},
		{"marble-standard", "", "LLL rryrryrry,bbybbybby+1r 19r20y20b - -:ALL_PASSED", engine.PositionInconsistent, "cannot have ended"},
		{"marble-expert-1", "", "LLL 1r,1b - - -:ALL_PASSED", engine.PositionInconsistent, "cannot have ended"},
		{"marble-expert-1", "", "LLL x,1r,1b - - 1:NO_MARBLES_LEFT", engine.PositionInconsistent, "cannot have ended"},
		{"marble-expert-1", "", "LLL 1r,1b - - 1:NO_MARBLES_LEFT", engine.PositionInconsistent, "cannot have ended"},
		{"marble-expert-2", "", hardBoard + " 3r,4y - - -:ALL_PASSED", engine.PositionInconsistent, "cannot have ended"},
		{"marble-expert-2", "", hardBoard + " 3r,- - - -:ALL_PASSED", engine.PositionInconsistent, "cannot have ended"},
		{"marble-expert-2", "exactly_five", "LLL 6r,1y - - 1:ONE_COLOR", engine.PositionInconsistent, "cannot have ended"},
		{"marble-oddball", "", "LLL 3r3y3b3g,- - - 1:EQUAL_COLORS", engine.PositionInconsistent, "cannot have ended"},

		{"marble-basic", "free_order", "LLL " + twoCards + " - 1.0 *", engine.OptionUnsupported, "marble-basic has no house rule \"free_order\"; it has none"},
	} {
		position, err := variantOf(t, test.ruleset).ParsePosition(test.text, strings.Fields(test.houseRules))
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %.200s: accepted as %v", test.ruleset, test.text, position)
			continue
		}
		if refusal.Reason != test.reason || !strings.Contains(refusal.Message, test.want) || refusal.Field == "" || len(refusal.Message) > 500 {
			t.Errorf("%s: %.200s: reason %d, field %q, %s\nwant reason %d, %s",
				test.ruleset, test.text, refusal.Reason, refusal.Field, refusal.Message, test.reason, test.want)
		}
	}
}

// TestAcceptedPositions checks given positions that look odd and are consistent, and what
// becomes of them when seats that can do nothing have passed or gone out.
func TestAcceptedPositions(t *testing.T) {
	for _, test := range []struct{ ruleset, houseRules, text, want string }{
		// The examples in the documentation.
		{"marble-standard", "", "LRL/LRyLL/RLL/LLRL RRYrryrry,YYryyryyr+1b - 1.1 *", "LRL/LRyLL/RLL/LLRL RRYrryrry,YYryyryyr+1b - 1.1 *"},
		{"marble-standard", "", "LRL/LRyLL/RLL/LLRL RRYrryrry+1b,YYryyryyr+1b - 1.1 *", "LRL/LRyLL/RLL/LLRL RRYrryrry+1b,YYryyryyr+1b - 1.1 *"},
		// Marbles may be missing from the box.
		{"marble-basic", "", "LLL rryrryrry,bbybbybby 15r 2.0 *", "LLL rryrryrry,bbybbybby 15r 2.0 *"},
		{"marble-sequence", "free_order", "LLL rYbybrbry,ybrbryryb - 1.0 *", "LLL rYbybrbry,ybrbryryb - 1.0 *"},
		{"marble-standard", "opening_limit_for_all", "LLL rryrryrry,bbybbybby - 2.0o *", "LLL rryrryrry,bbybbybby - 2.0o *"},
		{"marble-expert-2", "exactly_five", "LLL 6r,1y - 1.0 *", "LLL 6r,1y - 1.0 *"},
		{"marble-expert-2", "", "LrLL 5r,1y - 1.1 *", "LrLL 5r,1y - 1.1 *"},
		{"marble-oddball", "", "LrLL 4r4y4b4g,- - 1.1 *", "LrLL 4r4y4b4g,- - 1.1 *"},
		{"marble-standard", "", "LLL rryrryrry,bbybbybby+1r 19r20y20b 1.0 *", "LLL rryrryrry,bbybbybby+1r 19r20y20b 2.0 *"},
		{"marble-standard", "opening_limit_for_all", "LLL rryrryrry,bbybbybby+1r 19r20y20b 1.0o *", "LLL rryrryrry,bbybbybby+1r 19r20y20b 2.0o *"},
		{"marble-basic", "", "LLL rryrryrry,bbybbybby 20r20y20b 1.0 *", "LLL rryrryrry,bbybbybby 20r20y20b - -:ALL_PASSED"},
		{"marble-oddball", "", "LrLL -,- 9r10y10b10g 2.1 *", "LrLL -,- 9r10y10b10g - -:ALL_PASSED"},
		{"marble-expert-2", "", "LLL -,-,- - 2.0 *", "LLL -,x,x - - 1:LAST_ONE_LEFT"},
		{"marble-expert-2", "", "LLL -,1r,1y - 1.0 *", "LLL x,1r,1y - 2.0 *"},
		{"marble-expert-2", "", hardBoard + " 3r,-,3b - 2.0p1 *", hardBoard + " 3r,x,3b - 3.0p1 *"},
		{"marble-expert-2", "", hardBoard + " 3r,3b,- - 3.0p2 *", hardBoard + " 3r,3b,x - - -:ALL_PASSED"},
		{"marble-expert-2", "", hardBoard + " 3r,x,3b - - -:ALL_PASSED", hardBoard + " 3r,x,3b - - -:ALL_PASSED"},
		{"marble-expert-1", "", "LLL x,2r - - 2:LAST_ONE_LEFT", "LLL x,2r - - 2:LAST_ONE_LEFT"},
	} {
		if got := parse(t, test.ruleset, test.houseRules, test.text).String(); got != test.want {
			t.Errorf("%s: %s\nsettles to %s\nwant       %s", test.ruleset, test.text, got, test.want)
		}
	}
}

func TestRefusedSetups(t *testing.T) {
	const given = "LLL rryrryrry,bbybbybby - 1.0 *"
	for _, test := range []struct {
		ruleset string
		setup   engine.Setup
		reason  engine.Reason
		field   string
		want    string // a part of the message
	}{
		{"marble-basic", engine.Setup{}, engine.PlayersOutOfRange, "players", "2 to 6 players: say how many"},
		{"marble-basic", engine.Setup{Players: 1}, engine.PlayersOutOfRange, "players", "not 1"},
		{"marble-basic", engine.Setup{Players: 7}, engine.PlayersOutOfRange, "players", "not 7"},
		{"marble-basic", engine.Setup{Players: -2}, engine.PlayersOutOfRange, "players", "not -2"},
		{"marble-basic", engine.Setup{Players: 258}, engine.PlayersOutOfRange, "players", "not 258"},
		{"marble-sequence", engine.Setup{Players: 5}, engine.PlayersOutOfRange, "players", "2 to 4 players, not 5"},
		{"marble-basic", engine.Setup{Players: 2, Rows: 17}, engine.OptionUnsupported, "rows", "1 to 16 rows of gates, not 17"},
		{"marble-basic", engine.Setup{Players: 2, Rows: -1}, engine.OptionUnsupported, "rows", "not -1"},
		{"marble-basic", engine.Setup{Players: 2, Stones: 4}, engine.OptionUnsupported, "stones", "no stones"},
		{"marble-basic", engine.Setup{Players: 2, HouseRules: []string{"hang_up"}}, engine.OptionUnsupported, "houseRules", "it has none"},
		{"marble-sequence", engine.Setup{Players: 2, HouseRules: []string{"free_order", "hang_up"}}, engine.OptionUnsupported, "houseRules", "no house rule \"hang_up\"; it has free_order, pass_leftovers"},
		{"marble-basic", engine.Setup{Players: 2, Board: "LLLL"}, engine.BoardMalformed, "board", "it must have 3 gates"},
		{"marble-basic", engine.Setup{Players: 2, Board: "LgLL"}, engine.PositionInconsistent, "board", "1 green marbles"},
		{"marble-avalanche", engine.Setup{Players: 4, Board: "LgLgLg"}, engine.PositionInconsistent, "board", "11 green marbles"},
		{"marble-basic", engine.Setup{Players: 2, Board: "LLL", Rows: 2}, engine.OptionUnsupported, "rows", "the given board has 1 rows, not 2"},
		{"marble-basic", engine.Setup{Position: given, Board: "LLL"}, engine.OptionUnsupported, "board", "give one of the two"},
		{"marble-basic", engine.Setup{Position: given, Players: 3}, engine.PlayersOutOfRange, "players", "the position has 2 seats, not 3"},
		{"marble-basic", engine.Setup{Position: given, Rows: 4}, engine.OptionUnsupported, "rows", "the given board has 1 rows, not 4"},
		{"marble-basic", engine.Setup{Position: "LLL RRYRRYRRY,bbybbybby - - 1:CARD_FULL"}, engine.PositionInconsistent, "position", "finished"},
		{"marble-basic", engine.Setup{Position: "LLL RRYRRYRRY,bbybbybby - 1.0 *"}, engine.PositionInconsistent, "position", "already won"},
	} {
		position, _, err := variantOf(t, test.ruleset).Start(test.setup, engine.Seeded(1))
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %+v: accepted as %v", test.ruleset, test.setup, position)
			continue
		}
		if refusal.Reason != test.reason || refusal.Field != test.field || !strings.Contains(refusal.Message, test.want) {
			t.Errorf("%s: %+v: reason %d, field %q, %s\nwant reason %d, field %q, %s", test.ruleset, test.setup,
				refusal.Reason, refusal.Field, refusal.Message, test.reason, test.field, test.want)
		}
	}
}

// TestDealing checks what the seats get at the start.
func TestDealing(t *testing.T) {
	for _, test := range []struct {
		ruleset string
		players int
		want    string // the seats
	}{
		{"marble-expert-1", 3, "4r4y3b,3r2y2b,3r2y2b"},
		{"marble-expert-1", 6, "4r4y3b,3r2y2b,3r2y2b,3r2y2b,3r2y2b,3r2y2b"},
		{"marble-expert-2", 2, "3r3y3b,3r3y3b"},
		{"marble-expert-2", 6, "3r3y3b,3r3y3b,3r3y3b,3r3y3b,3r3y3b,3r3y3b"},
		{"marble-oddball", 4, "-,-,-,-"},
		{"marble-hang-up", 4, "3r3y3b2g,2r2y2b1g,2r2y2b1g,2r2y2b1g"},
		{"marble-avalanche", 2, "3r3y3b3g,3r3y3b3g"},
		{"marble-avalanche", 3, "3r3y3b3g,3r3y3b3g,3r3y3b3g"},
		{"marble-avalanche", 4, "2r2y2b2g,2r2y2b2g,2r2y2b2g,2r2y2b2g"},
	} {
		position, _, err := variantOf(t, test.ruleset).Start(engine.Setup{Players: test.players, Board: "LLL"}, engine.Seeded(1))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := position.String(), "LLL "+test.want+" - 1.0 *"; got != want {
			t.Errorf("%s for %d starts with %s, want %s", test.ruleset, test.players, got, want)
		}
	}
}

// TestChanceOfStart checks that every gate leans to both sides about equally often, and
// that every seat gets every card about equally often.
func TestChanceOfStart(t *testing.T) {
	const games = 2000
	for _, ruleset := range []string{"marble-standard", "marble-sequence"} {
		v := variantOf(t, ruleset)
		right := map[Gate]int{}
		cards := map[[2]string]int{}
		for i := range games {
			started, _, err := v.Start(engine.Setup{Players: 4}, engine.Seeded(i).Next())
			if err != nil {
				t.Fatal(err)
			}
			p := started.(Position)
			if p.board.Rows() != DefaultRows || p.board.heldCount() != 0 {
				t.Fatalf("%v: the board has other rows, or holds marbles", p)
			}
			for _, gate := range p.board.Gates() {
				if p.board.LeansRight(gate) {
					right[gate]++
				}
			}
			for seat := range 4 {
				cards[[2]string{string(rune('1' + seat)), p.Card(seat + 1).String()}]++
			}
		}
		for _, gate := range NewBoard(DefaultRows).Gates() {
			if n := right[gate]; n < games*45/100 || n > games*55/100 {
				t.Errorf("%s: gate %v leans right in %d of %d games", ruleset, gate, n, games)
			}
		}
		if len(cards) != 4*cardsPerSet {
			t.Errorf("%s: %d pairs of seat and card, want %d", ruleset, len(cards), 4*cardsPerSet)
		}
		for pair, n := range cards {
			if n < games/cardsPerSet*3/4 || n > games/cardsPerSet*5/4 {
				t.Errorf("%s: seat %s gets card %s in %d of %d games", ruleset, pair[0], pair[1], n, games)
			}
		}
	}
}

// TestCardSets checks the cards against the rules: every ordered pair of colors once, six
// holes of the first and three of the second; or three holes of every color.
func TestCardSets(t *testing.T) {
	pairs := map[[2]Color]bool{}
	for _, layout := range twoColorCards {
		var major, minor Color
		for c := range Color(MaxColors) {
			n := layout.count.Of(c)
			switch n {
			case 6:
				major = c
			case 3:
				minor = c
			case 0:
			default:
				t.Errorf("card %v has %d holes of one color", layout.card(0), n)
			}
		}
		pairs[[2]Color{major, minor}] = true
	}
	if len(pairs) != cardsPerSet {
		t.Errorf("%d different pairs of colors: %v", len(pairs), pairs)
	}
	orders := map[string]bool{}
	for _, layout := range sequenceCards {
		if want := some(Red, 3) + some(Yellow, 3) + some(Blue, 3); layout.count != want {
			t.Errorf("card %v has %v holes", layout.card(0), layout.count)
		}
		orders[layout.card(0).String()] = true
	}
	if len(orders) != cardsPerSet {
		t.Errorf("%d different orders: %v", len(orders), orders)
	}
}

// TestStartOfGivenGames checks what a game from a given board or position begins with.
func TestStartOfGivenGames(t *testing.T) {
	// All 45 marbles of the edition lie on these boards of thirteen rows.
	full := strings.Repeat("LrLyLb/LrLyLbLr/LyLbLr/LyLbLrLy/LbLrLy/LbLrLyLb/", 2) + "LrLyLb"
	for _, test := range []struct {
		name, ruleset string
		setup         engine.Setup
		want          string
		events        []string
	}{
		{
			"held marbles come out of the trays", "marble-hang-up",
			engine.Setup{Players: 2, Board: "LrLLg"},
			"LrLLg 3r3y3b2g,2r2y2b1g - 1.0 *",
			[]string{
				"board LrLLg", "seat 1: 3r3y3b2g from trays to hand", "seat 2: 2r2y2b1g from trays to hand", "seat 1 to move",
			},
		},
		{
			"nobody can drop anything on the very first turn", "marble-sequence",
			engine.Setup{Position: full + " rybybrbry,ybrbryryb - 1.0 *"},
			full + " rybybrbry,ybrbryryb - - -:ALL_PASSED",
			[]string{
				"board " + full, "seat 1 gets card rybybrbry", "seat 2 gets card ybrbryryb",
				"seat 1 to move", "seat 1 can drop nothing", "seat 2 to move", "seat 2 can drop nothing", "game -:ALL_PASSED",
			},
		},
		{
			"an automatic pass on the very first turn uses up the opening turn", "marble-standard",
			engine.Setup{Position: "LLL rryrryrry,Bbybbybby+1r 19r20y19b 1.0o *"},
			"LLL rryrryrry,Bbybbybby+1r 19r20y19b 2.0 *",
			[]string{
				"board LLL", "seat 0: 19r20y19b from trays to discard", "seat 1 gets card rryrryrry",
				"seat 2 gets card Bbybbybby", "seat 2: 1r from trays to hand",
				"seat 1 to move", "seat 1 can drop nothing", "seat 2 to move",
			},
		},
		{
			"a seat without marbles is out at once", "marble-avalanche",
			engine.Setup{Position: "LLL -,1y,1g - 1.0 *"},
			"LLL x,1y,1g - 2.0 *",
			[]string{
				"board LLL", "seat 2: 1y from trays to hand", "seat 3: 1g from trays to hand", "seat 1 to move",
				"seat 1 has no marble and is out", "seat 2 to move",
			},
		},
		{
			"what lies nowhere else and who is out is told", "marble-hang-up",
			engine.Setup{Position: "LLL 1r,x,1y,2b 3g 1.0 *"},
			"LLL 1r,x,1y,2b 3g 1.0 *",
			[]string{
				"board LLL", "seat 0: 3g from trays to discard", "seat 1: 1r from trays to hand", "seat 2 resigns",
				"seat 3: 1y from trays to hand", "seat 4: 2b from trays to hand", "seat 1 to move",
			},
		},
	} {
		started, erased, err := variantOf(t, test.ruleset).Start(test.setup, engine.Seeded(1))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var events []string
		for _, event := range erased {
			events = append(events, event.String())
		}
		if started.String() != test.want || !slices.Equal(events, test.events) {
			t.Errorf("%s: starts with %v, %q\nwant        %s, %q", test.name, started, events, test.want, test.events)
		}
	}
}

// TestStartThatIsWon refuses a position whose mover would be alone before the first move.
func TestStartThatIsWon(t *testing.T) {
	_, _, err := variantOf(t, "marble-avalanche").Start(engine.Setup{Position: "LLL -,-,1g - 1.0 *"}, engine.Seeded(1))
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) || refusal.Reason != engine.PositionInconsistent || refusal.Field != "position" {
		t.Fatalf("answered with %v", err)
	}
}
