package ledger

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	serverCert, serverKey := ours.issue(t, "server")
	clientCert, clientKey := ours.issue(t, "client")
	strangerCert, strangerKey := theirs.issue(t, "stranger")
	port := freePort(t)
	startServer(t, "--tls-port", strconv.Itoa(port), "--tls-auth-clients", "yes",
		"--tls-ca-cert-file", ours.file, "--tls-cert-file", serverCert, "--tls-key-file", serverKey)

	location := func(scheme, ca, cert, key string) string {
		query := url.Values{}
		for name, value := range map[string]string{"ca_file": ca, "cert_file": cert, "key_file": key} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return fmt.Sprintf("%s://127.0.0.1:%d?%s", scheme, port, query.Encode())
	}
	l := open(t, location("rediss", ours.file, clientCert, clientKey), Options{})
	play(t, l, game, "main", 2)
	checkNewest(t, l, game, state("main", 2))

	for name, location := range map[string]string{
		"without TLS":                    location("redis", "", "", ""),
		"server of an unknown authority": location("rediss", theirs.file, clientCert, clientKey),
		"server unknown to the system":   location("rediss", "", clientCert, clientKey),
		"without a client certificate":   location("rediss", ours.file, "", ""),
		"client of an unknown authority": location("rediss", ours.file, strangerCert, strangerKey),
		"another name than the server's": strings.Replace(location("rediss", ours.file, clientCert, clientKey), "127.0.0.1", "localhost", 1),
	} {
		checkUnavailable(t, name, timeout, func() error {
			_, err := Open(t.Context(), location, Options{Timeout: timeout, Logger: quiet})
			return err
		})
	}

	nothing := filepath.Join(t.TempDir(), "nothing.pem")
	for name, location := range map[string]string{
		"missing ca_file":     location("rediss", nothing, "", ""),
		"empty ca_file":       location("rediss", os.DevNull, "", ""),
		"missing client cert": location("rediss", ours.file, nothing, clientKey),
		"key of another cert": location("rediss", ours.file, clientCert, serverKey),
	} {
		if _, err := Open(t.Context(), location, Options{Logger: quiet}); err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v; want an error about the file", name, err)
		}
	}
}

// authority issues certificates for 127.0.0.1.
type authority struct {
	file        string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "test authority"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{file: writePEM(t, "CERTIFICATE", der), certificate: certificate, key: key}
}

func (a *authority) issue(t testing.TB, name string) (certFile, keyFile string) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "CERTIFICATE", der), writePEM(t, "PRIVATE KEY", keyDER)
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writePEM(t testing.TB, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A cluster of one node has every slot and speaks the cluster's protocol.
func TestCluster(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1")
	s.do(t, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	eventually(t, "the cluster is up", func() error {
		info, err := s.admin.ClusterInfo(t.Context()).Result()
		if state := infoField(info, "cluster_state"); err != nil || state != "ok" {
			return fmt.Errorf("cluster_state is %s, %w", state, err)
		}
		return nil
	})

	// The commands are those that docs/ledger.md tells operators to allow.
	s.do(t, "ACL", "SETUSER", "ledger", "on", ">secret", "~avalanched:*",
		"+@connection", "+get", "+set", "+eval", "+evalsha", "+info", "+cluster|slots")
	location := "redis+cluster://ledger:secret@" + s.addr()
	ledgers := []Ledger{open(t, location, Options{}), open(t, location+"?addr="+s.addr(), Options{})}
	for n := range 50 { // Their keys lie in many slots.
		play(t, ledgers[n%2], numbered(n), "main", 2)
		checkNewest(t, ledgers[(n+1)%2], numbered(n), state("main", 2))
	}
	race(t, ledgers...)

	s.do(t, "CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
	_, err := Open(t.Context(), location, Options{Logger: quiet})
	if err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "volatile-ttl") {
		t.Errorf("a cluster that evicts: %v; want an error that names its policy", err)
	}
}

// A server fails, its replica takes over by order of a Sentinel, and the ledger goes
// on by itself with all that the replica knows.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	const password = "of the servers"
	auth := []string{"--requirepass", password, "--masterauth", password, "--repl-diskless-sync-delay", "0"}
	master := startServer(t, auth...)
	replica := startServer(t, append(auth, "--replicaof", "127.0.0.1 "+strconv.Itoa(master.port))...)
	eventually(t, "the replica follows", func() error {
		if info := replica.admin.Info(t.Context(), "replication").Val(); infoField(info, "master_link_status") != "up" {
			return errors.New(info)
		}
		return nil
	})
	sentinel := startSentinel(t, master, password)
	eventually(t, "the Sentinel knows the replica", func() error {
		client := redis.NewSentinelClient(&redis.Options{Addr: sentinel.addr()})
		replicas, err := client.Replicas(t.Context(), "games").Result()
		if err == nil && len(replicas) != 1 {
			err = fmt.Errorf("%d replicas", len(replicas))
		}
		return errors.Join(err, client.Close())
	})

	l := open(t, fmt.Sprintf("redis+sentinel://%s?master_name=games&password=%s", sentinel.addr(), url.QueryEscape(password)), Options{})
	play(t, l, game, "main", 3)
	if n := master.admin.Wait(t.Context(), 1, 5*time.Second).Val(); n != 1 {
		t.Fatalf("%d replicas have the entry; want 1", n)
	}

	master.stop(t)
	eventually(t, "the replica has taken over", func() error { return advance(t, l, 3) })
	checkNewest(t, l, game, state("main", 4))
	checkAdvance(t, l, state("main", 2), state("side", 3), "superseded by {Ply:4 Token:main-4}")
	if role := infoField(replica.admin.Info(t.Context(), "replication").Val(), "role"); role != "master" {
		t.Errorf("the replica is %s; want master", role)
	}
}

// startSentinel starts a Sentinel that by itself is quorum enough.
func startSentinel(t testing.TB, master *server, password string) *server {
	t.Helper()
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor games 127.0.0.1 %d 1\n"+
		"sentinel auth-pass games %q\n"+
		"sentinel down-after-milliseconds games 200\n"+
		"sentinel failover-timeout games 1000\n", master.port, password)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, config, "--sentinel")
	s.start(t)
	return s
}
