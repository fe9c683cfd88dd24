package server

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// take empties the log.
func (b *logBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buffer.Reset()
	return b.buffer.String()
}

// linesOf takes the lines of a log and sums them up as "LEVEL message" or, where some
// were left out, "LEVEL message -count", with the number of such lines, sorted.
func linesOf(t *testing.T, log *logBuffer) []string {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(log.take()) {
		var record struct {
			Level, Msg, Lines string
			Count             int
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kind := record.Level + " " + record.Msg
		if record.Msg == "left out" {
			kind = fmt.Sprintf("%s %s -%d", record.Level, record.Lines, record.Count)
		}
		counts[kind]++
	}
	var lines []string
	for kind, count := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d", kind, count))
	}
	slices.Sort(lines)
	return lines
}

func wantLines(t *testing.T, log *logBuffer, want ...string) {
	t.Helper()
	if got := linesOf(t, log); !slices.Equal(got, want) {
		t.Errorf("log %q, want %q", got, want)
	}
}

func TestLogUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := &logBuffer{}
		log := LimitLog(slog.New(slog.NewJSONHandler(written, nil)), 3)
		for i := range 10 {
			log.Info("request")
			// Attributes and groups change nothing.
			log.With("i", i).WithGroup("g").Warn("request", "j", 1)
			log.Debug("request")
		}
		log.Error("fault")
		wantLines(t, written, "ERROR fault: 1", "INFO request: 3", "WARN request: 3")

		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantLines(t, written, "INFO request -7: 1", "WARN request -7: 1")

		// The next second has room again, and nothing is reported that was written.
		log.Info("request")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantLines(t, written, "INFO request: 1")
	})
}

// TestMadeUpMessagesAreBounded: libraries put anything into messages.
func TestMadeUpMessagesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := &logBuffer{}
		log := LimitLog(slog.New(slog.NewJSONHandler(written, nil)), 1)
		const extra = 50
		for i := range maxLineKinds + extra {
			log.Info(fmt.Sprintf("connection %d", i)) //nolint:sloglint // As libraries do.
		}
		if got := len(linesOf(t, written)); got != maxLineKinds+1 {
			t.Errorf("%d lines, want %d", got, maxLineKinds+1)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantLines(t, written, fmt.Sprintf("INFO others -%d: 1", extra-1))
	})
}

func TestNoLogLimit(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if LimitLog(log, 0) != log {
		t.Error("a limit of 0 limits")
	}
}
