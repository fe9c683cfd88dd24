package state

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/avalanched/avalanched/internal/engine"
)

func TestSignedStatesComeBack(t *testing.T) {
	ring := twoKeys(t)
	rapid.Check(t, func(t *rapid.T) {
		state, context := drawState(t), drawContext(t)
		key := ring.keys[rapid.SampledFrom([]byte{firstID & 0xff, secondID & 0xff}).Draw(t, "key")]
		token, err := key.Sign(state, context)
		if err != nil {
			t.Fatal(err)
		}
		if len(token) > MaxTokenLength {
			t.Fatalf("%d characters are above the limit", len(token))
		}
		opened, openedKey, err := ring.Open(token, context)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(state, opened); diff != "" {
			t.Fatalf("the state changed (-signed +opened):\n%s", diff)
		}
		if openedKey != key {
			t.Fatalf("signed with key %d, opened with %d", key.ID(), openedKey.ID())
		}
		again, err := openedKey.Sign(opened, context)
		if err != nil || again != token {
			t.Fatalf("signing again gives %q, %v instead of %q", again, err, token)
		}
	})
}

// The format of states in the hands of players must never change. The numbers
// are computed here with other means than in the package.
func TestFormatIsKept(t *testing.T) {
	mac := func(key []byte, message string) []byte {
		h := hmac.New(sha256.New, key)
		_, _ = io.WriteString(h, message)
		return h.Sum(nil)
	}
	body := "\x01\x03\x01\x02\xde\xad\xbe\xef\x00\x01\x02\x03\x01\x02" + "position of 14" + "\x42"
	subkey := mac(firstKey.material(), "avalanched/v1/tag")
	tag := mac(subkey, "tag"+"\x1d"+body+"\x04"+"chat")
	want := base64.RawURLEncoding.EncodeToString([]byte(body + string(tag[:12])))

	if got := mustSign(t, twoKeys(t).Primary(), example(), "chat"); got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
	const pinned = "AQMBAt6tvu8AAQIDAQJwb3NpdGlvbiBvZiAxNEIXAEQHRIrc-ay_blw"
	if want != pinned {
		t.Errorf("computed %s, want %s", want, pinned)
	}
}

func TestOverheadIs27Bytes(t *testing.T) {
	state := example()
	raw, err := base64.RawURLEncoding.DecodeString(mustSign(t, twoKeys(t).Primary(), state, ""))
	if err != nil {
		t.Fatal(err)
	}
	if overhead := len(raw) - len(state.Position); overhead != 27 {
		t.Errorf("the overhead is %d bytes", overhead)
	}
}

