package engine

// MaxPly is the number of moves after which a game without a winner is drawn.
const MaxPly = 10_000

// Game is a position and how many moves led to it. Automatic passes are no moves
// and are not counted.
type Game struct {
	Ruleset  Ruleset
	Position Position
	Ply      int
}

// Outcome is that of the position, or a draw when the moves are used up.
func (g Game) Outcome() Outcome {
	outcome := g.Position.Outcome()
	if !outcome.Over() && g.Ply >= MaxPly {
		return DrawnGame(PlyLimit)
	}
	return outcome
}

// Turn names the seat to move, or the zero Turn in a finished game.
func (g Game) Turn() Turn {
	if g.Outcome().Over() {
		return Turn{}
	}
	return g.Position.Turn()
}

// LegalMoves lists the moves that Play accepts, except resigning.
func (g Game) LegalMoves() []Move {
	if g.Outcome().Over() {
		return nil
	}
	return g.Position.LegalMoves()
}

// LimitReached is the event that follows the last move that a game may have, if that
// move does not end the game otherwise. The position does not know of it: moves are
// counted by the game.
type LimitReached struct{}

// String is a short readable form.
func (LimitReached) String() string { return "the game is drawn: it has had all its moves" }

// Play applies one move. Refusals leave the game as it is.
func (g Game) Play(move Move, chance Chance) (Game, []Event, error) {
	if g.Outcome().Over() {
		return g, nil, Refuse(GameOver, "the game is over and takes no more moves")
	}
	next, events, err := g.Position.Apply(move, chance)
	if err != nil {
		return g, nil, err
	}
	after := Game{Ruleset: g.Ruleset, Position: next, Ply: g.Ply + 1}
	if after.Outcome().Ending == PlyLimit {
		events = append(events, LimitReached{})
	}
	return after, events, nil
}
