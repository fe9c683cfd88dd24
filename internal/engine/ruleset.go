package engine

// Family tells which engine plays a ruleset.
type Family uint8

// The families of games.
const (
	Marble Family = iota + 1
	Mancala
	ShiverPeak
)

// Ruleset is one set of rules by which a game can be created and played.
// Implementations hold no state and are safe for concurrent use.
type Ruleset interface {
	// Info describes the ruleset to players and clients.
	Info() Info
	// Start sets up a new game. Gates, cards and turn order come from chance
	// unless the setup gives them. A setup that the ruleset cannot honor is
	// refused with a *Refusal that names the field.
	Start(setup Setup, chance Chance) (Position, []Event, error)
	// ParsePosition reads what Position.String wrote, finished positions included,
	// and completes what a given position may leave open (automatic passes). The
	// house rules are not part of the text.
	ParsePosition(text string, houseRules []string) (Position, error)
	// Unpack reads what Position.AppendPacked wrote. Bytes that are not the
	// packed form of a valid position of this ruleset are refused.
	Unpack(packed []byte) (Position, error)
	// ParseMove reads a move's text notation, which is matched without regard
	// to case. It knows the alphabet of moves, not whether one is legal.
	ParseMove(notation string) (Move, error)
}

// Info describes a ruleset.
type Info struct {
	// ID is the public name, for example "marble-basic".
	ID string
	// Number stands for the ID inside a signed state. It is never reused.
	Number uint8
	// Version counts the changes of the rules, from 1.
	Version int
	Family  Family
	// Title is the name on the box.
	Title string
	// Edition names publisher and year, where there was one.
	Edition string
	// MinPlayers and MaxPlayers bound the number of seats.
	MinPlayers, MaxPlayers int
	// HowToPlay explains the game in a few sentences.
	HowToPlay string
	// Source says where the rules come from.
	Source string
	// Decisions lists what this implementation decided where the sources are
	// silent or disagree, one sentence each.
	Decisions []string
	// HouseRules are the options that change the rules, all off by default.
	HouseRules []HouseRule
	// ChanceInMoves tells that applying a move may ask for chance, so that
	// looking ahead would reveal rolls.
	ChanceInMoves bool
}

// HouseRule is a variation of the rules that a game's creator may switch on.
type HouseRule struct {
	ID      string
	Summary string
}

// Setup is what a creator asks for. The zero value of a field means "not given".
type Setup struct {
	// Players is the number of seats; it may be left out where only one number
	// is possible or where Position implies it.
	Players int
	// HouseRules lists the IDs of the house rules to switch on.
	HouseRules []string
	// Position is a full text notation to start from.
	Position string
	// Board is a marble board's notation to start from, in place of random gates.
	Board string
	// Rows is the number of gate rows of a marble board.
	Rows int
	// Stones is the number of stones in each pit of a mancala board.
	Stones int
}

// Custom tells whether the creator chose the start instead of leaving it to chance.
func (s Setup) Custom() bool { return s.Position != "" || s.Board != "" }

// Options are the choices of creation that a position carries for its whole
// life, as far as they apply to its family.
type Options struct {
	HouseRules []string
	Rows       int
	Stones     int
}

// Position is a valid state of one game between two moves. Positions are values:
// no method changes the receiver.
type Position interface {
	// Players is the number of seats the game was created with, resigned ones included.
	Players() int
	// Options are the choices of creation that travel with the position.
	Options() Options
	// Turn names the seat to move, or the zero Turn in a finished game.
	Turn() Turn
	// Outcome tells whether and how the game has ended.
	Outcome() Outcome
	// LegalMoves lists every move that Apply accepts now, in a fixed order,
	// except Resign. A finished game has none; an unfinished one has at least one.
	LegalMoves() []Move
	// Apply makes a move for the seat to move and returns the next position and
	// all that happened, in order. An illegal move is refused with a *Refusal.
	Apply(move Move, chance Chance) (Position, []Event, error)
	// String is the full text notation. Ruleset.ParsePosition reads it back.
	String() string
	// AppendPacked appends the canonical binary form: equal positions have equal
	// bytes and Ruleset.Unpack accepts no others.
	AppendPacked(dst []byte) []byte
}

// Turn says who has to decide what.
type Turn struct {
	// Seat counts from 1 in the order of play. 0 means that nobody is to move.
	Seat  int
	Phase Phase
}

// Phase is the kind of decision that is due.
type Phase uint8

// The phases. Marble games know Drop, mancala games Sow, the card game the rest.
const (
	PhaseNone Phase = iota
	// PhaseDrop: drop a marble (or pass where that is listed).
	PhaseDrop
	// PhaseSow: choose a pit to sow.
	PhaseSow
	// PhaseReveal: turn over the next card of the deck.
	PhaseReveal
	// PhaseTarget: choose the rival whom a card hits.
	PhaseTarget
	// PhaseEncounter: avoid, face or keep the revealed Encounter.
	PhaseEncounter
	// PhasePassed: avoid or face an Encounter that an Avalanche passed on.
	PhasePassed
	// PhaseChoice: any other choice that a card asks for.
	PhaseChoice
)

// Move is a move in one family's notation. String is canonical: equal moves have
// equal strings and Ruleset.ParseMove reads them back.
type Move interface {
	String() string
}

// ResignNotation and PassNotation are the moves that read the same in every family.
const (
	ResignNotation = "resign"
	PassNotation   = "pass"
)

// Event is one thing that happened, in the family's own type. String is a short
// readable form for records and tests.
type Event interface {
	String() string
}
