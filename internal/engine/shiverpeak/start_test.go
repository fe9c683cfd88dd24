package shiverpeak

import (
	"errors"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

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

const startText = "seats 5:-:-/5:-:-/5:-:- turn 2 table - avalanche none effect - discard - roll 6"

func TestStart(t *testing.T) {
	for players := MinPlayers; players <= MaxPlayers; players++ {
		position, events, err := Ruleset().Start(engine.Setup{Players: players}, engine.Seeded(7))
		if err != nil {
			t.Fatal(err)
		}
		p := position.(Position)
		if p.Players() != players || p.DrawPile() != Cards || p.Turn().Phase != engine.PhaseReveal {
			t.Errorf("%d players start with %v", players, p)
		}
		for seat := 1; seat <= players; seat++ {
			if p.Lives(seat) != StartLives {
				t.Errorf("seat %d has %d lives", seat, p.Lives(seat))
			}
		}
		if last := events[len(events)-1]; last != (TurnStarted{Seat: p.Turn().Seat}) {
			t.Errorf("the last event is %v, and it is the turn of seat %d", last, p.Turn().Seat)
		}
	}
	want := map[int]int{3: 8, 4: 7, 5: 6, 6: 6, 7: 6, 8: 6}
	for players, needed := range want {
		if Needed(players) != needed {
			t.Errorf("%d players need %d, want %d", players, Needed(players), needed)
		}
	}
}

// TestTurnOrder rolls ties: only those with the highest roll go on rolling.
func TestTurnOrder(t *testing.T) {
	for dice, want := range map[string]struct{ seat, rolls int }{
		"6 5 4":                       {1, 3},
		"1 2 3":                       {3, 3},
		"4 4 2 1 3":                   {2, 5},
		"2 4 4 3 1":                   {2, 5},
		"5 5 5 2 2 1 6 4":             {1, 8},
		"5 5 5 2 3 3 1 1 2 6":         {3, 10},
		"1 1 1 1 1 1 1 1 1 2 2 1 3 4": {2, 14},
	} {
		chance := &script{t: t, answers: strings.Fields(dice)}
		position, events, err := Ruleset().Start(engine.Setup{Players: 3}, chance)
		if err != nil {
			t.Fatal(err)
		}
		chance.finish()
		if position.Turn().Seat != want.seat || len(events) != want.rolls+1 {
			t.Errorf("%s: seat %d begins after %v", dice, position.Turn().Seat, events)
		}
	}
	// A chance that always answers the same must not hang the start.
	if position, _, err := Ruleset().Start(engine.Setup{Players: 8}, extreme(6)); err != nil || position.Turn().Seat != 1 {
		t.Errorf("endless ties start as %v, %v", position, err)
	}
}

func TestStartGiven(t *testing.T) {
	for _, players := range []int{0, 3} {
		position, events, err := Ruleset().Start(engine.Setup{Players: players, Position: startText}, nil)
		if err != nil || position.String() != startText || len(events) != 1 || events[0] != (TurnStarted{Seat: 2}) {
			t.Errorf("%d players with a position start as %v, %v, %v", players, position, events, err)
		}
	}
}

func TestStartRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		setup  engine.Setup
		reason engine.Reason
		field  string
		words  string
	}{
		"nobody":              {engine.Setup{}, engine.PlayersOutOfRange, "players", "for 3 to 8 players: say how many"},
		"two players":         {engine.Setup{Players: 2}, engine.PlayersOutOfRange, "players", "for 3 to 8 players, not 2"},
		"nine players":        {engine.Setup{Players: 9}, engine.PlayersOutOfRange, "players", "for 3 to 8 players, not 9"},
		"negative":            {engine.Setup{Players: -3}, engine.PlayersOutOfRange, "players", "not -3"},
		"board":               {engine.Setup{Players: 3, Board: "LRL"}, engine.OptionUnsupported, "board", "no board"},
		"rows":                {engine.Setup{Players: 3, Rows: 4}, engine.OptionUnsupported, "rows", "no gate rows"},
		"stones":              {engine.Setup{Players: 3, Stones: 4}, engine.OptionUnsupported, "stones", "no stones"},
		"house rule":          {engine.Setup{Players: 3, HouseRules: []string{"no_sweep"}}, engine.OptionUnsupported, "houseRules", "no house rules"},
		"other players":       {engine.Setup{Players: 4, Position: startText}, engine.PlayersOutOfRange, "players", "has 3 seats, not 4"},
		"malformed position":  {engine.Setup{Position: "start"}, engine.PositionMalformed, "position", "the fields seats, turn"},
		"impossible position": {engine.Setup{Position: strings.Replace(startText, "table -", "table A01", 1)}, engine.PositionInconsistent, "position", "direction"},
		"finished": {
			engine.Setup{Position: strings.Replace(startText, "seats 5:-:-/5:-:-", "seats out:-:-/out:-:-", 1)},
			engine.PositionInconsistent, "position", "finished",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Ruleset().Start(test.setup, engine.Seeded(1))
			checkRefusal(t, err, test.reason, test.field, test.words)
		})
	}
}

func TestInfo(t *testing.T) {
	info := Ruleset().Info()
	if info.ID != "shiver-peak" || info.Number != 32 || info.Version != 1 || info.Family != engine.ShiverPeak || !info.ChanceInMoves ||
		info.MinPlayers != 3 || info.MaxPlayers != 8 || info.HowToPlay == "" || info.Source == "" || len(info.Decisions) == 0 {
		t.Errorf("info %+v", info)
	}
}
