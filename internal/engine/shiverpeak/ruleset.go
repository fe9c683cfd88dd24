// Package shiverpeak plays Avalanche, the card game of skiers racing down Shiver
// Peak: a push-your-luck game for three to eight with one die and a deck of
// Encounters, Bonuses and Avalanches. The rules come from a game design forum;
// the deck, which the source lacks, is this package's own and stands in deck.txt.
package shiverpeak

import (
	"github.com/avalanched/avalanched/internal/engine"
)

// Ruleset is the card game's ruleset.
func Ruleset() engine.Ruleset { return ruleset{} }

type ruleset struct{}

// Info implements engine.Ruleset.
func (ruleset) Info() engine.Info {
	return engine.Info{
		ID:         "shiver-peak",
		Number:     32,
		Version:    1,
		Family:     engine.ShiverPeak,
		Title:      "Avalanche: Shiver Peak",
		MinPlayers: MinPlayers,
		MaxPlayers: MaxPlayers,
		HowToPlay: "You ski down Shiver Peak with five lives and one die. On your turn reveal a card. " +
			"A Bonus helps you at once. An Encounter you avoid (roll its rating or more; if you fail, it strikes), " +
			"face (do what the card asks: overcome, it joins your finished pile and rewards you; if you fail, it costs a life and strikes) " +
			"or keep (roll its rating or more and it stays open before you, two at most; if you fail, it costs a life and strikes). " +
			"An Avalanche passes everybody's kept Encounters on to a neighbor, who must avoid or face them. " +
			"Without lives you can only face. " +
			"The first to finish enough Encounters wins: eight with three players, seven with four, six with more.",
		Source: "A card game called Avalanche, published as rules without cards in a game design forum's winter contest. The cards are this project's own.",
		Decisions: []string{
			"The deck has 54 cards: 36 Encounters, 12 Bonuses and 6 Avalanches.",
			"Only the players tied for the highest roll roll again for the first turn.",
			"Lives are capped at nine.",
			"The game is won the moment a finished pile is large enough, in the middle of an Avalanche too. The card that ends the game has no more effects.",
			"An Avalanche rolls for its direction even when nobody has an active Encounter.",
			"Encounters are passed to the nearest neighbor still in the game, and are nobody's active ones until they have been dealt with.",
			"Two Encounters passed on together are dealt with in the order in which they were kept.",
			"A player without lives who meets an Encounter that costs lives discards it without a move and without its negative effect, and an Avalanche goes on with the next passed on; one with too few lives can only avoid or keep it.",
			"A failed attempt first costs its life, if there is one, then comes the negative effect, then the card is discarded.",
			"An effect on a rival of your choice can only be aimed at rivals whom it would do something to; with one such rival it needs no choice, with none it lapses.",
			"Effects on an active Encounter concern the one kept first. A lost finished Encounter is drawn at random and discarded.",
			"An extra reveal is taken when the player's turn ends; earned in another player's turn it waits for the end of the player's next one. A skipped turn is none, and the extra reveal waits on. Neither extra reveals nor skipped turns add up.",
			"An empty draw pile is filled with the discard pile when the next card is revealed.",
			"When every Encounter is in a finished pile, the player with the most of them wins and a tie is a draw.",
			"A player who resigns discards active and passed Encounters and the card being dealt with, and an Avalanche that she revealed goes on for the others; her finished ones stay out of play, and the number needed to win stays as it was.",
		},
		ChanceInMoves: true,
	}
}

// Start implements engine.Ruleset. Everybody rolls a die, those who tie for the
// highest roll again, and the winner begins, unless a position is given.
func (r ruleset) Start(setup engine.Setup, chance engine.Chance) (engine.Position, []engine.Event, error) {
	switch {
	case len(setup.HouseRules) > 0:
		return nil, nil, engine.RefuseField(engine.OptionUnsupported, "houseRules", "shiver-peak has no house rules")
	case setup.Board != "":
		return nil, nil, engine.RefuseField(engine.OptionUnsupported, "board", "shiver-peak is a card game and has no board; give a position instead")
	case setup.Rows != 0:
		return nil, nil, engine.RefuseField(engine.OptionUnsupported, "rows", "shiver-peak is a card game and has no gate rows")
	case setup.Stones != 0:
		return nil, nil, engine.RefuseField(engine.OptionUnsupported, "stones", "shiver-peak is a card game and has no stones")
	case setup.Position != "":
		return r.startGiven(setup)
	case setup.Players < MinPlayers || setup.Players > MaxPlayers:
		return nil, nil, engine.RefusePlayers(setup.Players, "shiver-peak", MinPlayers, MaxPlayers)
	}
	g := &play{Position: newPosition(setup.Players), chance: chance}
	g.turn = int8(g.rollForFirst())
	g.emit(TurnStarted{Seat: int(g.turn) + 1})
	return g.Position, g.events, nil
}

// startGiven starts from a position that the creator wrote down.
func (r ruleset) startGiven(setup engine.Setup) (engine.Position, []engine.Event, error) {
	position, err := r.ParsePosition(setup.Position, nil)
	switch {
	case err != nil:
		return nil, nil, err
	case setup.Players != 0 && setup.Players != position.Players():
		return nil, nil, engine.RefuseField(engine.PlayersOutOfRange, "players", "the position has %d seats, not %d; leave players out", position.Players(), setup.Players)
	case position.Outcome().Over():
		return nil, nil, engine.RefuseField(engine.PositionInconsistent, "position", "the position is finished; a game starts from one that is not")
	}
	given := position.(Position)
	return given, []engine.Event{TurnStarted{Seat: int(given.turn) + 1}}, nil
}

// newPosition is the table before the first roll: all cards in the draw pile.
func newPosition(players int) Position {
	p := Position{players: int8(players)}
	for i := range players {
		p.seats[i].lives = StartLives
	}
	return p
}

// maxTieBreaks bounds the rolls for the first turn. So many ties in a row do not
// happen with dice; they do with a chance that always answers the same.
const maxTieBreaks = 64

// rollForFirst rolls for the turn order and returns the seat that begins.
func (g *play) rollForFirst() int {
	tied := make([]int, g.Players())
	for i := range tied {
		tied[i] = i
	}
	rolled := 0
	for range maxTieBreaks {
		var (
			highest int
			best    []int
		)
		for _, seat := range tied {
			die := g.roll(ForTurnOrder, rolled, seat, Need{})
			rolled++
			if die > highest {
				highest, best = die, nil
			}
			if die == highest {
				best = append(best, seat)
			}
		}
		if tied = best; len(tied) == 1 {
			break
		}
	}
	return tied[0]
}

// ParseMove implements engine.Ruleset.
func (ruleset) ParseMove(notation string) (engine.Move, error) {
	move, err := parseMove(notation)
	if err != nil {
		return nil, err
	}
	return move, nil
}

// ParsePosition implements engine.Ruleset.
func (ruleset) ParsePosition(text string, houseRules []string) (engine.Position, error) {
	if len(houseRules) > 0 {
		return nil, engine.RefuseField(engine.OptionUnsupported, "houseRules", "shiver-peak has no house rules")
	}
	position, err := parsePosition(text)
	if err != nil {
		return nil, engine.RefuseField(err.Reason, "position", "%s", err.Message)
	}
	return position, nil
}

// Unpack implements engine.Ruleset.
func (ruleset) Unpack(packed []byte) (engine.Position, error) {
	position, err := unpack(packed)
	if err != nil {
		return nil, err
	}
	return position, nil
}
