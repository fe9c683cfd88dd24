package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

var full = flag.Bool("full", false, "simulate as many games as the docs, and hold the targets themselves")

// TestBalance holds what makes the deck a decent game. A quick run leaves a margin for
// the luck of few games; -full leaves none.
func TestBalance(t *testing.T) {
	games, shortest, longest, unfairest, rarest, lead := 600, 7.0, 16.0, 7.0, 8.0, -15.0
	if *full {
		games, shortest, longest, unfairest, rarest, lead = 10_000, 8, 14, 3, 10, 0
	}
	var cards [shiverpeak.Encounters + 1]choices
	for players := shiverpeak.MinPlayers; players <= shiverpeak.MaxPlayers; players++ {
		tally := simulate(players, games, engine.Seeded(1))
		if median := tally.quantile(0.5); median < shortest || median > longest {
			t.Errorf("%d players: %.1f rounds", players, median)
		}
		for seat := range players {
			if off := tally.unfairness(seat); off < -unfairest || off > unfairest {
				t.Errorf("%d players: player %d in order wins %+.1f points off fair", players, seat+1, off)
			}
		}
		if m := tally.strength(mixed); m-tally.strength(bold) <= lead || m-tally.strength(cautious) <= lead {
			t.Errorf("%d players: cautious, bold and mixed win %.0f, %.0f and %.0f %% of a fair share", players, tally.strength(cautious), tally.strength(bold), m)
		}
		for _, action := range []shiverpeak.Action{shiverpeak.Avoid, shiverpeak.Face, shiverpeak.Keep} {
			if share := tally.chosen[mixed].share(action); share < rarest {
				t.Errorf("%d players: mixed chooses %v in %.1f%%", players, action, share)
			}
		}
		if share := percent(tally.avalanches, games); share < 90 {
			t.Errorf("%d players: an avalanche in %.1f%% of games", players, share)
		}
		if share := percent(tally.passes, games); share < 60 {
			t.Errorf("%d players: Encounters passed on in %.1f%% of games", players, share)
		}
		for id := range cards {
			for action := range cards[id] {
				cards[id][action] += tally.byCard[id][action]
			}
		}
	}
	for _, card := range shiverpeak.Deck()[:shiverpeak.Encounters] {
		if c := cards[card.ID]; c[shiverpeak.Face] == 0 || c[shiverpeak.Avoid] == 0 {
			t.Errorf("%v %s is faced %d times and avoided %d times", card.ID, card.Name, c[shiverpeak.Face], c[shiverpeak.Avoid])
		}
	}
}

func TestSimulationRepeats(t *testing.T) {
	if one, two := report(5, 3), report(5, 3); one != two {
		t.Errorf("the same seed gives\n%s\nand\n%s", one, two)
	}
	if report(5, 3) == report(5, 4) {
		t.Error("other seeds give the same games")
	}
}

// TestDocs checks that the page about the game describes this deck: the whole deck, and
// a balance table made with it.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/shiver-peak.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if !strings.Contains(page, "deck `"+deckMark()+"`") {
		t.Errorf("the balance table is not of deck %s; print it anew with this command", deckMark())
	}
	if !strings.Contains(page, deckTable()) {
		t.Errorf("the list of cards is not this deck's; it is\n%s", deckTable())
	}
	for _, decision := range shiverpeak.Ruleset().Info().Decisions {
		if !strings.Contains(page, "- "+decision+"\n") {
			t.Errorf("the page does not list the decision %q", decision)
		}
	}
}
