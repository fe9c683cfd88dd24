package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/avalanched/avalanched/internal/server"
)

// asProgram is the environment variable that makes the test binary the program.
const asProgram = "AVALANCHED_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is the real thing, in a process of its own.
func program(ctx context.Context, t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, executable, args...)
	command.Env = append([]string{asProgram + "=1", "PATH=" + os.Getenv("PATH")}, env...)
	return command
}

// daemon is a running server.
type daemon struct {
	command *exec.Cmd
	// greeting is all of its standard output, which ends before it serves.
	greeting string
	stderr   *bytes.Buffer
}

var loopback = []string{
	"AVALANCHED_GRPC_ADDR=127.0.0.1:0", "AVALANCHED_HTTP_ADDR=127.0.0.1:0", "AVALANCHED_ADMIN_ADDR=127.0.0.1:0",
}

// startDaemon runs the server on free ports, which it takes from the environment.
func startDaemon(t *testing.T, args ...string) *daemon {
	t.Helper()
	return startDaemonIn(t, nil, args...)
}

// startDaemonIn is startDaemon with more variables in the environment.
func startDaemonIn(t *testing.T, env []string, args ...string) *daemon {
	t.Helper()
	d := &daemon{command: program(t.Context(), t, append(env, loopback...), append([]string{"serve"}, args...)...), stderr: &bytes.Buffer{}}
	d.command.Stderr = d.stderr
	stdout, err := d.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); !strings.Contains(d.greeting, "curl ") && lines.Scan(); {
		d.greeting += lines.Text() + "\n"
	}
	if !strings.Contains(d.greeting, "curl ") {
		t.Fatalf("no greeting: %v\n%s", d.command.Wait(), d.stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return d
}

// stop asks the server to end and returns its exit code.
func (d *daemon) stop(t *testing.T) int {
	t.Helper()
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.command.Wait(); err != nil {
		t.Logf("%v\n%s", err, d.stderr)
	}
	return d.command.ProcessState.ExitCode()
}

// curlLine is the line of the greeting that invites to a first try.
var curlLine = regexp.MustCompile(`curl -s (http://\S+) -H 'content-type: application/json' -d '(.*)'`)

func post(t *testing.T, url, body string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, answer
}

// create does what the greeting says and returns the state and where games are.
func (d *daemon) create(t *testing.T) (games, state string) {
	t.Helper()
	parts := curlLine.FindStringSubmatch(d.greeting)
	if parts == nil {
		t.Fatalf("the greeting has no line to try:\n%s", d.greeting)
	}
	status, answer := post(t, parts[1], parts[2])
	state, _ = answer["state"].(string)
	if status != http.StatusOK || state == "" {
		t.Fatalf("the first try ends with %d %v", status, answer)
	}
	return parts[1], state
}

func TestServeBare(t *testing.T) {
	d := startDaemon(t, "--drain-delay=0s")
	_, state := d.create(t)
	if code := d.stop(t); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{`"msg":"serving"`, `"msg":"stopped"`, "no --keyset"} {
		if !strings.Contains(d.stderr.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, d.stderr)
		}
	}
	if strings.Contains(d.stderr.String(), state) {
		t.Errorf("the log has a state:\n%s", d.stderr)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	d := startDaemon(t, "--drain-delay=1h")
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.command.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("the first signal ends it: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := d.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the second signal does not end it")
	}
	if status, ok := d.command.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended otherwise: %v", d.command.ProcessState)
	}
}

// TestStatesOutliveTheProgram needs a keyset, and shows that a ledger is in use.
func TestStatesOutliveTheProgram(t *testing.T) {
	keyset := filepath.Join(t.TempDir(), "games.keyset.json")
	mustRunKeys(t, "new", "--keyset", keyset)
	args := []string{"--drain-delay=0s", "--keyset", keyset, "--require-keyset", "--ledger=memory"}
	first := startDaemon(t, args...)
	_, state := first.create(t)
	if code := first.stop(t); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if strings.Contains(first.greeting+first.stderr.String(), "no --keyset") {
		t.Error("it warns although there are keys")
	}

	second := startDaemon(t, args...)
	defer second.stop(t)
	games, _ := second.create(t)
	resign := `{"state":"` + state + `","move":{"resign":{}}}`
	if status, answer := post(t, games+":applyMove", resign); status != http.StatusOK {
		t.Fatalf("the old state: %d %v", status, answer)
	}
	move := `{"state":"` + state + `","move":{"notation":"Ar"}}`
	if status, answer := post(t, games+":applyMove", move); status != http.StatusConflict {
		t.Errorf("another move from the old state: %d %v", status, answer)
	}
}

