package state

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf/hmacprf"
)

// keyLength is the length in bytes of new keys and the least that is accepted:
// HMAC should have keys as long as its output (RFC 2104, section 3).
const keyLength = 32

// Keyset is the keys as they are kept and managed. A rotation takes three steps,
// with time between them for every replica to load the result: [Keyset.Add],
// [Keyset.Promote], and, when no game needs the old key, [Keyset.Disable].
type Keyset struct {
	handle *keyset.Handle
}

// KeyInfo describes a key without giving it away.
type KeyInfo struct {
	// ID is the key's id in the Tink keyset.
	ID uint32
	// StateKeyID is the id in the states of its games: the low byte of ID.
	StateKeyID uint8
	// Status is "enabled", "disabled" or "destroyed".
	Status string
	// Primary: new games get this key.
	Primary bool
}

// NewKeyset makes a keyset of one fresh key.
func NewKeyset() (*Keyset, error) {
	manager := keyset.NewManager()
	id, err := addKey(manager)
	if err != nil {
		return nil, err
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, err
	}
	handle, err := manager.Handle()
	if err != nil {
		return nil, err
	}
	return &Keyset{handle}, nil
}

// Throwaway makes a keyring whose key nobody keeps. All games made with it end
// with the process.
func Throwaway() (*Keyring, error) {
	keys, err := NewKeyset()
	if err != nil {
		return nil, err
	}
	return keys.Keyring()
}

// checked refuses a keyset that Tink accepts but that cannot sign states.
func checked(handle *keyset.Handle) (*Keyset, error) {
	seen := make(map[uint8]uint32, handle.Len())
	for entry := range entries(handle) {
		parameters, ok := entry.Key().Parameters().(*hmacprf.Parameters)
		switch id := entry.KeyID(); {
		case !ok || parameters.HashType() != hmacprf.SHA256:
			return nil, fmt.Errorf("key %d is no HMAC-SHA256 PRF key: make keys with Tink's template HMAC_SHA256_PRF", id)
		case parameters.KeySizeInBytes() < keyLength:
			return nil, fmt.Errorf("key %d has %d bytes: it needs at least %d", id, parameters.KeySizeInBytes(), keyLength)
		}
		low := stateKeyID(entry.KeyID())
		if other, clash := seen[low]; clash {
			return nil, fmt.Errorf("keys %d and %d have the same low byte %#02x, which is all that a state says about its key: remove the one that no game uses", other, entry.KeyID(), low)
		}
		seen[low] = entry.KeyID()
	}
	return &Keyset{handle}, nil
}

// Keyring derives from the keys what is needed to use them.
func (k *Keyset) Keyring() (*Keyring, error) { return newKeyring(k.handle) }

// List describes the keys in the order in which they were added.
func (k *Keyset) List() []KeyInfo {
	infos := make([]KeyInfo, 0, k.handle.Len())
	for entry := range entries(k.handle) {
		infos = append(infos, KeyInfo{
			ID:         entry.KeyID(),
			StateKeyID: stateKeyID(entry.KeyID()),
			Status:     strings.ToLower(entry.KeyStatus().String()),
			Primary:    entry.IsPrimary(),
		})
	}
	return infos
}

// Add is the first step of a rotation. It adds a fresh key that can be used but
// is not the primary one, and returns its id.
func (k *Keyset) Add() (uint32, error) {
	var id uint32
	err := k.change(func(manager *keyset.Manager) (err error) {
		id, err = addKey(manager, k.List()...)
		return err
	})
	return id, err
}

// Promote is the second step of a rotation. It makes an enabled key the primary
// one. Every replica must know the key by then, or it will call the new games'
// states invalid.
func (k *Keyset) Promote(id uint32) error {
	switch key, err := k.find(id); {
	case err != nil:
		return err
	case key.Status != "enabled":
		return fmt.Errorf("key %d is %s: only an enabled key can become the primary one", id, key.Status)
	}
	return k.change(func(manager *keyset.Manager) error { return manager.SetPrimary(id) })
}

// Disable is the third step of a rotation, or the answer to a leak. It ends all
// games of a key. The primary key is refused.
func (k *Keyset) Disable(id uint32) error {
	switch key, err := k.find(id); {
	case err != nil:
		return err
	case key.Primary:
		return fmt.Errorf("key %d is the primary one, which new games need: make another key the primary one first", id)
	case key.Status == "destroyed":
		return fmt.Errorf("key %d is destroyed, its games have ended already", id)
	}
	return k.change(func(manager *keyset.Manager) error { return manager.Disable(id) })
}

// Enable undoes Disable: the key's games go on.
func (k *Keyset) Enable(id uint32) error {
	switch key, err := k.find(id); {
	case err != nil:
		return err
	case key.Status == "destroyed":
		return fmt.Errorf("key %d is destroyed and cannot be enabled again", id)
	}
	return k.change(func(manager *keyset.Manager) error { return manager.Enable(id) })
}

func (k *Keyset) find(id uint32) (KeyInfo, error) {
	for _, key := range k.List() {
		if key.ID == id {
			return key, nil
		}
	}
	return KeyInfo{}, fmt.Errorf("the keyset has no key %d: list its keys to see their ids", id)
}

func (k *Keyset) change(edit func(*keyset.Manager) error) error {
	manager := keyset.NewManagerFromHandle(k.handle)
	if err := edit(manager); err != nil {
		return err
	}
	handle, err := manager.Handle()
	if err != nil {
		return err
	}
	k.handle = handle
	return nil
}

// addKey draws keys until the low byte of one's id is free. Those of disabled
// and destroyed keys are not, since their games' states are still about.
func addKey(manager *keyset.Manager, present ...KeyInfo) (uint32, error) {
	if len(present) > 255 {
		return 0, errors.New("the keyset is full: a state can name 256 keys; remove disabled keys whose games nobody will ask for again")
	}
	taken := make(map[uint8]bool, len(present))
	for _, key := range present {
		taken[key.StateKeyID] = true
	}
	parameters, err := hmacprf.NewParameters(keyLength, hmacprf.SHA256)
	if err != nil {
		return 0, err
	}
	for {
		id, err := manager.AddNewKeyFromParameters(parameters)
		if err != nil || !taken[stateKeyID(id)] {
			return id, err
		}
		if err := manager.Delete(id); err != nil {
			return 0, err
		}
	}
}

func entries(handle *keyset.Handle) iter.Seq[*keyset.Entry] {
	return func(yield func(*keyset.Entry) bool) {
		for i := range handle.Len() {
			entry, err := handle.Entry(i)
			if err != nil || !yield(entry) {
				return
			}
		}
	}
}
