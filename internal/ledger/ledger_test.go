package ledger

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// quiet keeps what the tests provoke out of their output.
var quiet = slog.New(slog.DiscardHandler)

func TestMain(m *testing.M) {
	redis.SetLogger(clientLogger{quiet})
	goleak.VerifyTestMain(m)
}

// store is a place for entries on which tests open ledgers.
type store struct {
	// open opens a ledger. Its entries are its own unless the prefixes are the same.
	open func(t testing.TB, options Options) Ledger
	// pass lets time go by for the entries.
	pass func(t testing.TB, d time.Duration)
	// bounded tells that MaxGames counts.
	bounded bool
}

// onEveryStore runs a test on each kind of ledger.
func onEveryStore(t *testing.T, test func(t *testing.T, s store)) {
	t.Run("memory", func(t *testing.T) { test(t, memoryStore()) })
	t.Run("miniredis", func(t *testing.T) { test(t, miniredisStore(t)) })
	t.Run("redis", func(t *testing.T) { test(t, startServer(t).store()) })
}

func memoryStore() store {
	var elapsed atomic.Int64
	start := time.Now()
	now := func() time.Time { return start.Add(time.Duration(elapsed.Load())) }
	return store{
		open: func(t testing.TB, options Options) Ledger {
			options, err := options.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			return newMemory(options, now)
		},
		pass:    func(_ testing.TB, d time.Duration) { elapsed.Add(int64(d)) },
		bounded: true,
	}
}

func miniredisStore(t testing.TB) store {
	server := miniredis.RunT(t)
	return store{
		open: func(t testing.TB, options Options) Ledger { return open(t, "redis://"+server.Addr(), options) },
		pass: func(_ testing.TB, d time.Duration) { server.FastForward(d) },
	}
}

// store shortens the life of all entries where others wait for time to pass.
func (s *server) store() store {
	return store{
		open: func(t testing.TB, options Options) Ledger { return open(t, s.url(), options) },
		pass: func(t testing.TB, d time.Duration) {
			for _, key := range s.admin.Keys(t.Context(), "*").Val() {
				left := s.admin.PTTL(t.Context(), key).Val()
				s.do(t, "PEXPIRE", key, (left - d).Milliseconds())
			}
		},
	}
}

