package service_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// Each test here is an attack on the service, and docs/state.md lists them all with what
// stops them. Where nothing can, the test pins that limit instead.

func TestAttackBitFlip(t *testing.T) {
	t.Parallel()
	house := newHouse(keyringOf(t, firstKey, secondKey), nil)
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		for bit := range len(sample.token) * 8 {
			changed := []byte(sample.token)
			changed[bit/8] ^= 1 << (bit % 8)
			checkForged(t, all, fmt.Sprintf("%s, bit %d of the text", sample.name, bit), string(changed), "")
		}
		for bit := range len(sample.raw()) * 8 {
			changed := sample.raw()
			changed[bit/8] ^= 1 << (bit % 8)
			checkForged(t, all, fmt.Sprintf("%s, bit %d of the bytes", sample.name, bit), encode(changed), "")
		}
	}
}

func TestAttackTruncation(t *testing.T) {
	t.Parallel()
	house := newHouse(keyringOf(t, firstKey, secondKey), nil)
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		for length := range len(sample.token) {
			checkForged(t, all, fmt.Sprintf("%s, cut to %d", sample.name, length), sample.token[:length], "")
			checkForged(t, all, fmt.Sprintf("%s, the last %d", sample.name, length), sample.token[len(sample.token)-length:], "")
		}
		raw := sample.raw()
		for length := range raw {
			checkForged(t, all, fmt.Sprintf("%s, cut to %d bytes", sample.name, length), encode(raw[:length]), "")
			// The tag stays whole and something before it is missing.
			checkForged(t, all, fmt.Sprintf("%s, without byte %d", sample.name, length), encode(raw[:length], raw[length+1:]), "")
		}
	}
}

func TestAttackExtension(t *testing.T) {
	t.Parallel()
	house := newHouse(keyringOf(t, firstKey, secondKey), nil)
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		raw := sample.raw()
		for c := range 256 {
			checkForged(t, all, fmt.Sprintf("%s and byte %d", sample.name, c), sample.token+string([]byte{byte(c)}), "")
			checkForged(t, all, fmt.Sprintf("byte %d and %s", c, sample.name), string([]byte{byte(c)})+sample.token, "")
		}
		for at := range len(raw) + 1 {
			for _, c := range []byte{0, 1, 0xff} {
				checkForged(t, all, fmt.Sprintf("%s, byte %d inserted at %d", sample.name, c, at), encode(raw[:at], []byte{c}, raw[at:]), "")
			}
		}
		for _, more := range []string{sample.token, "." + sample.token, strings.Repeat("A", 1000)} {
			checkForged(t, all, sample.name+" run on", sample.token+more, "")
		}
	}
}

// A state that could be spelled in two ways would be two states to a ledger.
func TestAttackOtherSpelling(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	unusedBits := 0
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		for name, spelling := range map[string]string{
			"padding":         base64.URLEncoding.EncodeToString(sample.raw()) + "=",
			"more padding":    sample.token + "==",
			"newline":         sample.token + "\n",
			"newline inside":  sample.token[:8] + "\r\n" + sample.token[8:],
			"space":           " " + sample.token,
			"quotes":          `"` + sample.token + `"`,
			"percent":         strings.ReplaceAll(sample.token, sample.token[:1], fmt.Sprintf("%%%02X", sample.token[0])),
			"another unicode": strings.ReplaceAll(sample.token, sample.token[:1], string(rune(0xff00+int(sample.token[0])-0x20))),
			"zero byte":       sample.token + "\x00",
			"hexadecimal":     hex.EncodeToString(sample.raw()),
		} {
			checkForged(t, all, sample.name+", "+name, spelling, "")
		}
		// The last character may have bits that no byte needs.
		end := len(sample.token) - 1
		last := strings.IndexByte(alphabet, sample.token[end])
		unused := [3]int{0, 4, 2}[len(sample.raw())%3]
		for flip := 1; flip < 1<<unused; flip++ {
			unusedBits++
			checkForged(t, all, sample.name+", unused bits", sample.token[:end]+alphabet[last^flip:][:1], "")
		}
	}
	if unusedBits == 0 {
		t.Error("no sample has unused bits")
	}
}

// Whatever is put together from the fields of two genuine states is none, unless it is
// one of them.
func TestAttackSplice(t *testing.T) {
	t.Parallel()
	house, rotated := newHouse(keyringOf(t, firstKey, secondKey), nil), newHouse(keyringOf(t, secondKey, firstKey), nil)
	all := append(samples(t, house), samples(t, rotated)[:2]...)
	door := doors(t.Context(), house, "")[4:5]
	genuine := make(map[string]bool)
	for _, sample := range all {
		genuine[sample.token] = true
		if _, err := door[0].enter(sample.token, ""); err != nil {
			t.Fatalf("%s: %v", sample.name, err)
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			ours, theirs := fields(a.raw()), fields(b.raw())
			for choice := range 1 << len(ours) {
				spliced := slices.Clone(ours)
				for field := range spliced {
					if choice>>field&1 == 1 {
						spliced[field] = theirs[field]
					}
				}
				if token := encode(spliced...); !genuine[token] {
					checkForged(t, door, fmt.Sprintf("%s with the fields %09b of %s", a.name, choice, b.name), token, "")
				}
			}
		}
	}
}

// The rules are public: anybody can compute what a state of her own liking looks like,
// such as one where she is to move, but not its tag.
func TestAttackOwnMove(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		ruleset, _ := registry().ByID(sample.game.GetRuleset())
		position, err := ruleset.ParsePosition(sample.game.GetPosition(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range 20 {
			next, _, err := position.Apply(position.LegalMoves()[seed%len(position.LegalMoves())], engine.Seeded(seed))
			if err != nil {
				t.Fatal(err)
			}
			parts := fields(sample.raw())
			parts[5] = binary.BigEndian.AppendUint16(nil, uint16(sample.game.GetPly()+1))
			parts[6] = next.AppendPacked(nil)
			checkForged(t, all, sample.name+" and a move of one's own", encode(parts...), "")
		}
	}
}

func TestAttackForeignTag(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey, secondKey), nil)
	stranger := masterKey{id: firstKey.id, status: "ENABLED", secret: 0xee}
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		unsigned := slices.Concat(body(sample.token), []byte{byte(firstKey.id)})
		if own := firstKey.seal(body(sample.token), ""); own != sample.token {
			t.Fatalf("the tests sign %s as %s", sample.token, own)
		}
		checkForged(t, all, "tag of a stranger's key", stranger.seal(body(sample.token), ""), "")
		checkForged(t, all, "tag of the stranger's real state",
			newGame(t, newHouse(keyringOf(t, stranger), nil), engine.Info{ID: sample.game.GetRuleset(), MaxPlayers: int(sample.game.GetPlayers())}).GetState(), "")
		other := secondKey.hmacOf(sha256.New, "tag", tagMessage(unsigned, ""))
		for name, tag := range map[string][]byte{
			"tag of another key of the house": other,
			"tag of zeros":                    make([]byte, tagLength),
			"tag of ones":                     bytes.Repeat([]byte{0xff}, tagLength),
			"tag of another purpose":          firstKey.hmacOf(sha256.New, "seat", tagMessage(unsigned, "")),
			"tag without the purpose":         firstKey.hmacOf(sha256.New, "tag", tagMessage(unsigned, "")[len("tag"):]),
			"tag of the body alone":           firstKey.hmacOf(sha256.New, "tag", unsigned),
			"plain hash":                      sum256(unsigned),
		} {
			checkForged(t, all, name, encode(unsigned, tag[:tagLength]), "")
		}
	}
}

func sum256(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// The key id is signed and decides which key checks the tag; nothing in a state decides
// by which algorithm.
func TestAttackOtherKeyID(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey, secondKey), nil)
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		for id := range 256 {
			parts := fields(sample.raw())
			if parts[7] = []byte{byte(id)}; byte(id) != byte(firstKey.id) {
				checkForged(t, all, fmt.Sprintf("key id %d", id), encode(parts...), "")
			}
		}
	}
}

