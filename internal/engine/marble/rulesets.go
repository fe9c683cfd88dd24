package marble

import "github.com/avalanched/avalanched/internal/engine"

// The sources of the rules, and the editions.
const (
	parkerEdition   = "Parker Brothers, 1965"
	europeEdition   = "Parker Brothers, Europe, 1991"
	lakesideEdition = "Lakeside Games, 1976"
	parkerSource    = "Parker Brothers' game of 1965 by Frank W. Sinden, after public descriptions of its rules and of the patent."
	europeSource    = "Parker Brothers' European editions of the early 1990s, after public descriptions of them."
	lakesideSource  = "Lakeside's edition of 1976, after public descriptions of its three games."
	boardInAWord    = "Marbles go into one of six chutes, A to F. A gate stops a marble that comes down the lane it blocks, and flips when one passes on its other side; a flipping gate frees the marble that it holds. "
	fallEndsTheTurn = "A turn goes on until at least one marble falls out at the bottom. "
)

// variants are the rows of the table.
var variants = [...]Variant{
	{
		info: engine.Info{
			ID: "marble-basic", Number: 1, Title: "Avalanche, Basic Game", Edition: parkerEdition, MaxPlayers: 6,
			Source: parkerSource,
			HowToPlay: boardInAWord + "Each player has a card with nine colored holes. Drop marbles of any color from the trays. " +
				fallEndsTheTurn + "Those that match empty holes go on your card, the others back to the trays. Whoever fills the card first wins.",
			Decisions: append(boardDecisions(), trayDecision, cardDecision, passDecision),
		},
		colors: 3, perColor: 20, cards: twoColorCards,
		source: fromTrays, falls: toCardRestToTrays, goal: fullCard,
	},
	{
		info: engine.Info{
			ID: "marble-standard", Number: 2, Title: "Avalanche, Standard Game", Edition: parkerEdition, MaxPlayers: 6,
			Source: parkerSource,
			HowToPlay: boardInAWord + "Each player has a card with nine colored holes. " + fallEndsTheTurn +
				"You keep all marbles that fall: those that fit go on your card, the others are extras, which you must drop first in your next turn, before you take from the trays. " +
				"The first player's first turn ends after five drops at the latest. Whoever has a full card and no extras wins, even in the middle of a turn.",
			Decisions: append(boardDecisions(), trayDecision, cardDecision, passDecision,
				"A full card without extras wins at the end of a turn, and in the middle of one after a drop that stays up."),
		},
		colors: 3, perColor: 20, cards: twoColorCards,
		source: extrasThenTrays, openingLimit: 5, falls: toCardRestToHand, goal: fullCardNoExtras, winsInMidTurn: true,
		houseRules: []houseRule{openingLimitForAll},
	},
	{
		info: engine.Info{
			ID: "marble-expert-1", Number: 3, Title: "Avalanche, Expert Game I", Edition: parkerEdition, MaxPlayers: 6,
			Source: parkerSource,
			HowToPlay: boardInAWord + "The first player starts with 11 marbles, the others with 7. Drop your marbles until at least one falls or you have none left. " +
				"Fallen marbles are out of the game, but then you must take back all that the gates hold. Whoever has no marbles left wins.",
			Decisions: append(boardDecisions(), rotationDecision,
				"Marbles that are out of the game lie neither in a hand nor in a tray.",
				"A player takes back all held marbles, whoever dropped them, and no gate moves by that.",
				"A player whose last marble falls and who finds none held has no marbles left, and wins."),
		},
		colors: 3, perColor: 20, deal: dealing{first: 11, others: 7},
		source: ownMarbles, falls: outOfGame, goal: emptyHand, winsInMidTurn: true,
		houseRules: []houseRule{hangUp},
	},
	{
		info: engine.Info{
			ID: "marble-expert-2", Number: 4, Title: "Avalanche, Expert Game II", Edition: parkerEdition, MaxPlayers: 6,
			Source: parkerSource,
			HowToPlay: boardInAWord + "Everybody starts with three marbles of each color. Drop your own marbles until at least one falls; you keep all that fall. " +
				"Whoever holds five or more marbles of one color and none of another at the end of a turn wins.",
			Decisions: append(boardDecisions(), needDecision, choiceDecision),
		},
		colors: 3, perColor: 20, deal: dealing{each: [maxPlayers + 1]uint8{2: 3, 3: 3, 4: 3, 5: 3, 6: 3}},
		source: ownMarbles, falls: toHand, goal: fiveOfOneColor, needsMarbles: true,
		houseRules: []houseRule{exactlyFive},
	},
	{
		info: engine.Info{
			ID: "marble-sequence", Number: 5, Title: "Avalanche, sequence cards", Edition: europeEdition, MaxPlayers: 4,
			Source: europeSource,
			HowToPlay: boardInAWord + "Each player has a card whose nine holes are filled in the order of its arrows. Drop marbles of any color from the trays. " +
				fallEndsTheTurn + "They fill the next holes of your card as long as one of them fits; the others go back to the trays. Whoever fills the card first wins.",
			Decisions: append(boardDecisions(), trayDecision, passDecision,
				"The printed orders are not known to us: six fixed orders with three holes of each color stand for them, dealt at random.",
				"The fallen marbles are a set. The next hole takes its color as long as one is among them; filling stops at the first hole that none fits.",
				"The game is for up to four, because 45 marbles cannot fill more cards."),
		},
		colors: 3, perColor: 15, cards: sequenceCards, inOrder: true,
		source: fromTrays, falls: toCardRestToTrays, goal: fullCard,
		houseRules: []houseRule{freeOrder, passLeftovers},
	},
	{
		info: engine.Info{
			ID: "marble-oddball", Number: 6, Title: "Oddball", Edition: lakesideEdition, MaxPlayers: 4,
			Source: lakesideSource,
			HowToPlay: boardInAWord + "Everybody starts with nothing. Drop marbles of your own or from the trays. " + fallEndsTheTurn +
				"You keep all that fall. Whoever holds equally many marbles of all four colors at the end of a turn wins: at least 4 of each with two players, 3 with three, 2 with four.",
			Decisions: append(boardDecisions(), trayDecision, passDecision, "Three players need three of each color."),
		},
		colors: 4, perColor: 10,
		source: ownOrTrays, falls: toHand, goal: equalColors, equalEach: [maxPlayers + 1]uint8{2: 4, 3: 3, 4: 2},
	},
	{
		info: engine.Info{
			ID: "marble-hang-up", Number: 7, Title: "Hang-Up", Edition: lakesideEdition, MaxPlayers: 4,
			Source: lakesideSource,
			HowToPlay: boardInAWord + "The first player starts with 11 marbles, the others with 7. Drop your marbles until at least one falls, and take all that fall; " +
				"what the gates hold stays there. Whoever plays all marbles without a fall wins.",
			Decisions: append(boardDecisions(), rotationDecision),
		},
		colors: 4, perColor: 10, deal: dealing{first: 11, others: 7},
		source: ownMarbles, falls: toHand, goal: emptyHand, winsInMidTurn: true,
	},
	{
		info: engine.Info{
			ID: "marble-avalanche", Number: 8, Title: "Avalanche", Edition: lakesideEdition, MaxPlayers: 4,
			Source: lakesideSource,
			HowToPlay: boardInAWord + "Everybody starts with three marbles of each color, or two with four players. Drop your own marbles until at least one falls; you keep all that fall. " +
				"Whoever holds five or more marbles of one color and none of another at the end of a turn wins.",
			Decisions: append(boardDecisions(), needDecision, choiceDecision,
				"Four players get two marbles of each color, because the box has no more."),
		},
		colors: 4, perColor: 10, deal: dealing{each: [maxPlayers + 1]uint8{2: 3, 3: 3, 4: 2}},
		source: ownMarbles, falls: toHand, goal: fiveOfOneColor, needsMarbles: true,
		houseRules: []houseRule{exactlyFive},
	},
}

