package marble

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/avalanched/avalanched/internal/engine"
)

const (
	// otherFields is what a signed state holds beside the packed position, in bytes.
	otherFields = 27
	// smallCarrier is for two players on four rows, as long as a Telegram button's data.
	// largeCarrier is for every game, as long as a Discord button's id.
	smallCarrier = 64
	largeCarrier = 100
)

// carried is the length of a state, a dot, and the longest move notation.
func carried(packed []byte) int {
	return base64.RawURLEncoding.EncodedLen(otherFields+len(packed)) + len(".resign")
}

// TestPackedSizes measures the longest packed position of each ruleset, number of players
// and of rows. It is that of a game in progress with everybody in it and marbles missing
// from the box, which has all fields; random games show that no other is longer.
func TestPackedSizes(t *testing.T) {
	games := 20
	if testing.Short() {
		games = 3
	}
	for i := range variants {
		v := &variants[i]
		var sizes []string
		for _, rows := range []int{DefaultRows, MaxRows} {
			for players := minPlayers; players <= v.info.MaxPlayers; players++ {
				longest := longestPosition(t, v, players, rows).AppendPacked(nil)
				limit := largeCarrier
				if rows == DefaultRows && players == 2 {
					limit = smallCarrier
				}
				if n := carried(longest); n > limit {
					t.Errorf("%s, %d players, %d rows: %d bytes make %d characters with a move, more than %d",
						v.info.ID, players, rows, len(longest), n, limit)
				}
				if n := longestOfGames(t, v, players, rows, games); n > len(longest) {
					t.Errorf("%s, %d players, %d rows: a position of %d bytes came up, longer than %d",
						v.info.ID, players, rows, n, len(longest))
				}
				sizes = append(sizes, fmt.Sprintf("%d×%d: %d", players, rows, carried(longest)))
			}
		}
		t.Logf("%s, characters with a move, by players × rows: %s", v.info.ID, strings.Join(sizes, ", "))
	}
}

