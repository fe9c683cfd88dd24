package marble

import (
	"slices"
	"strings"

	"github.com/avalanched/avalanched/internal/engine"
)

// The purposes for which a start asks for chance.
const (
	gatePurpose = "marble gate"
	cardPurpose = "marble card"
)

// ParseMove implements engine.Ruleset.
func (v *Variant) ParseMove(notation string) (engine.Move, error) {
	move, err := ParseMove(notation)
	if err != nil {
		return nil, err
	}
	return move, nil
}

// Start implements engine.Ruleset.
func (v *Variant) Start(setup engine.Setup, chance engine.Chance) (engine.Position, []engine.Event, error) {
	rules, err := v.parseHouseRules(setup.HouseRules)
	if err != nil {
		return nil, nil, err
	}
	if setup.Stones != 0 {
		return nil, nil, engine.RefuseField(engine.OptionUnsupported, "stones", "%s has no stones", v.info.ID)
	}
	var position Position
	if setup.Position != "" {
		position, err = v.startGiven(setup, rules)
	} else {
		position, err = v.startNew(setup, rules, chance)
	}
	if err != nil {
		return nil, nil, err
	}
	events := position.announce()
	position.settle(&events)
	// A start at which nobody can drop anything is drawn, but one that is won is no start.
	if outcome := position.Outcome(); outcome.Status == engine.Won {
		return nil, nil, engine.RefuseField(engine.PositionInconsistent, "position",
			"seat %d has already won, because the others have no marbles to drop", position.turn+1)
	}
	return position, eraseEvents(events), nil
}

// startGiven reads the position that the creator gives.
func (v *Variant) startGiven(setup engine.Setup, rules houseRule) (Position, error) {
	if setup.Board != "" {
		return Position{}, engine.RefuseField(engine.OptionUnsupported, "board",
			"a position has a board already: give one of the two")
	}
	position, err := v.parsePosition(setup.Position, rules)
	if err != nil {
		return Position{}, err
	}
	if position.over() {
		return Position{}, engine.RefuseField(engine.PositionInconsistent, "position",
			"the position is that of a finished game")
	}
	if setup.Players != 0 && setup.Players != position.Players() {
		return Position{}, engine.RefuseField(engine.PlayersOutOfRange, "players",
			"the position has %d seats, not %d", position.Players(), setup.Players)
	}
	return position, checkRows(setup.Rows, position.board)
}

func checkRows(rows int, board Board) error {
	if rows != 0 && rows != board.Rows() {
		return engine.RefuseField(engine.OptionUnsupported, "rows",
			"the given board has %d rows, not %d", board.Rows(), rows)
	}
	return nil
}

// startNew sets up the board and deals.
func (v *Variant) startNew(setup engine.Setup, rules houseRule, chance engine.Chance) (Position, error) {
	if setup.Players < minPlayers || setup.Players > v.info.MaxPlayers {
		return Position{}, engine.RefusePlayers(setup.Players, v.info.ID, minPlayers, v.info.MaxPlayers)
	}
	board, err := startBoard(setup, chance)
	if err != nil {
		return Position{}, err
	}
	position := Position{
		variant: v,
		board:   board,
		rules:   rules,
		players: uint8(setup.Players),
		opening: v.openingLimit > 0,
	}
	if v.cards != nil {
		for i, card := range engine.Shuffle(chance, cardPurpose, cardsPerSet)[:setup.Players] {
			position.seats[i].card = uint8(card)
		}
	}
	for i := range setup.Players {
		position.seats[i].hand = v.hand(i, setup.Players)
	}
	if err := position.stockTrays(); err != nil {
		err.Field = "board"
		return Position{}, err
	}
	return position, nil
}

