package mancala

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// vector is a move of mancala-avalanche on which many public implementations agree.
type vector struct {
	Position    string // with the seat to move
	Move        string
	AfterSowing string // without the seat to move
	Final       string // after the sweep
	Laps        int
	StonesSown  int
	StoreGain   int
	AnotherTurn bool
	GameOver    bool
	Agreeing    int
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/mancala.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 40 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	return vectors
}

func TestVectors(t *testing.T) {
	for i, v := range readVectors(t) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			checkVector(t, v, nil, v.Final)
			checkVector(t, v, []string{noSweepID}, v.AfterSowing)
		})
	}
}

func checkVector(t *testing.T, v vector, houseRules []string, final string) {
	t.Helper()
	parsed, err := avalancheGame.ParsePosition(v.Position, houseRules)
	if err != nil {
		t.Fatal(err)
	}
	move, err := ParseMove(v.Move)
	if err != nil {
		t.Fatal(err)
	}
	p := parsed.(Position)
	next, summary, err := p.Sow(int(move))
	if err != nil {
		t.Fatal(err)
	}
	want := SowingSummary{Laps: v.Laps, StonesSown: v.StonesSown, StoreGain: v.StoreGain}
	switch {
	case v.GameOver:
		want.Next = EndOfGame
	case v.AnotherTurn:
		want.Next = AnotherTurn
	}
	if summary != want {
		t.Errorf("%s, move %s: %+v, want %+v", v.Position, v.Move, summary, want)
	}
	side := otherSeat(p.mover())
	if v.AnotherTurn {
		side = p.mover()
	}
	final += " " + seatLetter(side)
	if v.GameOver {
		final = strings.TrimSuffix(final, seatLetter(side)) + "-"
	}
	if next.String() != final {
		t.Errorf("%s, move %s: %s, want %s", v.Position, v.Move, next, final)
	}
}
