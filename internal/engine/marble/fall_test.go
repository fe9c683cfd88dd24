package marble

import (
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

// hardBoards need the most drops for a fall that a search by chance and hill climbing
// found, with their number of rows.
var hardBoards = []struct {
	board string
	drops int
}{
	{"RRL/LRrLR/RLL/RLRL", 4},
	{"LRR/LLrLR/LLR/RLRL/RRL/RrRLL", 6},
	{"LRL/LLLL/RLL/RRLR/RLLr/RRRR/RRR/LLRR/LLR/LRRR", 9},
	{"LLR/RRLR/RLL/LRRR/LLL/LLRL/LRL/RrLrLL/LLR/LLRR/LLrR/LRRR", 11},
	{"LRR/LLRR/LLL/RLrRL/RLL/RRLR/RrLL/RLLRr/RLrLr/LRLLr/RLLr/LrLRR/RRR/LRrRR/LLR/LLrRrR", 12},
}

func TestCanFallHardBoards(t *testing.T) {
	for _, hard := range hardBoards {
		board, err := ParseBoard(hard.board)
		if err != nil {
			t.Fatal(err)
		}
		if board.CanFall(hard.drops - 1) {
			t.Errorf("%s: falls after %d drops", hard.board, hard.drops-1)
		}
		if !board.CanFall(hard.drops) {
			t.Errorf("%s: does not fall after %d drops", hard.board, hard.drops)
		}
	}
}

// canFallSlowly tries every sequence on the reference board.
func canFallSlowly(board referenceBoard, drops int) bool {
	if drops == 0 {
		return false
	}
	for chute := range "ABCDEF" {
		after := board.clone()
		if _, fallen := after.drop(chute+1, 'r', lastReleasedNext); len(fallen) > 0 || canFallSlowly(after, drops-1) {
			return true
		}
	}
	return false
}

func TestCanFallAgreesWithReference(t *testing.T) {
	seed := engine.Seeded(7)
	for i := range 3000 {
		board := randomBoard(seed, i, 1+seed.Draw("rows", i, 6))
		drops := seed.Draw("drops", i, 5)
		if got, want := board.CanFall(drops), canFallSlowly(parseReference(board.String()), drops); got != want {
			t.Fatalf("%v falls within %d drops: %v, by trying all: %v", board, drops, got, want)
		}
	}
}

// BenchmarkCanFall searches the hardest known board with a hand of 13, and with one of
// 11 marbles, which needs the whole search because none falls.
func BenchmarkCanFall(b *testing.B) {
	board, err := ParseBoard(hardBoards[len(hardBoards)-1].board)
	if err != nil {
		b.Fatal(err)
	}
	for _, hand := range []int{11, 13} {
		b.Run(map[int]string{11: "stays-up", 13: "falls"}[hand], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				board.CanFall(hand)
			}
		})
	}
}
