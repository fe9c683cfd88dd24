package state

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/avalanched/avalanched/internal/engine"
)

// Limits of what is signed.
const (
	// MaxTokenLength is the number of characters of the longest state, in every
	// format version. A Discord custom_id carries 100 with the move.
	MaxTokenLength = 128
	// MaxPositionLength is the number of bytes of the longest packed position.
	MaxPositionLength = maxLength - headerLength - trailerLength
	// MaxContextLength is the number of bytes of the longest context.
	MaxContextLength = 128
)

const (
	formatVersion = 1
	headerLength  = 14
	tagLength     = 12
	trailerLength = 1 + tagLength
	// minSignedLength is what every format version has: itself, key id and tag.
	minSignedLength = 1 + trailerLength
	maxLength       = MaxTokenLength * 6 / 8
)

// The flags. All other bits are zero.
const (
	flagCustomStart = 1 << iota
	flagSealedSeats
	flagLedgered
	knownFlags = flagCustomStart | flagSealedSeats | flagLedgered
)

// The reasons for which a state is not accepted. Their texts name no detail,
// because whoever sends a forged state must not learn how close it came.
var (
	// ErrInvalid is returned for everything that is not a state signed by this
	// service for the same context.
	ErrInvalid = errors.New("the state is not one that this service signed for this context: send it unchanged, with the context it was made in")
	// ErrTooNew is returned for a genuine state of a format that only a newer
	// release reads. The game is fine: the same call may succeed a moment later,
	// on another replica or after an upgrade.
	ErrTooNew = errors.New("the state is of a newer format than this release reads: try again when the upgrade is complete")
	// ErrKeyRetired is returned for a genuine state whose key was disabled. The
	// game cannot go on.
	ErrKeyRetired = errors.New("the key of this state was retired and its game has ended: create a new game")
)

// GameID names a game. It is no secret.
type GameID [8]byte

// String is the public form: 16 hexadecimal digits.
func (id GameID) String() string { return hex.EncodeToString(id[:]) }

// NewGameID draws the id of a game that was created without a request id.
// random is crypto/rand.Reader except in tests.
func NewGameID(random io.Reader) (GameID, error) {
	var id GameID
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return GameID{}, fmt.Errorf("draw a game id: %w", err)
	}
	return id, nil
}

// State is what a client carries between two moves. Which key signs it is not
// part of it: see [Key].
type State struct {
	// Ruleset is the number of the ruleset, and RulesetVersion the version of
	// its rules (1 to 255) by which this game is played to its end. Whether they
	// are known is for the caller to say.
	Ruleset        uint8
	RulesetVersion int
	// CustomStart: the creator chose the start.
	CustomStart bool
	// SealedSeats: a move needs the key of the seat to move.
	SealedSeats bool
	// Ledgered: the newest state of the game is remembered elsewhere, and a
	// service that cannot ask must refuse the state.
	Ledgered bool
	GameID   GameID
	// Ply counts the moves made, 0 to [engine.MaxPly].
	Ply int
	// Position is the packed position, 1 to [MaxPositionLength] bytes.
	Position []byte
}

// check finds the mistake of a caller that would make an unreadable state.
func (s State) check() error {
	switch {
	case s.RulesetVersion < 1 || s.RulesetVersion > 255:
		return fmt.Errorf("ruleset version %d does not fit a state, which holds 1 to 255", s.RulesetVersion)
	case s.Ply < 0 || s.Ply > engine.MaxPly:
		return fmt.Errorf("ply %d is outside 0 to %d", s.Ply, engine.MaxPly)
	case len(s.Position) < 1 || len(s.Position) > MaxPositionLength:
		return fmt.Errorf("a packed position of %d bytes does not fit a state, which holds 1 to %d", len(s.Position), MaxPositionLength)
	}
	return nil
}

// appendUnsigned appends the bytes up to and including the key id.
func (s State) appendUnsigned(dst []byte, keyID uint8) []byte {
	dst = append(dst, formatVersion, s.Ruleset, byte(s.RulesetVersion), s.flags())
	dst = append(dst, s.GameID[:]...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(s.Ply))
	dst = append(dst, s.Position...)
	return append(dst, keyID)
}

func (s State) flags() byte {
	var flags byte
	if s.CustomStart {
		flags |= flagCustomStart
	}
	if s.SealedSeats {
		flags |= flagSealedSeats
	}
	if s.Ledgered {
		flags |= flagLedgered
	}
	return flags
}

// parse reads header and position of the current format. It accepts exactly
// what appendUnsigned writes before the key id.
func parse(body []byte) (State, bool) {
	if len(body) < headerLength {
		return State{}, false
	}
	flags := body[3]
	s := State{
		Ruleset:        body[1],
		RulesetVersion: int(body[2]),
		CustomStart:    flags&flagCustomStart != 0,
		SealedSeats:    flags&flagSealedSeats != 0,
		Ledgered:       flags&flagLedgered != 0,
		GameID:         GameID(body[4:12]),
		Ply:            int(binary.BigEndian.Uint16(body[12:headerLength])),
		Position:       make([]byte, len(body)-headerLength),
	}
	copy(s.Position, body[headerLength:])
	return s, flags&^knownFlags == 0 && s.check() == nil
}

// identity is what a game keeps for life, wherever its service's configuration
// and its position go.
func (s State) identity() [10]byte {
	identity := [10]byte{s.Ruleset, byte(s.RulesetVersion)}
	copy(identity[2:], s.GameID[:])
	return identity
}

var encoding = base64.RawURLEncoding.Strict()

// decode reads the one spelling that raw bytes have, into dst. Of all others the
// strict decoder accepts only those with line breaks, which make them longer.
func decode(dst *[maxLength]byte, token string) ([]byte, bool) {
	if len(token) > MaxTokenLength {
		return nil, false
	}
	n, err := encoding.Decode(dst[:], []byte(token))
	return dst[:n], err == nil && encoding.EncodedLen(n) == len(token)
}

func encode(raw []byte) string {
	var text [MaxTokenLength]byte
	encoding.Encode(text[:], raw)
	return string(text[:encoding.EncodedLen(len(raw))])
}