func TestStartIsRefused(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	missing := filepath.Join(t.TempDir(), "none.json")
	for name, test := range map[string]struct {
		env, args []string
		code      int
		want      string
	}{
		"no command":          {nil, nil, exitUsage, "serve"},
		"unknown flag":        {nil, []string{"serve", "--port=1"}, exitUsage, "--port"},
		"wrong address":       {nil, []string{"serve", "--grpc-addr=here"}, exitUsage, "--grpc-addr=here"},
		"wrong variable":      {[]string{"AVALANCHED_DRAIN_DELAY=soon"}, []string{"serve"}, exitUsage, "AVALANCHED_DRAIN_DELAY"},
		"wrong level":         {nil, []string{"serve", "--log-level=loud"}, exitUsage, "--log-level"},
		"wrong format":        {nil, []string{"serve", "--log-format=xml"}, exitUsage, "--log-format"},
		"no keyset":           {[]string{"AVALANCHED_REQUIRE_KEYSET=true"}, []string{"serve"}, exitUsage, "--require-keyset: needs --keyset"},
		"kek without keyset":  {nil, []string{"serve", "--kek-uri=gcp-kms://x"}, exitUsage, "--kek-uri: needs --keyset"},
		"short memory":        {nil, []string{"serve", "--ledger-ttl=1ms"}, exitUsage, "--ledger-ttl=1ms"},
		"wrong exporter":      {[]string{"OTEL_TRACES_EXPORTER=snow"}, []string{"serve"}, exitUsage, "OTEL_TRACES_EXPORTER"},
		"port in use":         {nil, []string{"serve", "--http-addr=" + taken.Addr().String()}, exitFault, "--http-addr=" + taken.Addr().String()},
		"missing keyset":      {nil, []string{"serve", "--keyset=" + missing}, exitFault, "--keyset: "},
		"unknown KMS":         {nil, []string{"serve", "--keyset=" + missing, "--kek-uri=snow://x"}, exitUsage, "--kek-uri: "},
		"unknown ledger":      {nil, []string{"serve", "--ledger=paper"}, exitUsage, "--ledger: "},
		"unreachable ledger":  {nil, []string{"serve", "--ledger=redis://127.0.0.1:1"}, exitFault, "--ledger: "},
		"keys without a file": {nil, []string{"keys", "list"}, exitUsage, "--keyset"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			command := program(ctx, t, append(loopback, test.env...), test.args...)
			output, err := command.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != test.code || !strings.Contains(string(output), test.want) {
				t.Errorf("%v, want exit code %d and %q in\n%s", err, test.code, test.want, output)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--help"}, "keys rotate"},
		{[]string{"serve", "--help"}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
		{[]string{"--version"}, version()},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(test.args, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), test.want) || stderr.Len() > 0 {
			t.Errorf("%v: exit code %d, want %q in\n%s%s", test.args, code, test.want, &stdout, &stderr)
		}
	}
}

// TestEveryFlagHasAVariable: containers are configured by the environment.
func TestEveryFlagHasAVariable(t *testing.T) {
	parser := kong.Must(&cli{}, kong.Vars{"version": ""})
	command, err := parser.Parse([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	for _, flag := range command.Selected().Flags {
		flags++
		want := "AVALANCHED_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		if len(flag.Envs) != 1 || flag.Envs[0] != want {
			t.Errorf("--%s: variables %v, want %s", flag.Name, flag.Envs, want)
		}
		if flag.Help == "" {
			t.Errorf("--%s has no help", flag.Name)
		}
	}
	if flags < 15 {
		t.Errorf("only %d flags", flags)
	}
}

func TestDefaultsAreTheServersDefaults(t *testing.T) {
	for _, name := range os.Environ() {
		if strings.HasPrefix(name, "AVALANCHED_") {
			t.Skipf("the environment has %s", name)
		}
	}
	var c cli
	parser := kong.Must(&c, kong.Vars{"version": ""})
	if _, err := parser.Parse([]string{"serve"}); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Serve.config(), server.DefaultConfig(); !reflect.DeepEqual(got, want) {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
}

func TestVersionTellsWhatIsKnown(t *testing.T) {
	built := &debug.BuildInfo{
		GoVersion: "go1.26.0",
		Main:      debug.Module{Version: "v1.0.0"},
		Settings:  []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
	}
	for _, test := range []struct {
		release string
		info    *debug.BuildInfo
		want    string
	}{
		{"", &debug.BuildInfo{}, "(devel)"},
		{"v2.0.0", &debug.BuildInfo{}, "v2.0.0"},
		{"", built, "v1.0.0 (commit abc, modified, go1.26.0)"},
		{"v2.0.0", built, "v2.0.0 (commit abc, modified, go1.26.0)"},
	} {
		if got := describeBuild(test.release, test.info); got != test.want {
			t.Errorf("version %q, want %q", got, test.want)
		}
	}
}

func TestNetworksOfProxies(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1":    "10.0.0.1/32",
		"10.0.0.0/8":  "10.0.0.0/8",
		"2001:db8::1": "2001:db8::1/128",
		"fd00::/8":    "fd00::/8",
		"10.0.0.0/33": "",
		"":            "",
	} {
		var n network
		err := n.UnmarshalText([]byte(text))
		if got := netip.Prefix(n); want != "" && (err != nil || got.String() != want) || want == "" && err == nil {
			t.Errorf("%q is %v, %v; want %q", text, got, err, want)
		}
	}
}
