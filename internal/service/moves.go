package service

import (
	"strconv"
	"strings"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/mancala"
	"github.com/avalanched/avalanched/internal/engine/marble"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

// parseMove reads a move of a request. Every kind of move has a text notation, so there
// is one way in: the typed kinds are written in it first.
func parseMove(ruleset engine.Ruleset, move *avalanchev1.Move) (engine.Move, error) {
	info := ruleset.Info()
	if family := familyOf(move); family != 0 && family != info.Family {
		// Its notation may mean something else in this game.
		return nil, engine.Refuse(engine.MoveMalformed, "%s has no moves of this kind; a move as text works in every game", info.ID)
	}
	return ruleset.ParseMove(notationOf(move))
}

// familyOf is the family of games that has a kind of move, 0 if all have it.
func familyOf(move *avalanchev1.Move) engine.Family {
	switch move.GetKind().(type) {
	case *avalanchev1.Move_Drop:
		return engine.Marble
	case *avalanchev1.Move_Sow:
		return engine.Mancala
	case *avalanchev1.Move_Card:
		return engine.ShiverPeak
	default:
		return 0
	}
}

func notationOf(move *avalanchev1.Move) string {
	switch kind := move.GetKind().(type) {
	case *avalanchev1.Move_Drop:
		return dropNotation(kind.Drop)
	case *avalanchev1.Move_Sow:
		return strconv.Itoa(int(kind.Sow.GetPit()))
	case *avalanchev1.Move_Card:
		return cardNotation(kind.Card)
	case *avalanchev1.Move_Pass:
		return engine.PassNotation
	case *avalanchev1.Move_Resign:
		return engine.ResignNotation
	default:
		return move.GetNotation()
	}
}

func dropNotation(drop *avalanchev1.MarbleDrop) string {
	return drop.GetChute().String() + colorNotation(drop.GetColor())
}

func colorNotation(color avalanchev1.Marble_Color) string {
	return strings.ToLower(color.String()[:1])
}

func cardNotation(card *avalanchev1.CardAction) string {
	action := strings.ToLower(card.GetAction().String())
	if card.GetTarget() != 0 {
		action += " " + strconv.Itoa(int(card.GetTarget()))
	}
	return action
}

// legalMoveMessages shows the legal moves of a game, each with what it would do where
// that can be told without chance.
func legalMoveMessages(game engine.Game) []*avalanchev1.LegalMove {
	moves := game.LegalMoves()
	messages := make([]*avalanchev1.LegalMove, len(moves))
	for i, move := range moves {
		messages[i] = &avalanchev1.LegalMove{
			Notation:       move.String(),
			Move:           moveMessage(move),
			Preview:        preview(game.Position, move),
			SuccessPercent: successPercent(game.Position, move),
		}
	}
	return messages
}

// preview shows what a legal move would do, in games where that is told.
func preview(position engine.Position, move engine.Move) *avalanchev1.SowingSummary {
	if p, ok := position.(mancala.Position); ok {
		if m, ok := move.(mancala.Move); ok {
			return mancalaPreview(p, m)
		}
	}
	return nil
}

// moveMessage is a move in fields.
func moveMessage(move engine.Move) *avalanchev1.Move {
	if move.String() == engine.PassNotation {
		return &avalanchev1.Move{Kind: &avalanchev1.Move_Pass{Pass: &avalanchev1.Pass{}}}
	}
	switch move := move.(type) {
	case marble.Move:
		return marbleMoveMessage(move)
	case mancala.Move:
		return mancalaMoveMessage(move)
	case shiverpeak.Move:
		return shiverPeakMoveMessage(move)
	default:
		return &avalanchev1.Move{Kind: &avalanchev1.Move_Notation{Notation: move.String()}}
	}
}
