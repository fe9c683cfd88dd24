package mancala

import "github.com/avalanched/avalanched/internal/engine"

// Sow sows a pit, 1 to 6 from the mover's left, and answers the next position and
// what the move did. It is Apply without the events, and allocates nothing. A
// finished game, a pit that does not exist and an empty one are refused.
func (p Position) Sow(pit int) (Position, SowingSummary, error) {
	hole := pit - 1
	if hole < 0 || hole >= PitsPerSide || p.status.has(over) {
		return p, SowingSummary{}, p.refusal(pit)
	}
	hand := p.board.reach(hole)
	laps, stones := uint64(1), hand.count()
	if stones == 0 {
		return p, SowingSummary{}, p.refusal(pit)
	}
	if p.status.has(kalah) {
		hand = hand.lap(stones)
	} else {
		hand, laps, stones = hand.relay()
	}
	// The hand goes around at one hole a stone, whatever it lifts on the way: where it
	// began and how many stones it sowed tell how often it passed the store.
	gain := (hole + int(stones) + holes - storeHole) / holes
	board := hand.board
	if p.status.has(kalah) {
		if prize := hand.prize(); prize > 0 {
			board = hand.captured()
			gain += int(prize) + 1
		}
	}
	summary := SowingSummary{Laps: int(laps), StonesSown: int(stones), StoreGain: gain}
	p = Position{board, p.status.plus(gain, 0)}
	if board.moverEmpty() || board.otherEmpty() {
		summary.Next = EndOfGame
		return p.swept().finished(), summary, nil
	}
	// Turned first and chosen then, this costs no guess.
	next := p.turned()
	if hand.hole() == storeHole {
		summary.Next = AnotherTurn
		next = p
	}
	return next, summary, nil
}

// Preview tells what sowing a pit would do. It refuses what Sow refuses.
func (p Position) Preview(pit int) (SowingSummary, error) {
	_, summary, err := p.Sow(pit)
	return summary, err
}

// swept is a position after both sides put their stones into their stores, unless
// the house rule leaves them.
func (p Position) swept() Position {
	if !p.status.has(noSweep) {
		p.status = p.status.plus(p.board.side(0), p.board.side(storeHole+1))
		p.board = board{}
	}
	return p
}

// AppendLegal appends the legal moves, except Resign, by rising pit.
func (p Position) AppendLegal(dst []Move) []Move {
	if p.status.has(over) {
		return dst
	}
	for hole := range PitsPerSide {
		if p.board.at(hole) > 0 {
			dst = append(dst, Move(hole+1))
		}
	}
	return dst
}

// LegalMoves implements engine.Position.
func (p Position) LegalMoves() []engine.Move {
	var buffer [PitsPerSide]Move
	legal := p.AppendLegal(buffer[:0])
	moves := make([]engine.Move, len(legal))
	for i, move := range legal {
		moves[i] = move
	}
	return moves
}

// refusal says why a pit cannot be sown.
func (p Position) refusal(pit int) error {
	switch {
	case p.status.has(over):
		return engine.Refuse(engine.GameOver, "the game is over and takes no more moves")
	case pit < 1 || pit > PitsPerSide:
		return engine.Refuse(engine.MoveMalformed, "there is no pit %d: pits are 1 to %d from the mover's left", pit, PitsPerSide)
	default:
		return engine.Refuse(engine.MoveIllegal, "pit %d of %s is empty: a pit with stones can be sown", pit, seatName(p.mover()))
	}
}

// Apply implements engine.Position. It asks for no chance.
func (p Position) Apply(move engine.Move, _ engine.Chance) (engine.Position, []engine.Event, error) {
	m, ok := move.(Move)
	if !ok {
		return nil, nil, engine.Refuse(engine.MoveMalformed, "%T is no move of a mancala game", move)
	}
	if m == Resign && !p.status.has(over) {
		next := p
		next.status |= over
		return next, []engine.Event{SeatOut{Seat: p.mover()}, GameEnded{Outcome: next.Outcome()}}, nil
	}
	next, summary, err := p.Sow(int(m))
	if err != nil {
		return nil, nil, err
	}
	return next, p.events(int(m), next, summary), nil
}

// events tells how sowing a pit leads to the next position, one lap at a time.
func (p Position) events(pit int, next Position, summary SowingSummary) []engine.Event {
	events := make([]engine.Event, 0, summary.Laps+4)
	hand := p.board.reach(pit - 1)
	for landing := Relay; landing == Relay; {
		stones := hand.count()
		lap := LapSown{Seat: p.mover(), Stones: int(stones)}
		lap.PitSeat, lap.Pit = p.place(hand.hole())
		hand = hand.lap(stones)
		lap.LastSeat, lap.LastPit = p.place(hand.hole())
		landing = p.status.landing(hand)
		lap.Landing = landing
		events = append(events, lap)
	}
	board := hand.board
	if p.status.landing(hand) == Capture {
		capture := StonesCaptured{Seat: p.mover(), Stones: int(hand.prize()) + 1}
		_, capture.Pit = p.place(hand.hole())
		_, capture.OppositePit = p.place(opposite(hand.hole()))
		events = append(events, capture)
		board = hand.captured()
	}
	events = append(events, summary)
	if summary.Next != EndOfGame {
		return append(events, TurnStarted{Seat: next.mover()})
	}
	for _, side := range [...]int{0, storeHole + 1} {
		if stones := board.side(side); stones > 0 && !p.status.has(noSweep) {
			seat, _ := p.place(side)
			events = append(events, StonesSwept{Seat: seat, Stones: stones})
		}
	}
	return append(events, GameEnded{Outcome: next.Outcome()})
}

// landing is what follows from where the hand dropped its last stone.
func (s status) landing(hand sowing) Landing {
	switch {
	case hand.hole() == storeHole:
		return Store
	case hand.count() > 1 && !s.has(kalah):
		return Relay
	case hand.count() > 1:
		return OccupiedPit
	case s.has(kalah) && hand.prize() > 0:
		return Capture
	default:
		return EmptyPit
	}
}

// place names a hole by its owner and the pit counted from the owner's left, 0 for
// the store.
func (p Position) place(hole int) (seat, pit int) {
	seat = p.mover()
	switch {
	case hole < storeHole:
		return seat, hole + 1
	case hole == storeHole:
		return seat, 0
	default:
		return otherSeat(seat), hole - storeHole
	}
}
