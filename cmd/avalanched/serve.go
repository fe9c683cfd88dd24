package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/alecthomas/kong"

	"github.com/avalanched/avalanched/internal/apikeys"
	"github.com/avalanched/avalanched/internal/engine/rulesets"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/server"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// serveCmd serves the API until it is told to stop.
type serveCmd struct {
	GRPCAddr  string `group:"Ports:" name:"grpc-addr" env:"AVALANCHED_GRPC_ADDR" default:":9090" placeholder:"HOST:PORT" help:"Where to listen for gRPC (${default})."`
	HTTPAddr  string `group:"Ports:" name:"http-addr" env:"AVALANCHED_HTTP_ADDR" default:":8080" placeholder:"HOST:PORT" help:"Where to listen for JSON over HTTP (${default})."`
	AdminAddr string `group:"Ports:" env:"AVALANCHED_ADMIN_ADDR" default:":8081" placeholder:"HOST:PORT" help:"Where to listen for the operator: /livez, /readyz and /metrics (${default}). Not for the public."`
	PProf     bool   `group:"Ports:" name:"pprof" env:"AVALANCHED_PPROF" help:"Serve Go's profiles on the operator's port."`

	Keyset        string `group:"Keys:" env:"AVALANCHED_KEYSET" placeholder:"FILE" help:"The keyset that signs states (\"avalanched keys new\" makes one). A change of the file is noticed without a restart. Without it a key is made and thrown away at the end, and all games with it."`
	RequireKeyset bool   `group:"Keys:" env:"AVALANCHED_REQUIRE_KEYSET" help:"Refuse to start without --keyset: for production."`
	KEKURI        string `group:"Keys:" name:"kek-uri" env:"AVALANCHED_KEK_URI" placeholder:"URI" help:"The key-encryption key that the keyset is encrypted with, as Tink names it, for example gcp-kms://… Without it, the keyset is not encrypted."`

	Ledger       string        `group:"Ledger:" env:"AVALANCHED_LEDGER" default:"none" placeholder:"LEDGER" help:"What remembers the newest state of each game: none, memory (for a single replica), or redis://… (for many). With none, a player can take a move back."`
	LedgerStrict bool          `group:"Ledger:" env:"AVALANCHED_LEDGER_STRICT" help:"Refuse moves of games that the ledger has forgotten, instead of taking the client's word for them."`
	LedgerTTL    time.Duration `group:"Ledger:" name:"ledger-ttl" env:"AVALANCHED_LEDGER_TTL" default:"720h" placeholder:"TIME" help:"How long a game is remembered after its last move (${default})."`

	TLSCert        string   `group:"Security:" name:"tls-cert" env:"AVALANCHED_TLS_CERT" placeholder:"FILE" help:"The certificate of the gRPC and HTTP ports and those between it and the root, in PEM. Without it both speak clear text. A change of the file is noticed without a restart."`
	TLSKey         string   `group:"Security:" name:"tls-key" env:"AVALANCHED_TLS_KEY" placeholder:"FILE" help:"The private key of --tls-cert, in PEM. A change of the file is noticed, too."`
	TLSClientCA    string   `group:"Security:" name:"tls-client-ca" env:"AVALANCHED_TLS_CLIENT_CA" placeholder:"FILE" help:"Take only clients whose certificate leads to one of these roots, in PEM (mutual TLS). A change of the file is noticed, too."`
	APIKeys        string   `group:"Security:" name:"api-keys" env:"AVALANCHED_API_KEYS" placeholder:"FILE" help:"The API keys that may call, by their hashes (\"avalanched apikeys new\" makes one). A change of the file is noticed without a restart. Without it, everybody may call."`
	AllowAnonymous bool     `group:"Security:" env:"AVALANCHED_ALLOW_ANONYMOUS" help:"With --api-keys, let callers without a key in as well."`
	CORSOrigins    []string `group:"Security:" name:"cors-origins" env:"AVALANCHED_CORS_ORIGINS" placeholder:"ORIGIN" help:"Web sites whose pages may call over HTTP, for example https://play.example.com, with commas between them; * for all. Without it, none."`

	AnonymousRate  float64   `group:"Limits:" env:"AVALANCHED_ANONYMOUS_RATE" default:"0" placeholder:"NUMBER" help:"How many requests per second an address may make without an API key; 0 for no limit (${default})."`
	AnonymousBurst int       `group:"Limits:" env:"AVALANCHED_ANONYMOUS_BURST" default:"0" placeholder:"NUMBER" help:"How many it may make at once after a pause; 0 for as many as in a second (${default})."`
	TrustedProxies []network `group:"Limits:" env:"AVALANCHED_TRUSTED_PROXIES" placeholder:"CIDR" help:"Addresses or networks of proxies whose X-Forwarded-For tells the client's address, for example 10.0.0.0/8, with commas between them."`
	MaxInFlight    int       `group:"Limits:" env:"AVALANCHED_MAX_IN_FLIGHT" default:"512" placeholder:"REQUESTS" help:"How many requests may be worked on at a time, long ones counted several times; more are refused at once (${default})."`
	MaxConnections int       `group:"Limits:" env:"AVALANCHED_MAX_CONNECTIONS" default:"4096" placeholder:"NUMBER" help:"How many connections the gRPC port may have, and the HTTP port; more are closed at once (${default})."`

	MaxRequestBytes      int           `group:"Limits:" env:"AVALANCHED_MAX_REQUEST_BYTES" default:"2097152" placeholder:"BYTES" help:"The longest JSON body or protobuf message (${default})."`
	MaxConcurrentStreams uint32        `group:"Limits:" env:"AVALANCHED_MAX_CONCURRENT_STREAMS" default:"100" placeholder:"CALLS" help:"Calls in flight on one HTTP/2 connection (${default})."`
	RequestTimeout       time.Duration `group:"Limits:" env:"AVALANCHED_REQUEST_TIMEOUT" default:"10s" placeholder:"TIME" help:"The longest that one request may be worked on (${default})."`

	DrainDelay   time.Duration `group:"Stopping:" env:"AVALANCHED_DRAIN_DELAY" default:"5s" placeholder:"TIME" help:"After SIGTERM or SIGINT, how long to go on serving while /readyz and gRPC health say that this replica is not ready (${default}). A second signal ends the program at once."`
	DrainTimeout time.Duration `group:"Stopping:" env:"AVALANCHED_DRAIN_TIMEOUT" default:"20s" placeholder:"TIME" help:"How long requests in flight may then take to end (${default})."`

	LogLevel  string `group:"Logs:" env:"AVALANCHED_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"What to log: debug (every request), info (refused ones), warn or error (${default})."`
	LogRate   int    `group:"Logs:" env:"AVALANCHED_LOG_RATE" default:"100" placeholder:"LINES" help:"The most lines of one kind, such as refused requests, to log per second; another line says how many were left out. 0 for no limit (${default})."`
	LogFormat string `group:"Logs:" env:"AVALANCHED_LOG_FORMAT" default:"json" enum:"json,text" placeholder:"FORMAT" help:"How log lines on the standard error look: json or text (${default})."`
}

