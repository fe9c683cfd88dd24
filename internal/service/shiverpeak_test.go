package service

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

// TestShiverPeakNamesAgree compares the names that the engine and the API give to the same
// things, which are converted by number.
func TestShiverPeakNamesAgree(t *testing.T) {
	for _, enum := range []struct {
		descriptor protoreflect.EnumDescriptor
		// names lists the engine's words, from number 1.
		names []string
	}{
		{
			avalanchev1.CardAction_Action(0).Descriptor(),
			words(shiverpeak.Reveal, shiverpeak.Avoid, shiverpeak.Face, shiverpeak.Keep, shiverpeak.Target),
		},
		{avalanchev1.ShiverPeakGame_Direction(0).Descriptor(), words(shiverpeak.Clockwise, shiverpeak.CounterClockwise)},
		{avalanchev1.ShiverPeakCard_Kind(0).Descriptor(), words(shiverpeak.Encounter, shiverpeak.Bonus, shiverpeak.Avalanche)},
		{
			avalanchev1.DieRolled_Purpose(0).Descriptor(),
			words(shiverpeak.ForTurnOrder, shiverpeak.ToAvoid, shiverpeak.ToFace, shiverpeak.ToKeep, shiverpeak.ForDirection),
		},
		{avalanchev1.LivesChanged_Reason(0).Descriptor(), words(shiverpeak.ByEffect, shiverpeak.ByFailure, shiverpeak.ByPayment)},
		{
			avalanchev1.DieRolled_Parity(0).Descriptor(),
			words(shiverpeak.Need{Parity: shiverpeak.Odd}, shiverpeak.Need{Parity: shiverpeak.Even}),
		},
	} {
		if n := enum.descriptor.Values().Len() - 1; n != len(enum.names) {
			t.Errorf("%s has %d values in the API and %d in the engine", enum.descriptor.FullName(), n, len(enum.names))
			continue
		}
		for i, name := range enum.names {
			if got := string(enum.descriptor.Values().ByNumber(protoreflect.EnumNumber(i + 1)).Name()); got != name {
				t.Errorf("%s: %d is %s in the API and %s in the engine", enum.descriptor.FullName(), i+1, got, name)
			}
		}
	}
	for kind, want := range map[shiverpeak.TestKind]avalanchev1.FaceTest_Kind{
		shiverpeak.RollAtLeast: avalanchev1.FaceTest_ROLL_AT_LEAST, shiverpeak.RollOdd: avalanchev1.FaceTest_ROLL_ODD,
		shiverpeak.RollEven: avalanchev1.FaceTest_ROLL_EVEN, shiverpeak.PayLives: avalanchev1.FaceTest_PAY_LIVES,
		shiverpeak.EitherOfTwo: avalanchev1.FaceTest_EITHER_OF_TWO, shiverpeak.BothOfTwo: avalanchev1.FaceTest_BOTH_OF_TWO,
		shiverpeak.SumOfTwo: avalanchev1.FaceTest_SUM_OF_TWO, shiverpeak.RollUpToLives: avalanchev1.FaceTest_ROLL_UP_TO_LIVES,
		shiverpeak.RollWithActive: avalanchev1.FaceTest_ROLL_WITH_ACTIVE,
	} {
		if avalanchev1.FaceTest_Kind(kind) != want {
			t.Errorf("test %d is not %v", kind, want)
		}
	}
	for kind, want := range map[shiverpeak.EffectKind]avalanchev1.CardEffect_Kind{
		shiverpeak.GainLives: avalanchev1.CardEffect_GAIN_LIVES, shiverpeak.GainPerActive: avalanchev1.CardEffect_GAIN_PER_ACTIVE,
		shiverpeak.RevealAgain: avalanchev1.CardEffect_REVEAL_AGAIN, shiverpeak.FinishActive: avalanchev1.CardEffect_FINISH_ACTIVE,
		shiverpeak.RivalsLoseLives: avalanchev1.CardEffect_RIVALS_LOSE_LIVES, shiverpeak.RivalLosesLives: avalanchev1.CardEffect_RIVAL_LOSES_LIVES,
		shiverpeak.RivalSkips: avalanchev1.CardEffect_RIVAL_SKIPS, shiverpeak.RivalLosesFinished: avalanchev1.CardEffect_RIVAL_LOSES_FINISHED,
		shiverpeak.LoseLives: avalanchev1.CardEffect_LOSE_LIVES, shiverpeak.SkipTurn: avalanchev1.CardEffect_SKIP_TURN,
		shiverpeak.DropActive: avalanchev1.CardEffect_DROP_ACTIVE, shiverpeak.LoseFinished: avalanchev1.CardEffect_LOSE_FINISHED,
	} {
		if avalanchev1.CardEffect_Kind(kind) != want {
			t.Errorf("effect %d is not %v", kind, want)
		}
	}
	for kind, want := range map[shiverpeak.PileKind]avalanchev1.CardPile_Kind{
		shiverpeak.RevealedPile: avalanchev1.CardPile_REVEALED, shiverpeak.DiscardPile: avalanchev1.CardPile_DISCARD,
		shiverpeak.ActivePile: avalanchev1.CardPile_ACTIVE, shiverpeak.PassedPile: avalanchev1.CardPile_PENDING,
		shiverpeak.FinishedPile: avalanchev1.CardPile_FINISHED,
	} {
		if avalanchev1.CardPile_Kind(kind) != want {
			t.Errorf("pile %d is not %v", kind, want)
		}
	}
}

