package main

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

// deckMark is a checksum of the deck, by which the docs say what they describe.
func deckMark() string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Append(nil, shiverpeak.Deck())))
}

// report simulates games for every number of players and writes the balance table
// as Markdown.
func report(games int, seed engine.Seeded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d games for each number of players, deck `%s`.\n\n", games, deckMark())
	var cards [shiverpeak.Encounters + 1]choices
	tallies := make([]*tally, 0, shiverpeak.MaxPlayers)
	for players := shiverpeak.MinPlayers; players <= shiverpeak.MaxPlayers; players++ {
		t := simulate(players, games, seed)
		tallies = append(tallies, t)
		for id := range cards {
			for action := range cards[id] {
				cards[id][action] += t.byCard[id][action]
			}
		}
	}
	row(&b, tallies, "Players", func(t *tally) string { return strconv.Itoa(t.players) })
	b.WriteString("|---|" + strings.Repeat("--:|", len(tallies)) + "\n")
	row(&b, tallies, "Rounds, median", func(t *tally) string { return fmt.Sprintf("%.1f", t.quantile(0.5)) })
	row(&b, tallies, "Rounds, middle 80 %", func(t *tally) string {
		return fmt.Sprintf("%.1f–%.1f", t.quantile(0.1), t.quantile(0.9))
	})
	row(&b, tallies, "Games with an Avalanche, %", func(t *tally) string { return fmt.Sprintf("%.1f", percent(t.avalanches, t.games)) })
	row(&b, tallies, "… that passed an Encounter on, %", func(t *tally) string { return fmt.Sprintf("%.0f", percent(t.passes, t.games)) })
	row(&b, tallies, "Games drawn", func(t *tally) string { return strconv.Itoa(t.drawn) })
	for p := range policies {
		row(&b, tallies, fmt.Sprintf("Wins of %v, %% of a fair share", p), func(t *tally) string { return fmt.Sprintf("%.0f", t.strength(p)) })
	}
	for seat := range shiverpeak.MaxPlayers {
		row(&b, tallies, fmt.Sprintf("Wins of player %d in order, points off fair", seat+1), func(t *tally) string {
			if seat >= t.players {
				return ""
			}
			return fmt.Sprintf("%+.1f", t.unfairness(seat))
		})
	}
	for p := range policies {
		for _, action := range []shiverpeak.Action{shiverpeak.Avoid, shiverpeak.Face, shiverpeak.Keep} {
			row(&b, tallies, fmt.Sprintf("%v: %v, %%", p, action), func(t *tally) string { return fmt.Sprintf("%.0f", t.chosen[p].share(action)) })
		}
	}
	b.WriteString("\nWhat the mixed policy does with each Encounter where it has a choice, for all numbers of players:\n\n")
	b.WriteString("| Encounter | avoid, % | face, % | keep, % |\n|---|--:|--:|--:|\n")
	for _, card := range shiverpeak.Deck()[:shiverpeak.Encounters] {
		c := cards[card.ID]
		fmt.Fprintf(&b, "| %v %s (%d) | %.1f | %.1f | %.1f |\n", card.ID, card.Name, card.Rating,
			c.share(shiverpeak.Avoid), c.share(shiverpeak.Face), c.share(shiverpeak.Keep))
	}
	return b.String()
}

// deckTable lists the cards as Markdown.
func deckTable() string {
	var b strings.Builder
	b.WriteString("| Cards | Name | Rating | Face it | Success, or the Bonus | Failure |\n|---|---|--:|---|---|---|\n")
	deck := shiverpeak.Deck()
	for i := 0; i < len(deck); {
		card, copies := deck[i], ""
		for ; i < len(deck) && deck[i].Name == card.Name; i++ {
			copies += " " + deck[i].ID.String()
		}
		rating, face := "", ""
		if card.Kind == shiverpeak.Encounter {
			rating, face = strconv.Itoa(card.Rating), card.Face.Text()
		}
		fmt.Fprintf(&b, "|%s | %s | %s | %s | %s | %s |\n", copies, card.Name, rating, face, shiverpeak.Text(card.Success), shiverpeak.Text(card.Failure))
	}
	return b.String()
}

func row(b *strings.Builder, tallies []*tally, label string, cell func(*tally) string) {
	fmt.Fprintf(b, "| %s |", label)
	for _, t := range tallies {
		fmt.Fprintf(b, " %s |", cell(t))
	}
	b.WriteByte('\n')
}
