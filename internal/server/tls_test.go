package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// authority signs certificates for tests.
type authority struct {
	t           *testing.T
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.certificate = a.sign(template, template, &a.key.PublicKey)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PublicKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return certificate
}

// issue makes a certificate, for a server or a client, and its key, in PEM.
func (a *authority) issue(name string) (certificate, key []byte) {
	a.t.Helper()
	private := newKey(a.t)
	signed := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.certificate, &private.PublicKey)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return asPEM("CERTIFICATE", signed.Raw), asPEM("PRIVATE KEY", der)
}

// client is how a client of this authority, that trusts it, connects.
func (a *authority) client(trusted ...*authority) *tls.Config {
	a.t.Helper()
	certificate, key := a.issue("client")
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		a.t.Fatal(err)
	}
	config := trust(append(trusted, a)...)
	config.Certificates = []tls.Certificate{pair}
	return config
}

// trust is how a client without a certificate connects.
func trust(authorities ...*authority) *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	for _, a := range authorities {
		config.RootCAs.AddCert(a.certificate)
	}
	return config
}

func (a *authority) pem() []byte { return asPEM("CERTIFICATE", a.certificate.Raw) }

func asPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// tlsFolder is a folder with the files of a server.
type tlsFolder struct {
	TLSFiles
	t *testing.T
}

func newTLSFolder(t *testing.T, a *authority, name string) tlsFolder {
	t.Helper()
	folder := t.TempDir()
	f := tlsFolder{TLSFiles{Cert: filepath.Join(folder, "tls.crt"), Key: filepath.Join(folder, "tls.key")}, t}
	f.write(a.issue(name))
	return f
}

func (f tlsFolder) write(certificate, key []byte) {
	f.t.Helper()
	writeAtOnce(f.t, f.Cert, certificate)
	writeAtOnce(f.t, f.Key, key)
}

func writeAtOnce(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// startTLS runs a server with TLS and returns what reloads come to.
func startTLS(t *testing.T, files TLSFiles) (*running, chan error) {
	t.Helper()
	reloads := make(chan error, 100)
	watched, err := WatchTLS(files, slog.New(slog.DiscardHandler), func(err error) { reloads <- err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := watched.Close(); err != nil {
			t.Error(err)
		}
	})
	return start(t, fakeGames{}, func(c *Config) { c.TLS = watched.Current }), reloads
}

// callTLS makes a call over each transport and returns the server's certificates as
// the clients see them. The protocol over HTTP is the given one.
func (r *running) callTLS(t *testing.T, config *tls.Config, http2 bool) (names map[string]string, errs map[string]error) {
	t.Helper()
	names, errs = map[string]string{}, map[string]error{}

	conn, err := grpc.NewClient(r.GRPCAddr().String(), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var p peer.Peer
	_, errs["gRPC"] = avalanchev1.NewGameServiceClient(conn).GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{Ruleset: "x"}, grpc.Peer(&p))
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
		names["gRPC"] = info.State.PeerCertificates[0].Subject.CommonName
	}

	transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: http2}
	if !http2 {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP1(true)
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.HTTPAddr().String()+"/v1/rulesets/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	errs["HTTP"] = err
	if err == nil {
		defer response.Body.Close()
		if _, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK || (response.ProtoMajor == 2) != http2 {
			t.Errorf("over HTTP: %s %d, %v", response.Proto, response.StatusCode, err)
		}
		names["HTTP"] = response.TLS.PeerCertificates[0].Subject.CommonName
	}
	return names, errs
}

// wantServed checks that a client is served over both ports, by a server of a name.
func (r *running) wantServed(t *testing.T, config *tls.Config, name string) {
	t.Helper()
	for _, http2 := range []bool{true, false} {
		names, errs := r.callTLS(t, config, http2)
		for transport, err := range errs {
			if err != nil || names[transport] != name {
				t.Errorf("over %s: served by %q, %v, want %s", transport, names[transport], err, name)
			}
		}
	}
}

// wantTurnedAway checks that a client gets no connection to either port.
func (r *running) wantTurnedAway(t *testing.T, config *tls.Config) {
	t.Helper()
	for _, http2 := range []bool{true, false} {
		_, errs := r.callTLS(t, config, http2)
		if status.Code(errs["gRPC"]) != codes.Unavailable || errs["HTTP"] == nil {
			t.Errorf("is served: %v", errs)
		}
	}
}

