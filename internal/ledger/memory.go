package ledger

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// memory keeps the heads in this process. It is for a single replica, and a
// restart loses it.
type memory struct {
	strict   bool
	ttl      time.Duration
	maxGames int
	now      func() time.Time

	mu      sync.Mutex
	records map[GameID]*list.Element
	// byAge lists the records from the oldest write to the newest. All have the
	// same TTL, so they expire in this order too.
	byAge list.List
}

type record struct {
	game    GameID
	head    Entry
	written time.Time
}

func newMemory(options Options, now func() time.Time) *memory {
	return &memory{
		strict:   options.Strict,
		ttl:      options.TTL,
		maxGames: options.MaxGames,
		now:      now,
		records:  make(map[GameID]*list.Element),
	}
}

// Advance implements Ledger.
func (m *memory) Advance(_ context.Context, game GameID, presented, next Entry) (Outcome, error) {
	if err := checkMove(presented, next); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	m.dropExpired(now)
	head, known := m.head(game, now)
	outcome, err := decide(head, known, presented, next, m.strict)
	if err != nil || outcome == Repeated {
		return outcome, err
	}
	if err := m.store(record{game: game, head: next, written: now}); err != nil {
		return 0, err
	}
	return outcome, nil
}

// decide is the rule by which Advance answers. advance.lua is its twin.
func decide(head Entry, known bool, presented, next Entry, strict bool) (Outcome, error) {
	switch {
	case known && head == presented, !known && presented.Ply == 0:
		return Advanced, nil
	case known && head == next:
		return Repeated, nil
	case known && presented.Ply <= head.Ply:
		return 0, &SupersededError{Newest: head}
	case strict:
		return 0, ErrForgotten
	default:
		return Adopted, nil
	}
}

// Newest implements Ledger.
func (m *memory) Newest(_ context.Context, game GameID) (Entry, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head, known := m.head(game, m.now())
	return head, known, nil
}

// Ping implements Ledger.
func (m *memory) Ping(context.Context) error { return nil }

// Close implements Ledger.
func (m *memory) Close() error { return nil }

func (m *memory) head(game GameID, now time.Time) (Entry, bool) {
	element, ok := m.records[game]
	if !ok {
		return Entry{}, false
	}
	record := element.Value.(record)
	if m.expired(record, now) {
		return Entry{}, false
	}
	return record.head, true
}

func (m *memory) store(r record) error {
	if element, ok := m.records[r.game]; ok {
		element.Value = r
		m.byAge.MoveToBack(element)
		return nil
	}
	if len(m.records) >= m.maxGames {
		return ErrFull
	}
	m.records[r.game] = m.byAge.PushBack(r)
	return nil
}

// dropExpired removes up to two expired records. Each write adds at most one, so
// the expired ones run out while no single write has to wait for many removals. A
// full ledger with an expired record gets room for one more.
func (m *memory) dropExpired(now time.Time) {
	for range 2 {
		oldest := m.byAge.Front()
		if oldest == nil || !m.expired(oldest.Value.(record), now) {
			return
		}
		delete(m.records, m.byAge.Remove(oldest).(record).game)
	}
}

func (m *memory) expired(r record, now time.Time) bool { return now.Sub(r.written) >= m.ttl }
