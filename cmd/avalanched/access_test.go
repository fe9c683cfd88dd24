package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// newAPIKey runs the command and returns the key and the line.
func newAPIKey(t *testing.T, args ...string) (key, line string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(append([]string{"apikeys", "new"}, args...), &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	found := regexp.MustCompile(`\bavk_[A-Z2-7]{26}\b`).FindString(stderr.String())
	if found == "" || strings.Contains(stdout.String(), found) || strings.Count(stdout.String(), "\n") != 1 {
		t.Fatalf("the key belongs on the standard error, its line on the standard output:\n%s\n%s", &stderr, &stdout)
	}
	return found, stdout.String()
}

func TestNewAPIKeys(t *testing.T) {
	first, line := newAPIKey(t, "bot", "--requests-per-second=0.5", "--burst=3")
	if !strings.Contains(line, `name: "bot"`) || !strings.Contains(line, "requestsPerSecond: 0.5, burst: 3}") {
		t.Errorf("line %s", line)
	}
	if second, _ := newAPIKey(t, "bot"); second == first {
		t.Error("the same key twice")
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "<name>"},
		{[]string{"a b"}, "name: "},
		{[]string{"bot", "--burst=3"}, "--burst: needs --requests-per-second"},
		{[]string{"bot", "--requests-per-second=-1"}, "requestsPerSecond: "},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(append([]string{"apikeys", "new"}, test.args...), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), test.want) || stdout.Len() > 0 {
			t.Errorf("%v: exit code %d, want %q in\n%s%s", test.args, code, test.want, &stdout, &stderr)
		}
	}
}

func TestAccessIsRefusedAtTheStart(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty")
	writeFile(t, empty, nil)
	missing := filepath.Join(folder, "missing")
	for name, test := range map[string]struct {
		env, args []string
		code      int
		want      string
	}{
		"anonymous without keys": {nil, []string{"--allow-anonymous"}, exitUsage, "--allow-anonymous: needs --api-keys"},
		"missing API keys":       {nil, []string{"--api-keys=" + missing}, exitFault, "--api-keys: "},
		"no API keys":            {nil, []string{"--api-keys=" + empty}, exitFault, "--api-keys: "},
		"certificate alone":      {nil, []string{"--tls-cert=" + empty}, exitUsage, "needs --tls-key"},
		"key alone":              {[]string{"AVALANCHED_TLS_KEY=" + empty}, nil, exitUsage, "needs --tls-cert"},
		"client CA alone":        {nil, []string{"--tls-client-ca=" + empty}, exitUsage, "--tls-client-ca=" + empty},
		"empty certificate":      {nil, []string{"--tls-cert=" + empty, "--tls-key=" + empty}, exitFault, "--tls-cert: "},
		"proxy that is none":     {nil, []string{"--trusted-proxies=proxy"}, exitUsage, "--trusted-proxies: \"proxy\" is neither an address nor a network"},
		"second proxy":           {[]string{"AVALANCHED_TRUSTED_PROXIES=10.0.0.0/8,all"}, nil, exitUsage, "AVALANCHED_TRUSTED_PROXIES"},
		"origin with a path":     {nil, []string{"--cors-origins=https://a.test,https://b.test/x"}, exitUsage, "--cors-origins=https://b.test/x"},
		"rate":                   {nil, []string{"--anonymous-rate=lots"}, exitUsage, "--anonymous-rate"},
		"burst":                  {nil, []string{"--anonymous-burst=3"}, exitUsage, "--anonymous-burst=3: needs --anonymous-rate"},
		"in flight":              {nil, []string{"--max-in-flight=0"}, exitUsage, "--max-in-flight=0"},
		"connections":            {[]string{"AVALANCHED_MAX_CONNECTIONS=0"}, nil, exitUsage, "--max-connections=0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			command := program(ctx, t, append(loopback, test.env...), append([]string{"serve"}, test.args...)...)
			output, err := command.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != test.code || !strings.Contains(string(output), test.want) {
				t.Errorf("%v, want exit code %d and %q in\n%s", err, test.code, test.want, output)
			}
		})
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// selfSigned makes a certificate for this machine and its key, and a client that
// trusts it.
func selfSigned(t *testing.T) (certificate, key []byte, client *http.Client) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), &http.Client{Transport: transport}
}

