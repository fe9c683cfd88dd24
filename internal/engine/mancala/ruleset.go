package mancala

import (
	"fmt"

	"github.com/avalanched/avalanched/internal/engine"
)

// Numbers of stones in each pit at the start of a game.
const (
	MinStonesPerPit     = 3
	DefaultStonesPerPit = 4
	MaxStonesPerPit     = maxStones / (2 * PitsPerSide)
)

const noSweepID = "no_sweep"

// Ruleset is one of the two games. It implements engine.Ruleset.
type Ruleset struct {
	info engine.Info
	// game is kalah, or no flag.
	game status
}

// Rulesets lists mancala-avalanche and mancala-kalah.
func Rulesets() []engine.Ruleset {
	return []engine.Ruleset{
		&Ruleset{
			info: engine.Info{
				ID:         "mancala-avalanche",
				Number:     16,
				Version:    1,
				Family:     engine.Mancala,
				Title:      "Mancala Avalanche",
				MinPlayers: 2,
				MaxPlayers: 2,
				HowToPlay: "Each player has six pits with four stones each and a store to the right of them. " +
					"On your turn lift all stones of one of your pits and sow them one by one counterclockwise, " +
					"into your own store as you pass it and never into the other one. " +
					"Look where the last stone falls. In a pit that held stones, on either side: lift them all and sow on from there, " +
					"as often as it happens. In your store: you have another turn. In an empty pit: your turn is over, and nothing is captured. " +
					"The game ends as soon as one player's six pits are empty; the stones left in the other player's pits go to that player's store. " +
					"Most stones win.",
				Source: "The rules page \"Mancala Avalanche: Rules and How to Play\", on the mode that is known from messenger games; " +
					"where it is short, what more than ten independent public implementations agree on.",
				Decisions: []string{
					"South, seat 1, moves first.",
					"A lap of 13 or more stones sows into the pit that it started from.",
					"A sowing goes on even if the mover's side is empty in the middle of it; whether the game is over is decided when it ends.",
					"The game is also over when the mover has earned another turn but has no stones left.",
					"Stones left on the board at the end go to the store of the side on which they lie; the text inside the messenger game does not say so.",
					"A game may be started with 3, 4, 5 or 6 stones in each pit, four if nothing is said.",
					"A given position may hold 1 to 72 stones. The seat to move must have some; the other need not, for it may get some.",
					"Stones on the board of a player who resigns stay where they lie.",
				},
				HouseRules: []engine.HouseRule{{
					ID:      noSweepID,
					Summary: "At the end of the game the stones left on the board are nobody's, and only those in the stores count.",
				}},
			},
		},
		&Ruleset{
			game: kalah,
			info: engine.Info{
				ID:         "mancala-kalah",
				Number:     17,
				Version:    1,
				Family:     engine.Mancala,
				Title:      "Kalah",
				MinPlayers: 2,
				MaxPlayers: 2,
				HowToPlay: "Each player has six pits with four stones each and a store to the right of them. " +
					"On your turn lift all stones of one of your pits and sow them one by one counterclockwise, " +
					"into your own store as you pass it and never into the other one. " +
					"If the last stone falls in your store, you have another turn. " +
					"If it falls in a pit of your own that was empty, put it and all stones of the opposite pit into your store. " +
					"The game ends as soon as one player's six pits are empty; the stones left in the other player's pits go to that player's store. " +
					"Most stones win.",
				Source: "The column \"Standard (Kalah)\" of the comparison table on the rules page \"Mancala Avalanche: Rules and How to Play\".",
				Decisions: []string{
					"South, seat 1, moves first.",
					"A sowing of 13 or more stones sows into the pit that it started from.",
					"A last stone in an empty pit of one's own captures only if the opposite pit holds stones; otherwise it stays where it is.",
					"A sowing of exactly 13 stones ends in the pit that it started from, which is empty by then: it captures.",
					"The game is also over when the mover has earned another turn but has no stones left.",
					"A game may be started with 3, 4, 5 or 6 stones in each pit, four if nothing is said.",
					"A given position may hold 1 to 72 stones. The seat to move must have some; the other need not, for it may get some.",
					"Stones on the board of a player who resigns stay where they lie.",
				},
			},
		},
	}
}

