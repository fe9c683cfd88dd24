package main

import (
	"fmt"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/state"
)

// kind is one line of the table: games that are alike in all that their size depends on.
type kind struct {
	ruleset engine.Ruleset
	players int
	// rows of a marble board; 0 in other games.
	rows int
}

// kinds are all rulesets for all numbers of players, marble games on the usual board and
// on the largest.
func kinds(registry *engine.Registry) []kind {
	var all []kind
	for _, ruleset := range registry.All() {
		info := ruleset.Info()
		rows := []int{0}
		if info.Family == engine.Marble {
			rows = []int{4, 16}
		}
		for _, rows := range rows {
			for players := info.MinPlayers; players <= info.MaxPlayers; players++ {
				all = append(all, kind{ruleset, players, rows})
			}
		}
	}
	return all
}

// sizes are the lengths of what a button carries, over all positions of some games.
type sizes struct {
	// legal: with the longest move among the legal ones. A finished game has no moves,
	// and its state stands alone.
	legal histogram
	// resign: with the move that is always accepted.
	resign histogram
}

// measure plays random games of a kind. In half of them players resign now and then.
func measure(kind kind, games int) (sizes, error) {
	var all sizes
	keys, err := state.Throwaway()
	if err != nil {
		return all, err
	}
	for number := range games {
		if err := play(kind, keys.Primary(), number, &all); err != nil {
			return all, fmt.Errorf("%s for %d, game %d: %w", kind.ruleset.Info().ID, kind.players, number, err)
		}
	}
	return all, nil
}

// resignPercent is how often a player resigns instead of moving.
const resignPercent = 2

func play(kind kind, key *state.Key, number int, all *sizes) error {
	chance := engine.Seeded(number).Next()
	position, _, err := kind.ruleset.Start(engine.Setup{Players: kind.players, Rows: kind.rows}, chance)
	if err != nil {
		return err
	}
	info := kind.ruleset.Info()
	signed := state.State{Ruleset: info.Number, RulesetVersion: info.Version}
	game := engine.Game{Ruleset: kind.ruleset, Position: position}
	resign, err := kind.ruleset.ParseMove(engine.ResignNotation)
	if err != nil {
		return err
	}
	for {
		signed.Ply, signed.Position = game.Ply, game.Position.AppendPacked(signed.Position[:0])
		token, err := key.Sign(signed, "")
		if err != nil {
			return err
		}
		legal := game.LegalMoves()
		if len(legal) == 0 {
			all.legal.add(len(token))
			all.resign.add(len(token))
			return nil
		}
		longest := 0
		for _, move := range legal {
			longest = max(longest, len(move.String()))
		}
		all.legal.add(len(token) + len(".") + longest)
		all.resign.add(len(token) + len(".") + len(engine.ResignNotation))

		chance = chance.Next()
		move := legal[chance.Draw("sizes", 0, len(legal))]
		if number%2 == 1 && chance.Draw("sizes, resign", 0, 100) < resignPercent {
			move = resign
		}
		if game, _, err = game.Play(move, chance); err != nil {
			return err
		}
	}
}

// histogram counts lengths.
type histogram [256]int

func (h *histogram) add(length int) { h[min(length, len(h)-1)]++ }

func (h *histogram) max() int { return h.quantile(1) }

// quantile is the length that a share of all do not exceed.
func (h *histogram) quantile(share float64) int {
	total := 0
	for _, count := range h {
		total += count
	}
	below := 0
	for length, count := range h {
		below += count
		if float64(below) >= share*float64(total) {
			return length
		}
	}
	return len(h)
}

func (h *histogram) mean() float64 {
	total, sum := 0, 0
	for length, count := range h {
		total += count
		sum += length * count
	}
	return float64(sum) / float64(total)
}