// Decisions that more than one ruleset needs.
const (
	trayDecision     = "A marble of your own is used before one of the same color from a tray. The color of an empty tray cannot be taken."
	cardDecision     = "There are six cards, one for each ordered pair of the three colors: six holes of the first and three of the second. They are dealt at random."
	passDecision     = "Whoever can drop nothing passes automatically. When all have passed in a row, the game is drawn."
	rotationDecision = "The starting marbles are dealt in color rotation, red, yellow, blue (and green), beginning with red for each player."
	needDecision     = "Whoever holds no marble when a drop is due is out at once; the last one left wins."
	choiceDecision   = "A player may pass at the start of a turn if no sequence of drops of the own marbles can make one fall. When all have passed in a row, the game is drawn."
)

// boardDecisions are those that all marble games share. Each call makes a new list, so
// that appending to one does not touch another.
func boardDecisions() []string {
	return []string{
		"The two lanes without a chute are the outermost; they are entered only by a shunt.",
		"The board has four rows of gates with 14 gates in all, unless the game's creator chooses 1 to 16 rows.",
		"A marble in motion runs until it stops or leaves the board; then the marble that was released last runs next.",
		"Seat 1 starts and play goes clockwise.",
		"A game is drawn when the 10,000th move is made.",
		"The marbles of a player who resigns, on the card too, are out of the game. The number of players that a rule asks for stays that of the start.",
	}
}