// open opens a ledger for the time of a test.
func open(t testing.TB, location string, options Options) Ledger {
	t.Helper()
	if options.Logger == nil {
		options.Logger = quiet
	}
	l, err := Open(t.Context(), location, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

var game = GameID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}

// state is a state of a game; states of one line of play share its name.
func state(line string, ply int) Entry {
	return Entry{Ply: ply, Token: fmt.Sprintf("%s-%d", line, ply)}
}

// play records the first moves of a line.
func play(t testing.TB, l Ledger, game GameID, line string, plies int) {
	t.Helper()
	for ply := range plies {
		outcome, err := l.Advance(t.Context(), game, state(line, ply), state(line, ply+1))
		if outcome != Advanced || err != nil {
			t.Fatalf("move %d of line %s: %v, %v; want %v", ply+1, line, outcome, err, Advanced)
		}
	}
}

// answer puts what Advance returned in a form that compares.
func answer(outcome Outcome, err error) string {
	var superseded *SupersededError
	switch {
	case err == nil:
		return outcome.String()
	case errors.As(err, &superseded):
		return fmt.Sprintf("superseded by %+v", superseded.Newest)
	case errors.Is(err, ErrForgotten):
		return "forgotten"
	case errors.Is(err, ErrFull):
		return "full"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	default:
		return err.Error()
	}
}

func checkAdvance(t testing.TB, l Ledger, presented, next Entry, want string) {
	t.Helper()
	if got := answer(l.Advance(t.Context(), game, presented, next)); got != want {
		t.Errorf("from %+v to %+v: %s; want %s", presented, next, got, want)
	}
}

// checkNewest checks the head of a game; the zero entry stands for none.
func checkNewest(t testing.TB, l Ledger, game GameID, want Entry) {
	t.Helper()
	got, known, err := l.Newest(t.Context(), game)
	if err != nil || known != (want != Entry{}) || got != want {
		t.Errorf("newest: %+v, %v, %v; want %+v", got, known, err, want)
	}
}

func TestAdvance(t *testing.T) {
	const supersededBy3 = "superseded by {Ply:3 Token:main-3}"
	tests := []struct {
		name            string
		played          int // moves of the line "main" before
		presented, next Entry
		want            string
		wantStrict      string // where it differs
	}{
		{name: "first move", played: 0, presented: state("main", 0), next: state("main", 1), want: "advanced"},
		{name: "next move", played: 3, presented: state("main", 3), next: state("main", 4), want: "advanced"},
		{name: "retry of the first move", played: 1, presented: state("main", 0), next: state("main", 1), want: "repeated"},
		{name: "retry", played: 3, presented: state("main", 2), next: state("main", 3), want: "repeated"},
		{name: "another move from the state before", played: 3, presented: state("main", 2), next: state("side", 3), want: supersededBy3},
		{name: "another state of the same ply", played: 3, presented: state("side", 3), next: state("side", 4), want: supersededBy3},
		{name: "a late retry", played: 3, presented: state("main", 0), next: state("main", 1), want: supersededBy3},
		{name: "another start", played: 3, presented: state("side", 0), next: state("side", 1), want: supersededBy3},
		{name: "unknown game", played: 0, presented: state("main", 1), next: state("main", 2), want: "adopted", wantStrict: "forgotten"},
		{name: "newer than the head", played: 3, presented: state("side", 4), next: state("side", 5), want: "adopted", wantStrict: "forgotten"},
		// Two digits against one: plies are numbers, not text.
		{name: "much newer than the head", played: 3, presented: state("side", 10), next: state("side", 11), want: "adopted", wantStrict: "forgotten"},
		{name: "older than the head by a digit", played: 10, presented: state("side", 9), next: state("side", 10), want: "superseded by {Ply:10 Token:main-10}"},
	}
	onEveryStore(t, func(t *testing.T, s store) {
		for i, test := range tests {
			for _, strict := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, strict %v", test.name, strict), func(t *testing.T) {
					l := s.open(t, Options{Strict: strict, Prefix: fmt.Sprintf("%d %v ", i, strict)})
					other := GameID{1}
					play(t, l, game, "main", test.played)
					play(t, l, other, "other", 2)
					before, _, err := l.Newest(t.Context(), game)
					if err != nil {
						t.Fatal(err)
					}

					want := test.want
					if strict && test.wantStrict != "" {
						want = test.wantStrict
					}
					checkAdvance(t, l, test.presented, test.next, want)

					switch want {
					case "advanced", "adopted", "repeated":
						checkNewest(t, l, game, test.next)
						checkAdvance(t, l, test.presented, test.next, "repeated")
					default:
						checkNewest(t, l, game, before)
						checkAdvance(t, l, test.presented, test.next, want)
					}
					checkNewest(t, l, other, state("other", 2))
				})
			}
		}
	})
}

// After a loss of memory an old state may be adopted first. The line that was really
// played has the higher ply and takes the game back.
func TestTheLineReallyPlayedWinsBack(t *testing.T) {
	onEveryStore(t, func(t *testing.T, s store) {
		l := s.open(t, Options{})
		checkAdvance(t, l, state("main", 2), state("cheat", 3), "adopted")
		checkAdvance(t, l, state("main", 7), state("main", 8), "adopted")
		checkAdvance(t, l, state("cheat", 3), state("cheat", 4), "superseded by {Ply:8 Token:main-8}")
	})
}

func TestImpossibleMovesAreRefused(t *testing.T) {
	onEveryStore(t, func(t *testing.T, s store) {
		l := s.open(t, Options{})
		for _, move := range [][2]Entry{
			{state("main", 1), state("main", 1)},
			{state("main", 2), state("main", 1)},
			{state("main", -1), state("main", 0)},
			{{Ply: 0}, state("main", 1)},
			{state("main", 0), {Ply: 1}},
		} {
			outcome, err := l.Advance(t.Context(), game, move[0], move[1])
			if err == nil || outcome != 0 {
				t.Errorf("from %+v to %+v: %v, %v; want an error", move[0], move[1], outcome, err)
			}
			for _, typed := range []error{ErrUnavailable, ErrFull, ErrForgotten} {
				if errors.Is(err, typed) {
					t.Errorf("from %+v to %+v: %v; want an error that no caller takes for a refusal", move[0], move[1], err)
				}
			}
		}
		checkNewest(t, l, game, Entry{})
	})
}

