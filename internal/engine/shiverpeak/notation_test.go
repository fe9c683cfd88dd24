package shiverpeak

import (
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

func TestPositionRefusals(t *testing.T) {
	const text = "seats 5:E03+E13:E01/4s:-:E02/3e:-:- turn 2 table E26 avalanche none effect - discard E04+B01 roll 4"
	parse(t, text)
	for name, test := range map[string]struct {
		old, replaced string
		reason        engine.Reason
		words         string
	}{
		"empty":                 {text, "", engine.PositionMalformed, "has the fields seats, turn, table, avalanche, effect, discard, roll"},
		"long":                  {"roll 4", "roll 4" + strings.Repeat(" ", 500), engine.PositionMalformed, "at most 512 bytes"},
		"trailing":              {"roll 4", "roll 4 ", engine.PositionMalformed, "has the fields"},
		"two spaces":            {"turn 2 ", "turn  2 ", engine.PositionMalformed, "has the fields"},
		"other field":           {"table", "tabel", engine.PositionMalformed, `"tabel" stands where the field "table" belongs`},
		"two seats":             {"5:E03+E13:E01/", "", engine.PositionMalformed, "2 seats are given; the game is for 3 to 8"},
		"nine seats":            {"/3e:-:-", "/3e:-:-" + strings.Repeat("/5:-:-", 6), engine.PositionMalformed, "9 seats are given"},
		"seat without piles":    {"/3e:-:-", "/3e", engine.PositionMalformed, `seat 3 is "3e" and must be lives`},
		"no lives":              {"/3e:", "/:", engine.PositionMalformed, `seat 3 begins with ""`},
		"ten lives":             {"/3e:", "/10:", engine.PositionMalformed, "lives from 0 to 9"},
		"letter lives":          {"/3e:", "/x:", engine.PositionMalformed, "must begin with lives from 0 to 9"},
		"flags reversed":        {"/3e:", "/3es:", engine.PositionMalformed, `is to be written "seats 5:E03+E13:E01/4s:-:E02/3se:-:- turn`},
		"unknown flag":          {"/3e:", "/3x:", engine.PositionMalformed, "then s if it skips a turn"},
		"three active":          {"E03+E13", "E03+E13+E14", engine.PositionMalformed, "the open Encounters of seat 1: there are 3 cards and can be 2"},
		"unknown card":          {"E03", "E99", engine.PositionMalformed, `"E99" is no card; cards are E01 to E36`},
		"lower case":            {"E03", "e03", engine.PositionMalformed, `"e03" is no card`},
		"empty list":            {"E03+E13", "", engine.PositionMalformed, `"" is no card`},
		"card twice":            {"E02", "E01", engine.PositionInconsistent, "E01 is in two places"},
		"unsorted":              {"E04+B01", "B01+E04", engine.PositionMalformed, "is to be written"},
		"turn 0":                {"turn 2", "turn 0", engine.PositionMalformed, `turn is "0" and must be one of 1, 2, 3`},
		"turn 4":                {"turn 2", "turn 4", engine.PositionMalformed, `turn is "4" and must be one of 1, 2, 3`},
		"two on the table":      {"table E26", "table E26+E27", engine.PositionMalformed, "the table: there are 2 cards and can be 1"},
		"unknown direction":     {"avalanche none", "avalanche left", engine.PositionMalformed, `avalanche is "left" and must be one of none, clockwise, counterclockwise`},
		"effect of nothing":     {"effect -", "effect X", engine.PositionMalformed, `"X" is no card`},
		"roll 7":                {"roll 4", "roll 7", engine.PositionMalformed, `roll is "7" and must be one of -, 1, 2`},
		"finished bonus":        {"4s:-:E02", "4s:-:B02", engine.PositionInconsistent, "B02 is no Encounter and cannot lie before a seat"},
		"active avalanche":      {"E03+E13", "E03+A01", engine.PositionInconsistent, "A01 is no Encounter"},
		"out with cards":        {"5:E03+E13", "out:E03+E13", engine.PositionInconsistent, "seat 1 is out and can have nothing but"},
		"out with a skip":       {"4s:", "outs:", engine.PositionMalformed, `seat 2 begins with "outs"`},
		"turn of a seat out":    {"4s:-", "out:-", engine.PositionInconsistent, "it is the turn of seat 2, which is out"},
		"all out":               {"5:E03+E13:E01/4s:-:E02/3e:-:-", "out:-:-/out:-:-/out:-:-", engine.PositionInconsistent, "all seats are out"},
		"too many finished":     {"4s:-:E02", "4s:-:E02+" + run('E', 5, 12), engine.PositionInconsistent, "seat 2 has 9 finished Encounters and won with 8"},
		"two winners":           {"4s:-:E02/3e:-:-", "4s:-:E02+" + run('E', 5, 11) + "/3e:-:" + run('E', 14, 21), engine.PositionInconsistent, "seats 2 and 3 both have the 8"},
		"winner out":            {"4s:-:E02", "out:-:E02+" + run('E', 5, 11), engine.PositionInconsistent, "seat 2 is out with 8 finished"},
		"won with a card":       {"4s:-:E02", "4s:-:E02+" + run('E', 5, 11), engine.PositionInconsistent, "the game is over and E26 would be off the table"},
		"won with an effect":    {"4s:-:E02", "4s:-:E02+" + run('E', 5, 11), engine.PositionInconsistent, "the game is over"},
		"directed encounter":    {"avalanche none", "avalanche clockwise", engine.PositionInconsistent, "an avalanche has a direction if, and only if"},
		"undirected avalanche":  {"table E26", "table A01", engine.PositionInconsistent, "an avalanche has a direction if, and only if"},
		"untargeted bonus":      {"table E26", "table B02", engine.PositionInconsistent, "B02 is on the table and leaves no choice"},
		"bonus on one rival":    {"5:E03+E13:E01/4s:-:E02/3e:-:- turn 2 table E26", "0:-:-/4:-:-/3:-:- turn 2 table B11", engine.PositionInconsistent, "B11 is on the table and leaves no choice"},
		"unpayable":             {"4s:-:E02/3e:-:- turn 2 table E26", "0s:-:E02/3e:-:- turn 2 table E12", engine.PositionInconsistent, "seat 2 has no life to pay for E12"},
		"effect of active":      {"turn 2 table E26 avalanche none effect -", "turn 1 table - avalanche none effect E03", engine.PositionInconsistent, "the effect of E03 waits, which is no finished"},
		"effect of a bonus":     {"table E26 avalanche none effect -", "table - avalanche none effect B01", engine.PositionInconsistent, "the effect of B01 waits, which is no finished"},
		"effect in draw pile":   {"table E26 avalanche none effect -", "table - avalanche none effect E30", engine.PositionInconsistent, "the effect of E30 waits, which is no finished"},
		"effect without target": {"turn 2 table E26 avalanche none effect -", "turn 1 table - avalanche none effect E01", engine.PositionInconsistent, "seat 1 has no choice of rivals"},
		"effect of another":     {"4s:-:E02/3e:-:- turn 2 table E26 avalanche none effect -", "4:-:E14/3:-:- turn 1 table - avalanche none effect E14", engine.PositionInconsistent, "it is not what seat 1 deals with"},
		"effect and a card":     {"4s:-:E02/3e:-:- turn 2 table E26 avalanche none effect -", "4:-:E14/3:-:- turn 2 table E26 avalanche none effect E14", engine.PositionInconsistent, "it is not what seat 2 deals with"},
		"effect out of order":   {"4s:-:E02/3e:-:- turn 2 table E26 avalanche none effect -", "4:E06:E02/3:-:E14 turn 2 table A01 avalanche clockwise effect E14", engine.PositionInconsistent, "seat 2 deals with its passed cards before seat 3"},
		"spent avalanche":       {"5:E03+E13:E01/4s:-:E02/3e:-:- turn 2 table E26 avalanche none", "5:-:E01/4:-:-/3:-:- turn 2 table A01 avalanche clockwise", engine.PositionInconsistent, "A01 is on the table with no passed Encounter left"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(text, test.old) {
				t.Fatalf("the position has no %q", test.old)
			}
			_, err := Ruleset().ParsePosition(strings.Replace(text, test.old, test.replaced, 1), nil)
			checkRefusal(t, err, test.reason, "position", test.words)
		})
	}
	_, err := Ruleset().ParsePosition(text, []string{"exactly_five"})
	checkRefusal(t, err, engine.OptionUnsupported, "houseRules", "no house rules")
}