func TestAttackAlgorithmConfusion(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		for format := range 256 {
			parts := fields(sample.raw())
			if parts[0] = []byte{byte(format)}; format != 1 {
				checkForged(t, all, fmt.Sprintf("format %d", format), encode(parts...), "")
			}
		}
		unsigned := slices.Concat(body(sample.token), []byte{byte(firstKey.id)})
		for name, newHash := range map[string]func() hash.Hash{
			"HMAC-SHA224": sha256.New224, "HMAC-SHA384": sha512.New384, "HMAC-SHA512": sha512.New, "HMAC-SHA512/256": sha512.New512_256,
		} {
			tag := firstKey.hmacOf(newHash, "tag", tagMessage(unsigned, ""))
			for _, length := range []int{tagLength, 16, len(tag)} {
				checkForged(t, all, fmt.Sprintf("%s, %d bytes", name, length), encode(unsigned, tag[:length]), "")
			}
		}
		right := firstKey.hmacOf(sha256.New, "tag", tagMessage(unsigned, ""))
		for length := range len(right) + 1 {
			if length != tagLength {
				checkForged(t, all, fmt.Sprintf("the right tag with %d bytes", length), encode(unsigned, right[:length]), "")
			}
		}
	}
}

// A leaked key is disabled. Then nothing that it signed is worth anything, and only who
// holds such a state learns of it.
func TestAttackRetiredKey(t *testing.T) {
	before := newHouse(keyringOf(t, firstKey, secondKey), nil)
	after := newHouse(keyringOf(t, secondKey, firstKey.disabled()), nil)
	fresh := newGame(t, after, engine.Info{ID: "test-race", MaxPlayers: 2}).GetState()
	for _, sample := range samples(t, before) {
		all := doors(t.Context(), after, fresh)
		forgedByThief := firstKey.seal(append(body(sample.token), 1), "")
		for _, door := range all {
			for _, token := range []string{sample.token, forgedByThief} {
				response, err := door.enter(token, "")
				refused(t, response, err, codes.FailedPrecondition, avalanchev1.ErrorReason_KEY_RETIRED)
			}
		}
		checkForged(t, all, "retired key in another context", sample.token, "another chat")
		for bit := range len(sample.raw()) * 8 {
			changed := sample.raw()
			changed[bit/8] ^= 1 << (bit % 8)
			checkForged(t, all, fmt.Sprintf("retired key, bit %d", bit), encode(changed), "")
		}
	}
}

// A newer release signs what this one does not know yet. During a rolling upgrade such a
// state is no forgery, and only its holder may hear so.
func TestAttackNewerState(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	for _, sample := range samples(t, house) {
		all := doors(t.Context(), house, sample.token)
		with := func(at int, value byte) []byte {
			changed := body(sample.token)
			changed[at] = value
			return changed
		}
		for name, newer := range map[string][]byte{
			"format":                        with(0, 2),
			"format, of other fields":       {9, 1, 2, 3},
			"format, nothing else":          {255},
			"ruleset":                       with(1, 251),
			"version of the ruleset":        with(2, sample.raw()[2]+1),
			"version, and another position": append(with(2, 255), "more"...),
		} {
			for _, door := range all {
				response, err := door.enter(firstKey.seal(newer, ""), "")
				if refused(t, response, err, codes.Unavailable, avalanchev1.ErrorReason_STATE_TOO_NEW); t.Failed() {
					t.Fatal(name)
				}
			}
			forged := encode(newer, []byte{byte(firstKey.id)}, make([]byte, tagLength))
			checkForged(t, all, "newer "+name+", not signed", forged, "")
			checkForged(t, all, "newer "+name+", in another context", firstKey.seal(newer, "a chat"), "")
		}
	}
}

// nextVersion is a ruleset after a change of its rules.
type nextVersion struct{ engine.Ruleset }

func (r nextVersion) Info() engine.Info {
	info := r.Ruleset.Info()
	info.Version++
	return info
}

// A game keeps the rules by which it began: a change cannot be used in the middle of it.
func TestAttackOlderRules(t *testing.T) {
	ring := keyringOf(t, firstKey)
	var newer []engine.Ruleset
	for _, ruleset := range registry().All() {
		newer = append(newer, nextVersion{ruleset})
	}
	before := newHouse(ring, nil)
	after := service.New(service.Config{Rulesets: engine.NewRegistry(newer...), Keys: func() *state.Keyring { return ring }})
	for _, sample := range samples(t, before) {
		fresh := newGame(t, after, engine.Info{ID: sample.game.GetRuleset(), MaxPlayers: int(sample.game.GetPlayers())}).GetState()
		for _, door := range doors(t.Context(), after, fresh) {
			response, err := door.enter(sample.token, "")
			refused(t, response, err, codes.FailedPrecondition, avalanchev1.ErrorReason_RULESET_RETIRED)
		}
		parts := fields(sample.raw())
		parts[2] = []byte{2}
		checkForged(t, doors(t.Context(), after, fresh), "the newer version written in", encode(parts...), "")
	}
}

func TestAttackOtherContext(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		const chat = "chat 17: ann, bob"
		here := create(t, house, &avalanchev1.CreateGameRequest{Ruleset: info.ID, Players: int32(info.MaxPlayers), Context: chat}).GetState()
		nowhere := newGame(t, house, info).GetState()
		if _, err := house.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: here, Context: chat}); err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("c", state.MaxContextLength)
		for _, other := range []string{"", "chat 18: ann, bob", chat + " ", " " + chat, strings.ToUpper(chat), chat + "\x00", chat[:len(chat)-1], long, long + "c"} {
			checkForged(t, doors(t.Context(), house, here), "context "+other, here, other)
		}
		checkForged(t, doors(t.Context(), house, here), "a state without a context", nowhere, chat)
		// A replay must not join two contexts either.
		response, err := house.ReplayGame(t.Context(), &avalanchev1.ReplayGameRequest{FirstState: here, LastState: nowhere, Context: chat})
		refused(t, response, err, codes.InvalidArgument, avalanchev1.ErrorReason_STATE_INVALID)
	})
}

// Who lost goes back to a state that she liked better: the ledger knows that it is old, and
// answers with the newest one.
func TestAttackOlderState(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), newLedger(t, ledger.Options{}))
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		played := play(t, house, newGame(t, house, info), 5, 1)
		last := len(played.moves)
		for ply, old := range played.states[:last] {
			for _, move := range append(played.games[ply].GetLegalMoves(), &avalanchev1.LegalMove{Notation: "resign"}) {
				response, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: old, Move: notation(move.GetNotation())})
				if ply == last-1 && response.GetState() == played.last() {
					continue // a retry, which succeeds, or another way to the same state
				}
				problem := refused(t, response, err, codes.Aborted, avalanchev1.ErrorReason_STATE_SUPERSEDED)
				if len(problem.Metadata) != 1 || problem.Metadata["newest"] != played.last() {
					t.Fatalf("the metadata are %v, want the newest state %s", problem.Metadata, played.last())
				}
			}
			inspected, err := house.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: old})
			if err != nil || inspected.GetNewest() != played.last() {
				t.Fatalf("the newest state of ply %d is %q, %v", ply, inspected.GetNewest(), err)
			}
		}
		if game := played.games[last]; game.GetStatus() == avalanchev1.Game_IN_PROGRESS {
			apply(t, house, played.last(), game.GetLegalMoves()[0].GetNotation())
		}
	})
}

// Without a ledger nobody can know that a state is old. This is a limit, not a feature.
func TestAttackOlderStateWithoutLedger(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		played := play(t, house, newGame(t, house, info), 5, 1)
		for ply, old := range played.states[:len(played.moves)] {
			for _, move := range played.games[ply].GetLegalMoves() {
				if next := apply(t, house, old, move.GetNotation()); next.GetGame().GetPly() != int32(ply)+1 {
					t.Errorf("from ply %d to ply %d", ply, next.GetGame().GetPly())
				}
			}
		}
	})
}

