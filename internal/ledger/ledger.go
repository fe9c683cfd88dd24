// Package ledger remembers the newest state of each game, where an operator wants
// that. The rules need no memory: the client holds the signed state and brings it
// back. Without a ledger, however, a client may go back to an older state and play
// on from there.
//
// A ledger knows neither rules nor signatures. To it a state is an opaque token
// with a ply, and two states are the same exactly if their tokens are. That holds
// although the token's signature covers the context a game is played in (a chat,
// say), because a game is created and played in one context and never has two
// tokens for one position.
package ledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Ledger remembers the newest state of each game, its head. Implementations are
// safe for concurrent use, and every call is atomic, also between processes that
// share a store.
type Ledger interface {
	// Advance records that a move led from one state of a game to the next, and
	// must have succeeded before anybody is shown the next state.
	//
	//   - The head is the presented state, or the game is new to the ledger and
	//     the presented state is its first (ply 0): next becomes the head, Advanced.
	//   - The head is next already, because this is a retry: Repeated.
	//   - The game is not known, or the presented state has a higher ply than the
	//     head: the ledger has lost its memory. Next becomes the head, Adopted; a
	//     strict ledger refuses with [ErrForgotten].
	//   - Else the game went on without the caller: [*SupersededError] with the head.
	//
	// Other errors are [ErrUnavailable] and [ErrFull]. After any error but
	// ErrUnavailable the head is as it was; after ErrUnavailable the caller cannot
	// know, and calling again is safe.
	//
	// The ply of next must be above that of presented.
	Advance(ctx context.Context, game GameID, presented, next Entry) (Outcome, error)
	// Newest returns the head of a game, and false if the ledger does not know the
	// game: no move was made yet, or the entry has expired or was lost. The error
	// is ErrUnavailable.
	Newest(ctx context.Context, game GameID) (Entry, bool, error)
	// Ping tells whether the store answers. The error is ErrUnavailable.
	Ping(ctx context.Context) error
	// Close lets go of connections. The ledger cannot be used afterwards.
	Close() error
}

// GameID names a game. It is random or pseudorandom, and no secret.
type GameID [8]byte

// String is the hexadecimal form, under which a game is found in the store.
func (id GameID) String() string { return hex.EncodeToString(id[:]) }

// Entry is one state of a game.
type Entry struct {
	// Ply is the number of moves that led to the state.
	Ply int
	// Token is the signed state. It may be a bearer right to move, so it does not
	// belong in logs.
	Token string
}

// Outcome tells how a successful Advance found the game.
type Outcome uint8

// The outcomes.
const (
	// Advanced: the presented state was the newest one.
	Advanced Outcome = iota + 1
	// Repeated: the same move was recorded before.
	Repeated
	// Adopted: the ledger knew nothing as new as the presented state and took the
	// caller's word. Operators want to see these counted: they mean that a store
	// lost entries or that games outlive the TTL.
	Adopted
)

// String is the outcome as a metric label.
func (o Outcome) String() string {
	switch o {
	case Advanced:
		return "advanced"
	case Repeated:
		return "repeated"
	case Adopted:
		return "adopted"
	default:
		return "unknown"
	}
}

var (
	// ErrUnavailable means that the store did not answer in time or could not do
	// its work. The error that caused it is wrapped too, be it the caller's own
	// context.Canceled.
	ErrUnavailable = errors.New("the ledger is unavailable")
	// ErrFull means that the store has no room for another game. Games that it
	// knows go on in a memory ledger; a Redis out of memory takes no move at all.
	ErrFull = errors.New("the ledger is full")
	// ErrForgotten means that a strict ledger refused a state newer than any it
	// knows. If Newest finds a head, the game can go on from there.
	ErrForgotten = errors.New("the ledger is strict and does not know this game up to the presented state")
)

// SupersededError means that the presented state is not the newest of its game.
type SupersededError struct {
	// Newest is the head, from which the game goes on.
	Newest Entry
}

