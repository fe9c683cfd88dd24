package shiverpeak

import (
	"slices"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

// with is the chance of a test that expects dice or draws.
func with(t *testing.T, p Position, answers string) engine.Chance {
	return &script{t: t, position: p, answers: strings.Fields(answers)}
}

// checkLegal compares the legal moves with a list of notations.
func checkLegal(t *testing.T, p Position, want string) {
	t.Helper()
	moves := make([]string, 0, 3)
	for _, move := range p.LegalMoves() {
		moves = append(moves, move.String())
	}
	if got := strings.Join(moves, ", "); got != want {
		t.Errorf("%v: legal is %q, want %q", p, got, want)
	}
}

// has tells whether an event happened.
func has(events []engine.Event, want engine.Event) bool {
	return slices.ContainsFunc(events, func(event engine.Event) bool { return event.String() == want.String() })
}

func TestLegalMoves(t *testing.T) {
	for text, want := range map[string]string{
		startText: "reveal",
		"seats 5:-:-/5:-:-/5:-:- turn 1 table E01 avalanche none effect - discard - roll -":                "avoid, face, keep",
		"seats 5:E03:-/5:-:-/5:-:- turn 1 table E01 avalanche none effect - discard - roll -":              "avoid, face, keep",
		"seats 5:E03+E13:-/5:-:-/5:-:- turn 1 table E01 avalanche none effect - discard - roll -":          "avoid, face",
		"seats 0:-:-/5:-:-/5:-:- turn 1 table E01 avalanche none effect - discard - roll -":                "face",
		"seats 2:-:-/5:-:-/5:-:- turn 1 table E05 avalanche none effect - discard - roll -":                "avoid, keep",
		"seats 3:-:-/5:-:-/5:-:- turn 1 table E05 avalanche none effect - discard - roll -":                "avoid, face, keep",
		"seats 2:E05:-/5:-:-/5:-:- turn 1 table A01 avalanche clockwise effect - discard - roll -":         "avoid",
		"seats 2:E03:-/5:-:-/5:-:- turn 1 table A01 avalanche clockwise effect - discard - roll -":         "avoid, face",
		"seats 0:E03:-/5:-:-/5:-:- turn 1 table A01 avalanche clockwise effect - discard - roll -":         "face",
		"seats 2:-:-/5:-:-/5:-:-/0:-:- turn 1 table B11 avalanche none effect - discard - roll -":          "target 2, target 3",
		"seats 2:-:-/5s:-:-/5:-:-/out:-:-/1:-:- turn 1 table B12 avalanche none effect - discard - roll -": "target 3, target 5",
		"seats 2:-:E34/5:-:-/5:-:E01/1:-:E02 turn 1 table - avalanche none effect E34 discard - roll -":    "target 3, target 4",
	} {
		checkLegal(t, parse(t, text), want)
	}
}

// TestIllegalMoves checks that a refusal says why.
func TestIllegalMoves(t *testing.T) {
	for text, want := range map[string]map[string]string{
		startText: {"face": "seat 2 has to reveal a card", "target 1": "seat 2 has to reveal a card"},
		"seats 5:E03+E13:-/5:-:-/5:-:- turn 1 table E01 avalanche none effect - discard - roll -": {
			"keep": "seat 1 has 2 active Encounters and can keep no more", "reveal": "seat 1 has to deal with E01", "target 1": "seat 1 has to deal with E01", "target 2": "seat 1 has to deal with E01",
		},
		"seats 0:-:-/5:-:-/5:-:- turn 1 table E01 avalanche none effect - discard - roll -": {
			"keep": "without lives an Encounter can only be faced", "avoid": "without lives an Encounter can only be faced",
		},
		"seats 2:E05:-/5:-:-/5:-:- turn 1 table A01 avalanche clockwise effect - discard - roll -": {
			"keep": "an Encounter that was passed on cannot be kept", "face": "facing E05 costs 3 lives and seat 1 has 2", "reveal": "seat 1 has to deal with E05",
		},
		"seats 2:-:-/5s:-:-/5:-:-/out:-:-/1:-:- turn 1 table B12 avalanche none effect - discard - roll -": {
			"target 1": "seat 1 is no rival of itself", "target 2": "B12 would do nothing to seat 2", "target 4": "seat 4 is out",
			"target 6": "there is no seat 6", "face": "seat 1 has to choose the rival whom B12 hits", "reveal": "seat 1 has to choose",
		},
	} {
		p := parse(t, text)
		for notation, words := range want {
			move, err := Ruleset().ParseMove(notation)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = p.Apply(move, engine.Seeded(1))
			checkRefusal(t, err, engine.MoveIllegal, "", words)
		}
	}
}

// TestLivesAreBounded checks the cap of nine and the floor of zero.
func TestLivesAreBounded(t *testing.T) {
	p := parse(t, "seats 8:-:-/1:-:-/0:-:- turn 1 table - avalanche none effect - discard - roll -")
	p, events := apply(t, p, "reveal", with(t, p, "B01"))
	if p.Lives(1) != 9 || !has(events, LivesChanged{Seat: 1, Change: 1, Lives: 9, Reason: ByEffect, Card: cardOf(t, "B01")}) {
		t.Errorf("a flask of cocoa leads to %v with %v", p, events)
	}
	p, events = apply(t, p, "reveal", with(t, p, "B02"))
	if p.Lives(1) != 9 || !has(events, EffectLapsed{Seat: 1, Card: cardOf(t, "B02"), Effect: Effect{Kind: GainLives, N: 3}}) {
		t.Errorf("another one leads to %v with %v", p, events)
	}
	p = parse(t, "seats 8:-:-/1:-:-/0:-:- turn 2 table E06 avalanche none effect - discard - roll -")
	p, _ = apply(t, p, "avoid", with(t, p, "3"))
	if p.Lives(2) != 0 {
		t.Errorf("losing two lives of one leaves %d", p.Lives(2))
	}
	p = parse(t, "seats 8:-:-/1:-:-/0:-:-/2:-:-/out:-:- turn 1 table E29 avalanche none effect - discard - roll -")
	p, events = apply(t, p, "face", with(t, p, "6"))
	if p.Lives(2) != 0 || p.Lives(3) != 0 || p.Lives(4) != 1 || p.Lives(5) != 0 || len(events) != 6 {
		t.Errorf("an echo leads to %v with %v", p, events)
	}
}

// cardOf reads a card's code.
func cardOf(t *testing.T, code string) ID {
	t.Helper()
	id, ok := parseID(code)
	if !ok {
		t.Fatalf("no card %s", code)
	}
	return id
}

// TestGainedLifeLiftsLimits begins at zero lives, where only facing is possible.
func TestGainedLifeLiftsLimits(t *testing.T) {
	p := parse(t, "seats 0:-:-/5:-:-/5:-:- turn 1 table - avalanche none effect - discard - roll -")
	p, _ = apply(t, p, "reveal", with(t, p, "B01"))
	p, _ = apply(t, p, "reveal", with(t, p, "E05"))
	checkLegal(t, p, "avoid, face, keep")
}

// TestFailureOrder checks that a failed attempt costs its life before the effect, and
// that failing to avoid costs none.
func TestFailureOrder(t *testing.T) {
	for move, want := range map[string][]string{
		"avoid": {"rolls", "tries", "-2 lives, now 3 (effect", "will skip", "goes"},
		"keep":  {"rolls", "tries", "-1 lives, now 4 (failure", "-2 lives, now 2 (effect", "will skip", "goes"},
		"face":  {"rolls", "tries", "-1 lives, now 4 (failure", "-2 lives, now 2 (effect", "will skip", "goes"},
	} {
		p := parse(t, "seats 5:-:-/5:-:-/5:-:- turn 1 table E26 avalanche none effect - discard - roll -")
		_, events := apply(t, p, move, with(t, p, "1"))
		for i, words := range want {
			if !strings.Contains(events[i].String(), words) {
				t.Errorf("%s: event %d is %q, want %q", move, i, events[i], words)
			}
		}
	}
}

// TestActiveEffects checks that effects on active Encounters take the one kept first,
// and that passed Encounters are not active.
func TestActiveEffects(t *testing.T) {
	p := parse(t, "seats 5:E13+E03:-/5:-:-/5:-:- turn 1 table - avalanche none effect - discard - roll -")
	p, _ = apply(t, p, "reveal", with(t, p, "B08"))
	if got := p.String(); !strings.HasPrefix(got, "seats 6:E03:E13/") {
		t.Errorf("a tow rope leads to %s", got)
	}
	p = parse(t, "seats 5:E13+E03:-/5:-:-/5:-:- turn 1 table E35 avalanche none effect - discard - roll -")
	if percent, _ := p.Odds(Move{Action: Face}); percent != 67 {
		t.Errorf("with two active Encounters the gang is faced at %d%%", percent)
	}
	p, _ = apply(t, p, "face", with(t, p, "2"))
	if got := p.String(); !strings.HasPrefix(got, "seats 3s:E03:-/") || !strings.Contains(got, "discard E13+E35") {
		t.Errorf("a gang leads to %s", got)
	}
	p = parse(t, "seats 5:E35+E03:-/5:-:-/5:-:- turn 1 table A01 avalanche clockwise effect - discard - roll -")
	if percent, _ := p.Odds(Move{Action: Face}); percent != 33 {
		t.Errorf("with passed Encounters the gang is faced at %d%%", percent)
	}
	p, events := apply(t, p, "face", with(t, p, "2"))
	if got := p.String(); !strings.HasPrefix(got, "seats 3s:E03:-/") || !has(events, EffectLapsed{Seat: 1, Card: cardOf(t, "E35"), Effect: Effect{Kind: DropActive}}) {
		t.Errorf("a passed gang leads to %s with %v", got, events)
	}
}

// TestKeepingOrder keeps two Encounters; the first kept is passed on first.
func TestKeepingOrder(t *testing.T) {
	p := parse(t, "seats 5:E13:-/5:-:-/5:-:- turn 1 table E03 avalanche none effect - discard - roll -")
	p, _ = apply(t, p, "keep", with(t, p, "6"))
	if got := p.Active(1); len(got) != 2 || got[0].String() != "E13" || got[1].String() != "E03" {
		t.Fatalf("active are %v", got)
	}
	p, events := apply(t, p, "reveal", with(t, p, "A01 4"))
	want := []PassedCard{{3, 13}, {3, 3}}
	if !slices.Equal(p.Passed(), want) || !has(events, CardsPassed{From: 1, To: 3, Cards: []ID{13, 3}}) {
		t.Errorf("passed are %v with %v", p.Passed(), events)
	}
	if p.Active(1) != nil || p.Active(3) != nil {
		t.Errorf("%v has active Encounters", p)
	}
}

// TestExtraReveals checks that an extra reveal waits for the end of the player's own
// turn, and that neither it nor a skipped turn adds up.
func TestExtraReveals(t *testing.T) {
	p := parse(t, "seats 5e:-:-/5:-:-/5:-:- turn 1 table E01 avalanche none effect - discard - roll -")
	p, events := apply(t, p, "face", with(t, p, "1"))
	if !has(events, EffectLapsed{Seat: 1, Card: 1, Effect: Effect{Kind: RevealAgain}}) || p.RevealsAgain(1) || p.Turn().Seat != 1 {
		t.Errorf("a second extra reveal leads to %v with %v", p, events)
	}
	p = parse(t, "seats 5:E01:-/5:-:-/5:-:- turn 3 table A01 avalanche clockwise effect - discard - roll -")
	p, _ = apply(t, p, "face", with(t, p, "1"))
	if !p.RevealsAgain(1) || p.Turn() != (engine.Turn{Seat: 1, Phase: engine.PhaseReveal}) {
		t.Fatalf("an extra reveal in the turn of another leads to %v", p)
	}
	p, _ = apply(t, p, "reveal", with(t, p, "E10"))
	p, events = apply(t, p, "avoid", with(t, p, "1 0"))
	if !has(events, ExtraRevealTaken{Seat: 1}) || p.RevealsAgain(1) || !p.Skips(1) {
		t.Fatalf("the own turn ends as %v with %v", p, events)
	}
	p, _ = apply(t, p, "reveal", with(t, p, "E11"))
	p, events = apply(t, p, "avoid", with(t, p, "1"))
	if !has(events, EffectLapsed{Seat: 1, Card: cardOf(t, "E11"), Effect: Effect{Kind: SkipTurn}}) || p.Turn().Seat != 2 {
		t.Errorf("a second skipped turn leads to %v with %v", p, events)
	}
}

// TestEveryoneSkips checks that the turn comes round to the first whose turn is not
// skipped anymore.
func TestEveryoneSkips(t *testing.T) {
	p := parse(t, "seats 5:-:-/5s:-:-/5s:-:- turn 1 table E10 avalanche none effect - discard - roll -")
	p, events := apply(t, p, "avoid", with(t, p, "1"))
	for seat := 1; seat <= 3; seat++ {
		if !has(events, TurnSkipped{Seat: seat}) || p.Skips(seat) {
			t.Errorf("seat %d in %v with %v", seat, p, events)
		}
	}
	if p.Turn().Seat != 2 {
		t.Errorf("it is the turn of seat %d", p.Turn().Seat)
	}
}

// TestWinningCardHasNoEffects checks that the winning Encounter ends the game before
// its good effect, and a Bonus before its next one.
func TestWinningCardHasNoEffects(t *testing.T) {
	p := parse(t, "seats 5:-:"+run('E', 2, 8)+"/5:-:-/5:-:- turn 1 table E10 avalanche none effect - discard - roll -")
	p, _ = apply(t, p, "face", with(t, p, "1"))
	if p.Lives(1) != 5 || p.Outcome() != engine.WonBy(1, engine.EncountersFinished) {
		t.Errorf("the last Encounter leads to %v", p)
	}
	p = parse(t, "seats 5:E10:"+run('E', 2, 8)+"/5:-:-/5:-:- turn 1 table - avalanche none effect - discard - roll -")
	p, _ = apply(t, p, "reveal", with(t, p, "B05"))
	if p.Lives(1) != 7 || p.RevealsAgain(1) || p.Outcome() != engine.WonBy(1, engine.EncountersFinished) || p.DiscardPile() != 1 {
		t.Errorf("the dog leads to %v", p)
	}
}

// TestExhaustedDeck ends games with no Encounter left to play for.
func TestExhaustedDeck(t *testing.T) {
	for text, want := range map[string]engine.Outcome{
		exhausted(5, 5, 5, 5, 5, 5, 4, 2): engine.DrawnGame(engine.DeckExhausted),
		exhausted(5, 4, 5, 4, 5, 4, 4, 5): engine.DrawnGame(engine.DeckExhausted),
		strings.NewReplacer("/5:-:E06+E07+E08+E09", "/out:-:E06+E07+E08+E09", "/5:-:E10", "/out:-:E10", "/5:-:E15", "/out:-:E15", "/5:-:E20", "/out:-:E20", "/5:-:E25", "/out:-:E25", "/5:-:E29", "/out:-:E29").
			Replace(exhausted(5, 4, 5, 5, 5, 4, 4, 4)): engine.WonBy(1, engine.DeckExhausted),
	} {
		if got := parse(t, text).Outcome(); got != want {
			t.Errorf("%s: outcome %+v, want %+v", text, got, want)
		}
	}
	// One Encounter that can still be met keeps the game going, wherever it lies.
	for _, text := range []string{
		strings.Replace(exhausted(5, 5, 5, 5, 5, 5, 4, 2), "+E36", "", 1),
		strings.Replace(strings.Replace(exhausted(5, 5, 5, 5, 5, 5, 4, 2), "+E36", "", 1), "discard -", "discard E36", 1),
		strings.Replace(strings.Replace(exhausted(5, 5, 5, 5, 5, 5, 4, 2), "+E36", "", 1), "table -", "table E36", 1),
		strings.Replace(exhausted(5, 5, 5, 5, 5, 5, 4, 2), ":-:E35+E36", ":E36:E35", 1),
	} {
		if p := parse(t, text); p.Outcome().Over() {
			t.Errorf("%v is over", p)
		}
	}
}

// TestReshuffle draws from an empty draw pile: what was discarded can be drawn again.
func TestReshuffle(t *testing.T) {
	p := parse(t, "seats 5:E24:"+run('E', 1, 7)+"/5:-:"+run('E', 8, 14)+"/5:E22+E23:"+run('E', 15, 21)+" turn 1 table - avalanche none effect - discard "+
		run('E', 25, 36)+"+"+run('B', 1, 12)+"+"+run('A', 1, 6)+" roll -")
	p, events := apply(t, p, "reveal", with(t, p, "E36"))
	if events[0] != (DeckReshuffled{Cards: 30}) || p.DrawPile() != 29 || p.DiscardPile() != 0 {
		t.Errorf("an empty draw pile leads to %v with %v", p, events)
	}
}

// TestResigning checks where the cards of a resigned seat go and who plays on.
func TestResigning(t *testing.T) {
	for text, want := range map[string]string{
		"seats 5e:E03:E01/4:-:-/3:-:- turn 1 table E10 avalanche none effect - discard - roll 2":                  "seats out:-:E01/4:-:-/3:-:- turn 2 table - avalanche none effect - discard E03+E10 roll 2",
		"seats 5s:E03:E01/4s:-:-/3:-:- turn 1 table - avalanche none effect - discard - roll 2":                   "seats out:-:E01/4:-:-/3:-:- turn 3 table - avalanche none effect - discard E03 roll 2",
		"seats 5:-:E14/4:E03:-/3:-:- turn 1 table - avalanche none effect E14 discard - roll 2":                   "seats out:-:E14/4:E03:-/3:-:- turn 2 table - avalanche none effect - discard - roll 2",
		"seats 5:-:E14/4:E03:-/3:-:- turn 1 table A01 avalanche clockwise effect E14 discard - roll 2":            "seats out:-:E14/4:E03:-/3:-:- turn 1 table A01 avalanche clockwise effect - discard - roll 2",
		"seats 5:E13+E04:-/4:E03:-/3:-:- turn 1 table A01 avalanche clockwise effect - discard - roll 2":          "seats out:-:-/4:E03:-/3:-:- turn 1 table A01 avalanche clockwise effect - discard E04+E13 roll 2",
		"seats out:-:-/4:E03:-/3:-:-/2:-:- turn 1 table A01 avalanche clockwise effect - discard - roll 2":        "seats out:-:-/out:-:-/3:-:-/2:-:- turn 3 table - avalanche none effect - discard E03+A01 roll 2",
		"seats out:-:-/4:-:-/3:E03:-/2:-:- turn 2 table A01 avalanche counterclockwise effect - discard - roll 2": "seats out:-:-/4:-:-/out:-:-/2:-:- turn 4 table - avalanche none effect - discard E03+A01 roll 2",
		"seats out:-:-/4:E03:-/3:E04:- turn 2 table A01 avalanche clockwise effect - discard - roll 2":            "seats out:-:-/out:-:-/3:E04:- turn 2 table A01 avalanche clockwise effect - discard E03 roll 2",
	} {
		p, events := apply(t, parse(t, text), "resign", nil)
		if p.String() != want {
			t.Errorf("%s\nleads to %v\nnot to   %s", text, p, want)
		}
		if last := events[len(events)-1]; p.Outcome().Over() && last != (GameEnded{engine.WonBy(3, engine.LastOneLeft)}) {
			t.Errorf("%s ends with %v", text, last)
		}
	}
}

// TestSeatsOutAreNoRivals checks that nothing is passed to, aimed at or taken from a
// seat that is out.
func TestSeatsOutAreNoRivals(t *testing.T) {
	p := parse(t, "seats 5:-:-/out:-:E01/3:-:E02 turn 1 table E34 avalanche none effect - discard - roll 2")
	p, _ = apply(t, p, "face", with(t, p, "1 0"))
	if len(p.Finished(2)) != 1 || len(p.Finished(3)) != 0 {
		t.Errorf("the loose ski leads to %v", p)
	}
}