// Captures tells whether the game has captures, and no relay: it is Kalah.
func (r *Ruleset) Captures() bool { return r.game.has(kalah) }

// Info implements engine.Ruleset.
func (r *Ruleset) Info() engine.Info { return r.info }

// Start implements engine.Ruleset. It asks for no chance.
func (r *Ruleset) Start(s engine.Setup, _ engine.Chance) (engine.Position, []engine.Event, error) {
	p, err := r.start(s)
	if err != nil {
		return nil, nil, err
	}
	return p, []engine.Event{BoardSet{Position: p}, TurnStarted{Seat: p.mover()}}, nil
}

func (r *Ruleset) start(s engine.Setup) (Position, error) {
	if s.Players != 0 && s.Players != r.info.MaxPlayers {
		return Position{}, engine.RefuseField(engine.PlayersOutOfRange, "players",
			"%s is for %d players, not %d", r.info.ID, r.info.MaxPlayers, s.Players)
	}
	if s.Board != "" {
		return Position{}, r.unsupported("board", "has no marble board; give \"position\" to start from")
	}
	if s.Rows != 0 {
		return Position{}, r.unsupported("rows", "has no rows of gates")
	}
	if s.Position != "" {
		return r.startGiven(s)
	}
	each := s.Stones
	if each == 0 {
		each = DefaultStonesPerPit
	}
	if each < MinStonesPerPit || each > MaxStonesPerPit {
		return Position{}, r.unsupported("stones", fmt.Sprintf("has %d to %d stones in each pit, not %d",
			MinStonesPerPit, MaxStonesPerPit, s.Stones))
	}
	flags, err := r.flags(s.HouseRules)
	if err != nil {
		return Position{}, err
	}
	start := setup{seat: South, flags: flags}
	for side := range start.pits {
		for i := range start.pits[side] {
			start.pits[side][i] = each
		}
	}
	return start.position()
}

// startGiven starts from the position that the creator gives.
func (r *Ruleset) startGiven(s engine.Setup) (Position, error) {
	if s.Stones != 0 {
		return Position{}, r.unsupported("stones", "takes the stones from the position given: leave them out")
	}
	p, err := r.parse(s.Position, s.HouseRules)
	if err != nil {
		return Position{}, err
	}
	if p.status.has(over) {
		return Position{}, inconsistent("that is the position of a finished game; a game starts from one with a seat to move")
	}
	return p, nil
}

// ParsePosition implements engine.Ruleset.
func (r *Ruleset) ParsePosition(text string, houseRules []string) (engine.Position, error) {
	p, err := r.parse(text, houseRules)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (r *Ruleset) parse(text string, houseRules []string) (Position, error) {
	flags, err := r.flags(houseRules)
	if err != nil {
		return Position{}, err
	}
	return parsePosition(text, flags)
}

// Unpack implements engine.Ruleset.
func (r *Ruleset) Unpack(packed []byte) (engine.Position, error) {
	p, err := unpack(packed, r.game)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// ParseMove implements engine.Ruleset.
func (r *Ruleset) ParseMove(notation string) (engine.Move, error) {
	move, err := ParseMove(notation)
	if err != nil {
		return nil, err
	}
	return move, nil
}

// flags reads the house rules.
func (r *Ruleset) flags(houseRules []string) (status, error) {
	flags := r.game
	for _, id := range houseRules {
		switch {
		case len(r.info.HouseRules) == 0:
			return 0, r.unsupported("houseRules", "has no house rules")
		case id != noSweepID:
			return 0, r.unsupported("houseRules", fmt.Sprintf("has no house rule %.64q; it has %s", id, noSweepID))
		}
		flags |= noSweep
	}
	return flags, nil
}

func (r *Ruleset) unsupported(field, problem string) error {
	return engine.RefuseField(engine.OptionUnsupported, field, "%s %s", r.info.ID, problem)
}