// Two lines of one game cannot both go on, not even if the other one grew where the ledger
// does not reach.
func TestAttackTwoBranches(t *testing.T) {
	ring := keyringOf(t, firstKey)
	house, unledgered := newHouse(ring, newLedger(t, ledger.Options{})), newHouse(ring, nil)
	elsewhere := newHouse(ring, newLedger(t, ledger.Options{}))
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		created := newGame(t, house, info)
		first := created.GetGame().GetLegalMoves()[0].GetNotation()
		main := apply(t, house, created.GetState(), first)
		try := func(token, move string) {
			t.Helper()
			response, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: token, Move: notation(move)})
			problem := refused(t, response, err, codes.Aborted, avalanchev1.ErrorReason_STATE_SUPERSEDED)
			if problem.Metadata["newest"] != main.GetState() {
				t.Fatalf("the newest state is %v, want %s", problem.Metadata, main.GetState())
			}
		}
		try(created.GetState(), "resign")
		if info.MaxPlayers > 2 { // with two, the game is over
			side := apply(t, elsewhere, created.GetState(), "resign")
			try(side.GetState(), "resign")
			try(side.GetState(), side.GetGame().GetLegalMoves()[0].GetNotation())
		}
		main = apply(t, house, main.GetState(), main.GetGame().GetLegalMoves()[0].GetNotation())
		try(created.GetState(), "resign")
		try(created.GetState(), first)

		response, err := unledgered.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: created.GetState(), Move: notation("resign")})
		refused(t, response, err, codes.FailedPrecondition, avalanchev1.ErrorReason_LEDGER_REQUIRED)
	})
}

// Many clients move at once from one state: exactly one move is made, and all others hear
// which.
func TestAttackTwoClientsAtOnce(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), newLedger(t, ledger.Options{}))
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		created := newGame(t, house, info)
		moves := []string{"resign"}
		for _, move := range created.GetGame().GetLegalMoves() {
			moves = append(moves, move.GetNotation())
		}
		type answer struct {
			move, state string
			err         error
		}
		answers := make([]answer, 128)
		start := make(chan struct{})
		var clients sync.WaitGroup
		for i := range answers {
			clients.Go(func() {
				move := moves[i%len(moves)]
				<-start
				response, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: created.GetState(), Move: notation(move)})
				answers[i] = answer{move, response.GetState(), err}
			})
		}
		close(start)
		clients.Wait()
		var winner answer
		for _, answer := range answers {
			if answer.err == nil {
				winner = answer
			}
		}
		if winner.state == "" {
			t.Fatal("nobody moved")
		}
		for _, answer := range answers {
			// Two moves may lead to the same state; then both were made.
			if answer.err == nil && answer.state == winner.state {
				continue
			}
			var problem *service.Problem
			if answer.move == winner.move || !errors.As(answer.err, &problem) ||
				problem.Reason != avalanchev1.ErrorReason_STATE_SUPERSEDED || problem.Metadata["newest"] != winner.state {
				t.Errorf("%s was made; %s gives %q, %v", winner.move, answer.move, answer.state, answer.err)
			}
		}
	})
}

// The ledger may answer too late or not at all. A move is shown only once it is recorded,
// so cutting the line to the ledger gives no look at a roll that can still be refused.
func TestAttackLedgerOutage(t *testing.T) {
	memory := &flakyLedger{Ledger: newLedger(t, ledger.Options{})}
	house := newHouse(keyringOf(t, firstKey), memory)
	for _, ruleset := range registry().All() {
		info := ruleset.Info()
		created := newGame(t, house, info)
		move := created.GetGame().GetLegalMoves()[0].GetNotation()
		request := &avalanchev1.ApplyMoveRequest{State: created.GetState(), Move: notation(move)}

		memory.failure = beforeStoring
		response, err := house.ApplyMove(t.Context(), request)
		problem := refused(t, response, err, codes.Unavailable, avalanchev1.ErrorReason_LEDGER_UNAVAILABLE)
		if len(problem.Metadata) != 0 {
			t.Errorf("%s: the metadata are %v", info.ID, problem.Metadata)
		}
		inspected, err := house.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: created.GetState()})
		refused(t, inspected, err, codes.Unavailable, avalanchev1.ErrorReason_LEDGER_UNAVAILABLE)

		memory.failure = afterStoring
		response, err = house.ApplyMove(t.Context(), request)
		refused(t, response, err, codes.Unavailable, avalanchev1.ErrorReason_LEDGER_UNAVAILABLE)

		memory.failure = never
		response, err = house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: created.GetState(), Move: notation("resign")})
		refused(t, response, err, codes.Aborted, avalanchev1.ErrorReason_STATE_SUPERSEDED)
		if made := apply(t, house, created.GetState(), move); made.GetGame().GetPly() != 1 {
			t.Errorf("%s: the retry ends at ply %d", info.ID, made.GetGame().GetPly())
		}
	}
}

// flakyLedger is a ledger on a bad line.
type flakyLedger struct {
	ledger.Ledger
	failure int
}

const (
	never = iota
	beforeStoring
	afterStoring
)

func (l *flakyLedger) Advance(ctx context.Context, game ledger.GameID, presented, next ledger.Entry) (ledger.Outcome, error) {
	if l.failure == beforeStoring {
		return 0, ledger.ErrUnavailable
	}
	outcome, err := l.Ledger.Advance(ctx, game, presented, next)
	if l.failure == afterStoring {
		return 0, ledger.ErrUnavailable
	}
	return outcome, err
}

func (l *flakyLedger) Newest(ctx context.Context, game ledger.GameID) (ledger.Entry, bool, error) {
	if l.failure != never {
		return ledger.Entry{}, false, ledger.ErrUnavailable
	}
	return l.Ledger.Newest(ctx, game)
}

// Whoever fills the ledger must not push a game out of it whose old state she holds.
func TestAttackLedgerFlood(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), newLedger(t, ledger.Options{MaxGames: 1}))
	info := registry().All()[0].Info()
	played := play(t, house, newGame(t, house, info), 3, 1)
	for range 100 {
		response, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: newGame(t, house, info).GetState(), Move: notation("resign")})
		refused(t, response, err, codes.ResourceExhausted, avalanchev1.ErrorReason_LEDGER_FULL)
	}
	response, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: played.states[0], Move: notation("resign")})
	refused(t, response, err, codes.Aborted, avalanchev1.ErrorReason_STATE_SUPERSEDED)
	apply(t, house, played.last(), "resign")
}

// A ledger that lost its memory takes the first state that comes for the newest, unless
// it is strict: then a game that it does not know can only begin.
func TestAttackLostLedger(t *testing.T) {
	ring := keyringOf(t, firstKey)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		before := newHouse(ring, newLedger(t, ledger.Options{}))
		played := play(t, before, newGame(t, before, info), 2, 1)
		old := &avalanchev1.ApplyMoveRequest{State: played.states[1], Move: notation("resign")}

		strict := newHouse(ring, newLedger(t, ledger.Options{Strict: true}))
		response, err := strict.ApplyMove(t.Context(), old)
		refused(t, response, err, codes.FailedPrecondition, avalanchev1.ErrorReason_LEDGER_REQUIRED)

		trusting := newHouse(ring, newLedger(t, ledger.Options{}))
		if _, err := trusting.ApplyMove(t.Context(), old); err != nil {
			t.Errorf("a ledger that is not strict refuses to adopt a state: %v", err)
		}
	})
}

// The ledger of a game cannot be left, and a game without one gains none on the way.
func TestAttackLedgerEvasion(t *testing.T) {
	ring := keyringOf(t, firstKey)
	memory := newLedger(t, ledger.Options{})
	with, without := newHouse(ring, memory), newHouse(ring, nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		ledgered, unledgered := newGame(t, with, info), newGame(t, without, info)
		for _, door := range doors(t.Context(), without, ledgered.GetState()) {
			response, err := door.enter(ledgered.GetState(), "")
			refused(t, response, err, codes.FailedPrecondition, avalanchev1.ErrorReason_LEDGER_REQUIRED)
		}
		parts := fields(decode(ledgered.GetState()))
		const flagLedgered = 4
		parts[3] = []byte{parts[3][0] &^ flagLedgered}
		checkForged(t, doors(t.Context(), without, unledgered.GetState()), "ledgered flag cleared", encode(parts...), "")

		// The other way round the game goes on as it began, unrecorded.
		played := play(t, with, unledgered, 2, 1)
		if _, known, err := memory.Newest(t.Context(), ledger.GameID(fields(decode(played.last()))[4])); known || err != nil {
			t.Errorf("a game without a ledger was recorded: %v, %v", known, err)
		}
		if fields(decode(played.last()))[3][0]&flagLedgered != 0 {
			t.Error("a game without a ledger became one with a ledger")
		}
	})
}

// Sending a move again, in other words or from elsewhere, throws no dice anew.
func TestAttackReroll(t *testing.T) {
	first, rotated := keyringOf(t, firstKey, secondKey), keyringOf(t, secondKey, firstKey)
	house, replica, later := newHouse(first, nil), newHouse(first, nil), newHouse(rotated, nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		played := play(t, house, newGame(t, house, info), 4, 3)
		for ply, token := range played.states {
			for _, move := range played.games[ply].GetLegalMoves() {
				text := move.GetNotation()
				want := apply(t, house, token, text)
				for name, other := range map[string]struct {
					house   *service.Service
					request *avalanchev1.ApplyMoveRequest
				}{
					"again":          {house, &avalanchev1.ApplyMoveRequest{Move: notation(text)}},
					"upper case":     {house, &avalanchev1.ApplyMoveRequest{Move: notation(strings.ToUpper(text))}},
					"lower case":     {house, &avalanchev1.ApplyMoveRequest{Move: notation(strings.ToLower(text))}},
					"in fields":      {house, &avalanchev1.ApplyMoveRequest{Move: move.GetMove()}},
					"needless key":   {house, &avalanchev1.ApplyMoveRequest{Move: notation(text), SeatKey: "AAAAAAAAAAAAAAAA"}},
					"other replica":  {replica, &avalanchev1.ApplyMoveRequest{Move: notation(text)}},
					"after rotation": {later, &avalanchev1.ApplyMoveRequest{Move: notation(text)}},
				} {
					other.request.State = token
					got, err := other.house.ApplyMove(service.WithTenant(t.Context(), name), other.request)
					if err != nil || !proto.Equal(got, want) {
						t.Fatalf("%s, %s: %v, %v; want %v", text, name, got, err, want)
					}
				}
			}
		}
	})
}

// Short forms of a move are the same move.
func TestAttackRerollByShortForm(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachDiceGame(t, func(t *testing.T, info engine.Info) {
		ruleset, _ := registry().ByID(info.ID)
		played := play(t, house, newGame(t, house, info), 30, 3)
		short := 0
		for ply, token := range played.states {
			for _, move := range played.games[ply].GetLegalMoves() {
				text := move.GetNotation()
				want := apply(t, house, token, text)
				for from := range len(text) {
					for to := from + 1; to <= len(text); to++ {
						parsed, err := ruleset.ParseMove(text[from:to])
						if err != nil || parsed.String() != text {
							continue
						}
						short++
						if got := apply(t, house, token, text[from:to]); !proto.Equal(got, want) {
							t.Fatalf("%s throws other dice than %s", text[from:to], text)
						}
					}
				}
			}
		}
		if short == 0 {
			t.Error("no move was tried")
		}
	})
}

func TestAttackLookAheadBySimulation(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachDiceGame(t, func(t *testing.T, info engine.Info) {
		played := play(t, house, newGame(t, house, info), 10, 1)
		for ply, token := range played.states {
			answers := make(map[string]bool)
			for _, text := range everyMove(played.games[ply]) {
				response, err := house.SimulateMoves(t.Context(), &avalanchev1.SimulateMovesRequest{
					State: token, Moves: []*avalanchev1.Move{notation(text)},
				})
				refused(t, response, err, codes.FailedPrecondition, avalanchev1.ErrorReason_GAME_HAS_CHANCE)
				answers[said(t, err)] = true
			}
			if len(answers) != 1 {
				t.Errorf("the refusals differ: %v", answers)
			}
		}
	})
}

// everyMove is the legal moves and others, some of which are no moves at all.
func everyMove(game *avalanchev1.Game) []string {
	moves := []string{"resign", "pass", "Ar", "1", "6", "reveal", "avoid", "face", "keep", "target 2", "step", "x"}
	for _, move := range game.GetLegalMoves() {
		moves = append(moves, move.GetNotation())
	}
	return moves
}

func TestAttackLookAheadByValidation(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		played := play(t, house, newGame(t, house, info), 10, 1)
		for ply, token := range played.states {
			for _, text := range everyMove(played.games[ply]) {
				request := &avalanchev1.ApplyMoveRequest{State: token, Move: notation(text), ValidateOnly: true}
				checked, checkErr := house.ApplyMove(t.Context(), request)
				request.ValidateOnly = false
				made, err := house.ApplyMove(t.Context(), request)
				switch {
				case err != nil:
					// Without chance both go the same way, and say the same.
					if code, want := status.Code(checkErr), status.Code(err); code != want || !info.ChanceInMoves && said(t, checkErr) != said(t, err) {
						t.Fatalf("%s is refused with %v, and validated with %v", text, err, checkErr)
					}
				case checkErr != nil:
					t.Fatalf("%s is accepted, and validated with %v", text, checkErr)
				case info.ChanceInMoves:
					if !proto.Equal(checked, &avalanchev1.ApplyMoveResponse{}) {
						t.Fatalf("the validation of %s shows %v", text, checked)
					}
				default:
					made.State = ""
					if !proto.Equal(checked, made) {
						t.Fatalf("the validation of %s shows %v, the move makes %v", text, checked, made)
					}
				}
			}
		}
	})
}

