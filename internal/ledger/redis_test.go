package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// timeout is that of ledgers whose Redis does not answer in a test.
const timeout = 200 * time.Millisecond

// checkUnavailable checks that an operation fails as it should and about when it
// should. The slack is for a busy machine.
func checkUnavailable(t testing.TB, what string, within time.Duration, operation func() error) {
	t.Helper()
	const slack = time.Second
	start := time.Now()
	err := operation()
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("%s: %v; want ErrUnavailable", what, err)
	}
	if took := time.Since(start); took > within+slack {
		t.Errorf("%s: failed after %v; want at most %v", what, took, within)
	}
}

func advance(t testing.TB, l Ledger, ply int) error {
	_, err := l.Advance(t.Context(), game, state("main", ply), state("main", ply+1))
	return err
}

func TestEntryInRedis(t *testing.T) {
	s := startServer(t)
	l := open(t, s.url(), Options{})
	play(t, l, game, "main", 2)
	const key = "avalanched:game:0123456789abcdef"
	if keys := s.admin.Keys(t.Context(), "*").Val(); len(keys) != 1 || keys[0] != key {
		t.Errorf("keys %q; want %q alone", keys, key)
	}
	if value := s.admin.Get(t.Context(), key).Val(); value != "2 main-2" {
		t.Errorf("value %q; want %q", value, "2 main-2")
	}
	if left := s.admin.PTTL(t.Context(), key).Val(); left > DefaultTTL || left < DefaultTTL-time.Hour {
		t.Errorf("%v to live; want %v", left, DefaultTTL)
	}
}

func TestStrangeValuesAreLeftAlone(t *testing.T) {
	s := startServer(t)
	l := open(t, s.url(), Options{Prefix: "p:"})
	key := "p:" + game.String()
	for _, value := range []string{"", "7", "7 ", " main", "-7 main", "7.5 main", "x7 main", "main", "99999999999 main"} {
		s.do(t, "SET", key, value)
		if entry, _, err := l.Newest(t.Context(), game); !errors.Is(err, ErrUnavailable) {
			t.Errorf("newest of %q: %+v, %v; want ErrUnavailable", value, entry, err)
		}
		if err := advance(t, l, 3); !errors.Is(err, ErrUnavailable) {
			t.Errorf("move from %q: %v; want ErrUnavailable", value, err)
		}
		if got := s.admin.Get(t.Context(), key).Val(); got != value {
			t.Errorf("%q became %q", value, got)
		}
	}
	s.do(t, "DEL", key)
	s.do(t, "HSET", key, "field", "value")
	if err := advance(t, l, 3); !errors.Is(err, ErrUnavailable) {
		t.Errorf("move from a hash: %v; want ErrUnavailable", err)
	}
}

func TestForgottenScript(t *testing.T) {
	s := startServer(t)
	l := open(t, s.url(), Options{})
	play(t, l, game, "main", 1)
	s.do(t, "SCRIPT", "FLUSH")
	checkAdvance(t, l, state("main", 1), state("main", 2), "advanced")
}

// A crash without a disk loses all games. Redis itself comes back without help.
func TestRestart(t *testing.T) {
	t.Parallel()
	for strict, want := range map[bool]string{false: "adopted", true: "forgotten"} {
		t.Run(fmt.Sprintf("strict %v", strict), func(t *testing.T) {
			s := startServer(t)
			l := open(t, s.url(), Options{Timeout: timeout, Strict: strict})
			play(t, l, game, "main", 3)

			s.stop(t)
			checkUnavailable(t, "move without a server", timeout, func() error { return advance(t, l, 3) })
			checkUnavailable(t, "ping without a server", timeout, func() error { return l.Ping(t.Context()) })
			checkUnavailable(t, "newest without a server", timeout, func() error {
				_, _, err := l.Newest(t.Context(), game)
				return err
			})

			s.start(t)
			eventually(t, "ping", func() error { return l.Ping(t.Context()) })
			checkNewest(t, l, game, Entry{})
			checkAdvance(t, l, state("main", 3), state("main", 4), want)
			checkAdvance(t, l, state("main", 0), state("main", 1), map[bool]string{
				false: "superseded by {Ply:4 Token:main-4}",
				true:  "advanced",
			}[strict])
		})
	}
}

func TestOpenWithoutAServer(t *testing.T) {
	t.Parallel()
	addr := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	for _, location := range []string{
		"redis://" + addr,
		"rediss://" + addr,
		"redis+cluster://" + addr,
		"redis+sentinel://" + addr + "?master_name=games",
	} {
		checkUnavailable(t, location, timeout, func() error {
			l, err := Open(t.Context(), location, Options{Timeout: timeout, Logger: quiet})
			if l != nil {
				t.Errorf("%s: a ledger beside the error %v", location, err)
			}
			return err
		})
	}
}

