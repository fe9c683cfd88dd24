package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/state"
)

// original is a genuine state.
type original struct {
	token, context string
	raw            []byte
}

// target is what is thrown at.
type target struct {
	ring      *state.Keyring
	registry  *engine.Registry
	rulesets  int
	originals []original
	genuine   map[[2]string]bool
}

// contexts are those of the genuine states.
var contexts = []string{"", "chat 1", "chat 2"}

// pliesPerGame is how many moves of each game are signed.
const pliesPerGame = 20

// newTarget plays a game of every ruleset and number of players, in each context, and
// signs all that comes up with one of two keys.
func newTarget(registry *engine.Registry, seed uint64) (*target, error) {
	keys, err := state.NewKeyset()
	if err != nil {
		return nil, err
	}
	before, err := keys.Keyring()
	if err != nil {
		return nil, err
	}
	id, err := keys.Add()
	if err != nil {
		return nil, err
	}
	if err := keys.Promote(id); err != nil {
		return nil, err
	}
	after, err := keys.Keyring()
	if err != nil {
		return nil, err
	}
	t := &target{ring: after, registry: registry, rulesets: len(registry.All()), genuine: make(map[[2]string]bool)}
	signers := []*state.Key{before.Primary(), after.Primary()}
	game := uint64(0)
	for _, ruleset := range registry.All() {
		info := ruleset.Info()
		for players := info.MinPlayers; players <= info.MaxPlayers; players++ {
			for _, binding := range contexts {
				game++
				if err := t.play(ruleset, players, binding, signers[game%2], engine.Seeded(seed+game)); err != nil {
					return nil, fmt.Errorf("%s for %d: %w", info.ID, players, err)
				}
			}
		}
	}
	return t, nil
}

func (t *target) play(ruleset engine.Ruleset, players int, binding string, key *state.Key, chance engine.Seeded) error {
	position, _, err := ruleset.Start(engine.Setup{Players: players}, chance)
	if err != nil {
		return err
	}
	signed := state.State{
		Ruleset: ruleset.Info().Number, RulesetVersion: ruleset.Info().Version, SealedSeats: players%2 == 0,
		GameID: key.GameID([]byte(ruleset.Info().ID), []byte{byte(players)}, []byte(binding)),
	}
	game := engine.Game{Ruleset: ruleset, Position: position}
	for {
		signed.Ply, signed.Position = game.Ply, game.Position.AppendPacked(nil)
		if err := t.add(signed, binding, key); err != nil {
			return err
		}
		legal := game.LegalMoves()
		if len(legal) == 0 || game.Ply == pliesPerGame {
			return nil
		}
		chance = chance.Next()
		if game, _, err = game.Play(legal[chance.Draw("storm", 0, len(legal))], chance); err != nil {
			return err
		}
	}
}

// add signs a state and makes sure that the target accepts at least that.
func (t *target) add(signed state.State, binding string, key *state.Key) error {
	token, err := key.Sign(signed, binding)
	if err != nil {
		return err
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return err
	}
	if err := t.open(token, binding); err != nil {
		return fmt.Errorf("a genuine state is refused: %w", err)
	}
	t.originals = append(t.originals, original{token, binding, raw})
	t.genuine[[2]string{token, binding}] = true
	return nil
}

// open reads a state as the service does.
func (t *target) open(token, binding string) error {
	opened, _, err := t.ring.Open(token, binding)
	if err != nil {
		return err
	}
	ruleset, _, known := t.registry.ByNumber(opened.Ruleset)
	if !known {
		return fmt.Errorf("a ruleset of number %d was signed", opened.Ruleset)
	}
	_, err = ruleset.Unpack(opened.Position)
	return err
}

// count is what became of the tokens of one mutation.
type count struct {
	thrown, accepted, genuine int64
}

// maxExamples is how many accepted tokens are shown.
const maxExamples = 10

// batch is how many tokens are thrown between two looks at the clock.
const batch = 1000

// storm throws mutated states until all are thrown or the context ends. It returns the
// counts by mutation, and some of what was accepted.
func (t *target) storm(ctx context.Context, config config) ([]count, []string) {
	var (
		left   atomic.Int64
		mutex  sync.Mutex
		counts = make([]count, len(mutations))
		shown  []string
		crew   sync.WaitGroup
	)
	left.Store(config.tokens)
	for worker := range config.workers {
		crew.Go(func() {
			own := make([]count, len(mutations))
			random := rand.New(rand.NewPCG(config.seed, uint64(worker))) //nolint:gosec // mutations are no secret
			for ctx.Err() == nil {
				todo := min(left.Add(-batch)+batch, batch)
				if todo <= 0 {
					break
				}
				for range todo {
					which := random.IntN(len(mutations))
					token, binding := mutations[which].mutate(random, t.pick(random), t.pick(random))
					own[which].thrown++
					if t.accepts(token, binding, &own[which]) {
						mutex.Lock()
						if len(shown) < maxExamples {
							shown = append(shown, fmt.Sprintf("%s: %q in context %q", mutations[which].name, token, binding))
						}
						mutex.Unlock()
					}
				}
			}
			mutex.Lock()
			defer mutex.Unlock()
			for i, count := range own {
				counts[i].thrown += count.thrown
				counts[i].accepted += count.accepted
				counts[i].genuine += count.genuine
			}
		})
	}
	crew.Wait()
	return counts, shown
}