// Help tells what is not configured by flags.
func (serveCmd) Help() string {
	return `Traces, metrics and logs are also sent by OTLP if the standard variables ask for it, for example OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318.

It ends with exit code 0 after SIGTERM or SIGINT, 1 when something failed, and 2 when flags or variables are wrong.`
}

// Validate refuses flags that cannot work. Kong calls it.
func (c serveCmd) Validate() error {
	var wrong []error
	if c.RequireKeyset && c.Keyset == "" {
		wrong = append(wrong, errors.New("--require-keyset: needs --keyset"))
	}
	if c.KEKURI != "" && c.Keyset == "" {
		wrong = append(wrong, errors.New("--kek-uri: needs --keyset"))
	}
	if c.AllowAnonymous && c.APIKeys == "" {
		wrong = append(wrong, errors.New("--allow-anonymous: needs --api-keys"))
	}
	if err := c.tlsFiles().Check(); err != nil {
		wrong = append(wrong, err)
	}
	if c.LogRate < 0 {
		wrong = append(wrong, fmt.Errorf("--log-rate=%d: must not be below 0", c.LogRate))
	}
	if err := ledger.CheckLocation(c.Ledger); err != nil {
		wrong = append(wrong, fmt.Errorf("--ledger: %w", err))
	}
	if c.LedgerStrict && c.Ledger == "none" {
		wrong = append(wrong, errors.New("--ledger-strict: needs --ledger"))
	}
	if c.LedgerTTL < time.Second {
		wrong = append(wrong, fmt.Errorf("--ledger-ttl=%v: must be at least 1s", c.LedgerTTL))
	}
	return errors.Join(append(wrong, c.config().Check())...)
}

// network is an address, or all of a network.
type network netip.Prefix

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *network) UnmarshalText(text []byte) error {
	if addr, err := netip.ParseAddr(string(text)); err == nil {
		*n = network(netip.PrefixFrom(addr, addr.BitLen()))
		return nil
	}
	prefix, err := netip.ParsePrefix(string(text))
	if err != nil {
		return fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
	}
	*n = network(prefix)
	return nil
}

func (c serveCmd) config() server.Config {
	var proxies []netip.Prefix
	for _, n := range c.TrustedProxies {
		proxies = append(proxies, netip.Prefix(n))
	}
	return server.Config{
		GRPCAddr:             c.GRPCAddr,
		HTTPAddr:             c.HTTPAddr,
		AdminAddr:            c.AdminAddr,
		PProf:                c.PProf,
		AllowAnonymous:       c.AllowAnonymous,
		CORSOrigins:          c.CORSOrigins,
		AnonymousRate:        c.AnonymousRate,
		AnonymousBurst:       c.AnonymousBurst,
		TrustedProxies:       proxies,
		MaxInFlight:          c.MaxInFlight,
		MaxConnections:       c.MaxConnections,
		MaxRequestBytes:      c.MaxRequestBytes,
		MaxConcurrentStreams: c.MaxConcurrentStreams,
		RequestTimeout:       c.RequestTimeout,
		DrainDelay:           c.DrainDelay,
		DrainTimeout:         c.DrainTimeout,
	}
}

func (c serveCmd) tlsFiles() server.TLSFiles {
	return server.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, ClientCA: c.TLSClientCA}
}

// Run serves until the first SIGTERM or SIGINT and a drain after it.
func (c serveCmd) Run(app *kong.Kong) error {
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer restore()
	// The second signal finds the default: to end the program.
	context.AfterFunc(ctx, restore)
	return c.serve(ctx, app.Stdout, app.Stderr)
}

// flushTimeout is how long telemetry may take to be sent at the end.
const flushTimeout = 5 * time.Second

func (c serveCmd) serve(ctx context.Context, stdout, stderr io.Writer) (err error) {
	// What setting up telemetry has to say cannot be sent by it yet.
	server.AdoptLibraryLogs(c.logger(stderr, nil))
	telemetry, err := server.NewTelemetry(ctx, version())
	if err != nil {
		return usageError{err}
	}
	log := c.logger(stderr, telemetry)
	server.AdoptLibraryLogs(log)
	defer func() {
		// The end must not take long, and a collector that is gone is no failure.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := telemetry.Shutdown(ctx); err != nil {
			log.WarnContext(ctx, "telemetry was not sent", slog.Any("error", err))
		}
	}()
	respectMemoryLimit(log)
	metrics, err := server.NewGameMetrics(telemetry) //nolint:contextcheck // First values belong to no request.
	if err != nil {
		return err
	}

	keyring, closeKeys, err := c.openKeys(log, metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeKeys()) }()
	remembered, err := c.openLedger(ctx, telemetry, log)
	if err != nil {
		return err
	}
	if remembered != nil {
		defer func() { err = errors.Join(err, remembered.Close()) }()
	}
	games := service.New(service.Config{
		Rulesets: rulesets.Registry(),
		Keys:     keyring,
		Ledger:   remembered,
		Observer: metrics.Observer(),
	})

	config := c.config()
	closeAccess, err := c.openAccess(&config, log, telemetry) //nolint:contextcheck // First values belong to no request.
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAccess()) }()
	s, err := server.New(config, games, telemetry, log) //nolint:contextcheck // It is made here and run later.
	if err != nil {
		return err
	}
	if err := s.Listen(ctx); err != nil {
		return err
	}
	log.InfoContext(
		ctx,
		"serving",
		slog.String("version", version()),
		slog.String("grpc_addr", s.GRPCAddr().String()),
		slog.String("http_addr", s.HTTPAddr().String()),
		slog.String("admin_addr", s.AdminAddr().String()),
		slog.Int("gomaxprocs", runtime.GOMAXPROCS(0)),
	)
	if err := c.announce(stdout, s); err != nil {
		return err
	}
	if err := s.Run(ctx); err != nil {
		return err
	}
	log.InfoContext(ctx, "stopped")
	return nil
}

// logger makes the log, which is also sent if telemetry is there and asked to.
func (c serveCmd) logger(stderr io.Writer, telemetry *server.Telemetry) *slog.Logger {
	level := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}[c.LogLevel]
	return server.LimitLog(server.NewLogger(stderr, level, server.LogFormat(c.LogFormat), telemetry), c.LogRate)
}