// A server that hangs takes requests without answering them. What the caller cannot
// know is settled by asking again.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	l := open(t, s.url(), Options{Timeout: timeout})
	play(t, l, game, "main", 1)

	s.pause(t)
	checkUnavailable(t, "move on a hanging server", timeout, func() error { return advance(t, l, 1) })
	checkUnavailable(t, "ping of a hanging server", timeout, func() error { return l.Ping(t.Context()) })
	checkUnavailable(t, "newest of a hanging server", timeout, func() error {
		_, _, err := l.Newest(t.Context(), game)
		return err
	})
	s.resume(t)

	eventually(t, "the unanswered move is recorded", func() error {
		if head, _, err := l.Newest(t.Context(), game); err != nil || head != state("main", 2) {
			return fmt.Errorf("newest: %+v, %w", head, err)
		}
		return nil
	})
	checkAdvance(t, l, state("main", 1), state("main", 2), "repeated")
	checkAdvance(t, l, state("main", 1), state("side", 2), "superseded by {Ply:2 Token:main-2}")
}

// A connection may die without a word and take an answer with it. An operation that
// meets it asks again on another one, in the time it has.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	p := startProxy(t, startServer(t).addr())
	l := open(t, "redis://"+p.listener.Addr().String(), Options{})
	play(t, l, game, "main", 1)
	p.muteConnections()
	checkAdvance(t, l, state("main", 1), state("main", 2), "repeated")
	checkNewest(t, l, game, state("main", 2))
}

func TestCallersContextEndsTheWait(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	l := open(t, s.url(), Options{Timeout: time.Minute})
	play(t, l, game, "main", 1)
	s.pause(t)
	defer s.resume(t)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	checkUnavailable(t, "newest", 0, func() error {
		_, _, err := l.Newest(ctx, game)
		return err
	})
	checkUnavailable(t, "move", 0, func() error {
		_, err := l.Advance(ctx, game, state("main", 1), state("main", 2))
		return err
	})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Advance(canceled, game, state("main", 1), state("main", 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("move for a caller who has gone: %v; want context.Canceled", err)
	}
}

func TestRedisOutOfMemory(t *testing.T) {
	s := startServer(t)
	l := open(t, s.url(), Options{})
	play(t, l, game, "main", 2)
	s.do(t, "CONFIG", "SET", "maxmemory", "1")
	checkAdvance(t, l, state("main", 2), state("main", 3), "full")
	// What needs no memory is still answered.
	checkAdvance(t, l, state("main", 1), state("main", 2), "repeated")
	checkAdvance(t, l, state("main", 1), state("side", 2), "superseded by {Ply:2 Token:main-2}")
	checkNewest(t, l, game, state("main", 2))
	s.do(t, "CONFIG", "SET", "maxmemory", "0")
	checkAdvance(t, l, state("main", 2), state("main", 3), "advanced")
}

// Redis answers a command that it does not know with the first arguments of it.
func TestErrorsShowNoState(t *testing.T) {
	s := startServer(t, "--rename-command", "EVALSHA", "")
	l := open(t, s.url(), Options{})
	// Short enough for Redis not to cut it off.
	_, err := l.Advance(t.Context(), game, Entry{Ply: 0, Token: "secret"}, Entry{Ply: 1, Token: "next"})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "ERR unknown command") {
		t.Fatalf("%v; want ErrUnavailable and why", err)
	}
	if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), game.String()) {
		t.Errorf("the error shows a state: %v", err)
	}
}

func TestEvictingServerIsRefused(t *testing.T) {
	s := startServer(t, "--maxmemory-policy", "allkeys-lru")
	_, err := Open(t.Context(), s.url(), Options{Logger: quiet})
	if err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "allkeys-lru") || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("%v; want an error that names both policies", err)
	}
}

// The commands are those that docs/ledger.md tells operators to allow.
func TestLeastPrivileges(t *testing.T) {
	const password = "p@ss/w:rd?"
	s := startServer(t)
	s.do(t, "ACL", "SETUSER", "ledger", "on", ">"+password, "~avalanched:*", "+@connection", "+get", "+set", "+eval", "+evalsha")
	s.do(t, "ACL", "SETUSER", "default", "off")
	location := strings.Replace(s.url(), "://", "://ledger:p%40ss%2Fw%3Ard%3F@", 1)

	var log lockedBuffer
	l := open(t, location, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	play(t, l, game, "main", 2)
	checkNewest(t, l, game, state("main", 2))
	if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "noeviction") {
		t.Errorf("log %q; want a warning about the eviction policy", text)
	}

	_, err := Open(t.Context(), strings.Replace(location, "p%40ss", "wrong", 1), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("wrong password: %v; want ErrUnavailable and why", err)
	}
	if text := log.String() + err.Error(); strings.Contains(text, "w:rd") || strings.Contains(text, "w%3Ard") {
		t.Errorf("the password is shown in %q", text)
	}
}

func BenchmarkRedisAdvance(b *testing.B) {
	l := open(b, startServer(b).url(), Options{})
	var games atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		id := numbered(int(games.Add(1)))
		for ply := 0; pb.Next(); ply++ {
			if _, err := l.Advance(b.Context(), id, Entry{Ply: ply, Token: "a"}, Entry{Ply: ply + 1, Token: "a"}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
