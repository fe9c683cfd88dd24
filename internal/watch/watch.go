// Package watch keeps what was read from files up to date while the program runs:
// keys and certificates change without a restart.
package watch

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settleTime lets the several changes of one update end before the files are
	// read.
	settleTime = 100 * time.Millisecond
	// pollInterval bounds how late a change is noticed where the file system
	// reports none, as network file systems do.
	pollInterval = time.Minute
)

// Config says which files to follow, and what to make of them.
type Config[T any] struct {
	// What names the value in errors and log lines, such as "keyset".
	What string
	// Paths of the files. Each may be a link, or lie in a Kubernetes secret's
	// volume, where whole directories are swapped.
	Paths []string
	// MaxBytes bounds each file.
	MaxBytes int64
	// Parse makes the value of the contents of the files, which come in the order
	// of Paths. It also gets the value in force, which is nil the first time.
	Parse func(contents [][]byte, inForce *T) (*T, error)
	// Logger hears of trouble with watching.
	Logger *slog.Logger
	// OnReload is told how each reload ended, with the value now in force: err is nil
	// if that is a new one, or that of before after the files were refused, and says why
	// changed files were refused otherwise.
	OnReload func(inForce *T, err error)
	// Settle and Poll replace, where they are not 0, the 100 ms that the changes of
	// one update may take, and the minute after which the files are read in any
	// case.
	Settle, Poll time.Duration
}

// Value is what was made of some files, and is replaced when they change. Files that
// cannot be used are refused, and reported again every minute; the value in force
// stays in force.
type Value[T any] struct {
	config  Config[T]
	current atomic.Pointer[T]
	// digest is that of the files in force, and refused that of the files last refused.
	digest, refused [sha256.Size]byte
	// trouble is why the files were not put in force the last time, if they were not.
	trouble string
	notify  *fsnotify.Watcher

	stop     chan struct{}
	stopOnce sync.Once
	done     chan struct{}
}

// Follow reads files, which must be usable, and follows their changes until Close.
func Follow[T any](config Config[T]) (*Value[T], error) {
	if config.Settle == 0 {
		config.Settle = settleTime
	}
	if config.Poll == 0 {
		config.Poll = pollInterval
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", strings.Join(config.Paths, ", "), err)
	}
	v := &Value[T]{
		config: config,
		notify: notify,
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	// Watching starts before loading, so that no change falls in between.
	v.follow()
	if _, err := v.load(); err != nil {
		_ = notify.Close()
		return nil, err
	}
	go v.run()
	return v, nil
}

// Current is the value now in force.
func (v *Value[T]) Current() *T { return v.current.Load() }

// Close stops following the files and waits until that is done. The value stays
// usable.
func (v *Value[T]) Close() error {
	v.stopOnce.Do(func() { close(v.stop) })
	<-v.done
	return v.notify.Close()
}

func (v *Value[T]) run() {
	defer close(v.done)
	ticker := time.NewTicker(v.config.Poll)
	defer ticker.Stop()
	var settled <-chan time.Time
	for {
		select {
		case <-v.stop:
			return
		case <-v.notify.Events:
			if settled == nil {
				settled = time.After(v.config.Settle)
			}
		case err := <-v.notify.Errors:
			v.config.Logger.Warn("watching files has trouble; they are also read every minute", "what", v.config.What, "paths", v.config.Paths, "error", err)
		case <-settled:
			settled = nil
			v.reload(false)
		case <-ticker.C:
			v.reload(true)
		}
	}
}

// reload reads the files, and reports how that ended. The same trouble is reported only
// if again is true: other files in the directory may change all the time, as does the
// log if it is among them.
func (v *Value[T]) reload(again bool) {
	v.follow()
	refused := v.refused
	changed, err := v.load()
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	known := trouble == v.trouble && refused == v.refused
	mended := err == nil && v.trouble != ""
	v.trouble = trouble
	if changed || mended || err != nil && (again || !known) {
		v.config.OnReload(v.Current(), err)
	}
}

// load puts what the files hold in force, unless it is already.
func (v *Value[T]) load() (changed bool, err error) {
	contents := make([][]byte, len(v.config.Paths))
	hash := sha256.New()
	for i, path := range v.config.Paths {
		if contents[i], err = ReadFile(path, v.config.MaxBytes); err != nil {
			return false, fmt.Errorf("%s: %w", v.config.What, err)
		}
		// Of fixed length each, or bytes could move from one file to the next.
		digest := sha256.Sum256(contents[i])
		hash.Write(digest[:])
	}
	digest := [sha256.Size]byte(hash.Sum(nil))
	if v.Current() != nil && digest == v.digest {
		return false, nil
	}
	value, err := v.config.Parse(contents, v.Current())
	if err != nil {
		v.refused = digest
		return false, fmt.Errorf("%s %s: %w", v.config.What, strings.Join(v.config.Paths, ", "), err)
	}
	v.current.Store(value)
	v.digest = digest
	return true, nil
}

// ReadFile reads a file of at most maxBytes bytes.
func ReadFile(path string, maxBytes int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written
	var data bytes.Buffer
	read, err := data.ReadFrom(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if read > maxBytes {
		return nil, fmt.Errorf("%s is above %d bytes, more than such a file can need", path, maxBytes)
	}
	return data.Bytes(), nil
}

// follow watches the directories where a change of the files shows: their own,
// where files are renamed and links swapped, and those of the files behind links.
func (v *Value[T]) follow() {
	var directories []string
	for _, path := range v.config.Paths {
		for _, directory := range directoriesOf(path) {
			if !slices.Contains(directories, directory) {
				directories = append(directories, directory)
			}
		}
	}
	for _, watched := range v.notify.WatchList() {
		if !slices.Contains(directories, watched) {
			// It may have vanished by itself.
			_ = v.notify.Remove(watched)
		}
	}
	for _, directory := range directories {
		if err := v.notify.Add(directory); err != nil {
			v.config.Logger.Warn("a directory cannot be watched; its files are also read every minute", "what", v.config.What, "directory", directory, "error", err)
		}
	}
}

func directoriesOf(path string) []string {
	own := filepath.Dir(path)
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return []string{own}
	}
	// A directory must not be watched under two names.
	if real, err := filepath.EvalSymlinks(own); err != nil || real == filepath.Dir(target) {
		return []string{own}
	}
	return []string{own, filepath.Dir(target)}
}