// A record is answered only if it is true, and every lie gets the same words, so that
// trying invented moves shows no dice that were not thrown.
func TestAttackLookAheadByReplay(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey, secondKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		played := play(t, house, newGame(t, house, info), 6, 5)
		other := play(t, house, newGame(t, house, info), 6, 6)
		last := len(played.moves)
		audit := func(request *avalanchev1.ReplayGameRequest) (*avalanchev1.ReplayGameResponse, error) {
			return house.ReplayGame(t.Context(), request)
		}
		truth := &avalanchev1.ReplayGameRequest{FirstState: played.states[0], LastState: played.last(), Moves: moveMessages(played.moves)}
		if _, err := audit(truth); err != nil {
			t.Fatalf("the true record: %v", err)
		}
		answers := make(map[string]string)
		lies := 0
		lie := func(what string, change func(*avalanchev1.ReplayGameRequest)) {
			t.Helper()
			for _, withGames := range []bool{false, true} {
				for _, size := range []int32{0, 1} {
					request := proto.CloneOf(truth)
					request.IncludeGames, request.PageSize = withGames, size
					change(request)
					response, err := audit(request)
					refused(t, response, err, codes.FailedPrecondition, avalanchev1.ErrorReason_REPLAY_MISMATCH)
					answers[said(t, err)] = what
					lies++
				}
			}
		}
		for _, at := range []int{0, last / 2, last - 1} {
			for _, move := range everyMove(played.games[at]) {
				changed := slices.Clone(played.moves)
				if changed[at] = move; endsIn(t, house, played.states[0], changed, played.last()) {
					continue // true, too
				}
				lie(fmt.Sprintf("move %d is %s", at+1, move), func(r *avalanchev1.ReplayGameRequest) { r.Moves[at] = notation(move) })
			}
		}
		lie("one move less", func(r *avalanchev1.ReplayGameRequest) { r.Moves = r.GetMoves()[:last-1] })
		lie("first move missing", func(r *avalanchev1.ReplayGameRequest) { r.Moves = r.GetMoves()[1:] })
		lie("one move more", func(r *avalanchev1.ReplayGameRequest) { r.Moves = append(r.Moves, notation("resign")) })
		lie("a detour back to the last position", func(r *avalanchev1.ReplayGameRequest) {
			r.Moves = append(r.Moves, notation("rest"), notation("rest"))
		})
		lie("no moves", func(r *avalanchev1.ReplayGameRequest) { r.Moves = nil })
		lie("an empty move", func(r *avalanchev1.ReplayGameRequest) { r.Moves[0] = nil })
		lie("backwards", func(r *avalanchev1.ReplayGameRequest) {
			r.FirstState, r.LastState = r.GetLastState(), r.GetFirstState()
		})
		lie("start of another game", func(r *avalanchev1.ReplayGameRequest) { r.FirstState = other.states[0] })
		lie("end of another game", func(r *avalanchev1.ReplayGameRequest) { r.LastState = other.last() })
		lie("moves of another game", func(r *avalanchev1.ReplayGameRequest) {
			r.Moves = moveMessages(append(slices.Clone(other.moves), other.moves...)[:last])
			r.Moves[0] = notation("resign")
		})
		if len(answers) != 1 {
			t.Errorf("%d lies are told apart by %d answers: %q", lies, len(answers), answers)
		}
	})
}

// endsIn tells whether moves lead from one state to another one.
func endsIn(t *testing.T, house *service.Service, token string, moves []string, end string) bool {
	t.Helper()
	for _, move := range moves {
		made, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: token, Move: notation(move)})
		if err != nil {
			return false
		}
		token = made.GetState()
	}
	return token == end
}

// Whoever wants to see the dice of a game before they are thrown can set up copies of its
// position. They have dice of their own; and all that is told before a move, such as what
// is legal and with what prospects, is the same for all copies, so nothing of a game's dice
// is in it.
func TestAttackLookAheadOnACopy(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		parted := false
		for ply, original := range play(t, house, newGame(t, house, info), 8, 7).games {
			if ply%2 == 1 || original.GetStatus() != avalanchev1.Game_IN_PROGRESS {
				continue
			}
			copies := make([]string, 24)
			for i := range copies {
				copied := create(t, house, &avalanchev1.CreateGameRequest{
					Ruleset: info.ID, Options: &avalanchev1.GameOptions{Position: original.GetPosition()},
				})
				if got, want := legalMoves(copied.GetGame()), legalMoves(original); got != want {
					t.Fatalf("ply %d: legal are %s, and in a copy %s", ply, want, got)
				}
				copies[i] = copied.GetState()
			}
			if one, two := allTold(t, house, copies[0]), allTold(t, house, copies[1]); one != two {
				t.Fatalf("ply %d: the copies of %s are told apart: %q and %q", ply, original.GetPosition(), one, two)
			}
			// Copies that the move makes equal must still look the same.
			shown := make(map[string]string)
			for _, copied := range copies {
				made := apply(t, house, copied, original.GetLegalMoves()[0].GetNotation()).GetGame()
				game := anonymous(t, made)
				if before, seen := shown[made.GetPosition()]; seen && before != game {
					t.Fatalf("ply %d: %s is shown as %q and %q", ply, made.GetPosition(), before, game)
				}
				shown[made.GetPosition()] = game
			}
			parted = parted || len(shown) > 1
		}
		if parted != info.ChanceInMoves {
			t.Errorf("chance in moves: %v; the copies went different ways: %v", info.ChanceInMoves, parted)
		}
	})
}

// legalMoves is all that a game says of its legal moves.
func legalMoves(game *avalanchev1.Game) string {
	return fmt.Sprint(game.GetLegalMoves())
}

// allTold is all that the service says of a state without making a move.
func allTold(t *testing.T, house *service.Service, token string) string {
	t.Helper()
	inspected, err := house.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: token})
	if err != nil {
		t.Fatal(err)
	}
	told := []string{anonymous(t, inspected.GetGame())}
	tell := func(game *avalanchev1.Game, rest proto.Message, err error) {
		if err != nil {
			told = append(told, said(t, err))
			return
		}
		told = append(told, anonymous(t, game), anonymous(t, rest))
	}
	for _, move := range everyMove(inspected.GetGame()) {
		checked, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: token, Move: notation(move), ValidateOnly: true})
		tell(checked.GetGame(), &avalanchev1.ApplyMoveResponse{State: checked.GetState(), Events: checked.GetEvents()}, err)
		simulated, err := house.SimulateMoves(t.Context(), &avalanchev1.SimulateMovesRequest{State: token, Moves: []*avalanchev1.Move{notation(move)}})
		tell(simulated.GetGame(), &avalanchev1.SimulateMovesResponse{Steps: simulated.GetSteps()}, err)
	}
	return strings.Join(told, "\n")
}

// anonymous is a message in bytes, without the game's id.
func anonymous(t *testing.T, message proto.Message) string {
	t.Helper()
	message = proto.Clone(message)
	if game, ok := message.(*avalanchev1.Game); ok && game != nil {
		game.GameId = ""
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A state holds the public game and nothing else: no seed, no order of cards, no key.
func TestAttackReadingTheState(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), newLedger(t, ledger.Options{}))
	for _, sample := range samples(t, house) {
		game := sample.game
		ruleset, _ := registry().ByID(game.GetRuleset())
		position, err := ruleset.ParsePosition(game.GetPosition(), nil)
		if err != nil {
			t.Fatal(err)
		}
		id, err := hex.DecodeString(game.GetGameId())
		if err != nil {
			t.Fatal(err)
		}
		const ledgered, sealed = 4, 2
		flags := byte(ledgered)
		if game.GetOptions().GetSealedSeats() {
			flags |= sealed
		}
		public := slices.Concat([]byte{1, ruleset.Info().Number, byte(game.GetRulesetVersion()), flags}, id,
			binary.BigEndian.AppendUint16(nil, uint16(game.GetPly())), position.AppendPacked(nil))
		if got := body(sample.token); !bytes.Equal(got, public) {
			t.Errorf("%s holds %x, public are %x", sample.name, got, public)
		}
	}
}

func TestAttackSeatImpersonation(t *testing.T) {
	house, elsewhere := newHouse(keyringOf(t, firstKey), nil), newHouse(keyringOf(t, secondKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		created, other := newSealedGame(t, house, info), newSealedGame(t, house, info)
		foreign := newSealedGame(t, elsewhere, info)
		played := play(t, house, created, 6, 2)
		answers := make(map[string]string)
		for ply, token := range played.states {
			game := played.games[ply]
			if game.GetStatus() != avalanchev1.Game_IN_PROGRESS {
				break
			}
			seat := int(game.GetTurn().GetSeat())
			key := created.GetSeatKeys()[seat-1]
			wrong := map[string]string{
				"no key":             "",
				"another game":       other.GetSeatKeys()[seat-1],
				"another service":    foreign.GetSeatKeys()[seat-1],
				"host of another":    other.GetHostKey(),
				"padded":             key + "=",
				"blank behind":       key + " ",
				"blank before":       " " + key,
				"newline":            key + "\n",
				"zero byte":          key + "\x00",
				"cut":                key[:len(key)-1],
				"twice":              key + key,
				"all keys":           strings.Join(created.GetSeatKeys(), ""),
				"the state":          token,
				"zeros":              strings.Repeat("A", len(key)),
				"upper case":         strings.ToUpper(key),
				"lower case":         strings.ToLower(key),
				"one letter changed": key[:len(key)-1] + string(key[len(key)-1]^1),
			}
			for i, rival := range created.GetSeatKeys() {
				if i != seat-1 {
					wrong[fmt.Sprintf("seat %d", i+1)] = rival
				}
			}
			try := func(what, key, move string) {
				t.Helper()
				for _, only := range []bool{false, true} {
					response, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{
						State: token, Move: notation(move), SeatKey: key, ValidateOnly: only,
					})
					refused(t, response, err, codes.PermissionDenied, avalanchev1.ErrorReason_SEAT_KEY_INVALID)
					answers[said(t, err)] = what
				}
			}
			legal := game.GetLegalMoves()[0].GetNotation()
			for what, key := range wrong {
				try(what, key, legal)
				try(what, key, "resign")
			}
			try("the host", created.GetHostKey(), legal)
			resigned, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{
				State: token, Move: notation("Resign"), SeatKey: created.GetHostKey(),
			})
			if err != nil || resigned.GetGame().GetPly() != game.GetPly()+1 {
				t.Errorf("the host cannot resign the seat to move: %v", err)
			}
		}
		if len(answers) != 1 {
			t.Errorf("wrong keys are told apart: %q", answers)
		}
	})
}