// Error implements error. It leaves out the token.
func (e *SupersededError) Error() string {
	return fmt.Sprintf("the state is superseded: the game has gone on to ply %d", e.Newest.Ply)
}

// The defaults of Options.
const (
	DefaultTTL      = 30 * 24 * time.Hour
	DefaultMaxGames = 100_000
	DefaultTimeout  = 2 * time.Second
	DefaultPrefix   = "avalanched:game:"
)

// Options tune a ledger. Zero values stand for the defaults.
type Options struct {
	// Strict refuses what an unstrict ledger adopts: after a loss of memory no
	// client can bring back an old state, and no game in progress can go on.
	Strict bool
	// TTL is how long a game is remembered after its last move, at least a
	// millisecond. Default [DefaultTTL].
	TTL time.Duration
	// MaxGames bounds a memory ledger. Default [DefaultMaxGames].
	MaxGames int
	// Timeout bounds each operation on Redis, retries included, at least a
	// millisecond. Default [DefaultTimeout].
	Timeout time.Duration
	// Prefix begins each key in Redis; the game ID follows. Default [DefaultPrefix].
	Prefix string
	// Logger takes warnings about the store, and what the Redis client reports of
	// its connections. Default [slog.Default].
	Logger *slog.Logger
}

// Open opens the ledger that a location names: "none", "memory" or a URL. For "none"
// the Ledger is nil: without memory there is nothing to ask, and nothing that could
// say yes to an old state.
//
// A URL names a Redis server, the Sentinels of one, or a cluster:
//
//	redis://[[user]:password@]host[:port][/db][?parameters]
//	redis+sentinel://[[user]:password@]host[:port][/db]?master_name=name[&parameters]
//	redis+cluster://[[user]:password@]host[:port][?parameters]
//
// With rediss in place of redis all connections use TLS. The port defaults to 6379,
// that of a Sentinel to 26379. The parameters are
//
//	pool_size           connections to each server, 1 to 10000; default 10 per CPU
//	ca_file             PEM file of the authorities to trust in place of the system's
//	cert_file, key_file PEM files of the client's own certificate
//	addr                host:port of one more Sentinel or cluster node; may repeat
//	master_name         the name under which Sentinels know the server
//	username, password  for the server, where those before the host are for Sentinels
//
// Redis has to answer and must not be set up to evict entries. Errors show no part
// of the location, which may hold a password.
func Open(ctx context.Context, location string, options Options) (Ledger, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	switch location {
	case "none":
		return nil, nil
	case "memory":
		return newMemory(options, time.Now), nil
	}
	where, err := parseURL(location)
	if err != nil {
		return nil, err
	}
	r, err := openRedis(ctx, where, options)
	if err != nil {
		return nil, err // Not r, whose nil would make a Ledger that is not nil.
	}
	return r, nil
}

// CheckLocation tells what is wrong with a location, as far as that can be said without
// going there.
func CheckLocation(location string) error {
	if location == "none" || location == "memory" {
		return nil
	}
	_, err := parseURL(location)
	return err
}

func (o Options) withDefaults() (Options, error) {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.MaxGames == 0 {
		o.MaxGames = DefaultMaxGames
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.TTL < time.Millisecond:
		return o, fmt.Errorf("the ledger's TTL is %v; it must be at least 1ms", o.TTL)
	case o.MaxGames < 0:
		return o, fmt.Errorf("the ledger's maximum is %d games; it must be at least 1", o.MaxGames)
	case o.Timeout < time.Millisecond:
		return o, fmt.Errorf("the ledger's timeout is %v; it must be at least 1ms", o.Timeout)
	}
	return o, nil
}

// checkMove guards the two facts that the rest builds on: a head's ply never
// falls, and no state is empty. A caller that breaks them has a bug.
func checkMove(presented, next Entry) error {
	if presented.Ply < 0 || next.Ply <= presented.Ply {
		return fmt.Errorf("ledger: a move cannot lead from ply %d to ply %d", presented.Ply, next.Ply)
	}
	if presented.Token == "" || next.Token == "" {
		return errors.New("ledger: a state has an empty token")
	}
	return nil
}
