package state

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	firstID     = 0x51a7_0042
	secondID    = 0x0c3d_0043 // its low byte is one bit away from the first one's
	disabledID  = 0x77f0_0040
	destroyedID = 0x2b19_00a5
)

// testKey is a key with fixed material: 32 times the same byte.
type testKey struct {
	id     uint32
	status string
	secret byte
	// keyData replaces the usual HMAC-SHA256 PRF key.
	keyData string
}

func (k testKey) material() []byte { return bytes.Repeat([]byte{k.secret}, 32) }

// hmacPRFKey is the JSON of a Tink HmacPrfKey; hash is the number of its hash function.
func hmacPRFKey(hash byte, material []byte) string {
	value := append([]byte{0x12, 2, 8, hash, 0x1a, byte(len(material))}, material...)
	return fmt.Sprintf(`{"typeUrl":"type.googleapis.com/google.crypto.tink.HmacPrfKey","keyMaterialType":"SYMMETRIC","value":%q}`,
		base64.StdEncoding.EncodeToString(value))
}

// keysetJSON writes a keyset with other means than the package's own.
func keysetJSON(primary uint32, keys ...testKey) []byte {
	list := make([]string, 0, len(keys))
	for _, key := range keys {
		const sha256 = 3
		if key.keyData == "" {
			key.keyData = hmacPRFKey(sha256, key.material())
		}
		list = append(list, fmt.Sprintf(`{"keyId":%d,"status":%q,"outputPrefixType":"RAW","keyData":%s}`, key.id, key.status, key.keyData))
	}
	return fmt.Appendf(nil, `{"primaryKeyId":%d,"key":[%s]}`, primary, strings.Join(list, ","))
}

func mustKeyring(t testing.TB, data []byte) *Keyring {
	t.Helper()
	keys, err := parseKeyset(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keys.Keyring()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

var (
	firstKey  = testKey{id: firstID, status: "ENABLED", secret: 1}
	secondKey = testKey{id: secondID, status: "ENABLED", secret: 2}
)

// twoKeys is a keyring in the middle of a rotation.
func twoKeys(t testing.TB) *Keyring {
	return mustKeyring(t, keysetJSON(firstID, firstKey, secondKey))
}

func example() State {
	return State{
		Ruleset:        3,
		RulesetVersion: 1,
		SealedSeats:    true,
		GameID:         GameID{0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3},
		Ply:            0x0102,
		Position:       []byte("position of 14"),
	}
}

func mustSign(t testing.TB, key *Key, state State, context string) string {
	t.Helper()
	token, err := key.Sign(state, context)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// seal signs any bytes as if they were a state before its key id.
func seal(key *Key, body []byte, context string) string {
	unsigned := append(bytes.Clone(body), key.id)
	tag := key.tagOf(unsigned, context)
	return base64.RawURLEncoding.EncodeToString(append(unsigned, tag[:]...))
}

func drawState(t *rapid.T) State {
	return State{
		Ruleset:        rapid.Uint8().Draw(t, "ruleset"),
		RulesetVersion: rapid.IntRange(1, 255).Draw(t, "version"),
		CustomStart:    rapid.Bool().Draw(t, "custom start"),
		SealedSeats:    rapid.Bool().Draw(t, "sealed seats"),
		Ledgered:       rapid.Bool().Draw(t, "ledgered"),
		GameID:         GameID(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "game id")),
		Ply:            rapid.IntRange(0, engine.MaxPly).Draw(t, "ply"),
		Position:       rapid.SliceOfN(rapid.Byte(), 1, MaxPositionLength).Draw(t, "position"),
	}
}

func drawContext(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.Byte(), 0, MaxContextLength).Draw(t, "context"))
}
