package main

import (
	"slices"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

// choices counts decisions by action.
type choices [shiverpeak.Keep + 1]int

// share is how often an action was chosen, in percent.
func (c choices) share(action shiverpeak.Action) float64 {
	return percent(c[action], c[shiverpeak.Avoid]+c[shiverpeak.Face]+c[shiverpeak.Keep])
}

// tally counts what happened in many games of as many players.
type tally struct {
	players, games, drawn int
	// rounds lists the turns of each game, skipped ones included, per player.
	rounds []float64
	// avalanches counts games in which one went down, passes those in which one
	// passed an Encounter on.
	avalanches, passes int
	// bySeat counts wins by place in the order of play, the first to move in front.
	bySeat [shiverpeak.MaxPlayers]int
	// wins and seats count by policy.
	wins, seats [policies]int
	// chosen counts the decisions about Encounters by policy; byCard those of the
	// mixed policy where it had a choice, by card.
	chosen [policies]choices
	byCard [shiverpeak.Encounters + 1]choices
}

// simulate plays games of so many players, repeatable for the same seed. The
// policies take turns in being at the table once more than others, and sit anywhere.
func simulate(players, games int, seed engine.Seeded) *tally {
	t := &tally{players: players, games: games}
	for game := range games {
		seed = seed.Next()
		table := make([]policy, players)
		for i, seat := range engine.Shuffle(seed, "policies", players) {
			table[seat] = policy((game + i) % int(policies))
			t.seats[table[seat]]++
		}
		t.play(table, seed)
	}
	slices.Sort(t.rounds)
	return t
}

func (t *tally) play(table []policy, seed engine.Seeded) {
	position, events, err := shiverpeak.Ruleset().Start(engine.Setup{Players: t.players}, seed)
	if err != nil {
		panic(err)
	}
	game := engine.Game{Ruleset: shiverpeak.Ruleset(), Position: position}
	first := game.Turn().Seat
	var seen sight
	seen.watch(events)
	for !game.Outcome().Over() {
		seed = seed.Next()
		p := game.Position.(shiverpeak.Position)
		policy := table[game.Turn().Seat-1]
		move := policy.choose(p)
		t.count(p, policy, move)
		if game, events, err = game.Play(move, seed); err != nil {
			panic(err)
		}
		seen.watch(events)
	}
	t.rounds = append(t.rounds, float64(seen.turns)/float64(t.players))
	t.avalanches += seen.avalanche
	t.passes += seen.passed
	winners := game.Outcome().Winners.Seats()
	if len(winners) == 0 {
		t.drawn++
		return
	}
	t.bySeat[(winners[0]-first+t.players)%t.players]++
	t.wins[table[winners[0]-1]]++
}

// count counts a decision about an Encounter.
func (t *tally) count(p shiverpeak.Position, policy policy, move shiverpeak.Move) {
	if move.Action != shiverpeak.Avoid && move.Action != shiverpeak.Face && move.Action != shiverpeak.Keep {
		return
	}
	t.chosen[policy][move.Action]++
	if id, _ := p.Card(); policy == mixed && len(p.LegalMoves()) > 1 {
		t.byCard[id][move.Action]++
	}
}

// sight is what a game's events showed.
type sight struct{ turns, avalanche, passed int }

func (s *sight) watch(events []engine.Event) {
	for _, event := range events {
		switch event.(type) {
		case shiverpeak.TurnStarted, shiverpeak.TurnSkipped:
			s.turns++
		case shiverpeak.AvalancheStarted:
			s.avalanche = 1
		case shiverpeak.CardsPassed:
			s.passed = 1
		}
	}
}

// quantile is the value below which a part of the games' rounds lies.
func (t *tally) quantile(part float64) float64 {
	return t.rounds[min(int(part*float64(len(t.rounds))), len(t.rounds)-1)]
}

// unfairness is by how many points a seat's share of the wins is off its fair one.
func (t *tally) unfairness(seat int) float64 {
	return percent(t.bySeat[seat], t.games) - 100/float64(t.players)
}

// strength is how often a policy won, in percent of what a fair share of its seats
// would be: 100 is as often as any.
func (t *tally) strength(p policy) float64 {
	return percent(t.wins[p]*t.players, t.seats[p])
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }
