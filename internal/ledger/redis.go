package ledger

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed advance.lua
var advanceSource string

// advanceScript touches one key, so it runs on a cluster too.
var advanceScript = redis.NewScript(advanceSource)

// redisLedger keeps the heads in Redis, one string per game, for any number of
// replicas.
type redisLedger struct {
	client  redis.UniversalClient
	strict  bool
	ttl     time.Duration
	timeout time.Duration
	prefix  string
	logger  *slog.Logger
}

func openRedis(ctx context.Context, where *target, options Options) (*redisLedger, error) {
	config := where.config
	var err error
	if config.TLSConfig, err = where.tlsConfig(); err != nil {
		return nil, err
	}
	// An operation that meets a dead connection has time left to try another.
	attempt := options.Timeout / 2
	config.DialTimeout, config.ReadTimeout, config.WriteTimeout = attempt, attempt, attempt
	config.ContextTimeoutEnabled = true

	// go-redis has one logger for the whole process and writes plain text to the
	// standard error by default. Nothing else here uses go-redis.
	redis.SetLogger(clientLogger{options.Logger})
	r := &redisLedger{
		client:  redis.NewUniversalClient(&config),
		strict:  options.Strict,
		ttl:     options.TTL,
		timeout: options.Timeout,
		prefix:  options.Prefix,
		logger:  options.Logger,
	}
	if err := r.checkServers(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Advance implements Ledger.
func (r *redisLedger) Advance(ctx context.Context, game GameID, presented, next Entry) (Outcome, error) {
	if err := checkMove(presented, next); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// The client may send the script again after a broken connection. That is no
	// danger: the second run finds the first one's work and answers "repeated".
	reply, err := advanceScript.Run(ctx, r.client, []string{r.key(game)},
		encode(presented), encode(next), r.strict, r.ttl.Milliseconds()).Text()
	if redis.IsOOMError(err) {
		return 0, fmt.Errorf("%w: %w", ErrFull, err)
	}
	if err != nil {
		return 0, unavailable(err)
	}
	answer, head, _ := strings.Cut(reply, " ")
	switch answer {
	case "advanced":
		return Advanced, nil
	case "repeated":
		return Repeated, nil
	case "adopted":
		return Adopted, nil
	case "forgotten":
		return 0, ErrForgotten
	default:
		newest, err := decode(head)
		if err != nil {
			return 0, unavailable(err)
		}
		return 0, &SupersededError{Newest: newest}
	}
}

// Newest implements Ledger.
func (r *redisLedger) Newest(ctx context.Context, game GameID) (Entry, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	value, err := r.client.Get(ctx, r.key(game)).Result()
	if errors.Is(err, redis.Nil) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, unavailable(err)
	}
	head, err := decode(value)
	if err != nil {
		return Entry{}, false, unavailable(err)
	}
	return head, true, nil
}

// Ping implements Ledger.
func (r *redisLedger) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.client.Ping(ctx).Err(); err != nil {
		return unavailable(err)
	}
	return nil
}

// Close implements Ledger.
func (r *redisLedger) Close() error { return r.client.Close() }

// errEvicts is the mistake that only an operator can mend.
var errEvicts = errors.New("the Redis for the ledger may evict games that are being played; set its maxmemory-policy to noeviction")

// checkServers finds out whether the servers answer and keep what they are given.
func (r *redisLedger) checkServers(ctx context.Context) error {
	if err := r.Ping(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var err error
	if cluster, ok := r.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, server *redis.Client) error {
			return r.checkEviction(ctx, server)
		})
	} else {
		err = r.checkEviction(ctx, r.client)
	}
	if err != nil && !errors.Is(err, errEvicts) {
		return unavailable(err)
	}
	return err
}

// checkEviction refuses a server that drops entries when memory runs short: without
// its entry a game could be taken back. INFO says what CONFIG GET says, and hosted
// servers that forbid CONFIG answer it.
func (r *redisLedger) checkEviction(ctx context.Context, server redis.Cmdable) error {
	info, err := server.Info(ctx, "memory").Result()
	var refusal redis.Error
	if err != nil && !errors.As(err, &refusal) {
		return err
	}
	switch policy := infoField(info, "maxmemory_policy"); policy {
	case "noeviction":
		return nil
	case "":
		r.logger.WarnContext(ctx, "Redis does not tell its maxmemory-policy; make sure that it is noeviction", "error", err)
		return nil
	default:
		return fmt.Errorf("%w; it is %s", errEvicts, policy)
	}
}

// infoField finds a line "name:value" in an answer to INFO.
func infoField(info, name string) string {
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (r *redisLedger) key(game GameID) string { return r.prefix + game.String() }

// encode is the form in which the store keeps an entry: the script must find the
// ply without knowing how tokens are built.
func encode(e Entry) string { return strconv.Itoa(e.Ply) + " " + e.Token }

func decode(value string) (Entry, error) {
	digits, token, _ := strings.Cut(value, " ")
	ply, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || token == "" {
		return Entry{}, errors.New("the value at the game's key is no ledger entry")
	}
	return Entry{Ply: int(ply), Token: token}, nil
}

// unavailable says why the store is no help, for the operator's log. Redis repeats the
// arguments of a command that it does not take, between quotation marks, and they hold
// states: what is quoted is left out.
func unavailable(cause error) error {
	if reply, ok := errors.AsType[redis.Error](cause); ok {
		said := reply.Error()
		if quoted := strings.IndexAny(said, "'`\""); quoted >= 0 {
			cause = errors.New(said[:quoted] + "…")
		}
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, cause)
}

// clientLogger hands the messages of go-redis to slog.
type clientLogger struct{ logger *slog.Logger }

// Printf implements the logger interface of go-redis.
func (l clientLogger) Printf(ctx context.Context, format string, args ...any) {
	l.logger.InfoContext(ctx, "Redis client", "message", fmt.Sprintf(format, args...))
}
