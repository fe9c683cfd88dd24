package main

import (
	"strings"
	"testing"
	"time"

	"github.com/avalanched/avalanched/internal/engine/rulesets"
)

func TestNothingGetsThrough(t *testing.T) {
	var report strings.Builder
	passed, err := run(&report, config{tokens: 200_001, time: time.Minute, seed: 1, workers: 2})
	if err != nil || !passed || !strings.Contains(report.String(), "200001 of 200001 tokens") {
		t.Errorf("passed %v, %v:\n%s", passed, err, report.String())
	}
}

// A storm must be able to fail: where a state is not known to be genuine, its acceptance
// is reported.
func TestAcceptanceIsReported(t *testing.T) {
	target, err := newTarget(rulesets.Registry(), 1)
	if err != nil {
		t.Fatal(err)
	}
	clear(target.genuine)
	counts, shown := target.storm(t.Context(), config{tokens: 5000, seed: 1, workers: 2})
	if counts[0].thrown == 0 || counts[0].accepted != counts[0].thrown || len(shown) != maxExamples {
		t.Errorf("of %d states unchanged, %d are called accepted and %d are shown", counts[0].thrown, counts[0].accepted, len(shown))
	}
}

func TestTimeIsBounded(t *testing.T) {
	var report strings.Builder
	began := time.Now()
	passed, err := run(&report, config{tokens: 1 << 60, time: 50 * time.Millisecond, seed: 1, workers: 2})
	if took := time.Since(began); err != nil || !passed || took > 20*time.Second {
		t.Errorf("passed %v, %v, after %v", passed, err, took)
	}
}
