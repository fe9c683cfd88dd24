package shiverpeak

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

// TestPackedSizes holds the bytes of a position: a state, the longest move and what
// else it carries must fit into 100 characters of a button.
func TestPackedSizes(t *testing.T) {
	for players, want := range map[int]int{3: 23, 4: 25, 5: 27, 6: 29, 7: 30, 8: 32} {
		if got := len(newPosition(players).AppendPacked(nil)); got != want {
			t.Errorf("%d players pack to %d bytes, want %d", players, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := midgame(t)
		if got, want := len(p.AppendPacked(nil)), packedSizes[p.Players()]; got != want {
			t.Fatalf("%v packs to %d bytes, others to %d", p, got, want)
		}
	})
	const otherBytes, callback = 27, 100
	longest := (otherBytes+maxPacked)*4/3 + 1 + len(".") + len(Move{Action: Target, Seat: MaxPlayers}.String())
	if packedSizes[MaxPlayers] > maxPacked || longest > callback {
		t.Errorf("the largest state with a move has %d characters", longest)
	}
}

// TestLargestPosition packs positions with every part at its highest value.
func TestLargestPosition(t *testing.T) {
	for players := MinPlayers; players <= MaxPlayers; players++ {
		p := newPosition(players)
		p.digits(func(_, radix int) int {
			if radix == MaxPlayers-MinPlayers+1 {
				return players - MinPlayers
			}
			return radix - 1
		})
		if got := len(p.AppendPacked(nil)); got != packedSizes[players] {
			t.Errorf("%d players pack to %d bytes, want %d", players, got, packedSizes[players])
		}
	}
}

func TestAppendPackedAppends(t *testing.T) {
	p := newPosition(5)
	prefix := []byte("before")
	if got, want := p.AppendPacked(prefix), append(prefix, p.AppendPacked(nil)...); !bytes.Equal(got, want) {
		t.Errorf("appended %x, want %x", got, want)
	}
}

// TestUnpackRefusals changes packed positions in one byte: what is not refused is
// another position, packed in just that way.
func TestUnpackRefusals(t *testing.T) {
	broken := parse(t, startText)
	broken.places[1] = onTable
	broken.direction = Clockwise
	_, err := Ruleset().Unpack(broken.AppendPacked(nil))
	checkRefusal(t, err, engine.PositionInconsistent, "", "an avalanche has a direction")
	for _, slots := range [][]int{{0, 0}, {1}, {0, 1, 1}} {
		broken := parse(t, startText)
		for i, slot := range slots {
			broken.places[ID(i+1)] = before(2, slot)
		}
		_, err := Ruleset().Unpack(broken.AppendPacked(nil))
		checkRefusal(t, err, engine.PositionInconsistent, "", "the open Encounters of seat 3 are not one behind the other")
	}
	for name, packed := range map[string][]byte{
		"nothing":    nil,
		"a byte":     {0},
		"zeros":      make([]byte, 32),
		"many zeros": make([]byte, 33),
		"too long":   append([]byte{0}, newPosition(3).AppendPacked(nil)...),
		"too short":  newPosition(8).AppendPacked(nil)[1:],
		"megabyte":   make([]byte, 1<<20),
	} {
		position, err := Ruleset().Unpack(packed)
		if err == nil {
			t.Errorf("%s unpacks to %v", name, position)
			continue
		}
		checkRefusal(t, err, engine.PositionMalformed, "", "packed")
	}
	rapid.Check(t, func(t *rapid.T) {
		packed := midgame(t).AppendPacked(nil)
		packed[rapid.IntRange(0, len(packed)-1).Draw(t, "place")] ^= rapid.ByteRange(1, 255).Draw(t, "change")
		position, err := Ruleset().Unpack(packed)
		if err == nil && !bytes.Equal(position.AppendPacked(nil), packed) {
			t.Fatalf("%x unpacks to %v, which packs to %x", packed, position, position.AppendPacked(nil))
		}
	})
}