func startBoard(setup engine.Setup, chance engine.Chance) (Board, error) {
	if setup.Board != "" {
		board, err := ParseBoard(setup.Board)
		if err != nil {
			err.Field = "board"
			return Board{}, err
		}
		return board, checkRows(setup.Rows, board)
	}
	rows := setup.Rows
	if rows == 0 {
		rows = DefaultRows
	}
	if rows < 1 || rows > MaxRows {
		return Board{}, engine.RefuseField(engine.OptionUnsupported, "rows",
			"a board has 1 to %d rows of gates, not %d", MaxRows, rows)
	}
	board := NewBoard(rows)
	for i, gate := range board.Gates() {
		board.setGate(gate, chance.Draw(gatePurpose, i, 2) == 1)
	}
	return board, nil
}

// hand is what a seat, which counts from 0, gets at the start.
func (v *Variant) hand(seat, players int) Marbles {
	var hand Marbles
	for c := range v.colors {
		hand += some(Color(c), int(v.deal.each[players]))
	}
	n := v.deal.others
	if seat == 0 {
		n = v.deal.first
	}
	for i := range n {
		hand += some(Color(i%v.colors), 1)
	}
	return hand
}

// stockTrays puts into the trays what lies nowhere else. It refuses when more marbles
// are in the game than the box has.
func (p *Position) stockTrays() *engine.Refusal {
	p.trays = p.variant.box()
	if !p.trays.take(p.discarded) || !p.trays.take(p.board.HeldMarbles()) {
		return p.tooManyMarbles()
	}
	for i := range p.players {
		seat := &p.seats[i]
		if !p.trays.take(seat.hand) || !p.trays.take(seat.filled) {
			return p.tooManyMarbles()
		}
	}
	return nil
}

// tooManyMarbles says of which color there are more marbles than the box has. There may be
// more than Marbles can count.
func (p *Position) tooManyMarbles() *engine.Refusal {
	for c := range Color(MaxColors) {
		used, box := p.discarded.Of(c)+p.board.HeldMarbles().Of(c), p.variant.box().Of(c)
		for _, seat := range p.seats[:p.players] {
			used += seat.hand.Of(c) + seat.filled.Of(c)
		}
		if used > box {
			return inconsistent("there are %d %s marbles, but the edition has %d", used, c.name(), box)
		}
	}
	return nil
}

// announce tells how a game begins. In a given position, seats that are out count as
// resigned, for nobody knows how they went.
func (p *Position) announce() []Event {
	board := p.board
	events := []Event{{Kind: BoardSet, Board: &board}}
	if p.discarded != 0 {
		events = append(events, Event{Kind: MarblesMoved, Marbles: p.discarded, From: Trays, To: Discard})
	}
	for seat := 1; seat <= p.Players(); seat++ {
		if p.Out(seat) {
			events = append(events, Event{Kind: SeatOut, Seat: uint8(seat), Resigned: true})
		}
		if card := p.Card(seat); card != nil {
			events = append(events, Event{Kind: CardDealt, Seat: uint8(seat), Card: card})
		}
		if hand := p.Hand(seat); hand != 0 {
			events = append(events, Event{Kind: MarblesMoved, Seat: uint8(seat), Marbles: hand, From: Trays, To: Hand})
		}
	}
	return append(events, Event{Kind: TurnStarted, Seat: p.turn + 1})
}

func (v *Variant) parseHouseRules(ids []string) (houseRule, error) {
	var rules houseRule
	for _, id := range ids {
		i := slices.IndexFunc(v.houseRules, func(rule houseRule) bool { return houseRuleInfo[rule].ID == id })
		if i < 0 {
			return 0, engine.RefuseField(engine.OptionUnsupported, "houseRules",
				"%s has no house rule %.64q; it has %s", v.info.ID, id, v.houseRuleList())
		}
		rules |= v.houseRules[i]
	}
	return rules, nil
}

func (v *Variant) houseRuleList() string {
	if len(v.houseRules) == 0 {
		return "none"
	}
	ids := make([]string, len(v.houseRules))
	for i, rule := range v.houseRules {
		ids[i] = houseRuleInfo[rule].ID
	}
	return strings.Join(ids, ", ")
}
