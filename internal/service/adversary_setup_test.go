package service_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/rulesets"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// masterKey is a key of the keyset whose material the tests know: an attacker's dream,
// and the way to make what only an insider or a newer release could sign.
type masterKey struct {
	id     uint32
	status string
	secret byte
}

var (
	firstKey  = masterKey{id: 0x1111_0041, status: "ENABLED", secret: 0xa1}
	secondKey = masterKey{id: 0x2222_0042, status: "ENABLED", secret: 0xb2}
)

func (k masterKey) material() []byte { return bytes.Repeat([]byte{k.secret}, 32) }

func (k masterKey) disabled() masterKey {
	k.status = "DISABLED"
	return k
}

// subkey is the key that all HMACs of one purpose are made with.
func (k masterKey) subkey(purpose string) []byte {
	mac := hmac.New(sha256.New, k.material())
	mac.Write([]byte("avalanched/v1/" + purpose))
	return mac.Sum(nil)
}

// hmacOf computes an HMAC under a subkey.
func (k masterKey) hmacOf(newHash func() hash.Hash, purpose string, message []byte) []byte {
	mac := hmac.New(newHash, k.subkey(purpose))
	mac.Write(message)
	return mac.Sum(nil)
}

// tagMessage is what a tag is computed over, as the package state documents it.
func tagMessage(unsigned []byte, binding string) []byte {
	message := binary.AppendUvarint([]byte("tag"), uint64(len(unsigned)))
	message = append(message, unsigned...)
	message = binary.AppendUvarint(message, uint64(len(binding)))
	return append(message, binding...)
}

// seal signs any bytes as if they were a state before its key id. It shares no code with
// the package state.
func (k masterKey) seal(body []byte, binding string) string {
	unsigned := append(bytes.Clone(body), byte(k.id))
	tag := k.hmacOf(sha256.New, "tag", tagMessage(unsigned, binding))
	return encode(unsigned, tag[:tagLength])
}

