package state

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func keyringOf(t *testing.T, keys *Keyset) *Keyring {
	t.Helper()
	ring, err := keys.Keyring()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func TestKeyLifecycle(t *testing.T) {
	keys, err := NewKeyset()
	if err != nil {
		t.Fatal(err)
	}
	first := keys.List()[0]
	if want := (KeyInfo{ID: first.ID, StateKeyID: uint8(first.ID), Status: "enabled", Primary: true}); first != want {
		t.Fatalf("a new keyset has %+v", first)
	}
	before := keyringOf(t, keys)
	state := example()
	oldToken := mustSign(t, before.Primary(), state, "")

	// Step 1: the new key is known, and not used for new games.
	second, err := keys.Add()
	if err != nil {
		t.Fatal(err)
	}
	added := keyringOf(t, keys)
	if added.Primary().ID() != first.StateKeyID {
		t.Error("adding a key changed the primary one")
	}

	// Step 2: new games get the new key, also on replicas that are a step behind.
	if err := keys.Promote(second); err != nil {
		t.Fatal(err)
	}
	promoted := keyringOf(t, keys)
	newToken := mustSign(t, promoted.Primary(), state, "")
	if promoted.Primary().ID() != uint8(second) || newToken == oldToken {
		t.Error("the promoted key does not sign new games")
	}
	if _, key, err := added.Open(newToken, ""); err != nil || key.ID() != uint8(second) {
		t.Errorf("a replica a step behind answers %v", err)
	}
	if _, _, err := before.Open(newToken, ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("a replica two steps behind answers %v", err)
	}

	// The old game goes on as if nothing had happened.
	_, key, err := promoted.Open(oldToken, "")
	if err != nil {
		t.Fatal(err)
	}
	if mustSign(t, key, state, "") != oldToken ||
		key.SeatKey(state, 1) != before.Primary().SeatKey(state, 1) ||
		key.HostKey(state) != before.Primary().HostKey(state) ||
		draws(key.MoveChance(state, "Br"), "die") != draws(before.Primary().MoveChance(state, "Br"), "die") {
		t.Error("the rotation changed a game in progress")
	}

	// Step 3: the old game has ended, the new one goes on.
	if err := keys.Disable(first.ID); err != nil {
		t.Fatal(err)
	}
	disabled := keyringOf(t, keys)
	if _, _, err := disabled.Open(oldToken, ""); !errors.Is(err, ErrKeyRetired) {
		t.Errorf("a state with a disabled key gives %v", err)
	}
	if _, _, err := disabled.Open(newToken, ""); err != nil {
		t.Errorf("the other game gives %v", err)
	}
	want := []KeyInfo{
		{ID: first.ID, StateKeyID: uint8(first.ID), Status: "disabled"},
		{ID: second, StateKeyID: uint8(second), Status: "enabled", Primary: true},
	}
	if diff := cmp.Diff(want, keys.List()); diff != "" {
		t.Errorf("the list is wrong (-want +got):\n%s", diff)
	}

	// And back.
	if err := keys.Enable(first.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keyringOf(t, keys).Open(oldToken, ""); err != nil {
		t.Errorf("a state with an enabled key gives %v", err)
	}
}

// Genuine states of a disabled key hear that it was retired; forgeries do not
// even learn that. A destroyed key cannot tell them apart.
func TestRetiredKeys(t *testing.T) {
	data := keysetJSON(firstID, firstKey,
		testKey{id: disabledID, status: "DISABLED", secret: 3},
		testKey{id: destroyedID, status: "DESTROYED", secret: 4})
	enabled := mustKeyring(t, keysetJSON(disabledID,
		testKey{id: disabledID, status: "ENABLED", secret: 3},
		testKey{id: destroyedID, status: "ENABLED", secret: 4}))
	ring := mustKeyring(t, data)
	disabled, destroyed := enabled.keys[disabledID&0xff], enabled.keys[destroyedID&0xff]
	genuine := mustSign(t, disabled, example(), "chat")
	forged := genuine[:len(genuine)-8] + "AAAAAAAA"
	newer := seal(disabled, []byte{9, 9}, "chat")
	lost := mustSign(t, destroyed, example(), "chat")
	for name, test := range map[string]struct {
		token, context string
		want           error
	}{
		"disabled key, genuine":                 {genuine, "chat", ErrKeyRetired},
		"disabled key, another context":         {genuine, "another", ErrInvalid},
		"disabled key, forged":                  {forged, "chat", ErrInvalid},
		"disabled key, newer format":            {newer, "chat", ErrKeyRetired},
		"disabled key, signed by the first one": {seal(&Key{id: disabledID & 0xff, tag: ring.Primary().tag}, []byte{1}, "chat"), "chat", ErrInvalid},
		"destroyed key":                         {lost, "chat", ErrKeyRetired},
		"destroyed key, another context":        {lost, "another", ErrKeyRetired},
	} {
		if _, key, err := ring.Open(test.token, test.context); !errors.Is(err, test.want) || key != nil {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestRefusedKeyChanges(t *testing.T) {
	keys, err := parseKeyset(keysetJSON(firstID, firstKey, secondKey,
		testKey{id: disabledID, status: "DISABLED", secret: 3},
		testKey{id: destroyedID, status: "DESTROYED", secret: 4}), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := keys.List()
	for name, test := range map[string]struct {
		change func(uint32) error
		id     uint32
		want   string
	}{
		"promote a disabled key":  {keys.Promote, disabledID, "is disabled"},
		"promote a destroyed key": {keys.Promote, destroyedID, "is destroyed"},
		"promote an unknown key":  {keys.Promote, 7, "no key 7"},
		"promote a low byte":      {keys.Promote, firstID & 0xff, "no key 66"},
		"disable the primary key": {keys.Disable, firstID, "make another key the primary one first"},
		"disable a destroyed key": {keys.Disable, destroyedID, "is destroyed"},
		"disable an unknown key":  {keys.Disable, 7, "no key 7"},
		"enable a destroyed key":  {keys.Enable, destroyedID, "is destroyed"},
		"enable an unknown key":   {keys.Enable, 7, "no key 7"},
	} {
		if err := test.change(test.id); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if diff := cmp.Diff(before, keys.List()); diff != "" {
		t.Errorf("a refused change changed the keys:\n%s", diff)
	}
	for name, change := range map[string]func() error{
		"promote the primary key": func() error { return keys.Promote(firstID) },
		"disable a disabled key":  func() error { return keys.Disable(disabledID) },
		"enable an enabled key":   func() error { return keys.Enable(secondID) },
	} {
		if err := change(); err != nil {
			t.Errorf("%s, which changes nothing: %v", name, err)
		}
	}
}

func TestAddedKeysHaveDifferentLowBytes(t *testing.T) {
	keys, err := parseKeyset(keysetJSON(firstID, firstKey, testKey{id: destroyedID, status: "DESTROYED", secret: 4}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for len(keys.List()) < 256 {
		id, err := keys.Add()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys.List())%2 == 0 {
			if err := keys.Disable(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := make(map[uint8]bool)
	for _, key := range keys.List() {
		if key.StateKeyID != uint8(key.ID) || seen[key.StateKeyID] {
			t.Errorf("key %d has the low byte %#x", key.ID, key.StateKeyID)
		}
		seen[key.StateKeyID] = true
	}
	if id, err := keys.Add(); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("the 257th key is %d, %v", id, err)
	}
	data, err := keys.serialize(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxKeysetSize/10 {
		t.Errorf("256 keys take %d bytes", len(data))
	}
	ring := keyringOf(t, keys)
	for id, key := range ring.keys {
		if int(key.ID()) != id {
			t.Errorf("place %d holds key %d", id, key.ID())
		}
	}
}

func TestKeysAndSubkeysAreIndependent(t *testing.T) {
	keys, err := NewKeyset()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Add(); err != nil {
		t.Fatal(err)
	}
	throwaway, err := Throwaway()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[[32]byte]string)
	for _, ring := range []*Keyring{keyringOf(t, keys), throwaway, twoKeys(t)} {
		for _, key := range ring.keys {
			if key == nil {
				continue
			}
			for _, p := range []*prf{key.tag, key.gameID, key.move, key.start, key.simulation, key.seat, key.host} {
				// The purpose is left out of the message, to see the subkeys alone.
				bare := newPRFLike(p)
				whose := fmt.Sprintf("key %d, %s", key.ID(), p.purpose)
				sum := bare.sum([]byte("same message"))
				if other, clash := seen[sum]; clash {
					t.Errorf("%s is %s", whose, other)
				}
				seen[sum] = whose
			}
		}
	}
}

// newPRFLike has the subkey of another PRF and no purpose.
func newPRFLike(p *prf) *prf {
	bare := &prf{}
	bare.states.New = p.states.New
	return bare
}

func TestUnusableKeysets(t *testing.T) {
	aesKey := `{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmKey","keyMaterialType":"SYMMETRIC","value":"GhCAgICAgICAgICAgICAgICA"}`
	with := func(keyData string) []byte {
		return keysetJSON(firstID, testKey{id: firstID, status: "ENABLED", keyData: keyData})
	}
	material := make([]byte, 64)
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":                   {nil, "Tink keyset in JSON"},
		"no JSON":                   {[]byte("hello"), "Tink keyset in JSON"},
		"empty object":              {[]byte("{}"), "at least one key"},
		"no keys":                   {keysetJSON(firstID), "at least one key"},
		"cut":                       {keysetJSON(firstID, firstKey)[:100], "Tink keyset in JSON"},
		"trailing data":             {append(keysetJSON(firstID, firstKey), "{}"...), "Tink keyset in JSON"},
		"unknown field":             {[]byte(`{"primaryKeyId":1,"keys":[]}`), "Tink keyset in JSON"},
		"disabled primary":          {keysetJSON(firstID, testKey{id: firstID, status: "DISABLED", secret: 1}, secondKey), "non-ENABLED primary key"},
		"missing primary":           {keysetJSON(7, firstKey), "primary key"},
		"all disabled":              {keysetJSON(7, testKey{id: firstID, status: "DISABLED", secret: 1}), "ENABLED key"},
		"same id twice":             {keysetJSON(firstID, firstKey, firstKey), "duplicate"},
		"same low byte":             {keysetJSON(firstID, firstKey, testKey{id: 0x42, status: "ENABLED", secret: 2}), "same low byte 0x42"},
		"same low byte, disabled":   {keysetJSON(firstID, firstKey, testKey{id: 0x142, status: "DISABLED", secret: 2}), "same low byte 0x42"},
		"same low byte, destroyed":  {keysetJSON(firstID, firstKey, testKey{id: 0x142, status: "DESTROYED", secret: 2}), "same low byte 0x42"},
		"SHA-1":                     {with(hmacPRFKey(1, material)), "no HMAC-SHA256 PRF key"},
		"SHA-384":                   {with(hmacPRFKey(2, material)), "no HMAC-SHA256 PRF key"},
		"SHA-512":                   {with(hmacPRFKey(4, material)), "no HMAC-SHA256 PRF key"},
		"unknown hash":              {with(hmacPRFKey(99, material)), "usable Tink keyset"},
		"short key":                 {with(hmacPRFKey(3, material[:31])), "31 bytes: it needs at least 32"},
		"very short key":            {with(hmacPRFKey(3, material[:15])), "usable Tink keyset"},
		"no material":               {with(`{"typeUrl":"type.googleapis.com/google.crypto.tink.HmacPrfKey","keyMaterialType":"SYMMETRIC"}`), "usable Tink keyset"},
		"key of another kind":       {with(aesKey), "no HMAC-SHA256 PRF key"},
		"key of an unknown kind":    {with(`{"typeUrl":"type.googleapis.com/unknown","keyMaterialType":"SYMMETRIC","value":"AAAA"}`), "no HMAC-SHA256 PRF key"},
		"disabled key of no use":    {keysetJSON(firstID, firstKey, testKey{id: 7, status: "DISABLED", keyData: aesKey}), "no HMAC-SHA256 PRF key"},
		"unknown status":            {keysetJSON(firstID, testKey{id: firstID, status: "SLEEPING", secret: 1}), "usable Tink keyset"},
		"encrypted, no KEK":         {[]byte(`{"encryptedKeyset":"AAAA"}`), "it is encrypted"},
		"encrypted in proto naming": {[]byte(`{"encrypted_keyset":"AAAA"}`), "usable Tink keyset"},
	} {
		keys, err := parseKeyset(test.data, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, %v, want an error with %q", name, keys, err, test.want)
		}
	}
	for name, data := range map[string][]byte{
		"the example":         keysetJSON(firstID, firstKey, secondKey),
		"with a longer key":   with(hmacPRFKey(3, material)),
		"with white space":    []byte("\n" + strings.ReplaceAll(string(keysetJSON(firstID, firstKey)), ",", " ,\n\t")),
		"key id 0 and 2^32-1": keysetJSON(0, testKey{id: 0, status: "ENABLED", secret: 1}, testKey{id: 1<<32 - 1, status: "ENABLED", secret: 2}),
	} {
		if _, err := parseKeyset(data, nil); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
}

// A typing mistake in a keyset must not write its keys to the log.
func TestErrorsKeepKeyMaterial(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString(firstKey.material())
	for _, data := range []string{
		`{"primaryKeyId":1,"key":[{"keyId":"` + secret + `"}]}`,
		`{"primaryKeyId":1,"key":[{"keyData":{"value":"` + secret + `*"}}]}`,
		`{"primaryKeyId":1,"key":[{"keyData":{"value":` + secret + `}}]}`,
		`{"` + secret + `":1}`,
		secret,
	} {
		if _, err := parseKeyset([]byte(data), nil); err == nil || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%s gives %v", data, err)
		}
	}
}

func FuzzLoadKeyring(f *testing.F) {
	f.Add(keysetJSON(firstID, firstKey, secondKey))
	f.Add(keysetJSON(firstID, firstKey, testKey{id: disabledID, status: "DISABLED", secret: 3}, testKey{id: destroyedID, status: "DESTROYED", secret: 4}))
	f.Add([]byte(`{"primaryKeyId":1,"key":[{"keyId":1}]}`))
	f.Add([]byte(`{"encryptedKeyset":"AAAA"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := parseKeyset(data, nil)
		if err != nil {
			return
		}
		ring, err := keys.Keyring()
		if err != nil {
			t.Fatalf("a keyset was accepted and has no keyring: %v", err)
		}
		token := mustSign(t, ring.Primary(), example(), "")
		if _, _, err := ring.Open(token, ""); err != nil {
			t.Fatalf("a fresh state is refused: %v", err)
		}
		written, err := keys.serialize(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := mustKeyring(t, written).Open(token, ""); err != nil {
			t.Fatalf("written and read again, the keyset refuses its state: %v", err)
		}
	})
}

func FuzzOpen(f *testing.F) {
	ring := twoKeys(f)
	token := mustSign(f, ring.Primary(), example(), "chat")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(token), "chat")
	f.Add([]byte(token+"="), "")
	f.Add(raw[:len(raw)-trailerLength], "chat")
	f.Add([]byte{2}, "")
	f.Fuzz(func(t *testing.T, data []byte, context string) {
		check := func(token string) {
			state, key, err := ring.Open(token, context)
			if err != nil {
				if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooNew) {
					t.Fatalf("unexpected error %v", err)
				}
				return
			}
			if again := mustSign(t, key, state, context); again != token {
				t.Fatalf("%q opens to %+v, whose text is %q", token, state, again)
			}
		}
		// As it is, a forgery; well signed, a test of the parser.
		check(string(data))
		check(seal(ring.Primary(), data[:min(len(data), maxLength)], context[:min(len(context), MaxContextLength)]))
	})
}
