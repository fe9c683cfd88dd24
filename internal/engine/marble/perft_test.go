package marble

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	perftPath = "testdata/perft.json"
	// perftDepth is the number of moves that are counted.
	perftDepth = 4
)

// perftCase is a position, the number of different sequences of 1, 2, … moves from it,
// and the number of different positions to which these lead. Resigning is left out.
type perftCase struct {
	Ruleset    string `json:"ruleset"`
	HouseRules string `json:"houseRules,omitempty"`
	Position   string `json:"position"`
	Sequences  []int  `json:"sequences"`
	Positions  []int  `json:"positions"`
}

func readPerft(t *testing.T) []perftCase {
	t.Helper()
	data, err := os.ReadFile(perftPath)
	if err != nil {
		t.Fatal(err)
	}
	var cases []perftCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestPerft(t *testing.T) {
	cases := readPerft(t)
	seen := map[string]int{}
	for i := range cases {
		test := &cases[i]
		seen[test.Ruleset]++
		sequences, positions := perft(t, parse(t, test.Ruleset, test.HouseRules, test.Position))
		if *update {
			test.Sequences, test.Positions = sequences, positions
		} else if !slices.Equal(sequences, test.Sequences) || !slices.Equal(positions, test.Positions) {
			t.Errorf("%s, %q, %s: %d sequences and %d positions, want %d and %d", test.Ruleset, test.HouseRules, test.Position,
				sequences, positions, test.Sequences, test.Positions)
		}
	}
	for i := range variants {
		if id := variants[i].info.ID; seen[id] != 3 {
			t.Errorf("%s has %d positions, want 3", id, seen[id])
		}
	}
	if *update {
		writePerft(t, cases)
	}
}

// perft counts the sequences of 1, 2, … moves and the positions to which they lead.
func perft(t *testing.T, start Position) (sequences, positions []int) {
	t.Helper()
	ways := map[Position]int{start: 1}
	for range perftDepth {
		total := 0
		next := map[Position]int{}
		for position, n := range ways {
			for _, move := range position.AppendLegal(nil) {
				after, err := position.Play(move, nil)
				if err != nil {
					t.Fatalf("%v, %v: %v", position, move, err)
				}
				next[after] += n
				total += n
			}
		}
		sequences = append(sequences, total)
		positions = append(positions, len(next))
		ways = next
	}
	return sequences, positions
}

func writePerft(t *testing.T, cases []perftCase) {
	t.Helper()
	data, err := json.MarshalIndent(cases, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(perftPath, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// basicGame is the basic game on the reference board, written from the rule book alone.
type basicGame struct {
	board referenceBoard
	cards []string // filled holes in upper case
	trays map[byte]int
	seat  int
	drops int // in the present turn
}

// parseBasic reads a position of the basic game with nothing out of the game and no
// drops made in the turn.
func parseBasic(text string) basicGame {
	fields := strings.Fields(text)
	trays := map[byte]int{}
	for _, color := range []byte("ryb") {
		onBoard := strings.Count(fields[0], string(color))
		onCards := strings.Count(fields[1], strings.ToUpper(string(color)))
		trays[color] = 20 - onBoard - onCards
	}
	return basicGame{board: parseReference(fields[0]), cards: strings.Split(fields[1], ","), trays: trays, seat: int(fields[3][0] - '1')}
}

// key tells positions apart.
func (g basicGame) key() string { return fmt.Sprint(g.board, g.cards, g.seat, g.drops) }

// over tells whether a card is full or nothing can be dropped.
func (g basicGame) over() bool {
	return slices.Max(slices.Collect(maps.Values(g.trays))) == 0 ||
		slices.ContainsFunc(g.cards, func(card string) bool { return card == strings.ToUpper(card) })
}

func (g basicGame) drop(chute int, color byte) basicGame {
	next := basicGame{g.board.clone(), slices.Clone(g.cards), maps.Clone(g.trays), g.seat, g.drops + 1}
	next.trays[color]--
	_, exits := next.board.drop(chute, color, lastReleasedNext)
	for _, exit := range exits {
		fallen := exit[1:]
		if strings.Contains(next.cards[g.seat], fallen) {
			next.cards[g.seat] = strings.Replace(next.cards[g.seat], fallen, strings.ToUpper(fallen), 1)
		} else {
			next.trays[fallen[0]]++
		}
	}
	if len(exits) > 0 {
		next.seat = (g.seat + 1) % len(g.cards)
		next.drops = 0
	}
	return next
}

// TestPerftOfReference counts once more for the basic game, by rules that share nothing
// with the engine.
func TestPerftOfReference(t *testing.T) {
	for _, test := range readPerft(t) {
		if test.Ruleset != "marble-basic" {
			continue
		}
		games := map[string]basicGame{"": parseBasic(test.Position)}
		ways := map[string]int{"": 1}
		for depth := range perftDepth - 1 {
			total := 0
			nextGames, nextWays := map[string]basicGame{}, map[string]int{}
			for key, game := range games {
				if game.over() {
					continue
				}
				for chute := 1; chute <= 6; chute++ {
					for color, left := range game.trays {
						if left == 0 {
							continue
						}
						after := game.drop(chute, color)
						nextGames[after.key()] = after
						nextWays[after.key()] += ways[key]
						total += ways[key]
					}
				}
			}
			if total != test.Sequences[depth] || len(nextGames) != test.Positions[depth] {
				t.Errorf("%s: %d sequences of %d moves to %d positions by the reference, %d to %d by the engine",
					test.Position, total, depth+1, len(nextGames), test.Sequences[depth], test.Positions[depth])
			}
			games, ways = nextGames, nextWays
		}
	}
}
