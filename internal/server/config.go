package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/avalanched/avalanched/internal/apikeys"
)

// Config says where and how to serve. Errors about it name the command-line flag
// of each field, given in brackets here.
type Config struct {
	// GRPCAddr, HTTPAddr and AdminAddr are host:port pairs to listen on; port 0
	// takes any free one [--grpc-addr, --http-addr, --admin-addr].
	GRPCAddr, HTTPAddr, AdminAddr string
	// PProf serves Go's profiles on the admin port [--pprof].
	PProf bool

	// TLS gives the TLS configuration in force for gRPC and HTTP; nil serves both in
	// clear text [--tls-cert, --tls-key, --tls-client-ca].
	TLS func() *tls.Config
	// APIKeys gives the API keys in force; nil lets everybody call [--api-keys].
	APIKeys func() *apikeys.Set
	// AllowAnonymous lets callers in who have no API key [--allow-anonymous].
	AllowAnonymous bool
	// CORSOrigins are the web sites whose pages may call over HTTP, "*" for all
	// [--cors-origins].
	CORSOrigins []string

	// AnonymousRate is how many requests per second an address may make without an
	// API key, 0 for any number [--anonymous-rate].
	AnonymousRate float64
	// AnonymousBurst is how many it may make at once after a pause, 0 for as many as
	// in a second [--anonymous-burst].
	AnonymousBurst int
	// TrustedProxies are the networks of proxies whose X-Forwarded-For is believed
	// [--trusted-proxies].
	TrustedProxies []netip.Prefix
	// MaxInFlight bounds the requests that are worked on at a time, 1 to a million
	// [--max-in-flight].
	MaxInFlight int
	// MaxConnections bounds the open connections of the gRPC port, and those of the
	// HTTP port, 1 to a million [--max-connections].
	MaxConnections int
	// MaxRequestBytes bounds a JSON body and a protobuf message, 1 KiB to 64 MiB
	// [--max-request-bytes].
	MaxRequestBytes int
	// MaxConcurrentStreams bounds the calls in flight on one HTTP/2 connection, at
	// least 1 [--max-concurrent-streams].
	MaxConcurrentStreams uint32
	// RequestTimeout bounds the work on one request, at most an hour; clients may ask
	// for less [--request-timeout].
	RequestTimeout time.Duration
	// DrainDelay is how long the server goes on taking requests after it has said
	// that it is not ready, so that load balancers can look away [--drain-delay].
	DrainDelay time.Duration
	// DrainTimeout is how long requests in flight may then take to end
	// [--drain-timeout].
	DrainTimeout time.Duration
}

// DefaultConfig is the configuration of a server that is told nothing.
func DefaultConfig() Config {
	return Config{
		GRPCAddr:             ":9090",
		HTTPAddr:             ":8080",
		AdminAddr:            ":8081",
		MaxInFlight:          512,
		MaxConnections:       4096,
		MaxRequestBytes:      2 << 20,
		MaxConcurrentStreams: 100,
		RequestTimeout:       10 * time.Second,
		DrainDelay:           5 * time.Second,
		DrainTimeout:         20 * time.Second,
	}
}

// The bounds of Config.MaxRequestBytes.
const (
	minRequestBytes = 1 << 10
	maxRequestBytes = 64 << 20
)

const (
	// maxNumber bounds rates and counts: what is above it is meant to be no limit.
	maxNumber         = 1_000_000
	maxRequestTimeout = time.Hour
)

// Check tells what is wrong with the configuration, all of it at once.
func (c Config) Check() error {
	var wrong []error
	for _, listen := range []struct{ flag, addr string }{
		{"--grpc-addr", c.GRPCAddr},
		{"--http-addr", c.HTTPAddr},
		{"--admin-addr", c.AdminAddr},
	} {
		if err := checkAddr(listen.addr); err != nil {
			wrong = append(wrong, fmt.Errorf("%s=%s: %w", listen.flag, listen.addr, err))
		}
	}
	for _, origin := range c.CORSOrigins {
		if err := checkOrigin(origin); err != nil {
			wrong = append(wrong, fmt.Errorf("--cors-origins=%s: %w", origin, err))
		}
	}
	if c.AnonymousRate < 0 || c.AnonymousRate > maxNumber || math.IsNaN(c.AnonymousRate) {
		wrong = append(wrong, fmt.Errorf("--anonymous-rate=%v: must be from 0 to %d", c.AnonymousRate, maxNumber))
	}
	if c.AnonymousBurst < 0 || c.AnonymousBurst > maxNumber {
		wrong = append(wrong, fmt.Errorf("--anonymous-burst=%d: must be from 0 to %d", c.AnonymousBurst, maxNumber))
	}
	if c.AnonymousBurst > 0 && c.AnonymousRate == 0 {
		wrong = append(wrong, fmt.Errorf("--anonymous-burst=%d: needs --anonymous-rate", c.AnonymousBurst))
	}
	for _, proxies := range c.TrustedProxies {
		if proxies.Addr().Is4In6() {
			wrong = append(wrong, fmt.Errorf("--trusted-proxies=%v: must be written as IPv4, which it is", proxies))
		}
	}
	if c.MaxInFlight < 1 || c.MaxInFlight > maxNumber {
		wrong = append(wrong, fmt.Errorf("--max-in-flight=%d: must be from 1 to %d", c.MaxInFlight, maxNumber))
	}
	if c.MaxConnections < 1 || c.MaxConnections > maxNumber {
		wrong = append(wrong, fmt.Errorf("--max-connections=%d: must be from 1 to %d", c.MaxConnections, maxNumber))
	}
	if c.MaxRequestBytes < minRequestBytes || c.MaxRequestBytes > maxRequestBytes {
		wrong = append(wrong, fmt.Errorf("--max-request-bytes=%d: must be from %d to %d", c.MaxRequestBytes, minRequestBytes, maxRequestBytes))
	}
	if c.MaxConcurrentStreams < 1 {
		wrong = append(wrong, errors.New("--max-concurrent-streams=0: must be at least 1"))
	}
	if c.RequestTimeout <= 0 || c.RequestTimeout > maxRequestTimeout {
		wrong = append(wrong, fmt.Errorf("--request-timeout=%v: must be above 0 and at most %v", c.RequestTimeout, maxRequestTimeout))
	}
	if c.DrainDelay < 0 {
		wrong = append(wrong, fmt.Errorf("--drain-delay=%v: must not be below 0", c.DrainDelay))
	}
	if c.DrainTimeout <= 0 {
		wrong = append(wrong, fmt.Errorf("--drain-timeout=%v: must be above 0", c.DrainTimeout))
	}
	return errors.Join(wrong...)
}

func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return errors.New("must be host:port, or :port for all addresses of the machine")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("port %q: must be from 0 to 65535", port)
	}
	return nil
}