func TestTLS(t *testing.T) {
	root := newAuthority(t, "root")
	r, _ := startTLS(t, newTLSFolder(t, root, "mountain").TLSFiles)
	r.wantServed(t, trust(root), "mountain")
	r.wantTurnedAway(t, trust(newAuthority(t, "stranger")))

	old := trust(root)
	old.MaxVersion = tls.VersionTLS12
	r.wantTurnedAway(t, old)

	// Clear text on a port that speaks TLS.
	if got := r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil); got.status != http.StatusBadRequest {
		t.Errorf("clear text over HTTP: %d", got.status)
	}
	if _, err := r.games.GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{Ruleset: "x"}); status.Code(err) != codes.Unavailable {
		t.Errorf("clear text over gRPC: %v", err)
	}
	// The cluster asks there, and has no roots.
	if got := r.askAdmin(t, "/readyz"); got.status != http.StatusOK {
		t.Errorf("the admin port: %d", got.status)
	}
}

func TestTLSIsReloaded(t *testing.T) {
	root := newAuthority(t, "root")
	files := newTLSFolder(t, root, "before")
	r, reloads := startTLS(t, files.TLSFiles)
	r.wantServed(t, trust(root), "before")

	certificate, key := root.issue("after")
	writeAtOnce(t, files.Cert, certificate)
	if err := <-reloads; err == nil {
		t.Fatal("a certificate is accepted whose key is not there")
	}
	r.wantServed(t, trust(root), "before")
	writeAtOnce(t, files.Key, key)
	for <-reloads != nil { // The refusal may have been told twice.
	}
	r.wantServed(t, trust(root), "after")
}

func TestMutualTLS(t *testing.T) {
	root, clients, strangers := newAuthority(t, "root"), newAuthority(t, "clients"), newAuthority(t, "strangers")
	files := newTLSFolder(t, root, "mountain")
	files.ClientCA = filepath.Join(filepath.Dir(files.Cert), "ca.crt")
	writeAtOnce(t, files.ClientCA, clients.pem())
	r, reloads := startTLS(t, files.TLSFiles)
	known := clients.client(root)
	// Sessions that are taken up again must not get around a change.
	known.ClientSessionCache = tls.NewLRUClientSessionCache(10)
	r.wantServed(t, known, "mountain")
	r.wantServed(t, known, "mountain")
	r.wantTurnedAway(t, trust(root))
	r.wantTurnedAway(t, strangers.client(root))

	writeAtOnce(t, files.ClientCA, []byte("no PEM"))
	if err := <-reloads; err == nil {
		t.Fatal("an empty list of roots is accepted")
	}
	r.wantServed(t, known, "mountain")

	writeAtOnce(t, files.ClientCA, strangers.pem())
	for <-reloads != nil {
	}
	r.wantTurnedAway(t, known)
	r.wantServed(t, strangers.client(root), "mountain")
}

func TestTLSFilesThatAreRefused(t *testing.T) {
	root := newAuthority(t, "root")
	log := slog.New(slog.DiscardHandler)
	for name, test := range map[string]struct {
		change func(*tlsFolder)
		want   string
	}{
		"other key":         {func(f *tlsFolder) { _, key := root.issue("x"); writeAtOnce(t, f.Key, key) }, "private key does not match"},
		"no certificate":    {func(f *tlsFolder) { writeAtOnce(t, f.Cert, []byte("x")) }, "tls.crt"},
		"key as the cert":   {func(f *tlsFolder) { _, key := root.issue("x"); writeAtOnce(t, f.Cert, key) }, "certificate"},
		"no client CA":      {func(f *tlsFolder) { f.ClientCA = f.Key }, "no certificate"},
		"files are swapped": {func(f *tlsFolder) { f.Cert, f.Key = f.Key, f.Cert }, "tls"},
	} {
		t.Run(name, func(t *testing.T) {
			files := newTLSFolder(t, root, "mountain")
			test.change(&files)
			if _, err := WatchTLS(files.TLSFiles, log, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	files := newTLSFolder(t, root, "mountain")
	files.ClientCA = files.Cert + ".absent"
	if _, err := WatchTLS(files.TLSFiles, log, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
	for _, test := range []struct {
		files TLSFiles
		want  string
	}{
		{TLSFiles{Cert: "c"}, "--tls-cert=c: needs --tls-key"},
		{TLSFiles{Key: "k"}, "--tls-key=k: needs --tls-cert"},
		{TLSFiles{ClientCA: "a"}, "--tls-client-ca=a: needs --tls-cert"},
	} {
		if err := test.files.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if err := errors.Join((TLSFiles{}).Check(), (TLSFiles{"c", "k", "a"}).Check()); err != nil {
		t.Error(err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
