package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/avalanched/avalanched/internal/watch"
)

// maxKeysetSize is ten times what 256 keys take, in bytes.
const maxKeysetSize = 1 << 20

// OpenKEK finds the key-encryption key that a keyset file is encrypted with, by
// its URI, for example aws-kms://… or gcp-kms://…. The client of its service
// must be registered with Tink (registry.RegisterKMSClient). An empty URI stands
// for no encryption and gives nil.
func OpenKEK(uri string) (tink.AEAD, error) {
	if uri == "" {
		return nil, nil
	}
	scheme, _, found := strings.Cut(uri, "://")
	if !found {
		return nil, errors.New("key-encryption key: its URI has no scheme: give one such as gcp-kms://…")
	}
	client, err := registry.GetKMSClient(uri)
	if err != nil {
		return nil, fmt.Errorf("key-encryption key: this build has no client for %s:// that takes this URI: correct it, or register Tink's client for that service", scheme)
	}
	kek, err := client.GetAEAD(uri)
	if err != nil {
		return nil, fmt.Errorf("key-encryption key: %w", err)
	}
	return kek, nil
}

// LoadKeyset reads a keyset file: a Tink keyset in JSON, encrypted if kek is not
// nil.
func LoadKeyset(path string, kek tink.AEAD) (*Keyset, error) {
	data, err := watch.ReadFile(path, maxKeysetSize)
	if err != nil {
		return nil, fmt.Errorf("keyset: %w", err)
	}
	keys, err := parseKeyset(data, kek)
	if err != nil {
		return nil, fmt.Errorf("keyset %s: %w", path, err)
	}
	return keys, nil
}

func parseKeyset(data []byte, kek tink.AEAD) (*Keyset, error) {
	// Key material is base64 and has no quotes, so this finds the field only.
	encrypted := bytes.Contains(data, []byte(`"encryptedKeyset"`))
	switch {
	case encrypted && kek == nil:
		return nil, errors.New("it is encrypted: give the URI of its key-encryption key")
	case !encrypted && kek != nil:
		return nil, errors.New("it is not encrypted although a key-encryption key is given: leave that out or encrypt the keyset")
	}
	reader := keyset.NewJSONReader(bytes.NewReader(data))
	var handle *keyset.Handle
	var err error
	if encrypted {
		handle, err = keyset.Read(reader, kek)
	} else {
		// Tink keeps the parser's message, which may quote key material, to itself.
		handle, err = insecurecleartextkeyset.Read(reader)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not a usable Tink keyset in JSON with at least one key: %w", err)
	}
	return checked(handle)
}

// CreateFile writes a keyset to a file that must not exist yet, encrypted if kek
// is not nil. Only the file's owner may read it.
func (k *Keyset) CreateFile(path string, kek tink.AEAD) error {
	return k.writeFile(path, kek, func(temporary string) error {
		// Unlike a rename, a link never replaces a file.
		err := os.Link(temporary, path)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists already: choose another name, or move it away if no game needs its keys", path)
		}
		return err
	})
}

// ReplaceFile writes a keyset in place of the one in an existing file. Readers
// see the old keyset or the new one and nothing in between.
func (k *Keyset) ReplaceFile(path string, kek tink.AEAD) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("keyset: %w", err)
	}
	return k.writeFile(target, kek, func(temporary string) error { return os.Rename(temporary, target) })
}

// writeFile writes a temporary file beside the target and lets publish give it
// the target's name.
func (k *Keyset) writeFile(path string, kek tink.AEAD, publish func(temporary string) error) error {
	data, err := k.serialize(kek)
	if err != nil {
		return fmt.Errorf("keyset: %w", err)
	}
	directory := filepath.Dir(path)
	// CreateTemp makes files with mode 0600.
	file, err := os.CreateTemp(directory, ".keyset-*")
	if err != nil {
		return fmt.Errorf("keyset: %w", err)
	}
	// After a rename there is nothing left to remove.
	defer os.Remove(file.Name()) //nolint:errcheck // best effort
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("keyset: %w", err)
	}
	if err := publish(file.Name()); err != nil {
		return fmt.Errorf("keyset: %w", err)
	}
	return syncDirectory(directory)
}

// syncDirectory makes a new name survive a power failure.
func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("keyset: %w", err)
	}
	if err := errors.Join(directory.Sync(), directory.Close()); err != nil {
		return fmt.Errorf("keyset: %w", err)
	}
	return nil
}

func (k *Keyset) serialize(kek tink.AEAD) ([]byte, error) {
	var buffer bytes.Buffer
	writer := keyset.NewJSONWriter(&buffer)
	var err error
	if kek == nil {
		err = insecurecleartextkeyset.Write(k.handle, writer)
	} else {
		err = k.handle.Write(writer, kek)
	}
	buffer.WriteByte('\n')
	return buffer.Bytes(), err
}
