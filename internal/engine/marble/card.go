package marble

// cardHoles is the number of holes of a card.
const cardHoles = 9

// cardsPerSet is the number of different cards in the box.
const cardsPerSet = 6

// layout is what is printed on a card.
type layout struct {
	holes [cardHoles]Color
	// rank tells how many holes before this one have its color.
	rank [cardHoles]uint8
	// count is the number of holes of each color.
	count Marbles
}

// cardSet is the cards of an edition.
type cardSet [cardsPerSet]layout

func newCardSet(cards ...string) *cardSet {
	var set cardSet
	for i, card := range cards {
		for hole := range cardHoles {
			color, _ := parseColor(card[hole])
			set[i].holes[hole] = color
			set[i].rank[hole] = uint8(set[i].count.Of(color))
			set[i].count += some(color, 1)
		}
	}
	return &set
}

var (
	// twoColorCards are the six cards of 1965: every ordered pair of the three colors,
	// with six holes of the first and three of the second. How the holes are arranged
	// on the cards has no meaning for the game.
	twoColorCards = newCardSet(
		"rryrryrry", "rrbrrbrrb",
		"yyryyryyr", "yybyybyyb",
		"bbrbbrbbr", "bbybbybby",
	)
	// sequenceCards are the six cards of 1991, three holes of each color. The printed
	// orders are not known; these let each color begin on two cards and end on two.
	sequenceCards = newCardSet(
		"rybybrbry", "rbybyryrb",
		"ybrbryryb", "yrbrbybyr",
		"bryrybybr", "byryrbrby",
	)
)

// Card is a player's card as it lies on the table.
type Card struct {
	Holes [cardHoles]struct {
		Color  Color
		Filled bool
	}
}

// String lists the holes in the order printed on the card, the filled ones in upper
// case: "RRYrryrry".
func (c *Card) String() string {
	var text [cardHoles]byte
	for i, hole := range c.Holes {
		text[i] = colorLetters[hole.Color]
		if hole.Filled {
			text[i] -= 'a' - 'A'
		}
	}
	return string(text[:])
}

// fitting is what of some marbles has room on an empty card, in any order.
func (l *layout) fitting(marbles Marbles) Marbles { return marbles.atMost(l.count) }

// filledInOrder tells whether the filled holes are the first ones of the card.
func (l *layout) filledInOrder(filled Marbles) bool {
	open := false
	for hole, color := range l.holes {
		isFilled := int(l.rank[hole]) < filled.Of(color)
		if isFilled && open {
			return false
		}
		open = open || !isFilled
	}
	return true
}

// card shows a layout whose holes are filled with so many marbles of each color,
// always the first holes of a color first.
func (l *layout) card(filled Marbles) *Card {
	card := &Card{}
	for i, color := range l.holes {
		card.Holes[i].Color = color
		card.Holes[i].Filled = int(l.rank[i]) < filled.Of(color)
	}
	return card
}
