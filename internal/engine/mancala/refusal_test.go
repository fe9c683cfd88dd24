package mancala

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

const startText = "4,4,4,4,4,4/4,4,4,4,4,4 0-0 s"

// checkRefusal checks that an error is a refusal of a field for a reason, and that it
// says so in a sentence with the given words.
func checkRefusal(t *testing.T, err error, reason engine.Reason, field, words string) {
	t.Helper()
	var refusal *engine.Refusal
	switch {
	case !errors.As(err, &refusal):
		t.Errorf("error %v, want a refusal", err)
	case refusal.Reason != reason || refusal.Field != field || !strings.Contains(refusal.Message, words):
		t.Errorf("refusal %+v, want reason %d, field %q, words %q", refusal, reason, field, words)
	}
}

func TestStartRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		setup  engine.Setup
		reason engine.Reason
		field  string
		words  string
	}{
		"one player":          {engine.Setup{Players: 1}, engine.PlayersOutOfRange, "players", "for 2 players, not 1"},
		"three players":       {engine.Setup{Players: 3}, engine.PlayersOutOfRange, "players", "for 2 players, not 3"},
		"two stones":          {engine.Setup{Stones: 2}, engine.OptionUnsupported, "stones", "3 to 6 stones"},
		"seven stones":        {engine.Setup{Stones: 7}, engine.OptionUnsupported, "stones", "3 to 6 stones"},
		"negative stones":     {engine.Setup{Stones: -4}, engine.OptionUnsupported, "stones", "3 to 6 stones"},
		"board":               {engine.Setup{Board: "LRL/LRLL/RLL/LLRL"}, engine.OptionUnsupported, "board", "no marble board"},
		"rows":                {engine.Setup{Rows: 4}, engine.OptionUnsupported, "rows", "no rows"},
		"stones and position": {engine.Setup{Stones: 4, Position: startText}, engine.OptionUnsupported, "stones", "leave them out"},
		"three with position": {engine.Setup{Players: 3, Position: startText}, engine.PlayersOutOfRange, "players", "2 players"},
		"house rule":          {engine.Setup{HouseRules: []string{"free_order"}}, engine.OptionUnsupported, "houseRules", `"free_order"`},
		"no position":         {engine.Setup{Position: "start"}, engine.PositionMalformed, "position", startText},
		"finished":            {engine.Setup{Position: "0,0,0,0,0,0/0,0,0,0,0,0 24-24 -"}, engine.PositionInconsistent, "position", "finished"},
		"resigned":            {engine.Setup{Position: "4,4,4,4,4,4/4,4,4,4,4,4 0-0 - s resigned"}, engine.PositionInconsistent, "position", "finished"},
		"mover without stones": {
			engine.Setup{Position: "0,0,0,0,0,0/1,0,0,0,0,0 0-0 s"},
			engine.PositionInconsistent, "position", "south has no stones",
		},
		"no stones":  {engine.Setup{Position: "0,0,0,0,0,0/0,0,0,0,0,0 0-0 s"}, engine.PositionInconsistent, "position", "0 stones"},
		"73 stones":  {engine.Setup{Position: "1,0,0,0,0,0/0,0,0,0,0,0 72-0 s"}, engine.PositionInconsistent, "position", "73 stones"},
		"127 stones": {engine.Setup{Position: "127,0,0,0,0,0/0,0,0,0,0,0 0-0 s"}, engine.PositionInconsistent, "position", "127 stones"},
		"unswept": {
			engine.Setup{Position: "0,0,0,0,0,0/1,0,0,0,0,0 0-0 -"},
			engine.PositionInconsistent, "position", "belong in the store",
		},
		"not over": {engine.Setup{Position: "4,4,4,4,4,4/4,4,4,4,4,4 0-0 -"}, engine.PositionInconsistent, "position", "not over"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ruleset := range rulesets {
				position, events, err := ruleset.Start(test.setup, nil)
				if position != nil || events != nil {
					t.Errorf("%s starts at %v", ruleset.Info().ID, position)
				}
				words := test.words
				if ruleset == kalahGame && test.field == "houseRules" {
					words = "no house rules"
				}
				checkRefusal(t, err, test.reason, test.field, words)
			}
		})
	}
	_, _, err := kalahGame.Start(engine.Setup{HouseRules: []string{noSweepID}}, nil)
	checkRefusal(t, err, engine.OptionUnsupported, "houseRules", "mancala-kalah has no house rules")
}

