package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const never = time.Hour

// joined is the value of the tests: what the files hold, one after the other, and
// what was in force before.
type joined struct{ text, before string }

type reload struct {
	inForce string
	err     error
}

// followFiles follows files and hands over what OnReload is told.
func followFiles(t *testing.T, poll time.Duration, paths ...string) (*Value[joined], chan reload) {
	t.Helper()
	reloads := make(chan reload, 100)
	value, err := Follow(Config[joined]{
		What:     "test files",
		Paths:    paths,
		MaxBytes: 100,
		Parse: func(contents [][]byte, inForce *joined) (*joined, error) {
			value := &joined{text: fmt.Sprintf("%s", contents)}
			if strings.Contains(value.text, "broken") {
				return nil, errors.New("it is broken")
			}
			if inForce != nil {
				value.before = inForce.text
			}
			return value, nil
		},
		Logger:   slog.New(slog.DiscardHandler),
		OnReload: func(inForce *joined, err error) { reloads <- reload{inForce.text, err} },
		Settle:   5 * time.Millisecond,
		Poll:     poll,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := value.Close(); err != nil {
			t.Error(err)
		}
	})
	return value, reloads
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// TestSeveralFiles: a change of any of them makes the value anew. That links and
// Kubernetes' volumes are followed is tested with keysets, in internal/state.
func TestSeveralFiles(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	replace(t, one, "a")
	replace(t, two, "bc")
	value, reloads := followFiles(t, never, one, two)
	if got := value.Current(); *got != (joined{"[a bc]", ""}) {
		t.Errorf("at first: %+v", got)
	}
	replace(t, two, "c")
	if got := <-reloads; got != (reload{"[a c]", nil}) {
		t.Errorf("after a change of the second: %+v", got)
	}
	replace(t, one, "ab")
	if got := <-reloads; got != (reload{"[ab c]", nil}) {
		t.Errorf("after a change of the first: %+v", got)
	}
	if got := value.Current(); *got != (joined{"[ab c]", "[a c]"}) {
		t.Errorf("in force: %+v", got)
	}
}

func TestBytesThatMoveBetweenFilesAreAChange(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	replace(t, one, "a")
	replace(t, two, "bc")
	value, err := Follow(Config[joined]{
		What: "test files", Paths: []string{one, two}, MaxBytes: 100,
		Parse: func(contents [][]byte, _ *joined) (*joined, error) {
			return &joined{text: fmt.Sprintf("%s", contents)}, nil
		},
		Logger: slog.New(slog.DiscardHandler), OnReload: func(*joined, error) {}, Settle: never, Poll: never,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := value.Close(); err != nil {
		t.Fatal(err)
	}
	replace(t, one, "ab")
	replace(t, two, "c")
	if changed, err := value.load(); err != nil || !changed {
		t.Errorf("%v, %v", changed, err)
	}
	if changed, err := value.load(); err != nil || changed {
		t.Errorf("the second time: %v, %v", changed, err)
	}
}

// TestTheSameTroubleIsToldOnce writes to another file beside a refused one, as a log may
// be, and then changes the refused one into another that is refused for the same reason.
func TestTheSameTroubleIsToldOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	replace(t, path, "a")
	_, reloads := followFiles(t, never, path)
	replace(t, path, "broken")
	if got := <-reloads; got.err == nil {
		t.Fatal("a broken file is in force")
	}
	for range 5 {
		replace(t, filepath.Join(filepath.Dir(path), "beside"), "x")
		time.Sleep(20 * time.Millisecond) // Longer than changes take to settle.
	}
	replace(t, path, "broken, too")
	if got := <-reloads; got.err == nil {
		t.Fatal("another broken file is in force")
	}
	replace(t, path, "b")
	if got := <-reloads; got.err != nil {
		t.Errorf("after both, the report is %v", got.err)
	}
}

func TestRefusedFilesChangeNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	replace(t, path, "a")
	value, reloads := followFiles(t, never, path)
	for _, text := range []string{"broken", strings.Repeat("x", 101)} {
		replace(t, path, text)
		got := <-reloads
		if got.err == nil || got.inForce != "[a]" || value.Current().text != "[a]" {
			t.Errorf("%.10s: %+v", text, got)
		}
		if !strings.Contains(got.err.Error(), path) || !strings.Contains(got.err.Error(), "test files") {
			t.Errorf("the error does not say what is wrong: %v", got.err)
		}
	}
	replace(t, path, "b")
	if got := <-reloads; got != (reload{"[b]", nil}) {
		t.Errorf("mended: %+v", got)
	}
}

// TestARefusalIsRepeated: one line of the log, long ago, would be overlooked.
func TestARefusalIsRepeated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	replace(t, path, "a")
	_, reloads := followFiles(t, time.Millisecond, path)
	replace(t, path, "broken")
	for range 3 {
		if got := <-reloads; got.err == nil {
			t.Errorf("accepted: %+v", got)
		}
	}
}

func TestFollowNeedsUsableFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	config := Config[joined]{What: "test files", Paths: []string{path}, MaxBytes: 3, Logger: slog.New(slog.DiscardHandler)}
	if _, err := Follow(config); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "test files") {
		t.Errorf("an absent file: %v", err)
	}
	replace(t, path, "four")
	if _, err := Follow(config); err == nil || !strings.Contains(err.Error(), "above 3 bytes") {
		t.Errorf("a long file: %v", err)
	}
}
