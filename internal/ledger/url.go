package ledger

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const schemes = "redis://, rediss://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://"

// maxPoolSize bounds the connections to one server. Redis itself takes 10,000
// clients unless told otherwise.
const maxPoolSize = 10_000

// parameterNames lists the parameters that go with a scheme and its form with TLS.
var parameterNames = map[string][]string{
	"redis":          {"pool_size", "ca_file", "cert_file", "key_file"},
	"redis+sentinel": {"pool_size", "ca_file", "cert_file", "key_file", "addr", "master_name", "username", "password"},
	"redis+cluster":  {"pool_size", "ca_file", "cert_file", "key_file", "addr"},
}

// target is where and how to reach Redis.
type target struct {
	// config selects by MasterName and IsClusterMode which client go-redis makes.
	config redis.UniversalOptions
	tls    bool
	// Paths of PEM files, empty where not given.
	caFile, certFile, keyFile string
}

// parseURL reads a ledger's URL. Its errors show no part of the URL but the names
// of known parameters: anything else may be a piece of a badly encoded password.
func parseURL(text string) (*target, error) {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return nil, fmt.Errorf("the ledger's URL has no scheme; a ledger is none, memory, or a URL beginning with %s", schemes)
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 && strings.Contains(rest[i:], "@") {
		return nil, errors.New("the ledger's URL has an @ after a /, ? or #; percent-encode these characters in user names and passwords")
	}
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" {
		return nil, errors.New("the ledger's URL is malformed; write redis://[[user]:password@]host[:port][/db] and percent-encode special characters in user name and password")
	}
	scheme := strings.Replace(u.Scheme, "rediss", "redis", 1)
	known, ok := parameterNames[scheme]
	if !ok {
		return nil, fmt.Errorf("the ledger's URL has an unknown scheme; use %s", schemes)
	}
	t := &target{tls: scheme != u.Scheme}
	parameters, err := t.readParameters(u, known)
	if err != nil {
		return nil, err
	}
	defaultPort := "6379"
	if scheme == "redis+sentinel" {
		defaultPort = "26379"
	}
	c := &t.config
	if c.Addrs, err = addresses(u, parameters["addr"], defaultPort); err != nil {
		return nil, err
	}
	if c.DB, err = database(u); err != nil {
		return nil, err
	}
	if c.Username, c.Password, err = credentials(u); err != nil {
		return nil, err
	}
	switch scheme {
	case "redis+sentinel":
		c.MasterName = parameters.Get("master_name")
		c.SentinelUsername, c.SentinelPassword = c.Username, c.Password
		c.Username, c.Password = parameters.Get("username"), parameters.Get("password")
		if c.MasterName == "" {
			return nil, errors.New("the ledger's URL names Sentinels but no master; add master_name=, as in the Sentinels' configuration")
		}
		if c.Username != "" && c.Password == "" {
			return nil, errors.New("the ledger's URL has a username but no password; add password=")
		}
	case "redis+cluster":
		c.IsClusterMode = true
		if c.DB != 0 {
			return nil, errors.New("the ledger's URL names a database of a Redis cluster, which has only 0; leave it out")
		}
	}
	return t, nil
}

// readParameters checks a URL's parameters, takes those that go with every scheme
// and returns all. Only addr may stand there more than once.
func (t *target) readParameters(u *url.URL, known []string) (url.Values, error) {
	parameters, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("the ledger's URL has malformed parameters; write ?name=value&name=value with special characters percent-encoded")
	}
	for name, values := range parameters {
		switch {
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("the ledger's URL has an unknown parameter; with this scheme it may have %s", strings.Join(known, ", "))
		case slices.Contains(values, ""):
			return nil, fmt.Errorf("the ledger's URL has %s without a value; give one or leave it out", name)
		case len(values) > 1 && name != "addr":
			return nil, fmt.Errorf("the ledger's URL has %s more than once; give it once", name)
		}
	}
	if size := parameters.Get("pool_size"); size != "" {
		n, err := strconv.ParseUint(size, 10, 16)
		if err != nil || n < 1 || n > maxPoolSize {
			return nil, fmt.Errorf("the ledger's URL has a bad pool_size; it is a number of connections from 1 to %d", maxPoolSize)
		}
		t.config.PoolSize = int(n)
	}
	t.caFile, t.certFile, t.keyFile = parameters.Get("ca_file"), parameters.Get("cert_file"), parameters.Get("key_file")
	switch {
	case !t.tls && (t.caFile != "" || t.certFile != "" || t.keyFile != ""):
		return nil, errors.New("the ledger's URL names certificate files but no TLS; begin it with rediss")
	case (t.certFile == "") != (t.keyFile == ""):
		return nil, errors.New("the ledger's URL has only one of cert_file and key_file; a client certificate needs both")
	}
	return parameters, nil
}

// addresses lists the address in a URL and those in its addr parameters.
func addresses(u *url.URL, more []string, defaultPort string) ([]string, error) {
	first, err := address(u, defaultPort)
	if err != nil {
		return nil, err
	}
	all := []string{first}
	for _, text := range more {
		u, err := url.Parse("//" + text)
		if err != nil || u.Host != text {
			return nil, errors.New("the ledger's URL has a malformed addr; write addr=host:port")
		}
		next, err := address(u, defaultPort)
		if err != nil {
			return nil, err
		}
		all = append(all, next)
	}
	return all, nil
}

func address(u *url.URL, defaultPort string) (string, error) {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return "", errors.New("the ledger's URL lacks a host; write redis://host[:port]")
	}
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("the ledger's URL has a bad port; it is a number from 1 to 65535")
	}
	joined := net.JoinHostPort(host, port)
	if _, _, err := net.SplitHostPort(joined); err != nil {
		return "", errors.New("the ledger's URL has a bad host; write a name, an IPv4 address, or an IPv6 address in brackets")
	}
	return joined, nil
}

func database(u *url.URL) (int, error) {
	text := strings.TrimPrefix(u.Path, "/")
	if text == "" {
		return 0, nil
	}
	db, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, errors.New("the ledger's URL has a bad database; after the host comes / and its number, or nothing for 0")
	}
	return int(db), nil
}

func credentials(u *url.URL) (user, password string, err error) {
	user = u.User.Username()
	password, _ = u.User.Password()
	if user != "" && password == "" {
		return "", "", errors.New("the ledger's URL has a user name but no password; write user:password@ or, for a password alone, :password@")
	}
	return user, password, nil
}

// tlsConfig reads the certificate files. It is nil without TLS.
func (t *target) tlsConfig() (*tls.Config, error) {
	if !t.tls {
		return nil, nil
	}
	// Without a ServerName each server is verified against the address dialed, which
	// is right for the several of a Sentinel or cluster setup too.
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.caFile != "" {
		pem, err := os.ReadFile(t.caFile)
		if err != nil {
			return nil, fmt.Errorf("the ledger's ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("the ledger's ca_file holds no PEM certificate")
		}
	}
	if t.certFile != "" {
		load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			certificate, err := tls.LoadX509KeyPair(t.certFile, t.keyFile)
			if err != nil {
				return nil, fmt.Errorf("the ledger's client certificate: %w", err)
			}
			return &certificate, nil
		}
		if _, err := load(nil); err != nil {
			return nil, err
		}
		// Loaded for each connection, a renewed certificate needs no restart.
		config.GetClientCertificate = load
	}
	return config, nil
}
