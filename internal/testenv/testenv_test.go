package testenv_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/avalanched/avalanched/internal/testenv"
)

const missing = "a-program-that-no-machine-has"

// recorder notes how a test ended. Like the real ones, Skipf and Fatalf do not return.
type recorder struct {
	testing.TB
	skipped, failed bool
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(string, ...any) {
	r.skipped = true
	runtime.Goexit()
}

func (r *recorder) Fatalf(string, ...any) {
	r.failed = true
	runtime.Goexit()
}

func need(program string) *recorder {
	r := new(recorder)
	done := make(chan struct{})
	go func() {
		defer close(done)
		testenv.Need(r, program)
	}()
	<-done
	return r
}

func TestNeedSkipsOrFails(t *testing.T) {
	t.Setenv(testenv.RequireAll, "")
	if r := need(missing); !r.skipped || r.failed {
		t.Errorf("without %s: skipped %v, failed %v; want a skip", testenv.RequireAll, r.skipped, r.failed)
	}
	t.Setenv(testenv.RequireAll, "1")
	if r := need(missing); r.skipped || !r.failed {
		t.Errorf("with %s: skipped %v, failed %v; want a failure", testenv.RequireAll, r.skipped, r.failed)
	}
}

func TestNeedFindsAProgram(t *testing.T) {
	t.Setenv(testenv.RequireAll, "1")
	path := testenv.Need(t, "go")
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
