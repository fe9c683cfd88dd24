package marble

import (
	"errors"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

// On a board of one row, "LLL", the gates block the lanes A, C and E: a marble stays up in
// these, and falls in B, D and F. A loaded gate lets its marble fall with any that comes
// down on either side of it.

// The boards that take more than a row.
const (
	// fourHeld holds four marbles. One more stays up in chute E.
	fourHeld = "LrLrL/LrLrLL"
	// hardBoard takes four drops until a marble can fall.
	hardBoard = "RRL/LRrLR/RLL/RLRL"
)

// TestRules plays the traps of the rules: each line fails when its rule is broken.
func TestRules(t *testing.T) {
	for _, test := range []struct {
		ruleset, name, houseRules string
		start, moves, want        string
	}{
		// Basic.
		{
			"marble-basic", "a turn goes on while no marble falls", "",
			"LLL rryrryrry,bbybbybby - 1.0 *", "Ar Cy",
			"LrLyL rryrryrry,bbybbybby - 1.2 *",
		},
		{
			"marble-basic", "a matching marble goes to the card", "",
			"LLL rryrryrry,bbybbybby - 1.0 *", "Br",
			"RLL Rryrryrry,bbybbybby - 2.0 *",
		},
		{
			"marble-basic", "the rest goes to the trays", "",
			"LLL rryrryrry,bbybbybby - 1.0 *", "Bb",
			"RLL rryrryrry,bbybbybby - 2.0 *",
		},
		{
			"marble-basic", "the mover gets what others dropped", "",
			"LyLL rryrryrry,bbybbybby - 2.0 *", "Bb",
			"LLL rryrryrry,BbYbbybby - 1.0 *",
		},
		{
			"marble-basic", "a full card wins, and what is too much goes to the trays", "",
			"LyLL RRYRRYRRy,bbybbybby - 1.0 *", "By",
			"LLL RRYRRYRRY,bbybbybby - - 1:CARD_FULL",
		},
		{
			"marble-basic", "no limit for the opening turn", "",
			fourHeld + " rryrryrry,bbybbybby - 1.4 *", "Er",
			"LrLrLr/LrLrLL rryrryrry,bbybbybby - 1.5 *",
		},
		{
			"marble-basic", "empty trays end the turn in its middle, and then the game", "",
			"LLL rryrryrry,bbybbybby 19r20y20b 1.0 *", "Ar",
			"LrLL rryrryrry,bbybbybby 19r20y20b - -:ALL_PASSED",
		},

		// Standard.
		{
			"marble-standard", "what does not fit is kept", "",
			"LrLL rryrryrry,bbybbybby - 1.0 *", "Bb",
			"LLL Rryrryrry+1b,bbybbybby - 2.0 *",
		},
		{
			"marble-standard", "the trays come after the last extra", "",
			"LLL rryrryrry+1b,bbybbybby - 1.0 *", "Ab Cb",
			"LbLbL rryrryrry,bbybbybby - 1.2 *",
		},
		{
			"marble-standard", "the last extra stays up and wins in mid-turn", "",
			"LLL RRYRRYRRY+1b,bbybbybby - 1.0 *", "Ab",
			"LbLL RRYRRYRRY,bbybbybby - - 1:CARD_FULL",
		},
		{
			"marble-standard", "a full card with extras left has not won", "",
			"LLL RRYRRYRRY+2b,bbybbybby - 1.0 *", "Ab",
			"LbLL RRYRRYRRY+1b,bbybbybby - 1.1 *",
		},
		{
			"marble-standard", "the last extra stays up, but the card is not full", "",
			"LLL RRYRRYRRy+1b,bbybbybby - 1.0 *", "Ab",
			"LbLL RRYRRYRRy,bbybbybby - 1.1 *",
		},
		{
			"marble-standard", "the last extra falls and is an extra again", "",
			"LLL RRYRRYRRY+1b,bbybbybby - 1.0 *", "Bb",
			"RLL RRYRRYRRY+1b,bbybbybby - 2.0 *",
		},
		{
			"marble-standard", "the fall that fills the card brings an extra", "",
			"LbLL RRYRRYRRy,bbybbybby - 1.0 *", "By",
			"LLL RRYRRYRRY+1b,bbybbybby - 2.0 *",
		},
		{
			"marble-standard", "a full card without extras wins", "",
			"LLL RRYRRYRRy,bbybbybby - 1.0 *", "By",
			"RLL RRYRRYRRY,bbybbybby - - 1:CARD_FULL",
		},
		{
			"marble-standard", "the fifth drop ends the opening turn", "",
			fourHeld + " rryrryrry,bbybbybby - 1.4o *", "Er",
			"LrLrLr/LrLrLL rryrryrry,bbybbybby - 2.0 *",
		},
		{
			"marble-standard", "the fourth drop does not", "",
			fourHeld + " rryrryrry,bbybbybby - 1.3o *", "Er",
			"LrLrLr/LrLrLL rryrryrry,bbybbybby - 1.4o *",
		},
		{
			"marble-standard", "a later turn has no limit", "",
			fourHeld + " rryrryrry,bbybbybby - 1.4 *", "Er",
			"LrLrLr/LrLrLL rryrryrry,bbybbybby - 1.5 *",
		},
		{
			"marble-standard", "only seat 1 has a limit", "",
			"LLL rryrryrry,bbybbybby - 1.0o *", "Br",
			"RLL Rryrryrry,bbybbybby - 2.0 *",
		},
		{
			"marble-standard", "only seat 1 has a limit, even if it resigns", "",
			"LLL rryrryrry,bbybbybby,yyryyryyr - 1.0o *", "resign",
			"LLL x,bbybbybby,yyryyryyr - 2.0 *",
		},
		{
			"marble-standard", "each seat has a limit", "opening_limit_for_all",
			fourHeld + " rryrryrry,bbybbybby,yyryyryyr - 2.4o *", "Er",
			"LrLrLr/LrLrLL rryrryrry,bbybbybby,yyryyryyr - 3.0o *",
		},
		{
			"marble-standard", "each seat has a limit, also after one that resigns", "opening_limit_for_all",
			"LLL rryrryrry,bbybbybby,yyryyryyr - 1.0o *", "resign",
			"LLL x,bbybbybby,yyryyryyr - 2.0o *",
		},
		{
			"marble-standard", "each seat has a limit in its first turn only", "opening_limit_for_all",
			"LLL rryrryrry,bbybbybby,yyryyryyr - 3.0o *", "Br",
			"RLL rryrryrry,bbybbybby,yyRyyryyr - 1.0 *",
		},
		{
			"marble-standard", "the seat after one that resigned begins the second round", "opening_limit_for_all",
			"LLL x,bbybbybby,yyryyryyr - 3.0o *", "Br",
			"RLL x,bbybbybby,yyRyyryyr - 2.0 *",
		},
		{
			"marble-standard", "a seat that can drop nothing passes at the start of its turn", "",
			"LLL rryrryrry+2b,bbybbybby 20r20y18b 1.0 *", "Bb",
			"RLL rryrryrry+2b,bbybbybby 20r20y18b 1.0 *",
		},
		{
			"marble-standard", "a seat that can drop nothing more ends its turn", "",
			"LLL rryrryrry+1b,bbybbybby+1r 19r20y19b 1.0 *", "Ab",
			"LbLL rryrryrry,bbybbybby+1r 19r20y19b 2.0 *",
		},

		// Expert I.
		{
			"marble-expert-1", "the fallen are out, the held come back, and no gate moves", "",
			"LLrRy 2r,3b - 1.0 *", "Br",
			"RLR 2r1y,3b 1r 2.0 *",
		},
		{
			"marble-expert-1", "the last marble falls and another is held", "",
			"LLyL 1r,3b - 1.0 *", "Br",
			"RLL 1y,3b 1r 2.0 *",
		},
		{
			"marble-expert-1", "the last marble falls and none is held", "",
			"LyLL 1r,3b - 1.0 *", "Br",
			"LLL -,3b 1r1y - 1:NO_MARBLES_LEFT",
		},
		{
			"marble-expert-1", "the last marble stays up and wins in mid-turn", "",
			"LLyL 1r,3b - 1.0 *", "Ar",
			"LrLyL -,3b - - 1:NO_MARBLES_LEFT",
		},
		{
			"marble-expert-1", "not the last marble", "",
			"LLyL 2r,3b - 1.0 *", "Ar",
			"LrLyL 1r,3b - 1.1 *",
		},
		{
			"marble-expert-1", "hang_up: the fallen come back and the held stay", "hang_up",
			"LLrRy 2r,3b - 1.0 *", "Br",
			"RLrRy 2r,3b - 2.0 *",
		},
		{
			"marble-expert-1", "hang_up: the last marble falls and comes back", "hang_up",
			"LyLL 1r,3b - 1.0 *", "Br",
			"LLL 1r1y,3b - 2.0 *",
		},

		// Expert II.
		{
			"marble-expert-2", "all that falls goes to the mover", "",
			"LyLL 1r1b,1r - 1.0 *", "Br",
			"LLL 1r1y1b,1r - 2.0 *",
		},
		{
			"marble-expert-2", "five of one color win", "",
			"LrLL 4r,1y - 1.0 *", "Br",
			"LLL 5r,1y - - 1:ONE_COLOR",
		},
		{
			"marble-expert-2", "four do not", "",
			"LrLL 3r,1y - 1.0 *", "Br",
			"LLL 4r,1y - 2.0 *",
		},
		{
			"marble-expert-2", "nor do five with another color", "",
			"LrLL 4r1b,1y - 1.0 *", "Br",
			"LLL 5r1b,1y - 2.0 *",
		},
		{
			"marble-expert-2", "six win", "",
			"LrLrL 5r1y,1y - 1.0 *", "Ey Br",
			"LLrLy 6r,1y - - 1:ONE_COLOR",
		},
		{
			"marble-expert-2", "five of one color do not win in mid-turn", "",
			"LLL 5r1y,1y - 1.0 *", "Ay",
			"LyLL 5r,1y - 1.1 *",
		},
		{
			"marble-expert-2", "five of one color win at the end of the turn", "",
			"LLL 5r1y,1y - 1.0 *", "Ay Dr",
			"LyRL 5r,1y - - 1:ONE_COLOR",
		},
		{
			"marble-expert-2", "exactly_five: seven do not win", "exactly_five",
			"LrLL 6r,1y - 1.0 *", "Br",
			"LLL 7r,1y - 2.0 *",
		},
		{
			"marble-expert-2", "exactly_five: five win", "exactly_five",
			"LLL 6r,1y - 1.0 *", "Ar Dr",
			"LrRL 5r,1y - - 1:ONE_COLOR",
		},
		{
			"marble-expert-2", "whoever runs out in mid-turn is out", "",
			"LLL 1r,3y,3b - 1.0 *", "Ar",
			"LrLL x,3y,3b - 2.0 *",
		},
		{
			"marble-expert-2", "whoever has nothing at the start of a turn is out", "",
			"LLL 1r,-,3b - 1.0 *", "Br",
			"RLL 1r,x,3b - 3.0 *",
		},
		{
			"marble-expert-2", "the last one left wins", "",
			"LLL x,1r,3b - 2.0 *", "Ar",
			"LrLL x,x,3b - - 3:LAST_ONE_LEFT",
		},
		{
			"marble-expert-2", "the last one left wins, with or without marbles", "",
			"LLL 1r,-,- - 1.0 *", "Br",
			"RLL 1r,x,x - - 1:LAST_ONE_LEFT",
		},
		{
			"marble-expert-2", "a pass gives the turn on", "",
			hardBoard + " 1r1y1b,3b - 1.0 *", "pass",
			hardBoard + " 1r1y1b,3b - 2.0p1 *",
		},
		{
			"marble-expert-2", "all pass in a row", "",
			hardBoard + " 1r1y1b,3b,1y - 3.0 *", "pass pass pass",
			hardBoard + " 1r1y1b,3b,1y - - -:ALL_PASSED",
		},
		{
			"marble-expert-2", "a drop ends the row of passes", "",
			hardBoard + " 1r1y1b,3b,1y - 2.0p1 *", "Bb",
			"RbRL/LRrLR/RLL/RLRL 1r1y1b,2b,1y - 2.1 *",
		},
		{
			"marble-expert-2", "all who are left have passed when one goes out", "",
			hardBoard + " 3r,3b,- - 2.0p1 *", "pass",
			hardBoard + " 3r,3b,x - - -:ALL_PASSED",
		},
		{
			"marble-expert-2", "all who are left have passed when one resigns", "",
			hardBoard + " 3r,3b,1y - 3.0p2 *", "resign",
			hardBoard + " 3r,3b,x 1y - -:ALL_PASSED",
		},
		{
			"marble-expert-2", "a seat that went out does not count among those who pass", "",
			hardBoard + " 3r,3b,x,1y - 4.0p1 *", "pass",
			hardBoard + " 3r,3b,x,1y - 1.0p2 *",
		},

		// Sequence.
		{
			"marble-sequence", "the holes are filled in order, the marbles are a set", "",
			"LyLL rybybrbry,ybrbryryb - 1.0 *", "Br",
			"LLL RYbybrbry,ybrbryryb - 2.0 *",
		},
		{
			"marble-sequence", "the order of falling means nothing", "",
			"LrLL rybybrbry,ybrbryryb - 1.0 *", "By",
			"LLL RYbybrbry,ybrbryryb - 2.0 *",
		},
		{
			"marble-sequence", "filling stops at the first hole that none fits", "",
			"LbLL rybybrbry,ybrbryryb - 1.0 *", "Br",
			"LLL Rybybrbry,ybrbryryb - 2.0 *",
		},
		{
			"marble-sequence", "filling goes on where it stopped", "",
			"LyLL RYbybrbry,ybrbryryb - 1.0 *", "Bb",
			"LLL RYBYbrbry,ybrbryryb - 2.0 *",
		},
		{
			"marble-sequence", "a full card wins", "",
			"LLL RYBYBRBRy,ybrbryryb - 1.0 *", "By",
			"RLL RYBYBRBRY,ybrbryryb - - 1:CARD_FULL",
		},
		{
			"marble-sequence", "free_order: any hole is filled", "free_order",
			"LbLL rybybrbry,ybrbryryb - 1.0 *", "Br",
			"LLL RyBybrbry,ybrbryryb - 2.0 *",
		},
		{
			"marble-sequence", "leftovers are not offered", "",
			"LbLL rybybrbry,bryrybybr - 1.0 *", "Br",
			"LLL Rybybrbry,bryrybybr - 2.0 *",
		},
		{
			"marble-sequence", "pass_leftovers: the next seat takes what fits, the rest goes to the trays", "pass_leftovers",
			"LbLbL rybybrbry,bryrybybr,ybrbryryb - 1.0 *", "Bb",
			"LLbL rybybrbry,Bryrybybr,ybrbryryb - 2.0 *",
		},
		{
			"marble-sequence", "pass_leftovers: seats follow in order, all that fit each", "pass_leftovers",
			"LbLL byryrbrby,ybrbryryb,bryrybybr - 2.0 *", "Br",
			"LLL byryrbrby,ybrbryryb,BRyrybybr - 3.0 *",
		},
		{
			"marble-sequence", "pass_leftovers: a seat that is out takes nothing", "pass_leftovers",
			"LLL ybrbryryb,x,bryrybybr - 1.0 *", "Bb",
			"RLL ybrbryryb,x,Bryrybybr - 3.0 *",
		},
		{
			"marble-sequence", "pass_leftovers: the first full card wins alone", "pass_leftovers",
			"LyLL RYbybrbry,BRYRYBYBr,BYRYRBRBy - 1.0 *", "Br",
			"LLL RYbybrbry,BRYRYBYBR,BYRYRBRBy - - 2:CARD_FULL",
		},
		{
			"marble-sequence", "pass_leftovers: seats after the mover come before seat 1", "pass_leftovers",
			"LyLL BRYRYBYBr,RYbybrbry,BYRYRBRBy - 2.0 *", "Br",
			"LLL BRYRYBYBr,RYbybrbry,BYRYRBRBY - - 3:CARD_FULL",
		},
		{
			"marble-sequence", "pass_leftovers: the mover's card comes before others", "pass_leftovers",
			"LyLL BRYRYBYBr,RYBYBRBRy - 1.0 *", "Br",
			"LLL BRYRYBYBR,RYBYBRBRy - - 1:CARD_FULL",
		},

		// Oddball.
		{
			"marble-oddball", "an own marble comes before one from a tray", "",
			"LLL 1r,- - 1.0 *", "Ar",
			"LrLL -,- - 1.1 *",
		},
		{
			"marble-oddball", "all that falls goes to the mover, own or from a tray", "",
			"LyLL 1b,- - 1.0 *", "Br",
			"LLL 1r1y1b,- - 2.0 *",
		},
		{
			"marble-oddball", "four of each of four colors win with two players", "",
			"LgLL 4r4y4b3g,- - 1.0 *", "Br",
			"LLL 4r4y4b4g,- - - 1:EQUAL_COLORS",
		},
		{
			"marble-oddball", "three of each do not", "",
			"LgLL 3r3y3b2g,- - 1.0 *", "Br",
			"LLL 3r3y3b3g,- - 2.0 *",
		},
		{
			"marble-oddball", "nor do four of each of three colors", "",
			"LbLL 4r4y3b,- - 1.0 *", "Br",
			"LLL 4r4y4b,- - 2.0 *",
		},
		{
			"marble-oddball", "nor do unequal numbers", "",
			"LgLL 5r4y4b3g,- - 1.0 *", "Br",
			"LLL 5r4y4b4g,- - 2.0 *",
		},
		{
			"marble-oddball", "five of each win", "",
			"LgLL 5r5y5b4g,- - 1.0 *", "Br",
			"LLL 5r5y5b5g,- - - 1:EQUAL_COLORS",
		},
		{
			"marble-oddball", "three of each win with three players", "",
			"LgLL 3r3y3b2g,-,- - 1.0 *", "Br",
			"LLL 3r3y3b3g,-,- - - 1:EQUAL_COLORS",
		},
		{
			"marble-oddball", "two of each do not with three players, even if one is out", "",
			"LgLL 2r2y2b1g,-,x - 1.0 *", "Br",
			"LLL 2r2y2b2g,-,x - 2.0 *",
		},
		{
			"marble-oddball", "two of each win with four players", "",
			"LgLL 2r2y2b1g,-,-,- - 1.0 *", "Br",
			"LLL 2r2y2b2g,-,-,- - - 1:EQUAL_COLORS",
		},
		{
			"marble-oddball", "equal numbers do not win in mid-turn", "",
			"LLL 5r4y4b4g,- - 1.0 *", "Ar",
			"LrLL 4r4y4b4g,- - 1.1 *",
		},
		{
			"marble-oddball", "equal numbers win at the end of the turn", "",
			"LLL 5r4y4b4g,- - 1.0 *", "Ar Dr",
			"LrRL 4r4y4b4g,- - - 1:EQUAL_COLORS",
		},
		{
			"marble-oddball", "whoever can drop nothing more passes", "",
			"LLL 1r,1y 9r9y10b10g 1.0 *", "Ar",
			"LrLL -,1y 9r9y10b10g 2.0 *",
		},
		{
			"marble-oddball", "whoever can drop nothing passes, as does the next", "",
			"LLL 1r,-,-,1y 9r9y10b10g 1.0 *", "Ar",
			"LrLL -,-,-,1y 9r9y10b10g 4.0 *",
		},
		{
			"marble-oddball", "when nobody can drop anything the game is drawn", "",
			"LLL 1r,- 9r10y10b10g 1.0 *", "Ar",
			"LrLL -,- 9r10y10b10g - -:ALL_PASSED",
		},
		{
			"marble-oddball", "when nobody who is left can drop anything the game is drawn", "",
			"LLL -,x,1r 9r10y10b10g 3.0 *", "Ar",
			"LrLL -,x,- 9r10y10b10g - -:ALL_PASSED",
		},

		// Hang-Up.
		{
			"marble-hang-up", "the fallen come back and the held stay", "",
			"LyLLb 1r1g,3b - 1.0 *", "Br",
			"LLLb 1r1y1g,3b - 2.0 *",
		},
		{
			"marble-hang-up", "the last marble stays up and wins in mid-turn", "",
			"LLL 1r,3b - 1.0 *", "Ar",
			"LrLL -,3b - - 1:NO_MARBLES_LEFT",
		},
		{
			"marble-hang-up", "the last marble falls and comes back", "",
			"LLL 1r,3b - 1.0 *", "Br",
			"RLL 1r,3b - 2.0 *",
		},

		// Avalanche.
		{
			"marble-avalanche", "five of one color win", "",
			"LgLL 4g,1y - 1.0 *", "Bg",
			"LLL 5g,1y - - 1:ONE_COLOR",
		},
		{
			"marble-avalanche", "a fourth color counts", "",
			"LgLL 5r1y,1y - 1.0 *", "Ey Br",
			"LLLy 5r1g,1y - 2.0 *",
		},
		{
			"marble-avalanche", "whoever runs out is out", "",
			"LLL 1r,3y,3b - 1.0 *", "Ar",
			"LrLL x,3y,3b - 2.0 *",
		},
		{
			"marble-avalanche", "all pass in a row", "",
			hardBoard + " 3g,3b - 2.0 *", "pass pass",
			hardBoard + " 3g,3b - - -:ALL_PASSED",
		},

		// Resigning.
		{
			"marble-standard", "whoever resigns takes card and extras out of the game", "",
			"LrLL Rryrryrry+1b,bbybbybby,yyryyryyr - 1.0 *", "resign",
			"LrLL x,bbybbybby,yyryyryyr 1r1b 2.0 *",
		},
		{
			"marble-standard", "one of two resigns in the opening turn", "",
			"LLL rryrryrry,bbybbybby - 1.0o *", "resign",
			"LLL x,bbybbybby - - 2:LAST_ONE_LEFT",
		},
		{
			"marble-expert-2", "a seat resigns in mid-turn", "",
			"LrLL 1b,3y,2r - 1.1 *", "resign",
			"LrLL x,3y,2r 1b 2.0 *",
		},
		{
			"marble-basic", "the turn skips the one who resigned", "",
			"LLL rryrryrry,x,yyryyryyr - 1.0 *", "Bb",
			"RLL rryrryrry,x,yyryyryyr - 3.0 *",
		},
		{
			"marble-hang-up", "the last one left wins", "",
			"LLL 3r,3y,x - 1.0 *", "resign",
			"LLL x,3y,x 3r - 2:LAST_ONE_LEFT",
		},
	} {
		t.Run(test.ruleset+"/"+test.name, func(t *testing.T) {
			before := parse(t, test.ruleset, test.houseRules, test.start)
			if before.String() != test.start {
				t.Fatalf("the start settles to %v", before)
			}
			after, _ := playMoves(t, before, test.moves)
			if after.String() != test.want {
				t.Errorf("%s\n%s\nleads to %v\nwant     %s", test.start, test.moves, after, test.want)
			}
			if got, want := inventory(after), after.variant.box(); got != want {
				t.Errorf("%v has %v in all, the box %v", after, got, want)
			}
			checkSpellings(t, after)
		})
	}
}

// TestLegalMoves checks what may be dropped, and whether passing is listed.
func TestLegalMoves(t *testing.T) {
	allOf := func(colors string) string {
		var moves []string
		for _, chute := range "ABCDEF" {
			for _, color := range colors {
				moves = append(moves, string(chute)+string(color))
			}
		}
		return strings.Join(moves, " ")
	}
	for _, test := range []struct{ ruleset, name, start, want string }{
		{"marble-basic", "any tray color", "LLL rryrryrry,bbybbybby - 1.0 *", allOf("ryb")},
		{"marble-basic", "not of an empty tray", "LLL rryrryrry,bbybbybby 20y 1.0 *", allOf("rb")},
		{"marble-standard", "any tray color", "LLL rryrryrry,bbybbybby+1r - 1.0 *", allOf("ryb")},
		{"marble-standard", "extras must come first", "LLL rryrryrry+1b,bbybbybby - 1.0 *", allOf("b")},
		{"marble-standard", "also in mid-turn", "LrLL RRYRRYRRY+2r1b,bbybbybby - 1.1 *", allOf("rb")},
		{"marble-expert-1", "own marbles only", "LLL 1r1b,1y - 1.0 *", allOf("rb")},
		{"marble-expert-2", "own marbles only", "LLL 1r1b,1y - 1.0 *", allOf("rb")},
		{"marble-sequence", "any tray color", "LLL rybybrbry,ybrbryryb 15b 1.0 *", allOf("ry")},
		{"marble-oddball", "own marbles or trays", "LLL 1r1g,9y 9r1y10b 1.0 *", allOf("rg")},
		{"marble-oddball", "own marbles or trays", "LLL 1r,10y 1r10b 1.0 *", allOf("rg")},
		{"marble-hang-up", "own marbles only", "LLL 1r1g,1y - 1.0 *", allOf("rg")},
		{"marble-avalanche", "own marbles only", "LLL 1r1g,1y - 1.0 *", allOf("rg")},

		{"marble-expert-2", "three drops cannot make one fall", hardBoard + " 1r1y1b,1y - 1.0 *", allOf("ryb") + " pass"},
		{"marble-expert-2", "four can", hardBoard + " 2r1y1b,1y - 1.0 *", allOf("ryb")},
		{"marble-expert-2", "no pass in mid-turn", hardBoard + " 1r1y1b,1y - 1.1 *", allOf("ryb")},
		{"marble-avalanche", "three drops cannot make one fall", hardBoard + " 3g,1y - 1.0 *", allOf("g") + " pass"},
		{"marble-avalanche", "four can", hardBoard + " 4g,1y - 1.0 *", allOf("g")},
		{"marble-hang-up", "nobody passes by choice", hardBoard + " 3g,1y - 1.0 *", allOf("g")},
		{"marble-oddball", "nobody passes by choice", hardBoard + " 3g,1y 9r9y10b7g 1.0 *", allOf("g")},
	} {
		t.Run(test.ruleset+"/"+test.name, func(t *testing.T) {
			if got := legalText(parse(t, test.ruleset, "", test.start)); got != test.want {
				t.Errorf("%s\nallows %s\nwant   %s", test.start, got, test.want)
			}
		})
	}
}

// TestRefusedMoves checks that a refusal says which rule forbids the move.
func TestRefusedMoves(t *testing.T) {
	for _, test := range []struct {
		ruleset, start, move string
		reason               engine.Reason
		want                 string
	}{
		{"marble-basic", "LLL rryrryrry,bbybbybby 20y 1.0 *", "Ay", engine.MoveIllegal, "the yellow tray is empty"},
		{"marble-basic", "LLL rryrryrry,bbybbybby - 1.0 *", "Ag", engine.MoveIllegal, "this edition has no green marbles"},
		{"marble-basic", "LLL rryrryrry,bbybbybby - 1.0 *", "pass", engine.MoveIllegal, "nobody passes by choice in this game"},
		{"marble-standard", "LLL rryrryrry+2b,bbybbybby - 1.0 *", "Ar", engine.MoveIllegal, "extra marbles are dropped first: seat 1 has 2b"},
		{"marble-standard", "LLL rryrryrry,bbybbybby 20y 1.0 *", "Ay", engine.MoveIllegal, "the yellow tray is empty"},
		{"marble-expert-1", "LLL 1r,1y - 2.0 *", "Ar", engine.MoveIllegal, "seat 2 has no red marble: it has 1y"},
		{"marble-oddball", "LLL 1r,1y 9y 1.0 *", "Ay", engine.MoveIllegal, "there is no yellow marble in the trays, and none among those of seat 1"},
		{"marble-expert-2", hardBoard + " 4r,1y - 1.0 *", "pass", engine.MoveIllegal, "seat 1 may not pass: its marbles can make one fall"},
		{"marble-expert-2", hardBoard + " 3r,1y - 1.1 *", "pass", engine.MoveIllegal, "a turn that has begun goes on until a marble falls or none is left"},
		{"marble-basic", "LLL RRYRRYRRY,bbybbybby - - 1:CARD_FULL", "Ar", engine.GameOver, "the game is over and takes no more moves"},
		{"marble-basic", "LLL RRYRRYRRY,bbybbybby - - 1:CARD_FULL", "resign", engine.GameOver, "the game is over and takes no more moves"},
	} {
		before := parse(t, test.ruleset, "", test.start)
		move, err := ParseMove(test.move)
		if err != nil {
			t.Fatal(err)
		}
		var events []Event
		after, err := before.Play(move, &events)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != test.reason || refusal.Message != test.want {
			t.Errorf("%s, %s: %v, want reason %d: %s", test.start, test.move, err, test.reason, test.want)
		}
		if after != before || len(events) > 0 {
			t.Errorf("%s, %s: the refused move led to %v with %v", test.start, test.move, after, events)
		}
	}
}

func TestForeignMoves(t *testing.T) {
	position := parse(t, "marble-basic", "", "LLL rryrryrry,bbybbybby - 1.0 *")
	for _, move := range []engine.Move{nil, Resign + 1, Move(255), foreignMove{}} {
		_, _, err := position.Apply(move, engine.Seeded(0))
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Reason != engine.MoveMalformed {
			t.Errorf("%v: %v", move, err)
		}
	}
}

type foreignMove struct{}

func (foreignMove) String() string { return "foreign" }
