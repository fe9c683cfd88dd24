package shiverpeak

import (
	"fmt"
	"strings"
)

// The deck's make-up. Positions hold one byte for each card, so these are part of
// the packed form: another make-up is another version of the rules.
const (
	// Encounters is the number of Encounter cards, E01 to E36.
	Encounters = 36
	// Bonuses is the number of Bonus cards, B01 to B12.
	Bonuses = 12
	// Avalanches is the number of Avalanche cards, A01 to A06.
	Avalanches = 6
	// Cards is the number of cards in the deck.
	Cards = Encounters + Bonuses + Avalanches
)

// ID is a card's number in the deck, from 1. Two copies of a card have two IDs.
// The zero ID is no card.
type ID uint8

// suits are the letters of the IDs, in the order of their numbers.
var suits = [...]struct {
	letter byte
	kind   Kind
	cards  int
}{
	{'E', Encounter, Encounters},
	{'B', Bonus, Bonuses},
	{'A', Avalanche, Avalanches},
}

// String is the code printed on the card: a letter for its kind and two digits,
// for example "E07".
func (id ID) String() string {
	number := int(id)
	for _, suit := range suits {
		if number >= 1 && number <= suit.cards {
			return string([]byte{suit.letter, byte('0' + number/10), byte('0' + number%10)})
		}
		number -= suit.cards
	}
	return nothing
}

// parseID reads a code as ID.String writes it.
func parseID(code string) (ID, bool) {
	if len(code) != 3 || code[1] < '0' || code[1] > '9' || code[2] < '0' || code[2] > '9' {
		return 0, false
	}
	number, before := int(code[1]-'0')*10+int(code[2]-'0'), 0
	for _, suit := range suits {
		if code[0] == suit.letter {
			return ID(before + number), number >= 1 && number <= suit.cards
		}
		before += suit.cards
	}
	return 0, false
}

// Kind returns what sort of card it is.
func (id ID) Kind() Kind {
	number := int(id)
	for _, suit := range suits {
		if number >= 1 && number <= suit.cards {
			return suit.kind
		}
		number -= suit.cards
	}
	return 0
}

// Card looks the card up in the deck. The ID must be one of the deck's.
func (id ID) Card() Card { return deck[id-1] }

// Kind is the sort of a card.
type Kind uint8

// The kinds of cards.
const (
	// Encounter: a peril to avoid, face or keep.
	Encounter Kind = iota + 1
	// Bonus: a helpful effect.
	Bonus
	// Avalanche: all active Encounters are passed on.
	Avalanche
)

// String is the kind's name in lower case.
func (k Kind) String() string {
	return [...]string{"no card", "encounter", "bonus", "avalanche"}[k]
}

// Card is all that is printed on a card.
type Card struct {
	ID   ID
	Kind Kind
	Name string
	// Flavor is a sentence of atmosphere without meaning for the rules.
	Flavor string
	// Rating is what a die must reach to avoid or keep an Encounter, 2 to 6. Other
	// cards have none.
	Rating int
	// Face is how an Encounter is overcome.
	Face Test
	// Success is what a Bonus does, and what facing an Encounter successfully brings.
	Success []Effect
	// Failure is what an Encounter does to a player who fails at it.
	Failure []Effect
}

// targeted returns the effect for which the card's owner chooses a rival, if the
// card has one. It is the last of its good effects.
func (c Card) targeted() (Effect, bool) {
	if len(c.Success) == 0 {
		return Effect{}, false
	}
	last := c.Success[len(c.Success)-1]
	return last, last.Targeted()
}

// EffectKind is the sort of an effect.
type EffectKind uint8

// The effects that cards are made of. "You" is the player dealing with the card.
const (
	// GainLives: you gain N lives, up to nine in all.
	GainLives EffectKind = iota + 1
	// GainPerActive: you gain a life for each of your active Encounters.
	GainPerActive
	// RevealAgain: you reveal another card when your turn, or your next one, ends.
	RevealAgain
	// FinishActive: your active Encounter kept longest goes to your finished pile.
	FinishActive
	// RivalsLoseLives: every rival loses N lives.
	RivalsLoseLives
	// RivalLosesLives: a rival of your choice loses N lives.
	RivalLosesLives
	// RivalSkips: a rival of your choice skips her next turn.
	RivalSkips
	// RivalLosesFinished: a rival of your choice loses a finished Encounter.
	RivalLosesFinished
	// LoseLives: you lose N lives, as far as you have them.
	LoseLives
	// SkipTurn: you skip your next turn.
	SkipTurn
	// DropActive: your active Encounter kept longest is discarded.
	DropActive
	// LoseFinished: one of your finished Encounters, drawn at random, is discarded.
	LoseFinished
)

// Effect is one thing that a card does.
type Effect struct {
	Kind EffectKind
	// N is the number of lives, 1 to 3, for effects that count them, else 0.
	N int
}

// effectWords describes the effects; words are those of the deck file.
var effectWords = [...]struct {
	words    string
	counts   bool
	harmful  bool
	targeted bool
	text     string
	plural   string
}{
	GainLives:          {words: "gain", counts: true, text: "Gain a life.", plural: "Gain %d lives."},
	GainPerActive:      {words: "gain per active", text: "Gain a life for each of your active Encounters."},
	RevealAgain:        {words: "reveal", text: "Reveal another card."},
	FinishActive:       {words: "finish active", text: "Move the active Encounter you kept first to your finished pile."},
	RivalsLoseLives:    {words: "rivals lose", counts: true, text: "Every rival loses a life.", plural: "Every rival loses %d lives."},
	RivalLosesLives:    {words: "rival loses", counts: true, targeted: true, text: "A rival of your choice loses a life.", plural: "A rival of your choice loses %d lives."},
	RivalSkips:         {words: "rival skips", targeted: true, text: "A rival of your choice skips her next turn."},
	RivalLosesFinished: {words: "rival loses finished", targeted: true, text: "A rival of your choice discards one of her finished Encounters, drawn at random."},
	LoseLives:          {words: "lose", counts: true, harmful: true, text: "Lose a life.", plural: "Lose %d lives."},
	SkipTurn:           {words: "skip", harmful: true, text: "Skip your next turn."},
	DropActive:         {words: "drop active", harmful: true, text: "Discard the active Encounter you kept first."},
	LoseFinished:       {words: "lose finished", harmful: true, text: "Discard one of your finished Encounters, drawn at random."},
}

// Targeted tells whether the effect's owner chooses a rival.
func (e Effect) Targeted() bool { return effectWords[e.Kind].targeted }

// String is the effect in the words of the deck file.
func (e Effect) String() string {
	if effectWords[e.Kind].counts {
		return fmt.Sprintf("%s %d", effectWords[e.Kind].words, e.N)
	}
	return effectWords[e.Kind].words
}

// Text is the effect as a sentence for players.
func (e Effect) Text() string {
	if e.N > 1 {
		return fmt.Sprintf(effectWords[e.Kind].plural, e.N)
	}
	return effectWords[e.Kind].text
}

// Text joins the sentences of several effects.
func Text(effects []Effect) string {
	sentences := make([]string, len(effects))
	for i, effect := range effects {
		sentences[i] = effect.Text()
	}
	return strings.Join(sentences, " ")
}