// respectMemoryLimit lets the garbage collector work harder before the container's
// limit is reached, unless GOMEMLIMIT says another one. (The number of processors is
// respected by Go itself.)
func respectMemoryLimit(log *slog.Logger) {
	limit, err := memlimit.Set()
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), errors.Is(err, memlimit.ErrNoCgroup):
		// There is no container.
	case err != nil:
		log.Warn("the memory limit of the container is not known", slog.Any("error", err))
	case limit != math.MaxInt64:
		log.Info("memory is limited", slog.Int64("gomemlimit", limit))
	}
}

// openKeys returns where the keyring in force is found, and how to let go of it.
func (c serveCmd) openKeys(log *slog.Logger, metrics *server.GameMetrics) (current func() *state.Keyring, closeKeys func() error, err error) {
	if c.Keyset == "" {
		log.Warn("no --keyset is given: the key is thrown away at the end, and every game with it")
		keyring, err := state.Throwaway()
		if err != nil {
			return nil, nil, err
		}
		return func() *state.Keyring { return keyring }, func() error { return nil }, nil
	}
	kek, err := state.OpenKEK(c.KEKURI)
	if err != nil {
		return nil, nil, usageError{fmt.Errorf("--kek-uri: %w", err)}
	}
	watcher, err := state.Watch(state.WatchConfig{Path: c.Keyset, KEK: kek, Logger: log, OnReload: metrics.KeysetReloaded})
	if err != nil {
		return nil, nil, fmt.Errorf("--keyset: %w", err)
	}
	return watcher.Keyring, watcher.Close, nil
}

// openLedger returns what remembers the newest states, or nil if nothing is to.
func (c serveCmd) openLedger(ctx context.Context, telemetry *server.Telemetry, log *slog.Logger) (ledger.Ledger, error) {
	remembered, err := ledger.Open(ctx, c.Ledger, ledger.Options{Strict: c.LedgerStrict, TTL: c.LedgerTTL, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("--ledger: %w", err)
	}
	if remembered == nil {
		return nil, nil
	}
	observed, err := server.ObserveLedger(remembered, telemetry, log) //nolint:contextcheck // First values belong to no request.
	if err != nil {
		return nil, errors.Join(err, remembered.Close())
	}
	return observed, nil
}

// openAccess adds to a configuration what is read from files. It returns how to let
// go of them.
func (c serveCmd) openAccess(config *server.Config, log *slog.Logger, telemetry *server.Telemetry) (closeAccess func() error, err error) {
	metrics, err := server.NewAccessMetrics(telemetry)
	if err != nil {
		return nil, err
	}
	var open []io.Closer
	closeAccess = func() error {
		var errs []error
		for _, file := range open {
			errs = append(errs, file.Close())
		}
		return errors.Join(errs...)
	}
	if c.APIKeys != "" {
		keys, err := apikeys.Watch(c.APIKeys, log, metrics.APIKeysReloaded)
		if err != nil {
			return nil, fmt.Errorf("--api-keys: %w", err)
		}
		open = append(open, keys)
		config.APIKeys = keys.Current
	}
	if c.TLSCert != "" {
		files, err := server.WatchTLS(c.tlsFiles(), log, metrics.TLSReloaded)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--tls-cert: %w", err), closeAccess())
		}
		open = append(open, files)
		config.TLS = files.Current
	}
	return closeAccess, nil
}

// announce tells a person where the server is and what to try first.
func (c serveCmd) announce(w io.Writer, s *server.Server) error {
	grpcHost, httpHost, adminHost := reachable(s.GRPCAddr()), reachable(s.HTTPAddr()), reachable(s.AdminAddr())
	base, key := "http://"+httpHost, ""
	if c.TLSCert != "" {
		base = "https://" + httpHost
	}
	if c.APIKeys != "" && !c.AllowAnonymous {
		key = ` -H "authorization: Bearer $API_KEY"`
	}
	text := fmt.Sprintf(`avalanched %s

  gRPC      %s
  JSON      %s  (described by %s/openapi.json)
  operator  http://%s/readyz and /metrics

Try:

  curl -s %s/v1/games%s -H 'content-type: application/json' -d '{"ruleset":"marble-basic","players":2}'

`, version(), grpcHost, base, base, adminHost, base, key)
	if c.Keyset == "" {
		text += "WARNING: there is no --keyset. The key that signs the games was made just now and ends with this\n" +
			"program, and so do all games. \"avalanched keys new --keyset FILE\" makes one to keep.\n\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// reachable is an address that a client on this machine can use.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}
