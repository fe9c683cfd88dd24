package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// tally counts what happens.
type tally struct {
	mu                    sync.Mutex
	games, moves, retries int
	longestRow            int // of retries of one call
	byRuleset             map[string]int
	disturbances          map[string]int
	errors                []error
}

func newTally() *tally {
	return &tally{byRuleset: map[string]int{}, disturbances: map[string]int{}}
}

func (t *tally) game(ruleset string, moves int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.games++
	t.moves += moves
	t.byRuleset[ruleset]++
}

func (t *tally) retried(row int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retries++
	t.longestRow = max(t.longestRow, row)
}

func (t *tally) disturbed(how string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disturbances[how]++
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, err)
}

func (t *tally) failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.errors) > 0
}

func (t *tally) firstError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.errors) == 0 {
		return nil
	}
	return fmt.Errorf("%d failures, the first: %w", len(t.errors), t.errors[0])
}

// table is a Markdown table of the figures.
func (t *tally) table() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	fmt.Fprintln(&b, "| what | count |")
	fmt.Fprintln(&b, "|---|---:|")
	fmt.Fprintf(&b, "| games finished and audited | %d |\n", t.games)
	for _, ruleset := range slices.Sorted(maps.Keys(t.byRuleset)) {
		fmt.Fprintf(&b, "| of these %s | %d |\n", ruleset, t.byRuleset[ruleset])
	}
	fmt.Fprintf(&b, "| moves | %d |\n", t.moves)
	for _, how := range slices.Sorted(maps.Keys(t.disturbances)) {
		fmt.Fprintf(&b, "| %s | %d |\n", how, t.disturbances[how])
	}
	fmt.Fprintf(&b, "| calls tried again | %d |\n", t.retries)
	fmt.Fprintf(&b, "| most tries of one call | %d |\n", t.longestRow+1)
	fmt.Fprintf(&b, "| games lost, records that do not replay, calls failed | %d |\n", len(t.errors))
	return b.String()
}