func TestEveryChangeOfATokenIsRefused(t *testing.T) {
	ring := mustKeyring(t, keysetJSON(firstID, firstKey, secondKey, testKey{id: disabledID, status: "DISABLED", secret: 3}))
	token := mustSign(t, ring.Primary(), example(), "chat")
	refuse := func(how string, at int, changed string) {
		t.Helper()
		if _, key, err := ring.Open(changed, "chat"); !errors.Is(err, ErrInvalid) || key != nil {
			t.Errorf("%s %d: %q gives %v", how, at, changed, err)
		}
	}
	if _, _, err := ring.Open(token, "chat"); err != nil {
		t.Fatal(err)
	}
	for bit := range len(token) * 8 {
		changed := []byte(token)
		changed[bit/8] ^= 1 << (bit % 8)
		refuse("bit of the text", bit, string(changed))
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(raw) * 8 {
		changed := append([]byte(nil), raw...)
		changed[bit/8] ^= 1 << (bit % 8)
		refuse("bit of the bytes", bit, base64.RawURLEncoding.EncodeToString(changed))
	}
	for length := range len(token) {
		refuse("cut to length", length, token[:length])
		refuse("cut from the front", length, token[len(token)-length:])
	}
	for length := range raw {
		refuse("bytes cut to length", length, base64.RawURLEncoding.EncodeToString(raw[:length]))
		refuse("bytes cut from the front", length, base64.RawURLEncoding.EncodeToString(raw[len(raw)-length:]))
	}
	for c := range 256 {
		refuse("extended by", c, token+string(rune(c)))
		refuse("preceded by", c, string(rune(c))+token)
		refuse("byte appended", c, base64.RawURLEncoding.EncodeToString(append(slices.Clip(raw), byte(c))))
	}
	for length := 1; length < 200; length++ {
		refuse("extended by length", length, token+strings.Repeat("A", length))
		refuse("repeated", length, strings.Repeat(token, 1+length))
	}
	clear(raw[len(raw)-tagLength:])
	refuse("zero tag", 0, base64.RawURLEncoding.EncodeToString(raw))
}

// One state has one spelling: whatever decodes to the same bytes is refused.
func TestOtherSpellingsAreRefused(t *testing.T) {
	ring := twoKeys(t)
	// 41 bytes leave four bits of the last character unused, and this game id
	// gives the text both characters that base64url has of its own.
	state := example()
	state.GameID = GameID{0, 0, 0xfb, 0xef, 0xbe, 0xff, 0xff, 0xff}
	token := mustSign(t, ring.Primary(), state, "")
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw)%3 != 2 || !strings.Contains(token, "-") || !strings.Contains(token, "_") {
		t.Fatalf("the example %s does not serve its purpose", token)
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	middle := len(token) / 2
	for name, spelling := range map[string]string{
		"trailing bit 1":       token[:len(token)-1] + alphabet[last^1:][:1],
		"trailing bit 2":       token[:len(token)-1] + alphabet[last^2:][:1],
		"padding":              token + "=",
		"standard alphabet":    base64.RawStdEncoding.EncodeToString(raw),
		"newline at the end":   token + "\n",
		"newline at the start": "\n" + token,
		"newline inside":       token[:middle] + "\n" + token[middle:],
		"carriage return":      token[:middle] + "\r\n" + token[middle:],
		"newlines in fours":    token + "\n\n\n\n",
		"blank":                token[:middle] + " " + token[middle:],
	} {
		if _, _, err := ring.Open(spelling, ""); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %q gives %v", name, spelling, err)
		}
	}
}

func TestAnotherContextIsRefused(t *testing.T) {
	ring := twoKeys(t)
	token := mustSign(t, ring.Primary(), example(), "chat 1")
	long := strings.Repeat("c", MaxContextLength)
	for _, context := range []string{"", "chat 2", "chat 1 ", "chat 1\x00", "Chat 1", long, long + "c", strings.Repeat(long, 100)} {
		if _, _, err := ring.Open(token, context); !errors.Is(err, ErrInvalid) {
			t.Errorf("context %q gives %v", context, err)
		}
	}
	if _, _, err := ring.Open(mustSign(t, ring.Primary(), example(), long), long); err != nil {
		t.Errorf("the longest context gives %v", err)
	}
	body := example().appendUnsigned(nil, 0)
	if _, _, err := ring.Open(seal(ring.Primary(), body[:len(body)-1], long+"c"), long+"c"); !errors.Is(err, ErrInvalid) {
		t.Errorf("a longer context, well signed, gives %v", err)
	}
}

// The end of the state must not be confused with the start of the context.
func TestStateAndContextDoNotRunTogether(t *testing.T) {
	key := twoKeys(t).Primary()
	a := key.tagOf([]byte("abc"), "de")
	for _, other := range []struct{ state, context string }{{"ab", "cde"}, {"abcd", "e"}, {"abcde", ""}, {"", "abcde"}} {
		if key.tagOf([]byte(other.state), other.context) == a {
			t.Errorf("%q has the tag of abc, de", other)
		}
	}
}

