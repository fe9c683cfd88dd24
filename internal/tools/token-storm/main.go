// Token-storm throws random and mutated states of every ruleset at the code that opens
// states, and tells how many got through and how many it threw in a second. None may get
// through but the genuine ones. It ends with status 1 if any does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/avalanched/avalanched/internal/engine/rulesets"
)

func main() {
	var config config
	flag.Int64Var(&config.tokens, "n", 10_000_000, "number of `tokens` to throw")
	flag.DurationVar(&config.time, "time", 10*time.Minute, "longest time to throw for")
	flag.Uint64Var(&config.seed, "seed", 1, "`number` that the mutations follow from; the keys are new each time")
	flag.IntVar(&config.workers, "workers", runtime.GOMAXPROCS(0), "number of `goroutines` that throw")
	flag.Parse()
	if flag.NArg() > 0 || config.tokens < 1 || config.workers < 1 {
		flag.Usage()
		os.Exit(2)
	}
	passed, err := run(os.Stdout, config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "token-storm:", err)
		os.Exit(2)
	}
	if !passed {
		os.Exit(1)
	}
}

type config struct {
	tokens  int64
	time    time.Duration
	seed    uint64
	workers int
}

// run throws and prints the report. It passed if nothing got through that must not.
func run(out io.Writer, config config) (passed bool, err error) {
	target, err := newTarget(rulesets.Registry(), config.seed)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), config.time)
	defer cancel()
	began := time.Now()
	counts, accepted := target.storm(ctx, config)
	took := time.Since(began)

	thrown, genuine, through := int64(0), int64(0), int64(0)
	for i, mutation := range mutations {
		count := counts[i]
		if _, err := fmt.Fprintf(out, "%-40s %10d thrown %10d accepted\n", mutation.name, count.thrown, count.accepted); err != nil {
			return false, err
		}
		thrown += count.thrown
		genuine += count.genuine
		through += count.accepted
	}
	for _, token := range accepted {
		if _, err := fmt.Fprintln(out, "ACCEPTED", token); err != nil {
			return false, err
		}
	}
	_, err = fmt.Fprintf(out, "%d of %d tokens thrown at %d genuine states of %d rulesets in %v, %.0f a second: %d accepted, and %d times a genuine state\n",
		thrown, config.tokens, len(target.originals), target.rulesets, took.Round(time.Millisecond), float64(thrown)/took.Seconds(), through, genuine)
	return through == 0, err
}
