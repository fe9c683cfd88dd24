package state

import (
	"log/slog"
	"time"

	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/avalanched/avalanched/internal/watch"
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
	file *watch.Value[Keyring]
}

// Watch loads a keyset file, which must be usable, and follows its changes until
// Close.
func Watch(config WatchConfig) (*Watcher, error) { return follow(config, 0, 0) }

// follow is Watch with other times than those of the watch package.
func follow(config WatchConfig, settle, poll time.Duration) (*Watcher, error) {
	file, err := watch.Follow(watch.Config[Keyring]{
		What:     "keyset",
		Paths:    []string{config.Path},
		MaxBytes: maxKeysetSize,
		Parse: func(contents [][]byte, _ *Keyring) (*Keyring, error) {
			keys, err := parseKeyset(contents[0], config.KEK)
			if err != nil {
				return nil, err
			}
			return keys.Keyring()
		},
		Logger:   config.Logger,
		OnReload: config.reloaded,
		Settle:   settle,
		Poll:     poll,
	})
	if err != nil {
		return nil, err
	}
	return &Watcher{file}, nil
}

func (c WatchConfig) reloaded(inForce *Keyring, err error) {
	if err != nil {
		c.Logger.Error("the keyset file is refused; the keys in force stay in force", "path", c.Path, "error", err)
	} else {
		c.Logger.Info("keyset reloaded", "path", c.Path, "primary_state_key_id", inForce.Primary().ID())
	}
	if c.OnReload != nil {
		c.OnReload(err)
	}
}

// Keyring is the keyring now in force.
func (w *Watcher) Keyring() *Keyring { return w.file.Current() }

// Close stops following the file and waits until that is done. The keyring stays
// usable.
func (w *Watcher) Close() error { return w.file.Close() }
