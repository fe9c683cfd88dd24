package state

import (
	"crypto/subtle"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/keyset"
	tinkprf "github.com/tink-crypto/tink-go/v2/prf"
)

// Keyring is an immutable set of keys, ready for use. A call takes one and keeps
// it to its end, so that keys which change meanwhile do not disturb it.
type Keyring struct {
	// keys are indexed by the key id of the states; most places are empty.
	keys    [256]*Key
	primary *Key
}

// Key is the key of a game from its creation to its end.
type Key struct {
	id     uint8
	status keyset.KeyStatus

	tag, gameID, move, start, simulation, seat, host *prf
}

// newKeyring derives the subkeys of all keys of a checked keyset.
func newKeyring(handle *keyset.Handle) (*Keyring, error) {
	prfs, err := allPRFs(handle)
	if err != nil {
		return nil, fmt.Errorf("derive subkeys: %w", err)
	}
	ring := &Keyring{}
	for entry := range entries(handle) {
		key, err := newKey(entry, prfs[entry.KeyID()])
		if err != nil {
			return nil, fmt.Errorf("derive subkeys of key %d: %w", entry.KeyID(), err)
		}
		ring.keys[key.id] = key
		if entry.IsPrimary() {
			ring.primary = key
		}
	}
	return ring, nil
}

// allPRFs gives also the disabled keys, which Tink leaves out: they are needed
// to tell the states that they signed from forged ones.
func allPRFs(handle *keyset.Handle) (map[uint32]tinkprf.PRF, error) {
	manager := keyset.NewManagerFromHandle(handle)
	for entry := range entries(handle) {
		if entry.KeyStatus() == keyset.Disabled {
			if err := manager.Enable(entry.KeyID()); err != nil {
				return nil, err
			}
		}
	}
	enabled, err := manager.Handle()
	if err != nil {
		return nil, err
	}
	set, err := tinkprf.NewPRFSet(enabled)
	if err != nil {
		return nil, err
	}
	return set.PRFs, nil
}

func newKey(entry *keyset.Entry, source tinkprf.PRF) (*Key, error) {
	key := &Key{id: stateKeyID(entry.KeyID()), status: entry.KeyStatus()}
	if key.status == keyset.Destroyed {
		return key, nil
	}
	for _, subkey := range []struct {
		purpose string
		prf     **prf
	}{
		{"tag", &key.tag},
		{"game-id", &key.gameID},
		{"move", &key.move},
		{"start", &key.start},
		{"simulation", &key.simulation},
		{"seat", &key.seat},
		{"host", &key.host},
	} {
		secret, err := source.ComputePRF([]byte("avalanched/v1/"+subkey.purpose), 32)
		if err != nil {
			return nil, err
		}
		*subkey.prf = newPRF(subkey.purpose, secret)
	}
	return key, nil
}

// stateKeyID is the part of a Tink key id that states carry.
func stateKeyID(keyID uint32) uint8 { return uint8(keyID) }

// Primary is the key of new games.
func (r *Keyring) Primary() *Key { return r.primary }

// Open reads a state that was signed for the same context and tells the key
// that its game keeps. The error is [ErrInvalid], [ErrTooNew] or
// [ErrKeyRetired].
//
// A disabled key still tells genuine states from forged ones, because only the
// former deserve to hear that their key was retired. A destroyed key has nothing
// left to tell them by, so all states with its id hear it.
func (r *Keyring) Open(token, context string) (State, *Key, error) {
	if len(context) > MaxContextLength {
		return State{}, nil, ErrInvalid
	}
	var buffer [maxLength]byte
	raw, ok := decode(&buffer, token)
	if !ok || len(raw) < minSignedLength {
		return State{}, nil, ErrInvalid
	}
	unsigned, tag := raw[:len(raw)-tagLength], raw[len(raw)-tagLength:]
	key := r.keys[unsigned[len(unsigned)-1]]
	if key == nil {
		return State{}, nil, ErrInvalid
	}
	if key.status == keyset.Destroyed {
		return State{}, nil, ErrKeyRetired
	}
	if want := key.tagOf(unsigned, context); subtle.ConstantTimeCompare(want[:], tag) != 1 {
		return State{}, nil, ErrInvalid
	}
	if key.status == keyset.Disabled {
		return State{}, nil, ErrKeyRetired
	}
	if unsigned[0] > formatVersion {
		return State{}, nil, ErrTooNew
	}
	state, ok := parse(unsigned[:len(unsigned)-1])
	if !ok || unsigned[0] != formatVersion {
		return State{}, nil, ErrInvalid
	}
	return state, key, nil
}

// ID is the key id in the states that the key signs. Two states of one game have
// the same.
func (k *Key) ID() uint8 { return k.id }

// Sign makes the text that the client carries. Equal states and contexts have
// equal texts. The error is a mistake of the caller, never of a client: a field
// that does not fit the format, or a context above [MaxContextLength].
func (k *Key) Sign(state State, context string) (string, error) {
	if err := state.check(); err != nil {
		return "", fmt.Errorf("sign a state: %w", err)
	}
	if len(context) > MaxContextLength {
		return "", fmt.Errorf("sign a state: a context of %d bytes is above the limit of %d", len(context), MaxContextLength)
	}
	var buffer [maxLength]byte
	raw := state.appendUnsigned(buffer[:0], k.id)
	tag := k.tagOf(raw, context)
	return encode(append(raw, tag[:]...)), nil
}

// tagOf is the same for all format versions.
func (k *Key) tagOf(unsigned []byte, context string) [tagLength]byte {
	var buffer [maxLength + MaxContextLength + 8]byte
	message := appendInput(buffer[:0], unsigned)
	message = appendInput(message, context)
	sum := k.tag.sum(message)
	return [tagLength]byte(sum[:])
}