// TestServeWithKeysAndTLS runs the program with the files that the commands and the
// documentation speak of, and changes them under it.
func TestServeWithKeysAndTLS(t *testing.T) {
	folder := t.TempDir()
	keys, cert, key := filepath.Join(folder, "api-keys.yaml"), filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	first, line := newAPIKey(t, "bot")
	writeFile(t, keys, []byte(line))
	certificate, private, client := selfSigned(t)
	writeFile(t, cert, certificate)
	writeFile(t, key, private)
	d := startDaemon(t, "--drain-delay=0s", "--api-keys="+keys, "--tls-cert="+cert, "--tls-key="+key, "--log-level=debug")

	parts := regexp.MustCompile(`curl -s (https://\S+) -H "authorization: Bearer \$API_KEY" -H 'content-type: application/json' -d '(.*)'`).FindStringSubmatch(d.greeting)
	if parts == nil {
		t.Fatalf("the greeting does not say how to call:\n%s", d.greeting)
	}
	call := func(client *http.Client, key string) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, parts[1], strings.NewReader(parts[2]))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+key)
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		return response.StatusCode, nil
	}
	second, secondLine := newAPIKey(t, "app")
	for _, test := range []struct {
		key  string
		want int
	}{{first, http.StatusOK}, {second, http.StatusUnauthorized}} {
		if got, err := call(client, test.key); got != test.want {
			t.Errorf("a call: %d, %v, want %d", got, err, test.want)
		}
	}

	// Both are changed, and nothing is restarted.
	writeFile(t, keys, []byte(secondLine))
	certificate, private, newClient := selfSigned(t)
	writeFile(t, cert, certificate)
	writeFile(t, key, private)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		client.CloseIdleConnections()
		_, oldErr := call(client, second)
		newStatus, newErr := call(newClient, second)
		oldKey, _ := call(newClient, first)
		if oldErr != nil && newErr == nil && newStatus == http.StatusOK && oldKey == http.StatusUnauthorized {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the changes are not noticed: old certificate: %v, new: %v, new key: %d, old key: %d", oldErr, newErr, newStatus, oldKey)
		}
	}
	if code := d.stop(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if log := d.stderr.String(); strings.Contains(log, first) || strings.Contains(log, second) {
		t.Errorf("the log has a key:\n%s", log)
	}
}

// TestTheMemoryLimitIsKnown: the operator's word counts more than the container's
// limit.
func TestTheMemoryLimitIsKnown(t *testing.T) {
	d := startDaemonIn(t, []string{"GOMEMLIMIT=123MiB"}, "--drain-delay=0s")
	if code := d.stop(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(d.stderr.String(), `"gomemlimit":128974848`) {
		t.Errorf("the limit is not the one of the environment:\n%s", d.stderr)
	}
}

// TestTheDocumentedFlags compares the table in the documentation with the flags that
// there are.
func TestTheDocumentedFlags(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\|([^|]*)\\|.+\\|$").FindAllStringSubmatch(string(page), -1) {
		documented[row[1]] = strings.Trim(row[2], " `")
	}
	parser := kong.Must(&cli{}, kong.Vars{"version": ""})
	command, err := parser.Parse([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range command.Selected().Flags {
		want := flag.Default
		if flag.IsBool() {
			want = "off"
		}
		got, ok := documented[flag.Name]
		if !ok || got != want {
			t.Errorf("--%s: the page gives the default %q (%v), want %q", flag.Name, got, ok, want)
		}
		delete(documented, flag.Name)
	}
	for name := range documented {
		t.Errorf("the page has a flag --%s, the program has none", name)
	}
}
