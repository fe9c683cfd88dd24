package shiverpeak

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDeck(t *testing.T) {
	kinds := make(map[Kind]int)
	names := make(map[Kind]map[string]bool)
	ratings := make(map[int]bool)
	tests := make(map[TestKind]bool)
	effects := make(map[EffectKind]bool)
	for i, card := range Deck() {
		if card.ID != ID(i+1) || card.ID.Card().Name != card.Name || card.ID.Kind() != card.Kind {
			t.Errorf("card %d is %+v", i+1, card)
		}
		kinds[card.Kind]++
		if names[card.Kind] == nil {
			names[card.Kind] = make(map[string]bool)
		}
		names[card.Kind][card.Name] = true
		if card.Kind == Encounter {
			ratings[card.Rating], tests[card.Face.Kind] = true, true
		}
		for _, effect := range slices.Concat(card.Success, card.Failure) {
			effects[effect.Kind] = true
		}
	}
	if kinds[Encounter] != 36 || kinds[Bonus] != 12 || kinds[Avalanche] != 6 || len(names[Encounter]) < 18 || len(ratings) != 5 {
		t.Errorf("the deck has %v, %d names of Encounters, ratings %v", kinds, len(names[Encounter]), ratings)
	}
	if len(tests) != len(testWords)-1 || len(effects) != len(effectWords)-1 {
		t.Errorf("the deck uses only the tests %v and the effects %v", tests, effects)
	}
	deck := Deck()
	if deck[0].Name = "changed"; Deck()[0].Name == "changed" {
		t.Error("the deck can be changed from outside")
	}
}

func TestIDs(t *testing.T) {
	for id := ID(1); id <= Cards; id++ {
		if again, ok := parseID(id.String()); !ok || again != id {
			t.Errorf("%d is %v, which reads as %d", id, id, again)
		}
	}
	for id, want := range map[ID]string{0: "-", 1: "E01", 36: "E36", 37: "B01", 48: "B12", 49: "A01", 54: "A06", 55: "-", 255: "-"} {
		if id.String() != want {
			t.Errorf("%d is %v, want %s", uint8(id), id, want)
		}
	}
	for _, code := range []string{"", "E", "E1", "E00", "E37", "B13", "B00", "A07", "C01", "e01", "E1x", "Ex1", "E001", "-", "E0\xff"} {
		if id, ok := parseID(code); ok {
			t.Errorf("%q reads as %v", code, id)
		}
	}
}

