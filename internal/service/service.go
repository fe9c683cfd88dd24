package service

import (
	"context"
	"crypto/rand"
	"io"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/state"
)

// Config is what a Service works with.
type Config struct {
	Rulesets *engine.Registry
	// Keys gives the keyring now in force. It is asked once in each call.
	Keys func() *state.Keyring
	// Ledger remembers the newest state of each game. Without one (nil) clients may go
	// back to older states.
	Ledger ledger.Ledger
	// Random is where the ids of games come from that are created without a request id.
	// nil means crypto/rand.
	Random io.Reader
	// Observer is told what happens to games. nil means nobody is.
	Observer Observer
}

// Observer is told what happens to games, for example to count it. Its methods are
// called from many goroutines and must not block.
type Observer struct {
	// GameCreated is called for every new game; a repeated creation counts again.
	GameCreated func(ctx context.Context, ruleset string)
	// MoveMade is called for every move that led to a new state, with its number of
	// events. The outcome tells whether it ended the game.
	MoveMade func(ctx context.Context, ruleset string, events int, outcome engine.Outcome)
	// StateOpened is called for every state that was read; err is nil for a good one.
	StateOpened func(ctx context.Context, err error)
}

// Service implements the GameService. It holds no games.
type Service struct {
	avalanchev1.UnsafeGameServiceServer
	rulesets *engine.Registry
	keys     func() *state.Keyring
	ledger   ledger.Ledger
	random   io.Reader
	observer Observer
}

var _ avalanchev1.GameServiceServer = (*Service)(nil)

// New makes a Service.
func New(config Config) *Service {
	s := &Service{
		rulesets: config.Rulesets,
		keys:     config.Keys,
		ledger:   config.Ledger,
		random:   config.Random,
		observer: config.Observer,
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	if s.observer.GameCreated == nil {
		s.observer.GameCreated = func(context.Context, string) {}
	}
	if s.observer.MoveMade == nil {
		s.observer.MoveMade = func(context.Context, string, int, engine.Outcome) {}
	}
	if s.observer.StateOpened == nil {
		s.observer.StateOpened = func(context.Context, error) {}
	}
	return s
}

type tenantKey struct{}

// WithTenant notes on whose behalf a call is made, so that two tenants who use the same
// request id do not get the same game.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
