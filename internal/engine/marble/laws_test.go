package marble

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/enginetest"
)

// alphabet is every move that the notation knows.
func alphabet() []engine.Move {
	moves := make([]engine.Move, 0, Resign+1)
	for move := range Resign + 1 {
		moves = append(moves, move)
	}
	return moves
}

// drawSetup draws any players, rows and house rules that a variant offers.
func drawSetup(v *Variant) func(t *rapid.T) engine.Setup {
	info := v.Info()
	return func(t *rapid.T) engine.Setup {
		setup := engine.Setup{
			Players: rapid.IntRange(info.MinPlayers, info.MaxPlayers).Draw(t, "players"),
			Rows:    rapid.SampledFrom([]int{0, 1, 2, 3, 4, 4, 5, 8, MaxRows}).Draw(t, "rows"),
		}
		for _, rule := range info.HouseRules {
			if rapid.Bool().Draw(t, rule.ID) {
				setup.HouseRules = append(setup.HouseRules, rule.ID)
			}
		}
		return setup
	}
}

func TestLaws(t *testing.T) {
	plies := 150
	if raceEnabled {
		plies = 50
	}
	for i := range variants {
		v := &variants[i]
		t.Run(v.info.ID, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				enginetest.CheckLaws(t, enginetest.Spec{
					Ruleset:       v,
					Setup:         drawSetup(v),
					Alphabet:      alphabet(),
					MaxPlies:      plies,
					ResignPercent: rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "resign percent"),
					Invariant:     checkPly,
				})
			})
		})
	}
}

// checkPly checks what holds in every marble game after every move.
func checkPly(t *rapid.T, before, after engine.Position, events []engine.Event) {
	p := after.(Position)
	if got, want := inventory(p), p.variant.box(); got != want {
		t.Fatalf("%v holds %v, the box %v", p, got, want)
	}
	if before == nil {
		return
	}
	checkCascade(t, before.(Position), p, events)
}

// checkCascade checks the bound on a cascade's length, and that a drop without a fall
// loads exactly one gate more.
func checkCascade(t *rapid.T, before, after Position, events []engine.Event) {
	count := map[EventKind]int{}
	for _, event := range events {
		count[event.(*Event).Kind]++
	}
	if count[MarbleDropped] == 0 {
		return
	}
	held := before.board.heldCount()
	bound := before.board.Rows() * (held + 1)
	if total := count[GateFlipped] + count[GateLoaded] + count[MarbleReleased]; total > bound {
		t.Fatalf("%v: %d gate events, more than %d", before, total, bound)
	}
	if count[MarbleExited] == 0 && after.board.heldCount() != held+1 {
		t.Fatalf("%v: a drop without a fall leads to %v", before, after)
	}
}