// TestGivenPositions reads positions of every phase and of every end.
func TestGivenPositions(t *testing.T) {
	for text, want := range map[string]struct {
		turn   engine.Turn
		ending engine.Ending
	}{
		startText: {turn: engine.Turn{Seat: 2, Phase: engine.PhaseReveal}},
		"seats 5:E03+E13:E01/4s:-:E02/3e:-:- turn 2 table E26 avalanche none effect - discard E04+B01 roll 4":              {turn: engine.Turn{Seat: 2, Phase: engine.PhaseEncounter}},
		"seats 5:E03+E13:E01/0:-:E02/3e:-:- turn 2 table E26 avalanche none effect - discard - roll -":                     {turn: engine.Turn{Seat: 2, Phase: engine.PhaseEncounter}},
		"seats 5:-:-/4s:-:E02/3:-:- turn 2 table B11 avalanche none effect - discard - roll 1":                             {turn: engine.Turn{Seat: 2, Phase: engine.PhaseTarget}},
		"seats 5:-:-/4s:-:E14/3:-:- turn 2 table - avalanche none effect E14 discard - roll 1":                             {turn: engine.Turn{Seat: 2, Phase: engine.PhaseTarget}},
		"seats 5:E03:-/4s:-:E14/3:-:- turn 3 table A01 avalanche counterclockwise effect E14 discard - roll 1":             {turn: engine.Turn{Seat: 2, Phase: engine.PhaseTarget}},
		"seats 5:E03:-/4s:E06:E14/3:-:- turn 3 table A01 avalanche counterclockwise effect - discard - roll 1":             {turn: engine.Turn{Seat: 2, Phase: engine.PhasePassed}},
		"seats 5:E03:-/4s:E06:E14/3:-:- turn 3 table A01 avalanche clockwise effect - discard - roll 1":                    {turn: engine.Turn{Seat: 1, Phase: engine.PhasePassed}},
		"seats 5:E03:-/4s:E06:E14/out:-:- turn 3 table A01 avalanche clockwise effect - discard - roll 1":                  {turn: engine.Turn{Seat: 1, Phase: engine.PhasePassed}},
		"seats 5:E31:-/4s:-:" + run('E', 1, 8) + "/3:-:- turn 3 table A01 avalanche clockwise effect - discard - roll 1":   {ending: engine.EncountersFinished},
		"seats 5:E31:-/4s:-:" + run('E', 1, 8) + "/3:-:- turn 2 table - avalanche none effect - discard - roll 1":          {ending: engine.EncountersFinished},
		"seats 5:E31:-/out:-:" + run('E', 1, 7) + "/out:-:- turn 2 table - avalanche none effect - discard - roll 1":       {ending: engine.LastOneLeft},
		"seats 5:-:" + run('E', 1, 6) + "/out:-:E07/out:-:-/3:-:- turn 1 table - avalanche none effect - discard - roll 1": {turn: engine.Turn{Seat: 1, Phase: engine.PhaseReveal}},
		exhausted(5, 5, 5, 5, 5, 5, 4, 2): {ending: engine.DeckExhausted},
	} {
		p := parse(t, text)
		if p.String() != text || p.Turn() != want.turn || p.Outcome().Ending != want.ending {
			t.Errorf("%s\nreads as %v\nwith turn %+v and outcome %+v", text, p, p.Turn(), p.Outcome())
		}
	}
}

