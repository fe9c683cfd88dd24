package shiverpeak

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed deck.txt
var deckFile string

// deck lists the cards by number. A mistake in the file stops the program, and
// the tests, before anything can be played with it.
var deck = mustParseDeck(deckFile)

// Deck lists all cards in the order of their IDs.
func Deck() []Card { return slices.Clone(deck) }

func mustParseDeck(text string) []Card {
	cards, err := parseDeck(text)
	if err != nil {
		panic(err)
	}
	return cards
}

// Limits of what stands on a card.
const (
	minRating, maxRating = 2, 6
	maxAmount            = 3
	maxEffects           = 3
	maxName              = 32
	maxFlavor            = 120
)

// deckError is a mistake in the deck file.
type deckError struct {
	line    int
	message string
}

func (e *deckError) Error() string { return fmt.Sprintf("deck.txt:%d: %s", e.line, e.message) }

// parseDeck reads the deck file; its head describes the form. It returns exactly
// one card for each ID, in their order, or the first mistake with its line.
func parseDeck(text string) ([]Card, error) {
	var (
		cards = make([]Card, Cards)
		named = make(map[string]int)
		entry deckEntry
		line  int
	)
	// finish closes the entry above the current line.
	finish := func() error {
		if len(entry.ids) == 0 {
			return nil
		}
		if message := entry.incomplete(); message != "" {
			return &deckError{entry.line, message}
		}
		for _, id := range entry.ids {
			card := entry.card
			card.ID = id
			cards[id-1] = card
		}
		entry = deckEntry{}
		return nil
	}
	for raw := range strings.Lines(text) {
		line++
		content := strings.TrimRight(raw, "\r\n")
		trimmed := strings.TrimSpace(content)
		var message string
		switch {
		case trimmed == "" || trimmed[0] == '#':
			continue
		case content[0] != ' ':
			if err := finish(); err != nil {
				return nil, err
			}
			entry.line = line
			message = entry.head(trimmed)
			if first, taken := named[entry.card.Name]; message == "" && taken {
				message = fmt.Sprintf("the name %q is taken by the card of line %d", entry.card.Name, first)
			}
			for _, id := range entry.ids {
				if message == "" && (cards[id-1].ID != 0 || count(entry.ids, id) > 1) {
					message = fmt.Sprintf("%v is there twice", id)
				}
			}
			named[entry.card.Name] = line
		case len(entry.ids) == 0:
			message = "a card begins with its IDs and name at the start of a line"
		default:
			key, value, _ := strings.Cut(trimmed, " ")
			message = entry.property(key, strings.TrimSpace(value))
		}
		if message != "" {
			return nil, &deckError{line, message}
		}
	}
	if err := finish(); err != nil {
		return nil, err
	}
	for i := range cards {
		if cards[i].ID == 0 {
			return nil, &deckError{line, fmt.Sprintf("card %v is missing", ID(i+1))}
		}
	}
	return cards, nil
}

func count(ids []ID, wanted ID) int {
	n := 0
	for _, id := range ids {
		if id == wanted {
			n++
		}
	}
	return n
}

// deckEntry is a card while it is read, with the IDs of all its copies.
type deckEntry struct {
	line int
	ids  []ID
	card Card
}

// head reads the first line of an entry, such as "E01 E02 Leaning Pine (3)", and
// returns what is wrong with it.
func (e *deckEntry) head(text string) string {
	rest := text
	for {
		code, after, _ := strings.Cut(rest, " ")
		id, ok := parseID(code)
		if !ok {
			break
		}
		e.ids = append(e.ids, id)
		rest = strings.TrimSpace(after)
	}
	if len(e.ids) == 0 {
		return fmt.Sprintf("%q does not begin with a card's ID: E01 to E%02d, B01 to B%02d or A01 to A%02d", text, Encounters, Bonuses, Avalanches)
	}
	e.card.Kind = e.ids[0].Kind()
	for _, id := range e.ids {
		if id.Kind() != e.card.Kind {
			return fmt.Sprintf("%v and %v are cards of different kinds", e.ids[0], id)
		}
	}
	if e.card.Kind == Encounter {
		open := strings.LastIndex(rest, " (")
		if open < 0 || !strings.HasSuffix(rest, ")") {
			return fmt.Sprintf("the rating is missing: write it as %q", rest+" (4)")
		}
		rating, err := strconv.Atoi(rest[open+2 : len(rest)-1])
		if err != nil || rating < minRating || rating > maxRating {
			return fmt.Sprintf("rating %q is not a number from %d to %d", rest[open+2:len(rest)-1], minRating, maxRating)
		}
		e.card.Rating = rating
		rest = rest[:open]
	}
	if rest == "" || len(rest) > maxName {
		return fmt.Sprintf("a card needs a name of at most %d bytes", maxName)
	}
	e.card.Name = rest
	return ""
}