func TestExpiry(t *testing.T) {
	const ttl = time.Hour
	onEveryStore(t, func(t *testing.T, s store) {
		l := s.open(t, Options{TTL: ttl})
		play(t, l, game, "main", 1)
		s.pass(t, ttl*2/3)
		checkAdvance(t, l, state("main", 1), state("main", 2), "advanced")
		s.pass(t, ttl*2/3)
		checkNewest(t, l, game, state("main", 2)) // The second move began a new hour.
		checkAdvance(t, l, state("main", 1), state("main", 2), "repeated")
		s.pass(t, ttl/3) // A retry does not.
		checkNewest(t, l, game, Entry{})
		checkAdvance(t, l, state("main", 2), state("main", 3), "adopted")
		checkNewest(t, l, game, state("main", 3))
	})
}

func TestExpiryInAStrictLedger(t *testing.T) {
	onEveryStore(t, func(t *testing.T, s store) {
		l := s.open(t, Options{TTL: time.Hour, Strict: true})
		play(t, l, game, "main", 2)
		s.pass(t, time.Hour)
		checkAdvance(t, l, state("main", 2), state("main", 3), "forgotten")
		checkNewest(t, l, game, Entry{})
	})
}

// race lets several players move at once from each of a few states, through any of
// the ledgers. Of all that differ exactly one must win, and the others must learn
// who.
func race(t *testing.T, ledgers ...Ledger) {
	const (
		players = 16
		rounds  = 10
	)
	head := state("main", 0)
	for ply := 1; ply <= rounds; ply++ {
		var (
			answers [players]string
			nexts   [players]Entry
			start   = make(chan struct{})
			wg      sync.WaitGroup
		)
		for i := range players {
			nexts[i] = state(fmt.Sprintf("player %d", i), ply)
			wg.Go(func() {
				<-start
				answers[i] = answer(ledgers[i%len(ledgers)].Advance(t.Context(), game, head, nexts[i]))
			})
		}
		close(start)
		wg.Wait()

		winner := -1
		for i, answer := range answers {
			if answer == "advanced" {
				if winner >= 0 {
					t.Fatalf("ply %d: players %d and %d both won", ply, winner, i)
				}
				winner = i
			}
		}
		if winner < 0 {
			t.Fatalf("ply %d: nobody won: %q", ply, answers)
		}
		for i, answer := range answers {
			if want := fmt.Sprintf("superseded by %+v", nexts[winner]); i != winner && answer != want {
				t.Errorf("ply %d: player %d: %s; want %s", ply, i, answer, want)
			}
		}
		head = nexts[winner]
	}
}

func TestRace(t *testing.T) {
	onEveryStore(t, func(t *testing.T, s store) { race(t, s.open(t, Options{})) })
}

func TestRaceThroughTwoClients(t *testing.T) {
	s := startServer(t)
	race(t, open(t, s.url(), Options{}), open(t, s.url(), Options{}))
}

// model is the rule in the words of its design, without any thought of speed.
type model struct {
	strict   bool
	ttl      time.Duration
	maxGames int // 0: no bound
	now      time.Duration
	heads    map[GameID]Entry
	written  map[GameID]time.Duration
}

func (m *model) forgetExpired() {
	for game, written := range m.written {
		if m.now-written >= m.ttl {
			delete(m.heads, game)
			delete(m.written, game)
		}
	}
}

func (m *model) advance(game GameID, presented, next Entry) string {
	m.forgetExpired()
	head, known := m.heads[game]
	outcome := ""
	if known {
		if head == next {
			return "repeated"
		}
		if head == presented {
			outcome = "advanced"
		} else if presented.Ply <= head.Ply {
			return fmt.Sprintf("superseded by %+v", head)
		}
	} else if presented.Ply == 0 {
		outcome = "advanced"
	}
	if outcome == "" {
		if m.strict {
			return "forgotten"
		}
		outcome = "adopted"
	}
	if !known && m.maxGames > 0 && len(m.heads) >= m.maxGames {
		return "full"
	}
	m.heads[game] = next
	m.written[game] = m.now
	return outcome
}

