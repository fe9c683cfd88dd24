package state

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	shortly = 5 * time.Millisecond
	never   = time.Hour
)

// watched follows a file and hands over what OnReload is told.
type watched struct {
	*Watcher
	reloads chan error
	log     *lockedBuffer
}

// lockedBuffer may be read while the watcher logs to it.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

func startWatching(t *testing.T, path string, poll time.Duration) watched {
	t.Helper()
	w := watched{reloads: make(chan error, 1000), log: &lockedBuffer{}}
	var err error
	w.Watcher, err = follow(WatchConfig{
		Path:     path,
		Logger:   slog.New(slog.NewTextHandler(w.log, nil)),
		OnReload: func(err error) { w.reloads <- err },
	}, shortly, poll)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w watched) reload(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.reloads:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the change was not noticed")
		return nil
	}
}

// expectPrimary waits for the reload that makes a key the primary one. A file may
// have been refused before it was complete.
func (w watched) expectPrimary(t *testing.T, id uint32) {
	t.Helper()
	for w.reload(t) != nil || w.Keyring().Primary().ID() != uint8(id) {
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	beforeChange = keysetJSON(firstID, firstKey)
	afterChange  = keysetJSON(secondID, firstKey, secondKey)
)

func TestReloadAfterWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	write(t, path, beforeChange)
	w := startWatching(t, path, never)
	old := w.Keyring()
	write(t, path, afterChange)
	w.expectPrimary(t, secondID)
	if old.Primary().ID() != firstID&0xff {
		t.Error("a keyring that was taken before the reload changed")
	}
	if !strings.Contains(w.log.String(), "keyset reloaded") {
		t.Errorf("the log says %q", w.log)
	}
}

func TestReloadAfterReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	keys := newKeyset(t)
	if err := keys.CreateFile(path, nil); err != nil {
		t.Fatal(err)
	}
	w := startWatching(t, path, never)
	id, err := keys.Add()
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Promote(id); err != nil {
		t.Fatal(err)
	}
	if err := keys.ReplaceFile(path, nil); err != nil {
		t.Fatal(err)
	}
	w.expectPrimary(t, id)
}

// Kubernetes swaps the link ..data from one directory to the next.
func TestReloadOfAKubernetesVolume(t *testing.T) {
	volume := t.TempDir()
	publish := func(name string, data []byte) {
		write(t, filepath.Join(mkdir(t, filepath.Join(volume, name)), "keyset.json"), data)
		symlink(t, name, filepath.Join(volume, "..data_tmp"))
		rename(t, filepath.Join(volume, "..data_tmp"), filepath.Join(volume, "..data"))
	}
	publish("..2026_01", beforeChange)
	path := filepath.Join(volume, "keyset.json")
	symlink(t, filepath.Join("..data", "keyset.json"), path)
	w := startWatching(t, path, never)
	for _, update := range []struct {
		name, old string
		data      []byte
		primary   uint32
	}{
		{"..2026_02", "..2026_01", afterChange, secondID},
		{"..2026_03", "..2026_02", beforeChange, firstID},
		{"..2026_04", "..2026_03", afterChange, secondID},
	} {
		publish(update.name, update.data)
		w.expectPrimary(t, update.primary)
		if err := os.RemoveAll(filepath.Join(volume, update.old)); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("the log says %s", w.log)
	}
}

// The file behind a link lies in a directory of its own.
func TestReloadBehindALink(t *testing.T) {
	target := filepath.Join(t.TempDir(), "real.json")
	write(t, target, beforeChange)
	path := filepath.Join(t.TempDir(), "keyset.json")
	symlink(t, target, path)
	w := startWatching(t, path, never)
	write(t, target+".new", afterChange)
	rename(t, target+".new", target)
	w.expectPrimary(t, secondID)

	// The link moves on, and the watch with it.
	other := filepath.Join(t.TempDir(), "other.json")
	write(t, other, beforeChange)
	symlink(t, other, path+".new")
	rename(t, path+".new", path)
	w.expectPrimary(t, firstID)
	write(t, other, afterChange)
	w.expectPrimary(t, secondID)
}

