package mancala

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/avalanched/avalanched/internal/engine"
)

const perftFile = "testdata/perft.json"

// perftVector counts the ways to play from the start: Nodes[n-1] is the number of
// sequences of exactly n moves, where each turn after a last stone in the store is a
// move of its own, and a game that ends earlier has none.
type perftVector struct {
	Ruleset string
	Stones  int
	Nodes   []int
}

const (
	perftDepth      = 8
	shortPerftDepth = 7
	referenceDepth  = 6
)

// TestPerft compares the counts with those on file, and the first of them with a
// count by the reference.
func TestPerft(t *testing.T) {
	depth := perftDepth
	if testing.Short() {
		depth = shortPerftDepth
	}
	var got []perftVector
	for _, ruleset := range rulesets {
		for stones := MinStonesPerPit; stones <= MaxStonesPerPit; stones++ {
			position, _, err := ruleset.Start(engine.Setup{Stones: stones}, nil)
			if err != nil {
				t.Fatal(err)
			}
			p := position.(Position)
			vector := perftVector{Ruleset: ruleset.Info().ID, Stones: stones}
			for n := 1; n <= depth; n++ {
				vector.Nodes = append(vector.Nodes, perft(p, n))
				if n > referenceDepth {
					continue
				}
				if want := newReference(p).perft(n); vector.Nodes[n-1] != want {
					t.Errorf("%s, %d stones, %d moves: %d ways, the reference counts %d", vector.Ruleset, stones, n, vector.Nodes[n-1], want)
				}
			}
			got = append(got, vector)
		}
	}
	if *update {
		writePerft(t, got)
	}
	data, err := os.ReadFile(perftFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []perftVector
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i].Nodes = want[i].Nodes[:depth]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got; run with -update if this is meant):\n%s", perftFile, diff)
	}
}

// perft counts the sequences of n moves.
func perft(p Position, n int) int {
	var buffer [PitsPerSide]Move
	legal := p.AppendLegal(buffer[:0])
	if n == 1 {
		return len(legal)
	}
	nodes := 0
	for _, move := range legal {
		next, _, err := p.Sow(int(move))
		if err != nil {
			panic(err)
		}
		nodes += perft(next, n-1)
	}
	return nodes
}

func (g *reference) perft(n int) int {
	legal := g.legal()
	if n == 1 {
		return len(legal)
	}
	nodes := 0
	for _, pit := range legal {
		next := *g
		next.sow(pit)
		nodes += next.perft(n - 1)
	}
	return nodes
}

// writePerft writes one vector a line.
func writePerft(t *testing.T, vectors []perftVector) {
	t.Helper()
	text := "["
	for i, v := range vectors {
		if i > 0 {
			text += ","
		}
		nodes, err := json.Marshal(v.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("\n  {\"ruleset\": %q, \"stones\": %d, \"nodes\": %s}", v.Ruleset, v.Stones, nodes)
	}
	if err := os.WriteFile(perftFile, []byte(text+"\n]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