// keyringOf loads a keyset file. The first key is the primary one.
func keyringOf(t testing.TB, keys ...masterKey) *state.Keyring {
	t.Helper()
	entries := make([]string, len(keys))
	for i, key := range keys {
		// A Tink HmacPrfKey: the number of SHA-256, and the material.
		value := append([]byte{0x12, 2, 8, 3, 0x1a, 32}, key.material()...)
		entries[i] = fmt.Sprintf(`{"keyId":%d,"status":%q,"outputPrefixType":"RAW","keyData":{`+
			`"typeUrl":"type.googleapis.com/google.crypto.tink.HmacPrfKey","keyMaterialType":"SYMMETRIC","value":%q}}`,
			key.id, key.status, base64.StdEncoding.EncodeToString(value))
	}
	path := filepath.Join(t.TempDir(), "keyset.json")
	keyset := fmt.Appendf(nil, `{"primaryKeyId":%d,"key":[%s]}`, keys[0].id, strings.Join(entries, ","))
	if err := os.WriteFile(path, keyset, 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := state.LoadKeyset(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := loaded.Keyring()
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// registry holds every ruleset that can be played, and one whose rolls lie open.
func registry() *engine.Registry {
	return engine.NewRegistry(slices.Concat(rulesets.Registry().All(), []engine.Ruleset{race{}})...)
}

// newHouse makes the service under attack. Without a ledger, memory is nil.
func newHouse(ring *state.Keyring, memory ledger.Ledger) *service.Service {
	return service.New(service.Config{Rulesets: registry(), Keys: func() *state.Keyring { return ring }, Ledger: memory})
}

func newLedger(t testing.TB, options ledger.Options) ledger.Ledger {
	t.Helper()
	memory, err := ledger.Open(t.Context(), "memory", options)
	if err != nil {
		t.Fatal(err)
	}
	return memory
}

// eachRuleset runs a test on every ruleset.
func eachRuleset(t *testing.T, test func(t *testing.T, info engine.Info)) {
	for _, ruleset := range registry().All() {
		info := ruleset.Info()
		t.Run(info.ID, func(t *testing.T) {
			t.Parallel()
			test(t, info)
		})
	}
}

// eachDiceGame runs a test on every ruleset whose moves need chance.
func eachDiceGame(t *testing.T, test func(t *testing.T, info engine.Info)) {
	if shiverPeak, ok := registry().ByID("shiver-peak"); ok && !shiverPeak.Info().ChanceInMoves {
		t.Fatal("shiver-peak does not say that its moves need chance")
	}
	eachRuleset(t, func(t *testing.T, info engine.Info) {
		if !info.ChanceInMoves {
			t.Skip("the moves of this game need no chance")
		}
		test(t, info)
	})
}

func create(t testing.TB, house *service.Service, request *avalanchev1.CreateGameRequest) *avalanchev1.CreateGameResponse {
	t.Helper()
	created, err := house.CreateGame(t.Context(), request)
	if err != nil {
		t.Fatalf("create %v: %v", request, err)
	}
	return created
}

// newGame creates a game for as many players as the ruleset takes.
func newGame(t testing.TB, house *service.Service, info engine.Info) *avalanchev1.CreateGameResponse {
	t.Helper()
	return create(t, house, &avalanchev1.CreateGameRequest{Ruleset: info.ID, Players: int32(info.MaxPlayers)})
}

func newSealedGame(t testing.TB, house *service.Service, info engine.Info) *avalanchev1.CreateGameResponse {
	t.Helper()
	return create(t, house, &avalanchev1.CreateGameRequest{
		Ruleset: info.ID, Players: int32(info.MaxPlayers), Options: &avalanchev1.GameOptions{SealedSeats: true},
	})
}

func notation(text string) *avalanchev1.Move {
	return &avalanchev1.Move{Kind: &avalanchev1.Move_Notation{Notation: text}}
}

func apply(t testing.TB, house *service.Service, token, move string) *avalanchev1.ApplyMoveResponse {
	t.Helper()
	applied, err := house.ApplyMove(t.Context(), &avalanchev1.ApplyMoveRequest{State: token, Move: notation(move)})
	if err != nil {
		t.Fatalf("%s: %v", move, err)
	}
	return applied
}

// record is a game that was played: states[i+1] follows from states[i] by moves[i].
type record struct {
	states []string
	games  []*avalanchev1.Game
	moves  []string
}

// play makes random moves until the game ends or so many are made.
func play(t testing.TB, house *service.Service, created *avalanchev1.CreateGameResponse, plies int, seed engine.Seeded) record {
	t.Helper()
	played := record{states: []string{created.GetState()}, games: []*avalanchev1.Game{created.GetGame()}}
	for range plies {
		game := played.games[len(played.games)-1]
		if game.GetStatus() != avalanchev1.Game_IN_PROGRESS {
			break
		}
		seed = seed.Next()
		legal := game.GetLegalMoves()
		move := legal[seed.Draw("choice", 0, len(legal))].GetNotation()
		request := &avalanchev1.ApplyMoveRequest{State: played.states[len(played.states)-1], Move: notation(move)}
		if keys := created.GetSeatKeys(); len(keys) > 0 {
			request.SeatKey = keys[game.GetTurn().GetSeat()-1]
		}
		applied, err := house.ApplyMove(t.Context(), request)
		if err != nil {
			t.Fatalf("%s: %s: %v", game.GetPosition(), move, err)
		}
		played.states = append(played.states, applied.GetState())
		played.games = append(played.games, applied.GetGame())
		played.moves = append(played.moves, move)
	}
	return played
}

func (r record) last() string { return r.states[len(r.states)-1] }

// moveMessages are moves as a replay takes them.
func moveMessages(moves []string) []*avalanchev1.Move {
	messages := make([]*avalanchev1.Move, len(moves))
	for i, move := range moves {
		messages[i] = notation(move)
	}
	return messages
}

// sample is a genuine state to tamper with.
type sample struct {
	name, token string
	game        *avalanchev1.Game
}

func (s sample) raw() []byte { return decode(s.token) }

// samples are states of every ruleset with the fewest and the most players, unsealed and
// sealed, at the start and later, all in the same context.
func samples(t testing.TB, house *service.Service) []sample {
	t.Helper()
	var all []sample
	for _, ruleset := range registry().All() {
		info := ruleset.Info()
		for _, players := range slices.Compact([]int{info.MinPlayers, info.MaxPlayers}) {
			created := create(t, house, &avalanchev1.CreateGameRequest{
				Ruleset: info.ID, Players: int32(players),
				Options: &avalanchev1.GameOptions{SealedSeats: players == info.MaxPlayers},
			})
			played := play(t, house, created, 3, engine.Seeded(players))
			for _, ply := range []int{0, len(played.moves)} {
				all = append(all, sample{
					name:  fmt.Sprintf("%s for %d at ply %d", info.ID, players, ply),
					token: played.states[ply], game: played.games[ply],
				})
			}
		}
	}
	return all
}

// The lengths of the fields of a state.
const (
	headerLength = 14
	tagLength    = 12
)

func encode(parts ...[]byte) string {
	return base64.RawURLEncoding.EncodeToString(slices.Concat(parts...))
}

func decode(token string) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		panic("a genuine state that is no base64url: " + err.Error())
	}
	return raw
}

// body is a state's bytes before the key id.
func body(token string) []byte {
	raw := decode(token)
	return raw[:len(raw)-tagLength-1]
}

// fields cuts the bytes of a state at the joints of its format.
func fields(raw []byte) [][]byte {
	cuts := []int{1, 2, 3, 4, 12, headerLength, len(raw) - tagLength - 1, len(raw) - tagLength, len(raw)}
	parts := make([][]byte, len(cuts))
	from := 0
	for i, to := range cuts {
		parts[i] = raw[from:to]
		from = to
	}
	return parts
}

// door is a way into the service for a state.
type door struct {
	name  string
	enter func(token, binding string) (proto.Message, error)
}

// doors are all calls that take a state. genuine is one that goes with a forged one where
// a call takes two.
func doors(ctx context.Context, house *service.Service, genuine string) []door {
	resign := []*avalanchev1.Move{notation("resign")}
	return []door{
		{"ApplyMove", func(token, binding string) (proto.Message, error) {
			return house.ApplyMove(ctx, &avalanchev1.ApplyMoveRequest{State: token, Context: binding, Move: resign[0]})
		}},
		{"ApplyMove, validate_only", func(token, binding string) (proto.Message, error) {
			return house.ApplyMove(ctx, &avalanchev1.ApplyMoveRequest{State: token, Context: binding, Move: resign[0], ValidateOnly: true})
		}},
		{"SimulateMoves", func(token, binding string) (proto.Message, error) {
			return house.SimulateMoves(ctx, &avalanchev1.SimulateMovesRequest{State: token, Context: binding, Moves: resign})
		}},
		{"SimulateDrop", func(token, binding string) (proto.Message, error) {
			return house.SimulateDrop(ctx, &avalanchev1.SimulateDropRequest{
				On: &avalanchev1.SimulateDropRequest_State{State: token}, Context: binding,
				Drops: []*avalanchev1.MarbleDrop{{Chute: avalanchev1.MarbleDrop_A, Color: avalanchev1.Marble_RED}},
			})
		}},
		{"InspectGame", func(token, binding string) (proto.Message, error) {
			return house.InspectGame(ctx, &avalanchev1.InspectGameRequest{State: token, Context: binding})
		}},
		{"ReplayGame, first state", func(token, binding string) (proto.Message, error) {
			return house.ReplayGame(ctx, &avalanchev1.ReplayGameRequest{FirstState: token, LastState: genuine, Context: binding})
		}},
		{"ReplayGame, last state", func(token, binding string) (proto.Message, error) {
			return house.ReplayGame(ctx, &avalanchev1.ReplayGameRequest{FirstState: genuine, LastState: token, Context: binding})
		}},
	}
}

// refused checks how a call was refused: with nothing but the error.
func refused(t testing.TB, response proto.Message, err error, code codes.Code, reason avalanchev1.ErrorReason_Reason) *service.Problem {
	t.Helper()
	var problem *service.Problem
	if !errors.As(err, &problem) || problem.Code != code || problem.Reason != reason {
		t.Fatalf("answered %v, %v; want %v %v", response, err, code, reason)
	}
	if response.ProtoReflect().IsValid() {
		t.Fatalf("refused with %v and yet answered %v", err, response)
	}
	return problem
}

// checkForged checks that every door is shut to a state with the same words, which say
// nothing about what is wrong with it.
func checkForged(t testing.TB, all []door, what, token, binding string) {
	t.Helper()
	for _, door := range all {
		response, err := door.enter(token, binding)
		var problem *service.Problem
		if !errors.As(err, &problem) || response.ProtoReflect().IsValid() {
			t.Fatalf("%s: %s answers %v, %v", what, door.name, response, err)
		}
		words := state.ErrInvalid.Error()
		if problem.Code != codes.InvalidArgument || problem.Reason != avalanchev1.ErrorReason_STATE_INVALID ||
			problem.Message != words || len(problem.Metadata) != 0 ||
			len(problem.Violations) != 1 || problem.Violations[0].Description != words {
			t.Fatalf("%s: %s says %+v", what, door.name, problem)
		}
	}
}

// said is all that a client gets to see of an error.
func said(t testing.TB, err error) string {
	t.Helper()
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(status.Convert(err).Proto())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// race is a game of dice: whoever first has a hundred points wins. A turn adds one die
// ("step"), two ("dash") or none ("rest").
type race struct{}

const raceGoal = 100

type racePosition struct {
	points [2]int
	seat   int // to move or, when somebody has won, the winner
	over   bool
}

type raceMove string

func (m raceMove) String() string { return string(m) }

func (race) Info() engine.Info {
	return engine.Info{
		ID: "test-race", Number: 250, Version: 1, Family: engine.ShiverPeak,
		MinPlayers: 2, MaxPlayers: 2, ChanceInMoves: true,
	}
}

func (r race) Start(setup engine.Setup, _ engine.Chance) (engine.Position, []engine.Event, error) {
	if setup.Position == "" {
		return racePosition{seat: 1}, nil, nil
	}
	position, err := r.ParsePosition(setup.Position, nil)
	return position, nil, err
}

func (race) ParsePosition(text string, _ []string) (engine.Position, error) {
	var p racePosition
	_, _ = fmt.Sscanf(text, "%d:%d seat %d over %t", &p.points[0], &p.points[1], &p.seat, &p.over)
	return p, p.check(p.String() == text)
}

func (race) Unpack(packed []byte) (engine.Position, error) {
	var p racePosition
	if len(packed) == 3 {
		p = racePosition{points: [2]int{int(packed[0]), int(packed[1])}, seat: int(packed[2] & 3), over: packed[2] > 3}
	}
	return p, p.check(bytes.Equal(p.AppendPacked(nil), packed))
}

func (p racePosition) check(wellWritten bool) error {
	if !wellWritten || p.seat < 1 || p.seat > 2 || max(p.points[0], p.points[1]) >= raceGoal && !p.over {
		return engine.Refuse(engine.PositionMalformed, "no position of a race")
	}
	return nil
}

func (race) ParseMove(text string) (engine.Move, error) {
	switch move := strings.ToLower(text); move {
	case "step", "dash", "rest", engine.ResignNotation:
		return raceMove(move), nil
	}
	return nil, engine.Refuse(engine.MoveMalformed, "no move of a race")
}

func (p racePosition) Players() int            { return 2 }
func (p racePosition) Options() engine.Options { return engine.Options{} }

func (p racePosition) Outcome() engine.Outcome {
	if p.over {
		return engine.WonBy(p.seat, engine.LastOneLeft)
	}
	return engine.Outcome{}
}

func (p racePosition) Turn() engine.Turn {
	if p.over {
		return engine.Turn{}
	}
	return engine.Turn{Seat: p.seat, Phase: engine.PhaseChoice}
}

func (p racePosition) LegalMoves() []engine.Move {
	if p.over {
		return nil
	}
	return []engine.Move{raceMove("step"), raceMove("dash"), raceMove("rest")}
}

func (p racePosition) Apply(move engine.Move, chance engine.Chance) (engine.Position, []engine.Event, error) {
	for i := range map[engine.Move]int{raceMove("step"): 1, raceMove("dash"): 2}[move] {
		p.points[p.seat-1] += 1 + chance.Draw("die", i, 6)
	}
	if p.points[p.seat-1] >= raceGoal {
		p.over = true
		return p, nil, nil
	}
	p.seat = 3 - p.seat
	p.over = move == raceMove(engine.ResignNotation)
	return p, nil, nil
}

func (p racePosition) String() string {
	return fmt.Sprintf("%d:%d seat %d over %t", p.points[0], p.points[1], p.seat, p.over)
}

func (p racePosition) AppendPacked(dst []byte) []byte {
	last := byte(p.seat)
	if p.over {
		last += 4
	}
	return append(dst, byte(p.points[0]), byte(p.points[1]), last)
}