// TestPositionSpellings: there is one text for a position, and every other is refused.
func TestPositionSpellings(t *testing.T) {
	for _, text := range []string{
		"",
		" ",
		startText + " ",
		" " + startText,
		startText + "\n",
		strings.ToUpper(startText),
		strings.Replace(startText, " ", "  ", 1),
		strings.Replace(startText, " ", "\t", 1),
		strings.Replace(startText, "4", "04", 1),
		strings.Replace(startText, "4", "+4", 1),
		strings.Replace(startText, "4", "-4", 1),
		strings.Replace(startText, "4", "", 1),
		strings.Replace(startText, "4", "128", 1),
		strings.Replace(startText, "4", "99999999999999999999", 1),
		strings.Replace(startText, ",", ", ", 1),
		strings.Replace(startText, ",4", "", 1),
		strings.Replace(startText, ",4", ",4,4", 1),
		strings.Replace(startText, "/", "//", 1),
		strings.Replace(startText, "/", " ", 1),
		strings.Replace(startText, "0-0", "0 - 0", 1),
		strings.Replace(startText, "0-0", "00-0", 1),
		strings.Replace(startText, "0-0", "0-0-0", 1),
		strings.TrimSuffix(startText, " s"),
		strings.TrimSuffix(startText, "s") + "south",
		strings.TrimSuffix(startText, "s") + "1",
		startText + " resigned",
		startText + " s resigned",
		strings.TrimSuffix(startText, "s") + "-  resigned",
		strings.TrimSuffix(startText, "s") + "- resigned",
		strings.TrimSuffix(startText, "s") + "- - resigned",
		strings.TrimSuffix(startText, "s") + "- s",
		strings.TrimSuffix(startText, "s") + "- s resigned ",
		strings.TrimSuffix(startText, "s") + "- s Resigned",
		strings.TrimSuffix(startText, "s") + "- s n resigned",
		strings.Repeat("4,", 1000),
	} {
		_, err := avalancheGame.ParsePosition(text, nil)
		checkRefusal(t, err, engine.PositionMalformed, "position", startText)
	}
}

func TestFinishedPositions(t *testing.T) {
	rules := []string{noSweepID}
	for text, want := range map[string]engine.Outcome{
		"0,0,0,0,0,0/1,1,0,0,1,1 33-11 -":            engine.WonBy(South, engine.MostStones),
		"1,1,0,0,1,1/0,0,0,0,0,0 20-24 -":            engine.WonBy(North, engine.MostStones),
		"1,0,0,0,0,0/0,0,0,0,0,0 20-20 -":            engine.DrawnGame(engine.MostStones),
		"0,0,0,0,0,0/0,0,0,0,0,0 25-23 -":            engine.WonBy(South, engine.MostStones),
		"1,0,0,0,0,0/0,0,0,0,0,0 20-20 - s resigned": engine.WonBy(North, engine.LastOneLeft),
		"4,4,4,4,4,4/4,4,4,4,4,4 0-0 - n resigned":   engine.WonBy(South, engine.LastOneLeft),
	} {
		position, err := avalancheGame.ParsePosition(text, rules)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if position.String() != text || position.Outcome() != want || position.Turn() != (engine.Turn{}) {
			t.Errorf("%s reads as %v with outcome %+v, want %+v", text, position, position.Outcome(), want)
		}
		unpacked, err := avalancheGame.Unpack(position.AppendPacked(nil))
		if err != nil || unpacked != position {
			t.Errorf("%s unpacks as %v, %v", text, unpacked, err)
		}
	}
	_, err := avalancheGame.ParsePosition("0,0,0,0,0,0/1,1,0,0,1,1 0-0 - s resigned", nil)
	checkRefusal(t, err, engine.PositionInconsistent, "position", "south has no stones")
}

func TestParseMove(t *testing.T) {
	for text, want := range map[string]Move{"1": 1, "6": 6, "resign": Resign, "RESIGN": Resign, "Resign": Resign} {
		if move, err := ParseMove(text); err != nil || move != want {
			t.Errorf("%q reads as %v, %v", text, move, err)
		}
	}
	for _, text := range []string{"", "0", "7", "01", "1 ", " 1", "+1", "①", "pass", "resigned", "Br", strings.Repeat("1", 1000)} {
		_, err := ParseMove(text)
		checkRefusal(t, err, engine.MoveMalformed, "", `"1" to "6" from your left`)
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%d bytes of message", len(err.Error()))
		}
	}
}

// foreignMove is a move of another family.
type foreignMove struct{}

func (foreignMove) String() string { return "1" }

