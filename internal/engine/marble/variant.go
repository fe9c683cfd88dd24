package marble

import "github.com/avalanched/avalanched/internal/engine"

// Variant is one ruleset: a row of parameters by which Position plays.
type Variant struct {
	// info lacks what is the same for all variants; see Info.
	info engine.Info
	// colors is the number of colors and perColor the marbles of each in the box.
	colors, perColor int
	// cards is the set from which each player gets one, nil in games without cards.
	cards *cardSet
	// inOrder tells that holes are filled only in the order printed on the card.
	inOrder bool
	// deal is the number of marbles that seats get at the start.
	deal dealing
	// source is where the marbles that a turn drops come from.
	source source
	// openingLimit ends the first turn of seat 1 after so many drops; 0 sets no limit.
	openingLimit uint8
	// falls is what becomes of the marbles that fall in a turn.
	falls falls
	// goal is what wins the game at the end of a turn.
	goal goal
	// equalEach is how many marbles of each color the goal equalColors needs at least, by
	// number of players.
	equalEach [maxPlayers + 1]uint8
	// winsInMidTurn tells that the goal also wins when it is reached by a drop that
	// stays up.
	winsInMidTurn bool
	// needsMarbles tells that a player who has no marble when a drop is due is out, and
	// that one whose marbles cannot make any fall may pass.
	needsMarbles bool
	// houseRules are those that the ruleset offers.
	houseRules []houseRule
}

// dealing says which marbles are dealt at the start.
type dealing struct {
	// first and others are the numbers of marbles, dealt in color rotation.
	first, others int
	// each is the number of marbles of each color, by number of players.
	each [maxPlayers + 1]uint8
}

// source is where the marbles of a turn come from.
type source uint8

const (
	fromTrays source = iota
	extrasThenTrays
	ownMarbles
	ownOrTrays
)

// falls is what becomes of fallen marbles.
type falls uint8

const (
	toCardRestToTrays falls = iota
	toCardRestToHand
	toHand
	// outOfGame: the fallen ones leave the game and the player takes back the held ones.
	outOfGame
)

// goal is what wins a game.
type goal uint8

const (
	fullCard goal = iota
	fullCardNoExtras
	emptyHand
	fiveOfOneColor
	equalColors
)

// ending is how the API names a game that was won by the goal.
func (g goal) ending() engine.Ending {
	return [...]engine.Ending{
		fullCard:         engine.CardFull,
		fullCardNoExtras: engine.CardFull,
		emptyHand:        engine.NoMarblesLeft,
		fiveOfOneColor:   engine.OneColor,
		equalColors:      engine.EqualColors,
	}[g]
}

// houseRule is a variation of the rules, a bit in Position.rules.
type houseRule uint8

const (
	openingLimitForAll houseRule = 1 << iota
	exactlyFive
	hangUp
	freeOrder
	passLeftovers
)

var houseRuleInfo = map[houseRule]engine.HouseRule{
	openingLimitForAll: {
		ID:      "opening_limit_for_all",
		Summary: "The first turn of every player, not only of the first, also ends after its 5th drop.",
	},
	exactlyFive: {
		ID:      "exactly_five",
		Summary: "Only exactly five marbles of one color, and none of another, win.",
	},
	hangUp: {
		ID:      "hang_up",
		Summary: "The player takes the fallen marbles; the held ones stay on the board.",
	},
	freeOrder: {
		ID:      "free_order",
		Summary: "The holes of a card may be filled in any order.",
	},
	passLeftovers: {
		ID: "pass_leftovers",
		Summary: "Marbles that the player cannot use are offered to the following players in turn, who take all that fit; " +
			"whoever fills a card first wins alone.",
	},
}

// minPlayers is the number of seats that every variant needs, maxPlayers that of the
// largest editions.
const (
	minPlayers = 2
	maxPlayers = 6
)

// Rulesets lists all marble rulesets.
func Rulesets() []engine.Ruleset {
	rulesets := make([]engine.Ruleset, len(variants))
	for i := range variants {
		rulesets[i] = &variants[i]
	}
	return rulesets
}

// Info implements engine.Ruleset.
func (v *Variant) Info() engine.Info {
	info := v.info
	info.Version = 1
	info.Family = engine.Marble
	info.MinPlayers = minPlayers
	for _, rule := range v.houseRules {
		info.HouseRules = append(info.HouseRules, houseRuleInfo[rule])
	}
	return info
}

// Colors is the number of colors of the edition.
func (v *Variant) Colors() int { return v.colors }

// PerColor is the number of marbles of each color in the box.
func (v *Variant) PerColor() int { return v.perColor }

// box is all marbles of the edition.
func (v *Variant) box() Marbles {
	var box Marbles
	for c := range v.colors {
		box += some(Color(c), v.perColor)
	}
	return box
}
