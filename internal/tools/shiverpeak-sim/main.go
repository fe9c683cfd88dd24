// Command shiverpeak-sim shows whether the deck of Shiver Peak makes a decent game:
// three simple policies play it many thousand times, and what came of it is printed
// as the Markdown that stands in docs/shiver-peak.md, and so is the list of cards.
//
//	go run ./internal/tools/shiverpeak-sim -games 10000
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/avalanched/avalanched/internal/engine"
)

func main() {
	games := flag.Int("games", 10_000, "number of games for each number of players")
	seed := flag.Uint64("seed", 1, "seed of all dice and draws")
	cards := flag.Bool("cards", false, "print the list of cards and play nothing")
	flag.Parse()
	page := deckTable()
	if !*cards {
		page = report(*games, engine.Seeded(*seed))
	}
	if _, err := os.Stdout.WriteString(page); err != nil {
		fmt.Fprintln(os.Stderr, "shiverpeak-sim:", err)
		os.Exit(1)
	}
}