// Old states of a sealed game are everywhere in the chat; whoever shows one without a key
// must not be handed the newest.
func TestAttackNewestOfASealedGame(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), newLedger(t, ledger.Options{}))
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		created, other := newSealedGame(t, house, info), newSealedGame(t, house, info)
		played := play(t, house, created, 4, 2)
		old, seat := played.states[0], played.games[0].GetTurn().GetSeat()
		for what, key := range map[string]string{"no key": "", "another game": other.GetSeatKeys()[seat-1], "host of another": other.GetHostKey()} {
			response, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: old, Move: notation("resign"), SeatKey: key})
			problem := refused(t, response, err, codes.PermissionDenied, avalanchev1.ErrorReason_SEAT_KEY_INVALID)
			if len(problem.Metadata) != 0 {
				t.Errorf("%s: the metadata are %v", what, problem.Metadata)
			}
			inspected, err := house.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: old, SeatKey: key})
			if err != nil || inspected.GetNewest() != "" {
				t.Errorf("%s: the newest state is %q, %v", what, inspected.GetNewest(), err)
			}
		}
		for _, key := range append(slices.Clone(created.GetSeatKeys()), created.GetHostKey()) {
			inspected, err := house.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: old, SeatKey: key})
			if err != nil || inspected.GetNewest() != played.last() {
				t.Errorf("a player is told %q, %v; the newest state is %q", inspected.GetNewest(), err, played.last())
			}
		}
	})
}

// No call but the creation ever says a seat key, and none says anything of the keyset.
func TestAttackReadingSeatKeys(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), newLedger(t, ledger.Options{}))
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		created := newSealedGame(t, house, info)
		secrets := map[string][]byte{"master key": firstKey.material()[:8]}
		for _, purpose := range []string{"tag", "game-id", "move", "start", "simulation", "seat", "host"} {
			secrets["subkey "+purpose] = firstKey.subkey(purpose)[:8]
		}
		for i, key := range append(slices.Clone(created.GetSeatKeys()), created.GetHostKey()) {
			secrets[fmt.Sprintf("key %d", i+1)] = []byte(key)
			secrets[fmt.Sprintf("bytes of key %d", i+1)] = decode(key)
		}
		created.SeatKeys, created.HostKey = nil, ""
		seatKeys := newSealedGame(t, house, info).GetSeatKeys() // of another game: wrong ones
		listen := func(message proto.Message, err error) {
			t.Helper()
			var heard string
			if err != nil {
				heard = said(t, err)
			} else {
				heard = anonymous(t, message)
			}
			for _, word := range regexp.MustCompile(`[A-Za-z0-9_-]{30,}`).FindAllString(heard, -1) {
				if raw, err := base64.RawURLEncoding.DecodeString(word); err == nil {
					heard += string(raw)
				}
			}
			for name, secret := range secrets {
				if strings.Contains(heard, string(secret)) {
					t.Errorf("the %s is in %q", name, heard)
				}
			}
		}
		listen(created, nil)
		game, token := created.GetGame(), created.GetState()
		for _, move := range everyMove(game) {
			for _, key := range append(seatKeys, "") {
				listen(house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: token, Move: notation(move), SeatKey: key}))
			}
			for _, key := range secrets {
				listen(house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: token, Move: notation(move), SeatKey: string(key)}))
				listen(house.InspectGame(t.Context(), &avalanchev1.InspectGameRequest{State: token, SeatKey: string(key)}))
			}
		}
		for _, door := range doors(t.Context(), house, token) {
			listen(door.enter(token, ""))
			listen(door.enter(token+"A", ""))
		}
	})
}

// A rotation must not lock players out, nor let anybody in.
func TestAttackKeyRotation(t *testing.T) {
	before := newHouse(keyringOf(t, firstKey, secondKey), nil)
	after := newHouse(keyringOf(t, secondKey, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		created := newSealedGame(t, before, info)
		if one, two := play(t, before, created, 8, 4), play(t, after, created, 8, 4); !slices.Equal(one.states, two.states) {
			t.Fatal("the rotation changed the game")
		}
		request := &avalanchev1.ApplyMoveRequest{State: created.GetState(), Move: notation("resign"), SeatKey: created.GetHostKey()}
		if _, err := after.ApplyMove(t.Context(), request); err != nil {
			t.Errorf("the host key is no longer good: %v", err)
		}
		request.SeatKey = newSealedGame(t, after, info).GetSeatKeys()[created.GetGame().GetTurn().GetSeat()-1]
		response, err := after.ApplyMove(t.Context(), request)
		refused(t, response, err, codes.PermissionDenied, avalanchev1.ErrorReason_SEAT_KEY_INVALID)
	})
}

// The same request is the same game, and any other request is another one: so nobody can
// get a second game, or its seat keys, out of somebody's request id.
func TestAttackRequestIDReuse(t *testing.T) {
	type (
		creation = avalanchev1.CreateGameRequest
		board    = avalanchev1.MarbleOptions
	)
	ring := keyringOf(t, firstKey, secondKey)
	house, ledgered := newHouse(ring, nil), newHouse(ring, newLedger(t, ledger.Options{}))
	rotated := newHouse(keyringOf(t, secondKey, firstKey), nil)
	const id = "3f1c0f8e-5c0e-4d6c-9a53-0f2d3f0c6a11"
	request := func(change func(*creation, *board)) *creation {
		marble := &board{}
		request := &creation{
			Ruleset: "marble-standard", Players: 2, RequestId: id, Context: "a chat",
			Options: &avalanchev1.GameOptions{Family: &avalanchev1.GameOptions_Marble{Marble: marble}},
		}
		change(request, marble)
		return request
	}
	same := func(*creation, *board) {}
	original := create(t, house, request(same))
	for name, twin := range map[string]*creation{
		"the same request":         request(same),
		"with what a server sets":  request(func(r *creation, _ *board) { r.Options.CustomStart = true }),
		"options that say nothing": request(func(r *creation, _ *board) { r.Options = nil }),
		"an empty list":            request(func(_ *creation, m *board) { m.HouseRules = []string{} }),
	} {
		if again := create(t, house, twin); !proto.Equal(again, original) {
			t.Errorf("%s gives %v, want %v", name, again, original)
		}
	}

	position := original.GetGame().GetPosition()
	gates := original.GetGame().GetMarble().GetBoard()
	seen := map[string]string{original.GetGame().GetGameId(): "the original"}
	differ := func(what string, house *service.Service, tenant string, request *creation) {
		t.Helper()
		created, err := house.CreateGame(service.WithTenant(t.Context(), tenant), request)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		id := created.GetGame().GetGameId()
		if other, clash := seen[id]; clash {
			t.Errorf("%s and %s are the same game", what, other)
		}
		seen[id] = what
	}
	for what, change := range map[string]func(*creation, *board){
		"ruleset":        func(r *creation, _ *board) { r.Ruleset = "marble-basic" },
		"players":        func(r *creation, _ *board) { r.Players = 3 },
		"request id":     func(r *creation, _ *board) { r.RequestId = strings.ToUpper(id) },
		"context":        func(r *creation, _ *board) { r.Context = "another chat" },
		"no context":     func(r *creation, _ *board) { r.Context = "" },
		"shifted":        func(r *creation, _ *board) { r.Context, r.RequestId = "a cha", "t"+id },
		"run together":   func(r *creation, _ *board) { r.Context, r.RequestId = "", "a chat"+id },
		"sealed seats":   func(r *creation, _ *board) { r.Options.SealedSeats = true },
		"position":       func(r *creation, _ *board) { r.Options.Position = position },
		"board":          func(_ *creation, m *board) { m.Board = gates },
		"rows":           func(_ *creation, m *board) { m.Rows = 5 },
		"rows, the same": func(_ *creation, m *board) { m.Rows = 4 },
		"house rule":     func(_ *creation, m *board) { m.HouseRules = []string{"opening_limit_for_all"} },
	} {
		differ(what, house, "", request(change))
	}
	differ("ledger", ledgered, "", request(same))
	differ("new primary key", rotated, "", request(same))
	differ("tenant", house, "acme", request(same))
	differ("tenant, run together", house, "acmemarble-standard", request(same))

	mancala := func(stones int32, houseRules ...string) *creation {
		return &creation{
			Ruleset: "mancala-avalanche", RequestId: id, Context: "a chat",
			Options: &avalanchev1.GameOptions{Family: &avalanchev1.GameOptions_Mancala{
				Mancala: &avalanchev1.MancalaOptions{Stones: stones, HouseRules: houseRules},
			}},
		}
	}
	differ("mancala", house, "", mancala(0))
	differ("stones", house, "", mancala(5))
	differ("house rule of mancala", house, "", mancala(0, "no_sweep"))
}

