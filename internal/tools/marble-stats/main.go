// Command marble-stats plays random games of every marble ruleset and prints, as a
// Markdown table, how long they are, who wins and how they end.
//
// The games are the same in every run.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/marble"
)

func main() {
	log.SetFlags(0)
	games := flag.Int("games", 10_000, "number of games of each ruleset and number of players")
	flag.Parse()
	if *games < 1 {
		log.Fatal("marble-stats: -games must be at least 1")
	}
	if err := printTable(os.Stdout, *games); err != nil {
		log.Fatal("marble-stats: ", err)
	}
}

// result is how one game went.
type result struct {
	plies   int
	outcome engine.Outcome
}

// printTable prints a row for each ruleset with two players, and with as many as can play.
func printTable(out io.Writer, games int) error {
	var rows strings.Builder
	for _, ruleset := range marble.Rulesets() {
		for _, players := range slices.Compact([]int{2, ruleset.Info().MaxPlayers}) {
			results, err := playAll(ruleset, players, games)
			if err != nil {
				return err
			}
			rows.WriteString(row(ruleset.Info().ID, players, results))
		}
	}
	_, err := fmt.Fprintf(out, `| ruleset | players | median plies | 95 %% end within | wins by seat, %% | endings, %% |
|---|---|---|---|---|---|
%s`, rows.String())
	return err
}

// playAll plays games on all processors.
func playAll(ruleset engine.Ruleset, players, games int) ([]result, error) {
	results := make([]result, games)
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for game := worker; game < games && errs[worker] == nil; game += workers {
				results[game], errs[worker] = play(ruleset, players, engine.Seeded(game))
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// play plays a game in which every legal move is equally likely and nobody resigns.
func play(ruleset engine.Ruleset, players int, seed engine.Seeded) (result, error) {
	seed = seed.Next()
	started, _, err := ruleset.Start(engine.Setup{Players: players}, seed)
	if err != nil {
		return result{}, err
	}
	position, ok := started.(marble.Position)
	if !ok {
		return result{}, fmt.Errorf("%s starts with a %T", ruleset.Info().ID, started)
	}
	legal := make([]marble.Move, 0, marble.Resign)
	for ply := range engine.MaxPly {
		if outcome := position.Outcome(); outcome.Over() {
			return result{ply, outcome}, nil
		}
		legal = position.AppendLegal(legal[:0])
		if position, err = position.Play(legal[seed.Draw("random move", ply, len(legal))], nil); err != nil {
			return result{}, err
		}
	}
	return result{engine.MaxPly, engine.Game{Ruleset: ruleset, Position: position, Ply: engine.MaxPly}.Outcome()}, nil
}

// row is a line of the table.
func row(id string, players int, results []result) string {
	plies := make([]int, 0, len(results))
	wins := make([]int, players)
	endings := map[engine.Ending]int{}
	for _, r := range results {
		plies = append(plies, r.plies)
		endings[r.outcome.Ending]++
		for _, seat := range r.outcome.Winners.Seats() {
			wins[seat-1]++
		}
	}
	slices.Sort(plies)
	shares := make([]string, players)
	for seat, n := range wins {
		shares[seat] = percent(n, len(results))
	}
	order := slices.SortedFunc(maps.Keys(endings), func(a, b engine.Ending) int {
		return cmp.Or(endings[b]-endings[a], int(a)-int(b))
	})
	names := make([]string, len(order))
	for i, ending := range order {
		names[i] = fmt.Sprintf("%v %s", ending, percent(endings[ending], len(results)))
	}
	return fmt.Sprintf("| `%s` | %d | %d | %d | %s | %s |\n", id, players,
		plies[len(plies)/2], plies[(len(plies)*95-1)/100], strings.Join(shares, " / "), strings.Join(names, ", "))
}

func percent(n, total int) string { return fmt.Sprintf("%.1f", 100*float64(n)/float64(total)) }