// TestDeckMistakes breaks the deck file in one place at a time.
func TestDeckMistakes(t *testing.T) {
	if _, err := parseDeck(deckFile); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		old, replaced, want string
		// at begins the line that the error names, if not what was replaced.
		at string
	}{
		"unknown effect":       {"  success reveal\n", "  success revel\n", `unknown effect "revel"; known here are: gain 1-3, gain per active, reveal`, ""},
		"harm as success":      {"  success reveal\n", "  success skip\n", `unknown effect "skip"`, ""},
		"help as failure":      {"  failure lose finished, skip\n", "  failure gain 1\n", `unknown effect "gain 1"; known here are: lose 1-3`, ""},
		"too many lives":       {"  effect  gain 3, reveal\n", "  effect  gain 4, reveal\n", `unknown effect "gain 4"`, ""},
		"no lives":             {"  effect  gain 3, reveal\n", "  effect  gain 0\n", `unknown effect "gain 0"`, ""},
		"spaced effect":        {"  effect  gain 3, reveal\n", "  effect  gain 3,reveal\n", `unknown effect "gain 3,reveal"`, ""},
		"empty effect":         {"  effect  gain 3, reveal\n", "  effect\n", `unknown effect ""`, ""},
		"effect twice":         {"  effect  gain 3, reveal\n", "  effect  gain 3, gain 2\n", `"gain" is there twice`, ""},
		"target in the middle": {"  effect  gain 2, reveal, rival loses 1\n", "  effect  rival loses 1, reveal\n", `"rival loses 1" names a rival and must be the last effect`, ""},
		"many effects":         {"  effect  gain 2, reveal, rival loses 1\n", "  effect  gain 1, gain per active, reveal, finish active\n", "4 effects are more than 3", ""},
		"unknown test":         {"  face    roll even\n", "  face    roll prime\n", `unknown face test "roll prime"; known are: roll 2-6, roll odd, roll even, pay 1-3`, ""},
		"easy test":            {"  face    roll even\n", "  face    roll 1\n", `unknown face test "roll 1"`, ""},
		"rating 1":             {"Leaning Pine (3)", "Leaning Pine (1)", `rating "1" is not a number from 2 to 6`, ""},
		"rating 7":             {"Leaning Pine (3)", "Leaning Pine (7)", `rating "7" is not a number from 2 to 6`, ""},
		"rating x":             {"Leaning Pine (3)", "Leaning Pine (x)", `rating "x" is not a number from 2 to 6`, ""},
		"no rating":            {"Leaning Pine (3)", "Leaning Pine", `the rating is missing: write it as "Leaning Pine (4)"`, ""},
		"no name":              {"E01 E02 Leaning Pine (3)", "E01 E02 (3)", "the rating is missing", ""},
		"bonus without name":   {"B11 Well-Aimed Snowball", "B11", "a card needs a name", ""},
		"long name":            {"Leaning Pine", strings.Repeat("Pine", 9), "a card needs a name of at most 32 bytes", ""},
		"name twice":           {"Thin Lake Ice", "Leaning Pine", "is taken by the card of line 17", "E26 E27"},
		"no ID":                {"E01 E02 Leaning Pine (3)", "Leaning Pine (3)", "does not begin with a card's ID", ""},
		"ID too high":          {"E35 E36 Snowball", "E35 E37 Snowball", "card E36 is missing", "  flavor  Shiver Peak"},
		"two kinds":            {"B08 B09 Tow", "B08 A01 Tow", "B08 and A01 are cards of different kinds", ""},
		"ID twice":             {"B08 B09 Tow", "B08 B01 Tow", "B01 is there twice", ""},
		"ID twice in a line":   {"B08 B09 Tow", "B08 B08 Tow", "B08 is there twice", ""},
		"missing ID":           {"B08 B09 Tow", "B08 Tow", "card B09 is missing", "  flavor  Shiver Peak"},
		"missing flavor":       {"  flavor  Nobody has ever seen it twice.\n", "", "Hidden Tree Stump lacks its flavor", "E20 E21"},
		"empty flavor":         {"  flavor  Nobody has ever seen it twice.\n", "  flavor\n", "the flavor is a sentence with a period", ""},
		"unfinished flavor":    {"ever seen it twice.\n", "ever seen it twice\n", "the flavor is a sentence with a period", ""},
		"long flavor":          {"ever seen it twice.\n", strings.Repeat("ever ", 30) + ".\n", "of at most 120 bytes", ""},
		"missing face":         {"  face    roll even\n", "", "Rotten Snow Bridge lacks its face test", "E07 E08"},
		"missing success":      {"  success rival skips\n", "", "Rotten Snow Bridge lacks its success", "E07 E08"},
		"missing failure":      {"  failure drop active, lose 1, skip\n", "", "Snowball Gang lacks its failure", "E35 E36"},
		"missing effect":       {"  effect  gain 2, reveal, rival loses 1\n", "", "Well-Aimed Snowball lacks its effect", "B11"},
		"face twice":           {"  face    roll even\n", "  face    roll even\n  face    both of two 3\n", `"face" is unknown here or there twice; this card has: flavor, face, success, failure`, "  face    both of two 3"},
		"bonus with a face":    {"  effect  gain 2, reveal, rival loses 1\n", "  face    roll odd\n", `"face" is unknown here or there twice; this card has: flavor, effect`, ""},
		"avalanche effect":     {"  flavor  Shiver Peak has shivered.\n", "  flavor  Shiver Peak has shivered.\n  effect  gain 1\n", `this card has: flavor`, "  effect  gain 1"},
		"avalanche unflavored": {"  flavor  Shiver Peak has shivered.\n", "", "The Whole Mountain lacks its flavor", "A05 A06"},
		"unknown line":         {"  face    roll even\n", "  fase    roll even\n", `"fase" is unknown here`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(deckFile, test.old) {
				t.Fatalf("the deck has no %q", test.old)
			}
			broken := strings.Replace(deckFile, test.old, test.replaced, 1)
			_, err := parseDeck(broken)
			var mistake *deckError
			if !errors.As(err, &mistake) || !strings.Contains(mistake.message, test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			at := strings.Index(deckFile, test.old)
			if test.at != "" {
				at = strings.LastIndex(broken, test.at)
			}
			line := strings.Count(broken[:at], "\n") + 1
			if want := fmt.Sprintf("deck.txt:%d: %s", line, mistake.message); err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
		})
	}
	if _, err := parseDeck("  flavor First.\n"); err == nil || err.Error() != "deck.txt:1: a card begins with its IDs and name at the start of a line" {
		t.Errorf("a card without a head: %v", err)
	}
	if _, err := parseDeck(""); err == nil || !strings.Contains(err.Error(), "card E01 is missing") {
		t.Errorf("no cards: %v", err)
	}
}

func TestBrokenDeckPanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !strings.HasPrefix(err.Error(), "deck.txt:1: ") {
			t.Errorf("a broken deck gives %v", err)
		}
	}()
	mustParseDeck("X01 Nothing")
}