// Nothing announces that a directory on the way to the file's own was swapped.
func TestReloadByPolling(t *testing.T) {
	root := t.TempDir()
	for name, data := range map[string][]byte{"v1": beforeChange, "v2": afterChange} {
		write(t, filepath.Join(mkdir(t, filepath.Join(root, name)), "keyset.json"), data)
	}
	symlink(t, "v1", filepath.Join(root, "current"))
	w := startWatching(t, filepath.Join(root, "current", "keyset.json"), 20*time.Millisecond)
	symlink(t, "v2", filepath.Join(root, "new"))
	rename(t, filepath.Join(root, "new"), filepath.Join(root, "current"))
	w.expectPrimary(t, secondID)
}

func TestABrokenFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	write(t, path, beforeChange)
	w := startWatching(t, path, never)
	old := w.Keyring()
	for name, data := range map[string][]byte{
		"empty file":     nil,
		"half a file":    afterChange[:len(afterChange)/2],
		"disabled key":   keysetJSON(firstID, testKey{id: firstID, status: "DISABLED", secret: 1}, secondKey),
		"clashing keys":  keysetJSON(firstID, firstKey, testKey{id: 0x42, status: "ENABLED", secret: 2}),
		"another format": []byte("keys: []"),
	} {
		write(t, path, data)
		if err := w.reload(t); err == nil {
			t.Fatalf("%s: accepted", name)
		}
		if w.Keyring() != old {
			t.Fatalf("%s: the keyring changed", name)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, path) {
		t.Errorf("the log says %s", log)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for {
		// A refusal of the last file may still be on its way.
		err := w.reload(t)
		if err == nil {
			t.Fatal("an absent file was accepted")
		}
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if w.Keyring() != old {
		t.Error("without a file, the keyring changed")
	}
	write(t, path+".new", afterChange)
	rename(t, path+".new", path)
	for {
		if err := w.reload(t); err == nil {
			break
		}
	}
	if w.Keyring().Primary().ID() != secondID&0xff {
		t.Error("the mended file is not in force")
	}
}

func TestAnUnchangedFileIsNotReloaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	write(t, path, beforeChange)
	w := startWatching(t, path, shortly)
	old := w.Keyring()
	write(t, path+".new", beforeChange)
	rename(t, path+".new", path)
	select {
	case err := <-w.reloads:
		t.Errorf("reloaded, %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if w.Keyring() != old {
		t.Error("the keyring changed")
	}
}

func TestWatchNeedsAUsableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	config := WatchConfig{Path: path, Logger: slog.New(slog.DiscardHandler)}
	if _, err := Watch(config); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file gives %v", err)
	}
	write(t, path, []byte("{}"))
	if _, err := Watch(config); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("an empty keyset gives %v", err)
	}
	write(t, path, beforeChange)
	w, err := Watch(config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	if w.Keyring().Primary().ID() != firstID&0xff {
		t.Error("the keyring is gone after closing")
	}
}

func TestWatchingAnEncryptedKeyset(t *testing.T) {
	registerFakeKMS(t)
	uri, kek := fakeKEK(t)
	path := filepath.Join(t.TempDir(), "keyset.json")
	keys := newKeyset(t)
	if err := keys.CreateFile(path, kek); err != nil {
		t.Fatal(err)
	}
	if kek, err := OpenKEK(uri); err != nil || kek == nil {
		t.Fatal(err)
	}
	reloads := make(chan error, 100)
	w, err := follow(WatchConfig{Path: path, KEK: kek, Logger: slog.New(slog.DiscardHandler), OnReload: func(err error) { reloads <- err }}, shortly, never)
	if err != nil {
		t.Fatal(err)
	}
	id, err := keys.Add()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(keys.Promote(id), keys.ReplaceFile(path, kek), <-reloads, w.Close()); err != nil {
		t.Fatal(err)
	}
	if w.Keyring().Primary().ID() != uint8(id) {
		t.Error("the new keyset is not in force")
	}
}

func TestReadersDuringReloads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	write(t, path, beforeChange)
	w := startWatching(t, path, shortly)
	token := mustSign(t, w.Keyring().Primary(), example(), "")
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := w.Keyring().Open(token, ""); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		for _, data := range [][]byte{afterChange, beforeChange} {
			write(t, path+".new", data)
			rename(t, path+".new", path)
			if err := w.reload(t); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	readers.Wait()
}
