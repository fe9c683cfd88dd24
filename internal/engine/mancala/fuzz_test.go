package mancala

import (
	"strings"
	"testing"
)

func FuzzParsePosition(f *testing.F) {
	f.Add(startText, false)
	f.Add("0,0,14,0,0,0/0,0,1,0,0,1 32-0 n", true)
	f.Add("0,0,0,0,0,0/1,1,0,0,1,1 33-11 -", true)
	f.Add("0,0,0,0,0,0/0,0,0,0,0,0 27-21 -", false)
	f.Add("4,4,4,4,4,4/4,4,4,4,4,4 0-0 - n resigned", false)
	f.Fuzz(func(t *testing.T, text string, house bool) {
		var rules []string
		if house {
			rules = []string{noSweepID}
		}
		position, err := avalancheGame.ParsePosition(text, rules)
		if err != nil {
			return
		}
		if position.String() != text {
			t.Fatalf("%q reads as %v", text, position)
		}
		unpacked, err := avalancheGame.Unpack(position.AppendPacked(nil))
		if err != nil || unpacked != position {
			t.Fatalf("%v unpacks as %v, %v", position, unpacked, err)
		}
		checkPlayable(t, position.(Position))
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("\x08\x10\x20\x40\x81\x00\x04\x08\x10\x20\x40\x80\x00"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x06\x10"))
	f.Add([]byte("\x0c\x04\x20\x80\x00\x4b\x00\x00\x00\x00\x00\x01\xb8"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		for _, ruleset := range rulesets {
			position, err := ruleset.Unpack(packed)
			if err != nil {
				continue
			}
			if again := position.AppendPacked(nil); string(again) != string(packed) {
				t.Fatalf("%x unpacks as %v, which packs as %x", packed, position, again)
			}
			parsed, err := ruleset.ParsePosition(position.String(), position.Options().HouseRules)
			if err != nil || parsed != position {
				t.Fatalf("%v parses as %v, %v", position, parsed, err)
			}
			checkPlayable(t, position.(Position))
		}
	})
}

func FuzzParseMove(f *testing.F) {
	for _, text := range []string{"1", "6", "7", "resign", "ReSiGn", "pass", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		move, err := ParseMove(text)
		if err != nil {
			return
		}
		if move.String() != strings.ToLower(text) {
			t.Fatalf("%q reads as %v", text, move)
		}
	})
}

// checkPlayable checks that what the notations let through can be played, as the
// reference plays it.
func checkPlayable(t *testing.T, p Position) {
	t.Helper()
	legal := p.AppendLegal(nil)
	if p.Outcome().Over() != (len(legal) == 0) || p.Stones() < 1 || p.Stones() > maxStones {
		t.Fatalf("%v has outcome %+v and legal moves %v", p, p.Outcome(), legal)
	}
	for _, move := range legal {
		next, _, err := p.Sow(int(move))
		if err != nil {
			t.Fatalf("%v, %v: %v", p, move, err)
		}
		g := newReference(p)
		if g.sow(int(move)); next.String() != g.String() {
			t.Fatalf("%v, %v: %v, the reference says %v", p, move, next, g)
		}
	}
}