func TestModel(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, s store) {
		run := 0
		rapid.Check(t, func(rt *rapid.T) {
			run++
			options := Options{
				Strict:   rapid.Bool().Draw(rt, "strict"),
				TTL:      time.Hour,
				MaxGames: rapid.IntRange(1, 3).Draw(rt, "max games"),
				Prefix:   fmt.Sprintf("run %d ", run),
			}
			l := s.open(t, options)
			m := &model{
				strict: options.Strict, ttl: options.TTL,
				heads: map[GameID]Entry{}, written: map[GameID]time.Duration{},
			}
			if s.bounded {
				m.maxGames = options.MaxGames
			}
			anyGame := rapid.Custom(func(rt *rapid.T) GameID { return GameID{rapid.ByteRange(1, 3).Draw(rt, "game")} })
			anyLine := rapid.SampledFrom([]string{"main", "side"})
			rt.Repeat(map[string]func(*rapid.T){
				"advance": func(rt *rapid.T) {
					game := anyGame.Draw(rt, "id")
					ply := rapid.IntRange(0, 11).Draw(rt, "ply")
					presented, next := state(anyLine.Draw(rt, "from"), ply), state(anyLine.Draw(rt, "to"), ply+1)
					want := m.advance(game, presented, next)
					if got := answer(l.Advance(t.Context(), game, presented, next)); got != want {
						rt.Fatalf("game %v from %+v to %+v: %s; want %s", game, presented, next, got, want)
					}
				},
				"advance the head": func(rt *rapid.T) {
					game := anyGame.Draw(rt, "id")
					presented, ok := m.heads[game]
					if !ok {
						presented = state("main", 0)
					}
					next := state(anyLine.Draw(rt, "to"), presented.Ply+1)
					want := m.advance(game, presented, next)
					if got := answer(l.Advance(t.Context(), game, presented, next)); got != want {
						rt.Fatalf("game %v from %+v to %+v: %s; want %s", game, presented, next, got, want)
					}
				},
				"pass time": func(rt *rapid.T) {
					d := time.Duration(rapid.IntRange(1, 40).Draw(rt, "minutes")) * time.Minute
					m.now += d
					s.pass(t, d)
				},
				"": func(rt *rapid.T) {
					m.forgetExpired()
					for i := range byte(3) {
						game := GameID{i + 1}
						head, known, err := l.Newest(t.Context(), game)
						if want, ok := m.heads[game]; err != nil || known != ok || head != want {
							rt.Fatalf("newest of %v: %+v, %v, %v; want %+v", game, head, known, err, want)
						}
					}
				},
			})
		})
	})
}

func TestOpen(t *testing.T) {
	if l, err := Open(t.Context(), "none", Options{}); l != nil || err != nil {
		t.Errorf("none: %v, %v; want no ledger and no error", l, err)
	}
	l, err := Open(t.Context(), "memory", Options{})
	if err != nil {
		t.Fatal(err)
	}
	play(t, l, game, "main", 2)
	if err := errors.Join(l.Ping(t.Context()), l.Close()); err != nil {
		t.Error(err)
	}
	for _, location := range []string{"", "Memory", "redis", "redis:6379", "/run/redis.sock", "http://127.0.0.1:6379"} {
		if _, err := Open(t.Context(), location, Options{}); err == nil || !strings.Contains(err.Error(), "redis+sentinel://") {
			t.Errorf("%q: %v; want an error that says what a ledger may be", location, err)
		}
	}
}

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string // empty: accepted
	}{
		"defaults":         {Options{}, ""},
		"shortest":         {Options{TTL: time.Millisecond, Timeout: time.Millisecond, MaxGames: 1}, ""},
		"TTL too short":    {Options{TTL: time.Microsecond}, "TTL is 1µs; it must be at least 1ms"},
		"TTL negative":     {Options{TTL: -time.Hour}, "TTL is -1h0m0s"},
		"timeout negative": {Options{Timeout: -1}, "timeout is -1ns; it must be at least 1ms"},
		"no games":         {Options{MaxGames: -1}, "maximum is -1 games; it must be at least 1"},
	} {
		l, err := Open(t.Context(), "memory", test.options)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (l != nil || err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, %v; want an error with %q", name, l, err, test.want)
		}
	}
}

// A state may be a bearer right to move, so an error that is logged must not show it.
func TestErrorsDoNotShowTokens(t *testing.T) {
	err := error(&SupersededError{Newest: Entry{Ply: 12, Token: "c2VjcmV0"}})
	if text := fmt.Sprintf("%v %s", err, err); strings.Contains(text, "c2VjcmV0") || !strings.Contains(text, "ply 12") {
		t.Errorf("%s; want the ply and not the token", text)
	}
}