// accepts throws one token. Whatever is not called invalid has passed for signed, even
// if it is refused for another reason.
func (t *target) accepts(token, binding string, count *count) bool {
	if errors.Is(t.open(token, binding), state.ErrInvalid) {
		return false
	}
	if t.genuine[[2]string{token, binding}] {
		count.genuine++
		return false
	}
	count.accepted++
	return true
}

func (t *target) pick(random *rand.Rand) original {
	return t.originals[random.IntN(len(t.originals))]
}

// The joints of the bytes of a state: format, ruleset, version, flags, game id, ply and
// position from the front, key id and tag from the end.
var (
	frontJoints = []int{0, 1, 2, 3, 4, 12, 14}
	backJoints  = []int{13, 12, 0}
)

// mutations are the ways to make a token out of two genuine states.
var mutations = []struct {
	name   string
	mutate func(random *rand.Rand, a, b original) (token, context string)
}{
	{"unchanged", func(_ *rand.Rand, a, _ original) (string, string) { return a.token, a.context }},
	{"another context", func(random *rand.Rand, a, b original) (string, string) {
		return a.token, []string{b.context, "", a.context + " ", string(randomBytes(random, random.IntN(200)))}[random.IntN(4)]
	}},
	{"random text", func(random *rand.Rand, a, _ original) (string, string) {
		return string(randomBytes(random, random.IntN(2*state.MaxTokenLength))), a.context
	}},
	{"random bytes", func(random *rand.Rand, a, _ original) (string, string) {
		return encode(randomBytes(random, random.IntN(state.MaxTokenLength))), a.context
	}},
	{"random tag", func(random *rand.Rand, a, _ original) (string, string) {
		return encode(append(bytes.Clone(a.raw[:len(a.raw)-12]), randomBytes(random, 12)...)), a.context
	}},
	{"one bit of the bytes", func(random *rand.Rand, a, _ original) (string, string) {
		raw := bytes.Clone(a.raw)
		raw[random.IntN(len(raw))] ^= 1 << random.IntN(8)
		return encode(raw), a.context
	}},
	{"some bits of the bytes", func(random *rand.Rand, a, _ original) (string, string) {
		raw := bytes.Clone(a.raw)
		for range 1 + random.IntN(8) {
			raw[random.IntN(len(raw))] ^= 1 << random.IntN(8)
		}
		return encode(raw), a.context
	}},
	{"some bits of the text", func(random *rand.Rand, a, _ original) (string, string) {
		text := []byte(a.token)
		for range 1 + random.IntN(3) {
			text[random.IntN(len(text))] ^= 1 << random.IntN(8)
		}
		return string(text), a.context
	}},
	{"a letter of the text", func(random *rand.Rand, a, b original) (string, string) {
		text := []byte(a.token)
		text[random.IntN(len(text))] = b.token[random.IntN(len(b.token))]
		return string(text), a.context
	}},
	{"cut or run on", func(random *rand.Rand, a, b original) (string, string) {
		return a.token[random.IntN(2):random.IntN(len(a.token))+1] + b.token[:random.IntN(len(b.token)+1)], a.context
	}},
	{"a byte too much or too little", func(random *rand.Rand, a, _ original) (string, string) {
		at := random.IntN(len(a.raw))
		if random.IntN(2) == 0 {
			return encode(append(bytes.Clone(a.raw[:at]), a.raw[at+1:]...)), a.context
		}
		return encode(append(append(bytes.Clone(a.raw[:at]), byte(random.Uint32())), a.raw[at:]...)), a.context
	}},
	{"fields of two states", func(random *rand.Rand, a, b original) (string, string) {
		ours, theirs, choice := joints(a.raw), joints(b.raw), random.Uint32()
		var raw []byte
		for field := range len(ours) - 1 {
			if choice>>field&1 == 0 {
				raw = append(raw, a.raw[ours[field]:ours[field+1]]...)
			} else {
				raw = append(raw, b.raw[theirs[field]:theirs[field+1]]...)
			}
		}
		return encode(raw), a.context
	}},
	{"another spelling", func(random *rand.Rand, a, _ original) (string, string) {
		at := random.IntN(len(a.token) + 1)
		return a.token[:at] + []string{"\n", "\r", "=", "+", "/", "%", "\x00", " "}[random.IntN(8)] + a.token[at:], a.context
	}},
}

// joints are the places where the bytes of a state fall into fields.
func joints(raw []byte) []int {
	places := append([]int(nil), frontJoints...)
	for _, fromEnd := range backJoints {
		places = append(places, len(raw)-fromEnd)
	}
	return places
}

func randomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }
