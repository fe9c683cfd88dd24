package marble

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

// keepLaws plays on from a position at random and checks at every ply that text and bytes
// read back, that no marble is lost, and that the listed moves are those accepted.
func keepLaws(t *testing.T, p Position, seed engine.Seeded) {
	t.Helper()
	for range 12 {
		checkSpellings(t, p)
		if got, want := inventory(p), p.variant.box(); got != want {
			t.Fatalf("%v holds %v, the box %v", p, got, want)
		}
		legal := p.AppendLegal(nil)
		if p.over() != (len(legal) == 0) {
			t.Fatalf("%v lists %v", p, legal)
		}
		for move := range Resign + 1 {
			_, err := p.Play(move, nil)
			if accepted := slices.Contains(legal, move) || move == Resign && !p.over(); accepted != (err == nil) {
				t.Fatalf("%v lists %v and answers %v with %v", p, legal, move, err)
			}
		}
		if p.over() {
			return
		}
		seed = seed.Next()
		if seed.Draw("resign", 0, 10) == 0 {
			legal = []Move{Resign}
		}
		var err error
		if p, err = p.Play(legal[seed.Draw("move", 0, len(legal))], nil); err != nil {
			t.Fatal(err)
		}
	}
}

// checkSpellings checks that a position's text and bytes read back as itself.
func checkSpellings(t *testing.T, p Position) {
	t.Helper()
	unpacked, err := p.variant.Unpack(p.AppendPacked(nil))
	if err != nil || unpacked != p {
		t.Fatalf("%v unpacks to %v, %v", p, unpacked, err)
	}
	parsed, err := p.variant.parsePosition(p.String(), p.rules)
	if err != nil || parsed != p {
		t.Fatalf("%v parses to %v, %v", p, parsed, err)
	}
}

// numbered is a ruleset by its number; numbers beyond the last one begin anew.
func numbered(number uint8) *Variant {
	return &variants[(int(number)+len(variants)-1)%len(variants)]
}

func FuzzUnpack(f *testing.F) {
	for _, position := range samplePositions(f) {
		f.Add(position.variant.info.Number, position.AppendPacked(nil), uint64(1))
	}
	f.Fuzz(func(t *testing.T, number uint8, packed []byte, seed uint64) {
		v := numbered(number)
		position, err := v.Unpack(packed)
		if err != nil {
			requireRefusal(t, err)
			return
		}
		if again := position.AppendPacked(nil); string(again) != string(packed) {
			t.Fatalf("%x unpacks to %v, which packs to %x", packed, position, again)
		}
		keepLaws(t, position.(Position), engine.Seeded(seed))
	})
}

func FuzzParsePosition(f *testing.F) {
	for _, position := range samplePositions(f) {
		f.Add(position.variant.info.Number, uint8(position.rules), position.String(), uint64(1))
	}
	paths, err := filepath.Glob("testdata/playthrough/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		golden, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		ruleset, _, _ := strings.Cut(filepath.Base(path), "_")
		for line := range strings.Lines(string(golden)) {
			if text, ok := strings.CutPrefix(line, "  "); ok && text[0] != ' ' {
				f.Add(variantOf(f, ruleset).info.Number, uint8(0), strings.TrimSpace(text), uint64(2))
				break
			}
		}
	}
	f.Fuzz(func(t *testing.T, number, rules uint8, text string, seed uint64) {
		v := numbered(number)
		var houseRules []string
		for _, rule := range v.houseRules {
			if houseRule(rules)&rule != 0 {
				houseRules = append(houseRules, houseRuleInfo[rule].ID)
			}
		}
		given, err := v.ParsePosition(text, houseRules)
		started, _, startErr := v.Start(engine.Setup{Position: text, HouseRules: houseRules}, engine.Seeded(seed))
		if err != nil {
			requireRefusal(t, err)
			requireRefusal(t, startErr)
			return
		}
		position := given.(Position)
		if startErr == nil && started.(Position) != position {
			t.Fatalf("%q reads as %v and starts as %v", text, position, started)
		}
		// A text that settles to a game won is no start.
		if startErr != nil && position.String() != text && position.Outcome().Status != engine.Won {
			t.Fatalf("%q is accepted, settles to %v, and starts no game: %v", text, position, startErr)
		}
		keepLaws(t, position, engine.Seeded(seed))
	})
}

func requireRefusal(t *testing.T, err error) {
	t.Helper()
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) || refusal.Reason == 0 || refusal.Message == "" || len(refusal.Message) > 500 {
		t.Fatalf("no refusal, or one that does not say what is wrong: %v", err)
	}
}