func TestAttackRequestIDOfAnotherTenant(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		request := &avalanchev1.CreateGameRequest{
			Ruleset: info.ID, Players: int32(info.MaxPlayers), RequestId: "3f1c0f8e-5c0e-4d6c-9a53-0f2d3f0c6a11",
			Options: &avalanchev1.GameOptions{SealedSeats: true},
		}
		keys := make(map[string]string)
		games := make(map[string]string)
		for _, tenant := range []string{"", "ann", "bob"} {
			created, err := house.CreateGame(service.WithTenant(t.Context(), tenant), request)
			if err != nil {
				t.Fatal(err)
			}
			if other, clash := games[created.GetGame().GetGameId()]; clash {
				t.Errorf("the tenants %q and %q have the same game", tenant, other)
			}
			games[created.GetGame().GetGameId()] = tenant
			for _, key := range append(created.GetSeatKeys(), created.GetHostKey()) {
				if other, clash := keys[key]; clash {
					t.Errorf("the tenants %q and %q have the key %s", tenant, other, key)
				}
				keys[key] = tenant
			}
		}
	})
}

// Whoever knows all of a creation can make it again, and with the moves that everybody saw
// comes to the very state that a bot keeps to itself. This is a limit where the request id
// can be guessed and everybody may call as the same tenant.
func TestAttackRecreation(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		request := &avalanchev1.CreateGameRequest{
			Ruleset: info.ID, Players: int32(info.MaxPlayers), RequestId: "message 4711",
		}
		kept := play(t, house, create(t, house, request), 4, 1)
		rebuilt := create(t, house, request).GetState()
		if !endsIn(t, house, rebuilt, kept.moves, kept.last()) {
			t.Error("the rebuilt game is another one")
		}
		stranger, err := house.CreateGame(service.WithTenant(t.Context(), "a player"), request)
		if err != nil {
			t.Fatal(err)
		}
		if endsIn(t, house, stranger.GetState(), kept.moves, kept.last()) {
			t.Error("another tenant rebuilt the game")
		}
	})
}

// Whoever guesses the request id of a sealed game gets the keys of all its seats.
func TestAttackGuessableRequestID(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	const good = "3f1c0f8e-5c0e-4d6c-9a53-0f2d3f0c6a11"
	try := func(info engine.Info, id string) (*avalanchev1.CreateGameResponse, error) {
		return house.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{
			Ruleset: info.ID, Players: int32(info.MaxPlayers), RequestId: id, Options: &avalanchev1.GameOptions{SealedSeats: true},
		})
	}
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		for _, id := range []string{
			"1", "chat 17", " ", strings.Repeat("a", 36), good + " ", good + good, good[:35],
			strings.ReplaceAll(good, "-", ""), "{" + good + "}", "urn:uuid:" + good,
			"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
			"c232ab00-9414-11ec-b3c8-9f6bdeced846", // version 1: time and place
			"5df41881-3aed-3515-88a7-2f4a814cf09e", // version 3: a name
			"2ed6657d-e927-568b-95e1-2665a8aea6a2", // version 5: a name
			"1ec9414c-232a-6b00-b3c8-9f6bdeced846", // version 6: time
			"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", // version 7: time
			"3f1c0f8e-5c0e-4d6c-1a53-0f2d3f0c6a11", // not of the variant that has versions
			"3f1c0f8e-5c0e-4d6c-fa53-0f2d3f0c6a11",
		} {
			response, err := try(info, id)
			problem := refused(t, response, err, codes.InvalidArgument, avalanchev1.ErrorReason_REQUEST_INVALID)
			if len(problem.Violations) != 1 || problem.Violations[0].Field != "requestId" {
				t.Errorf("%q: the violations are %v", id, problem.Violations)
			}
		}
		for _, id := range []string{"", good, strings.ToUpper(good)} {
			if _, err := try(info, id); err != nil {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

// A start of one's own choice is marked as such for the game's whole life.
func TestAttackChosenStart(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		dealt := newGame(t, house, info)
		if dealt.GetGame().GetOptions().GetCustomStart() {
			t.Error("a dealt game says that its start was chosen")
		}
		request := &avalanchev1.CreateGameRequest{Ruleset: info.ID, Options: &avalanchev1.GameOptions{Position: dealt.GetGame().GetPosition()}}
		chosen := create(t, house, request)
		for _, game := range play(t, house, chosen, 1000, 1).games {
			if !game.GetOptions().GetCustomStart() {
				t.Fatalf("at ply %d the game no longer says that its start was chosen", game.GetPly())
			}
		}
		parts := fields(decode(chosen.GetState()))
		parts[3] = fields(decode(dealt.GetState()))[3]
		checkForged(t, doors(t.Context(), house, dealt.GetState()), "flag of the chosen start cleared", encode(parts...), "")
	})
}

// Whoever may create games can create them until the deal pleases. This is a limit; with
// a request id that she does not choose, the deal is fixed.
func TestAttackRedeal(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), nil)
	deals, fixed := make(map[string]bool), make(map[string]bool)
	for range 20 {
		request := &avalanchev1.CreateGameRequest{Ruleset: "marble-basic", Players: 2}
		deals[create(t, house, request).GetGame().GetPosition()] = true
		request.RequestId = "message 4711"
		fixed[create(t, house, request).GetState()] = true
	}
	if len(deals) < 2 || len(fixed) != 1 {
		t.Errorf("twenty creations give %d deals, and %d with a request id", len(deals), len(fixed))
	}
}

// Input of any length costs little time and little of it comes back.
func TestAttackHugeInput(t *testing.T) {
	house := newHouse(keyringOf(t, firstKey), newLedger(t, ledger.Options{}))
	for _, letter := range []string{"A", "1", "\n", "/", ",", "%", "ß"} {
		huge := strings.Repeat(letter, 1<<20/len(letter))
		eachHugeCall(t, house, huge, func(what string, response proto.Message, err error, took time.Duration) {
			var size int
			if err != nil {
				size = len(err.Error())
			} else {
				size = proto.Size(response)
			}
			if size > 16<<10 || took > 10*time.Second {
				t.Errorf("%s of %q: an answer of %d bytes after %v", what, letter, size, took)
			}
		})
	}
}

