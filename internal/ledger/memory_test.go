package ledger

import (
	"encoding/binary"
	"testing"
	"time"
)

func numbered(n int) GameID {
	var id GameID
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

func TestAFullMemoryDropsExpiredGamesAndNoOthers(t *testing.T) {
	s := memoryStore()
	l := s.open(t, Options{MaxGames: 3, TTL: time.Hour})
	for n := range 3 {
		play(t, l, numbered(n), "main", 1)
		s.pass(t, time.Minute)
	}
	checkAdvance(t, l, state("main", 0), state("main", 1), "full")

	// The games that it knows go on. Game 1 is the oldest now.
	if got := answer(l.Advance(t.Context(), numbered(0), state("main", 1), state("main", 2))); got != "advanced" {
		t.Errorf("a move of a known game in a full ledger: %s; want advanced", got)
	}
	s.pass(t, 57*time.Minute)
	checkAdvance(t, l, state("main", 0), state("main", 1), "full")
	s.pass(t, time.Minute)
	checkAdvance(t, l, state("main", 0), state("main", 1), "advanced")

	checkNewest(t, l, numbered(0), state("main", 2))
	checkNewest(t, l, numbered(1), Entry{})
	checkNewest(t, l, numbered(2), state("main", 1))
	checkNewest(t, l, game, state("main", 1))
}

func TestMemoryLetsGoOfExpiredGames(t *testing.T) {
	const games = 1000
	s := memoryStore()
	l := s.open(t, Options{TTL: time.Hour}).(*memory)
	for n := range games {
		play(t, l, numbered(n), "main", 1)
	}
	s.pass(t, time.Hour)
	for n := range games / 2 {
		play(t, l, numbered(games+n), "main", 1)
	}
	if len(l.records) != games/2 || l.byAge.Len() != games/2 {
		t.Errorf("%d records and %d in order of age remain; want %d", len(l.records), l.byAge.Len(), games/2)
	}
}

func BenchmarkMemoryAdvance(b *testing.B) {
	l := memoryStore().open(b, Options{})
	for n := 0; b.Loop(); n++ {
		ply := n / DefaultMaxGames
		presented, next := Entry{Ply: ply, Token: "a"}, Entry{Ply: ply + 1, Token: "a"}
		if outcome, err := l.Advance(b.Context(), numbered(n%DefaultMaxGames), presented, next); outcome != Advanced || err != nil {
			b.Fatal(outcome, err)
		}
	}
}