func TestAnotherKeyIsRefused(t *testing.T) {
	token := mustSign(t, twoKeys(t).Primary(), example(), "")
	for name, data := range map[string][]byte{
		"other key id":              keysetJSON(secondID, secondKey),
		"other secret, same id":     keysetJSON(firstID, testKey{id: firstID, status: "ENABLED", secret: 9}),
		"same secret, other id":     keysetJSON(secondID, testKey{id: secondID, status: "ENABLED", secret: 1}),
		"disabled, other secret":    keysetJSON(secondID, secondKey, testKey{id: firstID, status: "DISABLED", secret: 9}),
		"same low byte, other keys": keysetJSON(0x42, testKey{id: 0x42, status: "ENABLED", secret: 9}),
	} {
		if _, _, err := mustKeyring(t, data).Open(token, ""); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who signs well can still not make the parser accept what is no state.
func TestWellSignedNonsense(t *testing.T) {
	ring := twoKeys(t)
	valid := example().appendUnsigned(nil, 0)
	valid = valid[:len(valid)-1]
	with := func(at int, values ...byte) []byte {
		body := append([]byte(nil), valid...)
		copy(body[at:], values)
		return body
	}
	for name, test := range map[string]struct {
		body []byte
		want error
	}{
		"the example itself":       {valid, nil},
		"format 0":                 {with(0, 0), ErrInvalid},
		"format 2":                 {with(0, 2), ErrTooNew},
		"format 255":               {with(0, 255), ErrTooNew},
		"format 2 of one byte":     {[]byte{2}, ErrTooNew},
		"format 2, strange flags":  {with(0, 2, 0, 0, 0xff), ErrTooNew},
		"no body":                  {nil, ErrInvalid},
		"format 1 of one byte":     {[]byte{1}, ErrInvalid},
		"header without position":  {valid[:headerLength], ErrInvalid},
		"header cut":               {valid[:headerLength-1], ErrInvalid},
		"position of one byte":     {valid[:headerLength+1], nil},
		"flag 8":                   {with(3, 8), ErrInvalid},
		"flag 16":                  {with(3, 16), ErrInvalid},
		"flag 32":                  {with(3, 32), ErrInvalid},
		"flag 64":                  {with(3, 64), ErrInvalid},
		"flag 128":                 {with(3, 128), ErrInvalid},
		"all known flags":          {with(3, 7), nil},
		"ruleset version 0":        {with(2, 0), ErrInvalid},
		"ruleset 255, version 255": {with(1, 255, 255), nil},
		"ply 10000":                {with(12, 10000>>8, 10000&0xff), nil},
		"ply 10001":                {with(12, 10001>>8, 10001&0xff), ErrInvalid},
		"ply 65535":                {with(12, 0xff, 0xff), ErrInvalid},
	} {
		token := seal(ring.Primary(), test.body, "")
		if _, _, err := ring.Open(token, ""); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestWhatDoesNotFitIsNotSigned(t *testing.T) {
	key := twoKeys(t).Primary()
	for name, change := range map[string]func(*State){
		"ruleset version 0":   func(s *State) { s.RulesetVersion = 0 },
		"ruleset version 256": func(s *State) { s.RulesetVersion = 256 },
		"negative ply":        func(s *State) { s.Ply = -1 },
		"ply above the limit": func(s *State) { s.Ply = engine.MaxPly + 1 },
		"no position":         func(s *State) { s.Position = nil },
		"long position":       func(s *State) { s.Position = make([]byte, MaxPositionLength+1) },
	} {
		state := example()
		change(&state)
		if token, err := key.Sign(state, ""); err == nil {
			t.Errorf("%s was signed: %s", name, token)
		}
	}
	if token, err := key.Sign(example(), strings.Repeat("c", MaxContextLength+1)); err == nil {
		t.Errorf("a long context was signed: %s", token)
	}
}

func TestErrorsTeachNothing(t *testing.T) {
	ring := twoKeys(t)
	token := mustSign(t, ring.Primary(), example(), "")
	for _, forged := range []string{"", "!", token[1:], token + "A", strings.Repeat("A", 1000), seal(ring.Primary(), []byte{0}, "")} {
		if _, _, err := ring.Open(forged, ""); err != ErrInvalid { //nolint:errorlint // not even a wrapped detail
			t.Errorf("%q gives %v", forged, err)
		}
	}
}

func TestGameIDs(t *testing.T) {
	id := GameID{0xde, 0xad, 0, 0, 0, 0, 0, 1}
	if got := id.String(); got != "dead000000000001" {
		t.Errorf("String() = %s", got)
	}
	drawn, err := NewGameID(strings.NewReader("12345678 and more"))
	if want := hex.EncodeToString([]byte("12345678")); err != nil || drawn.String() != want {
		t.Errorf("drawn %v, %v, want %s", drawn, err, want)
	}
	for _, broken := range []io.Reader{strings.NewReader("1234567"), iotest.ErrReader(errors.New("no entropy"))} {
		if drawn, err := NewGameID(broken); err == nil {
			t.Errorf("drew %v from a broken source", drawn)
		}
	}
}