// exhausted is a position with so many finished Encounters of each seat.
func exhausted(finished ...int) string {
	seats, next := make([]string, len(finished)), 1
	for i, n := range finished {
		seats[i] = "5:-:" + run('E', next, next+n-1)
		next += n
	}
	return "seats " + strings.Join(seats, "/") + " turn 1 table - avalanche none effect - discard - roll 3"
}

func TestParseMove(t *testing.T) {
	for text, want := range map[string]Move{
		"reveal": {Action: Reveal}, "r": {Action: Reveal}, "REVEAL": {Action: Reveal},
		"avoid": {Action: Avoid}, "A": {Action: Avoid}, "face": {Action: Face}, "f": {Action: Face}, "Keep": {Action: Keep}, "k": {Action: Keep},
		"resign": {Action: Resign}, "ReSign": {Action: Resign},
		"target 3": {Action: Target, Seat: 3}, "Target 8": {Action: Target, Seat: 8}, "target3": {Action: Target, Seat: 3},
		"t3": {Action: Target, Seat: 3}, "t 3": {Action: Target, Seat: 3}, "3": {Action: Target, Seat: 3},
	} {
		if got, err := Ruleset().ParseMove(text); err != nil || got != want {
			t.Errorf("%q reads as %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", " ", "re", "resig", "pass", "target", "target 0", "target 9", "target  3", "target 33", "t", "0", "9", "33", " 3", "3 ", "face 3",
		"arget 3", "reveal ", "ｆace", "\u212a", strings.Repeat("target", 1000), "\x00", "target -1", "a3",
	} {
		_, err := Ruleset().ParseMove(text)
		checkRefusal(t, err, engine.MoveMalformed, "", "a move of the card game is reveal")
	}
	if got := (Move{Action: 99}).String(); got != "" {
		t.Errorf("no move is written %q", got)
	}
}

func TestForeignMoves(t *testing.T) {
	p := parse(t, startText)
	_, _, err := p.Apply(foreign{}, engine.Seeded(1))
	checkRefusal(t, err, engine.MoveMalformed, "", "no move of the card game")
	_, _, err = p.Apply(Move{Action: 99}, engine.Seeded(1))
	checkRefusal(t, err, engine.MoveIllegal, "", "seat 2 has to reveal")
	_, _, err = p.Apply(Move{Action: Keep}, engine.Seeded(1))
	checkRefusal(t, err, engine.MoveIllegal, "", "seat 2 has to reveal")
	if _, ok := p.Odds(foreign{}); ok {
		t.Error("a foreign move has odds")
	}
}

type foreign struct{}

func (foreign) String() string { return "Br" }