// property reads one line below the head and returns what is wrong with it.
func (e *deckEntry) property(key, value string) string {
	card := &e.card
	var err error
	switch {
	case key == "flavor" && card.Flavor == "":
		card.Flavor = value
		if value == "" || len(value) > maxFlavor || !strings.HasSuffix(value, ".") {
			return fmt.Sprintf("the flavor is a sentence with a period, of at most %d bytes", maxFlavor)
		}
	case key == "face" && card.Kind == Encounter && card.Face.Kind == 0:
		card.Face, err = parseTest(value)
	case key == "success" && card.Kind == Encounter && card.Success == nil,
		key == "effect" && card.Kind == Bonus && card.Success == nil:
		card.Success, err = parseEffects(value, false)
	case key == "failure" && card.Kind == Encounter && card.Failure == nil:
		card.Failure, err = parseEffects(value, true)
	default:
		return fmt.Sprintf("%q is unknown here or there twice; this card has: %s", key, strings.Join(properties[card.Kind], ", "))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// properties are the lines that cards of a kind must have below their head.
var properties = map[Kind][]string{
	Encounter: {"flavor", "face", "success", "failure"},
	Bonus:     {"flavor", "effect"},
	Avalanche: {"flavor"},
}

// incomplete says what the entry lacks, or nothing.
func (e *deckEntry) incomplete() string {
	card := e.card
	switch {
	case card.Flavor == "":
		return card.Name + " lacks its flavor"
	case card.Kind == Encounter && card.Face.Kind == 0:
		return card.Name + " lacks its face test"
	case card.Kind == Encounter && card.Success == nil:
		return card.Name + " lacks its success"
	case card.Kind == Encounter && card.Failure == nil:
		return card.Name + " lacks its failure"
	case card.Kind == Bonus && card.Success == nil:
		return card.Name + " lacks its effect"
	default:
		return ""
	}
}

// parseTest reads a test in the words of testWords.
func parseTest(text string) (Test, error) {
	for kind := RollAtLeast; int(kind) < len(testWords); kind++ {
		words := testWords[kind]
		for n := words.min; n <= words.max; n++ {
			if test := (Test{Kind: kind, N: n}); test.String() == text {
				return test, nil
			}
		}
	}
	var known []string
	for _, words := range testWords[RollAtLeast:] {
		form := words.words
		if words.max > 0 {
			form = strings.ReplaceAll(form, "%d", fmt.Sprintf("%d-%d", words.min, words.max))
		}
		known = append(known, form)
	}
	return Test{}, fmt.Errorf("unknown face test %q; known are: %s", text, strings.Join(known, ", "))
}

// parseEffects reads a list of effects, all harmful or all helpful.
func parseEffects(text string, harmful bool) ([]Effect, error) {
	parts := strings.Split(text, ", ")
	if len(parts) > maxEffects {
		return nil, fmt.Errorf("%d effects are more than %d", len(parts), maxEffects)
	}
	effects := make([]Effect, 0, len(parts))
	for i, part := range parts {
		effect, err := parseEffect(part, harmful)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(effects, func(e Effect) bool { return e.Kind == effect.Kind }) {
			return nil, fmt.Errorf("%q is there twice", effectWords[effect.Kind].words)
		}
		if effect.Targeted() && i != len(parts)-1 {
			return nil, fmt.Errorf("%q names a rival and must be the last effect", part)
		}
		effects = append(effects, effect)
	}
	return effects, nil
}

func parseEffect(text string, harmful bool) (Effect, error) {
	var known []string
	for kind := GainLives; int(kind) < len(effectWords); kind++ {
		words := effectWords[kind]
		if words.harmful != harmful {
			continue
		}
		low, high, form := 0, 0, words.words
		if words.counts {
			low, high, form = 1, maxAmount, fmt.Sprintf("%s 1-%d", words.words, maxAmount)
		}
		for n := low; n <= high; n++ {
			if effect := (Effect{Kind: kind, N: n}); effect.String() == text {
				return effect, nil
			}
		}
		known = append(known, form)
	}
	return Effect{}, fmt.Errorf("unknown effect %q; known here are: %s", text, strings.Join(known, ", "))
}