// longestPosition is a position that has every field of the packed form.
func longestPosition(t *testing.T, v *Variant, players, rows int) Position {
	t.Helper()
	started, _, err := v.Start(engine.Setup{Players: players, Rows: rows}, engine.Seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	missing := strings.Replace(started.String(), " - ", " 1r ", 1)
	position, err := v.ParsePosition(missing, nil)
	if err != nil {
		t.Fatal(err)
	}
	return position.(Position)
}

// longestOfGames plays random games of up to 300 plies and returns the length of the
// longest packed position.
func longestOfGames(t *testing.T, v *Variant, players, rows, games int) int {
	t.Helper()
	longest := 0
	for game := range games {
		seed := engine.Seeded(game)
		started, _, err := v.Start(engine.Setup{Players: players, Rows: rows}, seed)
		if err != nil {
			t.Fatal(err)
		}
		position := started.(Position)
		for ply := 0; ply < 300 && !position.over(); ply++ {
			longest = max(longest, len(position.AppendPacked(nil)))
			legal := append(position.AppendLegal(nil), Resign)
			seed = seed.Next()
			if position, err = position.Play(legal[seed.Draw("move", 0, len(legal))], nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return longest
}

// samplePositions are positions of all rulesets, with and without each field.
func samplePositions(t testing.TB) []Position {
	t.Helper()
	var positions []Position
	for _, test := range []struct{ ruleset, houseRules, text string }{
		{"marble-basic", "", "LrRL/LRyLLb/RLL/LLyRL RRyRRyrry,BBYbbybby,YYryyryyr 2r 3.1 *"},
		{"marble-basic", "", "LLL RRYRRYRRY,bbybbybby,x 1y - 1:CARD_FULL"},
		{"marble-basic", "", "LLL rryrryrry,x,yyryyryyr 20r20y20b - -:ALL_PASSED"},
		{"marble-basic", "", "LLL x,x,yyryyryyr 20r - 3:LAST_ONE_LEFT"},
		{"marble-standard", "opening_limit_for_all", "LrLrL/LrLrLL rryrryrry,bbybbybby,yyryyryyr - 2.4o *"},
		{"marble-standard", "", "LLyLb RRYRRYRRY+2b,BBYBBYBBY+1r - 2.0 *"},
		{"marble-expert-1", "hang_up", "LrLyL/RLbLL 2r,1y1b,3b - 2.1 *"},
		{"marble-expert-2", "exactly_five", hardBoard + " 3r,3b,x,1y 1y 4.0p1 *"},
		{"marble-expert-2", "", hardBoard + " 3r,x,3b - - -:ALL_PASSED"},
		{"marble-sequence", "free_order pass_leftovers", "LyLL/LbLrLL RYBYBRBRy,BRYrybybr,BYryrbrby 3r4y 1.0 *"},
		{"marble-oddball", "", "LrLgL/RLbLL 2r2y2b1g,1r1y1b1g,2r3y,x - 3.0 *"},
		{"marble-oddball", "", "LyLR 4r4y4b4g,1r - - 1:EQUAL_COLORS"},
		{"marble-hang-up", "", "LrLgL/RLbLL 1r,1y1g,2b - 2.0 *"},
		{"marble-avalanche", "exactly_five", "LgLgL/RLbLL 1b3g,2y1b,1r1b - 1.0 *"},
	} {
		position := parse(t, test.ruleset, test.houseRules, test.text)
		if position.String() != test.text {
			t.Fatalf("%s settles to %v", test.text, position)
		}
		positions = append(positions, position)
	}
	return positions
}

// TestUnpackIsCanonical changes packed positions bit by bit and in length: what is still
// accepted packs to the same bytes, and no two forms stand for one position.
func TestUnpackIsCanonical(t *testing.T) {
	for _, position := range samplePositions(t) {
		packed := position.AppendPacked(nil)
		spellings := map[string]bool{}
		accepted := 0
		try := func(changed []byte) {
			got, err := position.variant.Unpack(changed)
			if err != nil {
				return
			}
			accepted++
			if again := got.AppendPacked(nil); string(again) != string(changed) {
				t.Errorf("%x unpacks to %v, which packs to %x", changed, got, again)
			}
			if text := got.String() + strings.Join(got.Options().HouseRules, " "); spellings[text] {
				t.Errorf("%x is another form of %s", changed, text)
			} else {
				spellings[text] = true
			}
		}
		try(packed)
		if accepted != 1 {
			t.Fatalf("%v is not unpacked", position)
		}
		for bit := range 8 * len(packed) {
			changed := append([]byte(nil), packed...)
			changed[bit/8] ^= 0x80 >> (bit % 8)
			try(changed)
		}
		if accepted < 2 {
			t.Errorf("%v: no change of a bit is accepted", position)
		}
		for _, changed := range [][]byte{nil, {}, packed[:len(packed)-1], append(slices.Clip(packed), 0), make([]byte, 1000)} {
			if got, err := position.variant.Unpack(changed); err == nil {
				t.Errorf("%x is accepted as %v", changed, got)
			}
		}
	}
}

// TestUnpackRefusesWhatIsNotSettled packs positions that the rules go on from by
// themselves, which no game stands at.
func TestUnpackRefusesWhatIsNotSettled(t *testing.T) {
	for _, test := range []struct{ ruleset, text string }{
		{"marble-basic", "LLL rryrryrry,bbybbybby 20r20y20b 1.0 *"},
		{"marble-standard", "LLL rryrryrry,bbybbybby+1r 19r20y20b 1.0 *"},
		{"marble-expert-2", "LLL -,1r,1b - 1.0 *"},
	} {
		v := variantOf(t, test.ruleset)
		position, err := v.parsePosition(test.text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := v.Unpack(position.AppendPacked(nil)); err == nil {
			t.Errorf("%s is accepted as %v", test.text, got)
		}
	}
}

// TestUnpackCounts packs more marbles than a card has holes, more seats than the edition
// is for, and more marbles of a color than a byte can count.
func TestUnpackCounts(t *testing.T) {
	p := parse(t, "marble-basic", "", "LLL RRyRRyrry,bbybbybby - 1.0 *")
	p.seats[0].filled = some(Red, 7)
	if got, err := p.variant.Unpack(p.AppendPacked(nil)); err == nil {
		t.Errorf("seven marbles in six holes are accepted as %v", got)
	}
	p = parse(t, "marble-hang-up", "", "LLL 1r,1r,1r,1r - 1.0 *")
	p.players, p.seats[4] = 5, p.seats[3]
	if got, err := p.variant.Unpack(p.AppendPacked(nil)); err == nil {
		t.Errorf("five players are accepted as %v", got)
	}
	p = parse(t, "marble-expert-2", "", "LLL 1y,1y,1y,1y,1y,1y - 1.0 *")
	for seat := range p.players {
		p.seats[seat].hand += some(Red, 31-p.seats[seat].hand.Of(Red))
	}
	p.board = NewBoard(MaxRows)
	p.discarded = some(Red, 31)
	for i, gate := range p.board.Gates() {
		if i < 256-7*31 {
			p.board.load(gate, Red)
		}
	}
	if got, err := p.variant.Unpack(p.AppendPacked(nil)); err == nil {
		t.Errorf("256 red marbles are accepted as %v", got)
	}
}