// words are the engine's words in the spelling of the API.
func words[T interface{ String() string }](values ...T) []string {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = strings.ReplaceAll(strings.ToUpper(value.String()), " ", "_")
	}
	return names
}

// TestShiverPeakEvents plays games and checks that no event is lost: each message says
// what happened, and every kind of event occurs.
func TestShiverPeakEvents(t *testing.T) {
	seen := map[protoreflect.Name]int{}
	for seed := range engine.Seeded(60) {
		chance := seed.Next()
		position, events, err := shiverpeak.Ruleset().Start(engine.Setup{Players: 3 + int(seed)%6}, chance)
		if err != nil {
			t.Fatal(err)
		}
		for {
			for i, message := range eventMessages(events) {
				kind := message.ProtoReflect().WhichOneof(message.ProtoReflect().Descriptor().Oneofs().ByName("kind"))
				if kind == nil {
					t.Fatalf("%v has no message", events[i])
				}
				seen[kind.Name()]++
			}
			legal := position.LegalMoves()
			if len(legal) == 0 {
				break
			}
			chance = chance.Next()
			var move engine.Move = shiverpeak.Move{Action: shiverpeak.Resign}
			if pick := chance.Draw("pick", 0, 300*len(legal)); pick > 0 {
				move = legal[pick%len(legal)]
			}
			if position, events, err = position.Apply(move, chance); err != nil {
				t.Fatal(err)
			}
		}
	}
	kinds := (&avalanchev1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	for i := range kinds.Len() {
		kind := kinds.Get(i)
		if inFile := kind.Message().ParentFile().Path(); strings.HasSuffix(inFile, "/shiver_peak.proto") && seen[kind.Name()] == 0 {
			t.Errorf("no %s in any game: %v", kind.Name(), seen)
		}
	}
}

// TestDeckMessage checks that a client can print every card.
func TestDeckMessage(t *testing.T) {
	service := newService(t)
	got, err := service.GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{Ruleset: "shiver-peak"})
	if err != nil {
		t.Fatal(err)
	}
	deck := got.GetRuleset().GetShiverPeak().GetDeck()
	if len(deck) != shiverpeak.Cards {
		t.Fatalf("the deck has %d cards", len(deck))
	}
	for _, card := range deck {
		encounter := card.GetKind() == avalanchev1.ShiverPeakCard_ENCOUNTER
		if card.GetName() == "" || card.GetFlavor() == "" || encounter != (card.Rating != nil) || encounter != (card.GetFace().GetText() != "") ||
			encounter != (len(card.GetFailure()) > 0) || (card.GetKind() == avalanchev1.ShiverPeakCard_AVALANCHE) != (len(card.GetSuccess()) == 0) {
			t.Errorf("card %v", card)
		}
		for _, effect := range append(card.GetSuccess(), card.GetFailure()...) {
			if effect.GetText() == "" || !strings.HasSuffix(effect.GetText(), ".") {
				t.Errorf("card %s has the effect %v", card.GetCard(), effect)
			}
		}
	}
	listed, err := service.ListRulesets(t.Context(), &avalanchev1.ListRulesetsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ruleset := range listed.GetRulesets() {
		if len(ruleset.GetShiverPeak().GetDeck()) > 0 {
			t.Error("the list of rulesets repeats the deck")
		}
	}
}
