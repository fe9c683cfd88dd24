// State-sizes plays random games and prints, as a Markdown table, how long their states
// get, beside what the buttons and links of messengers hold.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/avalanched/avalanched/internal/engine/rulesets"
)

func main() {
	games := flag.Int("games", 10_000, "number of `games` to play for each line of the table")
	flag.Parse()
	if flag.NArg() > 0 || *games < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := printTable(os.Stdout, *games); err != nil {
		fmt.Fprintln(os.Stderr, "state-sizes:", err)
		os.Exit(1)
	}
}

// carrier is a place where a bot can leave a state and a move.
type carrier struct {
	name string
	// limit is what it holds, in characters. (Telegram counts bytes, which are the same
	// for states and moves.)
	limit int
}

// carriers, by rising limit.
var carriers = []carrier{
	{"Telegram callback_data", 64},
	{"Discord custom_id", 100},
	{"WhatsApp reply id", 256},
	{"Slack value", 2000},
	{"iMessage URL", 5000},
}

// smallestCarrier is the first that holds so many characters.
func smallestCarrier(length int) string {
	for _, carrier := range carriers {
		if length <= carrier.limit {
			return fmt.Sprintf("%s (%d)", carrier.name, carrier.limit)
		}
	}
	return "none"
}

func printTable(out io.Writer, games int) error {
	limits := make([]string, len(carriers))
	for i, carrier := range carriers {
		limits[i] = fmt.Sprintf("%s %d", carrier.name, carrier.limit)
	}
	_, err := fmt.Fprintf(out, "Characters of a state, a dot and the longest move that is legal there, over %d random games a line. Carriers hold: %s.\n\n"+
		"| ruleset | players | rows | max | 99.9 %% | mean | max with `.resign` | smallest carrier |\n|---|--:|--:|--:|--:|--:|--:|---|\n",
		games, strings.Join(limits, ", "))
	if err != nil {
		return err
	}
	for _, kind := range kinds(rulesets.Registry()) {
		sizes, err := measure(kind, games)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, line(kind, sizes)); err != nil {
			return err
		}
	}
	return nil
}

func line(kind kind, sizes sizes) string {
	rows := "–"
	if kind.rows > 0 {
		rows = strconv.Itoa(kind.rows)
	}
	return fmt.Sprintf("| `%s` | %d | %s | %d | %d | %.1f | %d | %s |", kind.ruleset.Info().ID, kind.players, rows,
		sizes.legal.max(), sizes.legal.quantile(0.999), sizes.legal.mean(), sizes.resign.max(),
		smallestCarrier(max(sizes.legal.max(), sizes.resign.max())))
}
