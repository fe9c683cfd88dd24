package main

import (
	"slices"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

// policy is a simple way to play. All aim at the rival closest to winning.
type policy int

const (
	// cautious avoids or faces an Encounter, whichever is likelier to succeed.
	cautious policy = iota
	// bold faces every Encounter that she can pay for.
	bold
	// mixed weighs what each move may win and lose.
	mixed
	policies
)

func (p policy) String() string { return [...]string{"cautious", "bold", "mixed"}[p] }

// choose picks one of the legal moves.
func (p policy) choose(position shiverpeak.Position) shiverpeak.Move {
	legal := position.LegalMoves()
	first := legal[0].(shiverpeak.Move)
	switch {
	case len(legal) == 1:
		return first
	case first.Action == shiverpeak.Target:
		return best(legal, func(m shiverpeak.Move) float64 { return float64(len(position.Finished(m.Seat))) })
	case p == bold && slices.Contains(legal, engine.Move(face)):
		return face
	case p == mixed:
		return best(legal, newScale(position).worth)
	default:
		return best(legal, func(m shiverpeak.Move) float64 { return safety(position, m) })
	}
}

var face = shiverpeak.Move{Action: shiverpeak.Face}

// best returns the move of the highest value, the last of equals.
func best(moves []engine.Move, value func(shiverpeak.Move) float64) shiverpeak.Move {
	var (
		best    shiverpeak.Move
		highest float64
	)
	for i, move := range moves {
		m := move.(shiverpeak.Move)
		if v := value(m); i == 0 || v >= highest {
			best, highest = m, v
		}
	}
	return best
}

// safety is the chance of a move in percent; keeping counts as the least safe.
func safety(position shiverpeak.Position, move shiverpeak.Move) float64 {
	if move.Action == shiverpeak.Keep {
		return -1
	}
	percent, _ := position.Odds(move)
	return float64(percent)
}

// What the mixed policy holds things to be worth. The figures come from simulated
// games: from how much more often a seat won that began with one of them more.
const (
	worthReveal       = 0.3
	worthSkip         = -0.3
	worthLostFinished = -0.9
	// worthRival is what a small harm to all rivals is worth.
	worthRival = 0.2
	// worthWinning is by how much the Encounter that wins exceeds others.
	worthWinning = 3
	// secondActive is what a second active Encounter is worth of the first: it
	// fills the last place.
	secondActive = 0.8
)

// worthLife is what having one life more than its index is worth. The first is not
// worth much, for who has no life at all has none to lose.
var worthLife = [shiverpeak.MaxLives]float64{0.1, 0.35, 0.4, 0.4, 0.4, 0.25, 0.2, 0.15, 0.1}

// scale weighs the moves of the seat to move.
type scale struct {
	position shiverpeak.Position
	seat     int
	card     shiverpeak.Card
	active   int
	// finished and kept are what a finished and an active Encounter are worth. The
	// more players race, the more the one counts and the shorter the other stays.
	finished, kept float64
}

func newScale(position shiverpeak.Position) scale {
	id, _ := position.Card()
	seat := position.Turn().Seat
	extra := float64(position.Players() - shiverpeak.MinPlayers)
	return scale{
		position: position,
		seat:     seat,
		card:     id.Card(),
		active:   len(position.Active(seat)),
		finished: 1 + 0.1*extra,
		kept:     0.24 - 0.02*extra,
	}
}

// worth is what a move is worth on average.
func (s scale) worth(move shiverpeak.Move) float64 {
	percent, _ := s.position.Odds(move)
	chance := float64(percent) / 100
	lives := s.position.Lives(s.seat)
	switch move.Action {
	case shiverpeak.Avoid:
		return (1 - chance) * s.effects(s.card.Failure, lives)
	case shiverpeak.Keep:
		kept := s.kept
		if s.active > 0 {
			kept *= secondActive
		}
		return chance*kept + (1-chance)*s.failure(lives)
	default:
		price := s.card.Face.Price()
		return s.lives(lives, -price) + chance*s.success(lives-price) + (1-chance)*s.failure(lives-price)
	}
}

// success is what overcoming the card is worth with so many lives.
func (s scale) success(lives int) float64 {
	if len(s.position.Finished(s.seat))+1 == shiverpeak.Needed(s.position.Players()) {
		return worthWinning * s.finished
	}
	return s.finished + s.effects(s.card.Success, lives)
}

// failure is what failing to face or keep the card is worth with so many lives.
func (s scale) failure(lives int) float64 {
	return s.lives(lives, -1) + s.effects(s.card.Failure, max(lives-1, 0))
}

// lives is what a change of lives is worth.
func (s scale) lives(from, change int) float64 {
	to := min(max(from+change, 0), shiverpeak.MaxLives)
	sum := 0.0
	for _, worth := range worthLife[min(from, to):max(from, to)] {
		sum += worth
	}
	if to < from {
		return -sum
	}
	return sum
}

func (s scale) effects(effects []shiverpeak.Effect, lives int) float64 {
	sum := 0.0
	for _, effect := range effects {
		sum += s.effect(effect, lives)
	}
	return sum
}

func (s scale) effect(effect shiverpeak.Effect, lives int) float64 {
	rivals := float64(s.position.Players() - 1)
	switch effect.Kind {
	case shiverpeak.GainLives:
		return s.lives(lives, effect.N)
	case shiverpeak.GainPerActive:
		return s.lives(lives, s.active)
	case shiverpeak.LoseLives:
		return s.lives(lives, -effect.N)
	case shiverpeak.RevealAgain:
		return worthReveal
	case shiverpeak.SkipTurn:
		return worthSkip
	case shiverpeak.RivalsLoseLives:
		return worthRival
	case shiverpeak.RivalLosesLives, shiverpeak.RivalSkips:
		return worthRival / rivals
	case shiverpeak.RivalLosesFinished:
		return 3 * worthRival / rivals
	case shiverpeak.FinishActive:
		if s.active > 0 {
			return s.finished - s.kept
		}
	case shiverpeak.DropActive:
		if s.active > 0 {
			return -s.kept
		}
	case shiverpeak.LoseFinished:
		if len(s.position.Finished(s.seat)) > 0 {
			return worthLostFinished
		}
	}
	return 0
}
