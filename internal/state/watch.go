package state

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/tink-crypto/tink-go/v2/tink"
)

const (
	// settleTime lets the several changes of one update end before the file is read.
	settleTime = 100 * time.Millisecond
	// pollInterval bounds how late a change is noticed where the file system
	// reports none, as network file systems do.
	pollInterval = time.Minute
)

// WatchConfig says which keyset to follow.
type WatchConfig struct {
	// Path of the keyset file. It may be a link, or lie in a Kubernetes secret's
	// volume, where whole directories are swapped.
	Path string
	// KEK decrypts the keyset; nil for one that is not encrypted. A reload waits
	// for it, and so does Close.
	KEK tink.AEAD
	// Logger hears of every reload.
	Logger *slog.Logger
	// OnReload is told how each reload ended: nil if a new keyset is in force,
	// the error if a changed file was refused. It may be nil.
	OnReload func(error)
}

// Watcher holds the keyring of a keyset file and replaces it when the file
// changes. A file that cannot be used is refused, and reported again every
// minute; the keyring in force stays in force.
type Watcher struct {
	config  WatchConfig
	current atomic.Pointer[Keyring]
	// digest is that of the file in force.
	digest [sha256.Size]byte
	notify *fsnotify.Watcher

	stop     chan struct{}
	stopOnce sync.Once
	done     chan struct{}
}

// Watch loads a keyset file, which must be usable, and follows its changes until
// Close.
func Watch(config WatchConfig) (*Watcher, error) { return watch(config, settleTime, pollInterval) }

func watch(config WatchConfig, settle, poll time.Duration) (*Watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch keyset %s: %w", config.Path, err)
	}
	w := &Watcher{
		config: config,
		notify: notify,
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	// Watching starts before loading, so that no change falls in between.
	w.follow()
	if _, err := w.load(); err != nil {
		_ = notify.Close()
		return nil, err
	}
	go w.run(settle, poll)
	return w, nil
}

// Keyring is the keyring now in force.
func (w *Watcher) Keyring() *Keyring { return w.current.Load() }

// Close stops following the file and waits until that is done. The keyring stays
// usable.
func (w *Watcher) Close() error {
	w.stopOnce.Do(func() { close(w.stop) })
	<-w.done
	return w.notify.Close()
}

func (w *Watcher) run(settle, poll time.Duration) {
	defer close(w.done)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	var settled <-chan time.Time
	for {
		select {
		case <-w.stop:
			return
		case <-w.notify.Events:
			if settled == nil {
				settled = time.After(settle)
			}
		case err := <-w.notify.Errors:
			w.config.Logger.Warn("watching the keyset has trouble; it is also read every minute", "path", w.config.Path, "error", err)
		case <-settled:
			settled = nil
			w.reload()
		case <-ticker.C:
			w.reload()
		}
	}
}

func (w *Watcher) reload() {
	w.follow()
	changed, err := w.load()
	switch {
	case err != nil:
		w.config.Logger.Error("the keyset file is refused; the keys in force stay in force", "path", w.config.Path, "error", err)
	case changed:
		w.config.Logger.Info("keyset reloaded", "path", w.config.Path, "primary_state_key_id", w.Keyring().Primary().ID())
	default:
		return
	}
	if w.config.OnReload != nil {
		w.config.OnReload(err)
	}
}

// load puts the file's keyset in force, unless it is already.
func (w *Watcher) load() (changed bool, err error) {
	data, err := readKeysetFile(w.config.Path)
	if err != nil {
		return false, err
	}
	digest := sha256.Sum256(data)
	if w.Keyring() != nil && digest == w.digest {
		return false, nil
	}
	keys, err := parseKeyset(data, w.config.KEK)
	if err != nil {
		return false, fmt.Errorf("keyset %s: %w", w.config.Path, err)
	}
	ring, err := keys.Keyring()
	if err != nil {
		return false, fmt.Errorf("keyset %s: %w", w.config.Path, err)
	}
	w.current.Store(ring)
	w.digest = digest
	return true, nil
}

// follow watches the directories where a change of the file shows: its own,
// where files are renamed and links swapped, and that of the file behind links.
func (w *Watcher) follow() {
	directories := w.directories()
	for _, watched := range w.notify.WatchList() {
		if !slices.Contains(directories, watched) {
			// It may have vanished by itself.
			_ = w.notify.Remove(watched)
		}
	}
	for _, directory := range directories {
		if err := w.notify.Add(directory); err != nil {
			w.config.Logger.Warn("a directory of the keyset cannot be watched; the keyset is also read every minute", "directory", directory, "error", err)
		}
	}
}

func (w *Watcher) directories() []string {
	own := filepath.Dir(w.config.Path)
	target, err := filepath.EvalSymlinks(w.config.Path)
	if err != nil {
		return []string{own}
	}
	// A directory must not be watched under two names.
	if real, err := filepath.EvalSymlinks(own); err != nil || real == filepath.Dir(target) {
		return []string{own}
	}
	return []string{own, filepath.Dir(target)}
}