func TestApplyRefusals(t *testing.T) {
	position, err := avalancheGame.ParsePosition("0,4,0,0,1,0/4,4,4,4,4,4 0-0 s", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		move   engine.Move
		reason engine.Reason
		words  string
	}{
		{Move(1), engine.MoveIllegal, "pit 1 of south is empty"},
		{Move(0), engine.MoveMalformed, "no pit 0"},
		{Move(8), engine.MoveMalformed, "no pit 8"},
		{Move(255), engine.MoveMalformed, "no pit 255"},
		{foreignMove{}, engine.MoveMalformed, "no move of a mancala game"},
		{nil, engine.MoveMalformed, "no move of a mancala game"},
	} {
		next, events, err := position.Apply(test.move, nil)
		if next != nil || events != nil {
			t.Errorf("%v leads to %v", test.move, next)
		}
		checkRefusal(t, err, test.reason, "", test.words)
	}
	for _, pit := range []int{-1 << 63, -1, 0, 1, 7, 1<<63 - 1} {
		next, did, err := position.(Position).Sow(pit)
		if err == nil || next != position || did != (SowingSummary{}) {
			t.Errorf("pit %d: %v, %v, %v", pit, next, did, err)
		}
		if _, err := position.(Position).Preview(pit); err == nil {
			t.Errorf("pit %d has a preview", pit)
		}
	}
}

// TestUnpackRefusals changes single bits and lengths of packed positions: what is
// accepted is packed the same way again.
func TestUnpackRefusals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ruleset := drawRuleset(t)
		packed := drawPosition(t, ruleset).AppendPacked(nil)
		if len(packed) != packedLength {
			t.Fatalf("%d bytes", len(packed))
		}
		i := rapid.IntRange(0, 8*len(packed)-1).Draw(t, "bit")
		packed[i/8] ^= 0x80 >> (i % 8)
		if position, err := ruleset.Unpack(packed); err == nil {
			if again := position.AppendPacked(nil); string(again) != string(packed) {
				t.Fatalf("%x unpacks as %v, which packs as %x", packed, position, again)
			}
		}
		for _, other := range [][]byte{nil, packed[:len(packed)-1], append(packed, 0)} {
			if _, err := ruleset.Unpack(other); err == nil {
				t.Fatalf("%x unpacks", other)
			}
		}
	})
	for name, packed := range map[string]string{
		"no_sweep in kalah": "\x08\x10\x20\x40\x81\x00\x04\x08\x10\x20\x40\x80\x08",
		"padding":           "\x08\x10\x20\x40\x81\x00\x04\x08\x10\x20\x40\x80\x01",
		"tie seen by north": "\x00\x00\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x06\x30",
	} {
		_, err := kalahGame.Unpack([]byte(packed))
		checkRefusal(t, err, engine.PositionMalformed, "", "not the packed form")
		if err == nil {
			t.Error(name)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, ruleset := range rulesets {
		for stones := MinStonesPerPit; stones <= MaxStonesPerPit; stones++ {
			position, _, err := ruleset.Start(engine.Setup{Stones: stones}, nil)
			if err != nil {
				t.Fatal(err)
			}
			options := position.Options()
			if options.Stones != stones || options.Rows != 0 || len(options.HouseRules) != 0 {
				t.Errorf("%s with %d stones: %+v", ruleset.Info().ID, stones, options)
			}
		}
		for _, text := range []string{"0,0,1,0,0,0/0,2,0,0,0,0 0-0 n", "2,2,2,2,2,2/2,2,2,2,2,2 0-0 s", strings.Replace(startText, "4", "5", 1)} {
			position, _, err := ruleset.Start(engine.Setup{Position: text}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if options := position.Options(); options.Stones != 0 {
				t.Errorf("%v: %+v", position, options)
			}
		}
	}
	position, _, err := avalancheGame.Start(engine.Setup{HouseRules: []string{noSweepID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if options := position.Options(); options.Stones != DefaultStonesPerPit || len(options.HouseRules) != 1 || options.HouseRules[0] != noSweepID {
		t.Errorf("%+v", options)
	}
}

// TestInfo: numbers are in signed states and never change.
func TestInfo(t *testing.T) {
	for i, want := range []struct {
		id     string
		number uint8
	}{{"mancala-avalanche", 16}, {"mancala-kalah", 17}} {
		info := rulesets[i].Info()
		if info.ID != want.id || info.Number != want.number || info.Family != engine.Mancala || info.ChanceInMoves ||
			info.MinPlayers != 2 || info.MaxPlayers != 2 {
			t.Errorf("%+v", info)
		}
		if info.HowToPlay == "" || info.Source == "" || len(info.Decisions) == 0 || info.Version != 1 {
			t.Errorf("%+v", info)
		}
	}
	engine.NewRegistry(rulesets...)
}
