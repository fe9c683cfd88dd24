package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/testing/fakekms"
	"github.com/tink-crypto/tink-go/v2/tink"
)

func newKeyset(t *testing.T) *Keyset {
	t.Helper()
	keys, err := NewKeyset()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// onlyFile checks that a directory holds one file, that only its owner may read.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the directory holds %v", entries)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode(); mode != 0o600 {
		t.Errorf("the file has mode %v", mode)
	}
}

func TestKeysetFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	keys := newKeyset(t)
	if err := keys.CreateFile(path, nil); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, path)
	loaded, err := LoadKeyset(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	token := mustSign(t, keyringOf(t, keys).Primary(), example(), "")
	if _, _, err := keyringOf(t, loaded).Open(token, ""); err != nil {
		t.Errorf("the loaded keys refuse a state of the written ones: %v", err)
	}

	// Another keyset does not take the place of the first by mistake.
	err = newKeyset(t).CreateFile(path, nil)
	if err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("an existing file: %v", err)
	}
	onlyFile(t, path)
	again, err := LoadKeyset(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(keys.List(), again.List()); diff != "" {
		t.Errorf("the existing file was changed:\n%s", diff)
	}

	// A wide mode is narrowed when the file is replaced.
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loaded.Add(); err != nil {
		t.Fatal(err)
	}
	if err := loaded.ReplaceFile(path, nil); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, path)
	if again, err = LoadKeyset(path, nil); err != nil || len(again.List()) != 2 {
		t.Errorf("the replaced file holds %+v, %v", again, err)
	}
}

func TestReplacingKeepsLinks(t *testing.T) {
	target := filepath.Join(t.TempDir(), "keyset.json")
	link := filepath.Join(t.TempDir(), "link.json")
	keys := newKeyset(t)
	if err := keys.CreateFile(target, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Add(); err != nil {
		t.Fatal(err)
	}
	if err := keys.ReplaceFile(link, nil); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, target)
	if loaded, err := LoadKeyset(target, nil); err != nil || len(loaded.List()) != 2 {
		t.Errorf("the file behind the link holds %+v, %v", loaded, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info, err)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	directory := t.TempDir()
	keys := newKeyset(t)
	absent := filepath.Join(directory, "absent", "keyset.json")
	if _, err := LoadKeyset(absent, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("load an absent file: %v", err)
	}
	if err := keys.CreateFile(absent, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("create in an absent directory: %v", err)
	}
	if err := keys.ReplaceFile(absent, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("replace an absent file: %v", err)
	}
	if _, err := LoadKeyset(directory, nil); err == nil {
		t.Error("loaded a directory")
	}
	huge := filepath.Join(directory, "huge.json")
	text := string(keysetJSON(firstID, firstKey)) + strings.Repeat(" ", maxKeysetSize)
	if err := os.WriteFile(huge, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeyset(huge, nil); err == nil || !strings.Contains(err.Error(), "above") {
		t.Errorf("load a huge file: %v", err)
	}
}

// fakeKEK is a key-encryption key of Tink's own pretended service.
func fakeKEK(t *testing.T) (string, tink.AEAD) {
	t.Helper()
	uri, err := fakekms.NewKeyURI()
	if err != nil {
		t.Fatal(err)
	}
	kek, err := OpenKEK(uri)
	if err != nil {
		t.Fatal(err)
	}
	return uri, kek
}

func registerFakeKMS(t *testing.T) {
	t.Helper()
	client, err := fakekms.NewClient("fake-kms://")
	if err != nil {
		t.Fatal(err)
	}
	registry.RegisterKMSClient(client)
	t.Cleanup(registry.ClearKMSClients)
}

func TestEncryptedKeysets(t *testing.T) {
	registerFakeKMS(t)
	_, kek := fakeKEK(t)
	path := filepath.Join(t.TempDir(), "keyset.json")
	keys := newKeyset(t)
	if err := keys.CreateFile(path, kek); err != nil {
		t.Fatal(err)
	}
	onlyFile(t, path)
	loaded, err := LoadKeyset(path, kek)
	if err != nil {
		t.Fatal(err)
	}
	token := mustSign(t, keyringOf(t, keys).Primary(), example(), "")
	if _, _, err := keyringOf(t, loaded).Open(token, ""); err != nil {
		t.Errorf("the loaded keys refuse a state of the written ones: %v", err)
	}
	if _, err := loaded.Add(); err != nil {
		t.Fatal(err)
	}
	if err := loaded.ReplaceFile(path, kek); err != nil {
		t.Fatal(err)
	}
	if again, err := LoadKeyset(path, kek); err != nil || len(again.List()) != 2 {
		t.Errorf("the replaced file holds %+v, %v", again, err)
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), `"keyData"`) {
		t.Error("the encrypted file shows its keys")
	}
	if _, err := LoadKeyset(path, nil); err == nil || !strings.Contains(err.Error(), "it is encrypted") {
		t.Errorf("without its key: %v", err)
	}
	_, other := fakeKEK(t)
	if _, err := LoadKeyset(path, other); err == nil || !strings.Contains(err.Error(), "decryption failed") {
		t.Errorf("with another key: %v", err)
	}
	if _, err := parseKeyset(keysetJSON(firstID, firstKey), kek); err == nil || !strings.Contains(err.Error(), "not encrypted") {
		t.Errorf("a key for what is not encrypted: %v", err)
	}
}

// What is decrypted is no more trusted than what is read in the clear.
func TestEncryptedKeysetsAreChecked(t *testing.T) {
	registerFakeKMS(t)
	_, kek := fakeKEK(t)
	clashing := keysetJSON(firstID, firstKey, testKey{id: 0x42, status: "ENABLED", secret: 2})
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(clashing)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&Keyset{handle}).serialize(kek)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseKeyset(data, kek); err == nil || !strings.Contains(err.Error(), "same low byte") {
		t.Errorf("clashing keys: %v", err)
	}
}

func TestOpenKEK(t *testing.T) {
	if kek, err := OpenKEK(""); kek != nil || err != nil {
		t.Errorf("no URI gives %v, %v", kek, err)
	}
	for uri, want := range map[string]string{
		"aws-kms://arn:aws:kms:eu-west-1:1:key/1": "no client for aws-kms://",
		"keyset.json": "has no scheme",
	} {
		if _, err := OpenKEK(uri); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", uri, err, want)
		}
	}
	registerFakeKMS(t)
	if _, err := OpenKEK("fake-kms://!"); err == nil {
		t.Error("opened a broken URI")
	}
}