func eachHugeCall(t *testing.T, house *service.Service, huge string, report func(what string, response proto.Message, err error, took time.Duration)) {
	t.Helper()
	measure := func(what string, call func() (proto.Message, error)) {
		began := time.Now()
		response, err := call()
		report(what, response, err, time.Since(began))
	}
	for _, ruleset := range registry().All() {
		info := ruleset.Info()
		token := newGame(t, house, info).GetState()
		for _, door := range doors(t.Context(), house, token) {
			measure(door.name+": state", func() (proto.Message, error) { return door.enter(huge, "") })
			measure(door.name+": context", func() (proto.Message, error) { return door.enter(token, huge) })
		}
		moves := []*avalanchev1.Move{notation(huge)}
		for what, call := range map[string]func() (proto.Message, error){
			"move": func() (proto.Message, error) {
				return house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: token, Move: moves[0]})
			},
			"seat key": func() (proto.Message, error) {
				return house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: newSealedGame(t, house, info).GetState(), Move: notation("resign"), SeatKey: huge})
			},
			"simulated move": func() (proto.Message, error) {
				return house.SimulateMoves(t.Context(), &avalanchev1.SimulateMovesRequest{State: token, Moves: moves})
			},
			"replayed move": func() (proto.Message, error) {
				return house.ReplayGame(t.Context(), &avalanchev1.ReplayGameRequest{FirstState: token, LastState: token, Moves: moves})
			},
			"page token": func() (proto.Message, error) {
				return house.ReplayGame(t.Context(), &avalanchev1.ReplayGameRequest{FirstState: token, LastState: token, PageToken: huge})
			},
			"position": func() (proto.Message, error) {
				return house.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: info.ID, Options: &avalanchev1.GameOptions{Position: huge}})
			},
			"board": func() (proto.Message, error) {
				return house.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: info.ID, Players: int32(info.MaxPlayers), Options: &avalanchev1.GameOptions{
					Family: &avalanchev1.GameOptions_Marble{Marble: &avalanchev1.MarbleOptions{Board: huge}},
				}})
			},
			"house rule": func() (proto.Message, error) {
				return house.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: info.ID, Players: int32(info.MaxPlayers), Options: &avalanchev1.GameOptions{
					Family: &avalanchev1.GameOptions_Marble{Marble: &avalanchev1.MarbleOptions{HouseRules: []string{huge}}},
				}})
			},
			"request id": func() (proto.Message, error) {
				return house.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: info.ID, Players: int32(info.MaxPlayers), RequestId: huge})
			},
		} {
			measure(info.ID+": "+what, call)
		}
	}
	measure("ruleset", func() (proto.Message, error) {
		return house.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: huge})
	})
	measure("simulated board", func() (proto.Message, error) {
		return house.SimulateDrop(t.Context(), &avalanchev1.SimulateDropRequest{
			On:    &avalanchev1.SimulateDropRequest_Board{Board: huge},
			Drops: []*avalanchev1.MarbleDrop{{Chute: avalanchev1.MarbleDrop_A, Color: avalanchev1.Marble_RED}},
		})
	})
}

// Comparing a secret must take the same time wherever the guess goes wrong. Measuring that
// on a shared machine proves nothing, and whether a compiled comparison keeps the promise
// of crypto/subtle is for its authors to hold. What a test can hold is that every
// comparison with a tag or a seat key is made by it: in the package state, every function
// that touches one is listed here with the call that compares, and compares by nothing
// else; and outside, keys are only ever asked about.
func TestAttackTiming(t *testing.T) {
	functions := make(map[string]*ast.FuncDecl)
	for _, file := range sources(t, "../state") {
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				functions[function.Name.Name] = function
			}
		}
	}
	for name, comparison := range map[string]string{
		"Open":         "subtle.ConstantTimeCompare",
		"equalSecrets": "subtle.ConstantTimeCompare",
		"IsSeatKey":    "equalSecrets",
		"IsHostKey":    "equalSecrets",
	} {
		function := functions[name]
		if function == nil {
			t.Fatalf("there is no function %s in the package state", name)
		}
		if !slices.Contains(callsIn(function), comparison) {
			t.Errorf("%s does not call %s", name, comparison)
		}
		for _, secret := range plainComparisons(function, "tag", "want", "presented") {
			t.Errorf("%s compares %s by other means", name, secret)
		}
	}
	for name, function := range functions {
		calls := callsIn(function)
		if slices.Contains(calls, "k.tagOf") && name != "Sign" || slices.Contains(calls, "key.tagOf") && name != "Open" {
			t.Errorf("%s computes a tag: is it compared in constant time? Then list it here", name)
		}
		if (slices.Contains(calls, "k.SeatKey") && name != "IsSeatKey") || (slices.Contains(calls, "k.HostKey") && name != "IsHostKey") {
			t.Errorf("%s computes a seat key: is it compared in constant time? Then list it here", name)
		}
	}
	for _, file := range sources(t, ".") {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Name.Name == "CreateGame" {
				continue // which hands the keys out
			}
			for _, call := range callsIn(function) {
				if strings.HasSuffix(call, ".SeatKey") || strings.HasSuffix(call, ".HostKey") {
					t.Errorf("%s calls %s: only CreateGame may know a key, everybody else asks IsSeatKey or IsHostKey", function.Name.Name, call)
				}
			}
		}
	}
}

// sources parses the Go files of a directory, tests left out.
func sources(t *testing.T, directory string) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), directory+"/"+entry.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// callsIn lists what a function calls, as written.
func callsIn(function *ast.FuncDecl) []string {
	var calls []string
	ast.Inspect(function, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			calls = append(calls, written(call.Fun))
		}
		return true
	})
	return calls
}

// plainComparisons lists which of the names a function compares with == or != or hands to
// a function that is known to stop at the first difference.
func plainComparisons(function *ast.FuncDecl, names ...string) []string {
	var found []string
	look := func(expressions ...ast.Expr) {
		for _, expression := range expressions {
			ast.Inspect(expression, func(node ast.Node) bool {
				if name, ok := node.(*ast.Ident); ok && slices.Contains(names, name.Name) {
					found = append(found, name.Name)
				}
				return true
			})
		}
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BinaryExpr:
			call, isCall := node.X.(*ast.CallExpr)
			if isCall && written(call.Fun) == "subtle.ConstantTimeCompare" {
				return false
			}
			if node.Op == token.EQL || node.Op == token.NEQ {
				look(node.X, node.Y)
			}
		case *ast.CallExpr:
			if slices.Contains([]string{"bytes.Equal", "bytes.Compare", "strings.Compare", "slices.Equal", "reflect.DeepEqual", "strings.EqualFold"}, written(node.Fun)) {
				look(node.Args...)
			}
		}
		return true
	})
	return found
}

// written is a name as it stands in the source, such as "subtle.ConstantTimeCompare".
func written(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.Ident:
		return expression.Name
	case *ast.SelectorExpr:
		return written(expression.X) + "." + expression.Sel.Name
	default:
		return ""
	}
}

// The table in the documentation names a test for every attack, and every test is in it.
func TestEveryAttackIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := make(map[string]bool)
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, name := range regexp.MustCompile(`TestAttack\w+`).FindAllString(line, -1) {
			documented[name] = true
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "adversary_test.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(function.Name.Name, "TestAttack") {
			continue
		}
		if !documented[function.Name.Name] {
			t.Errorf("%s is not in the table of docs/state.md", function.Name.Name)
		}
		delete(documented, function.Name.Name)
	}
	for name := range documented {
		t.Errorf("docs/state.md names %s, and there is no such test", name)
	}
}
