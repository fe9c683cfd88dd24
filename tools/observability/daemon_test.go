package observability

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is the daemon, built with the product's own go.mod.
var program string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	folder, err := os.MkdirTemp("", "observability")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	program = filepath.Join(folder, "avalanched")
	build := exec.Command("go", "build", "-o", program, "./cmd/avalanched")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

// need finds a program that a test runs besides the daemon. Continuous integration
// lets no test be skipped.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("AVALANCHED_REQUIRE_ALL_TESTS") == "1" {
		t.Fatalf("the test needs %s: %v", name, err)
	}
	if err != nil {
		t.Skipf("the test needs %s: %v", name, err)
	}
	return path
}

// daemon is a running avalanched.
type daemon struct {
	process           *exec.Cmd
	grpc, http, admin string
	log               *lockedBuffer
	ended             chan struct{}
}

// startDaemon runs the daemon on free ports until the test ends. No variable of the
// test's own environment reaches it.
func startDaemon(t *testing.T, environment []string, args ...string) *daemon {
	t.Helper()
	d := &daemon{log: &lockedBuffer{}, ended: make(chan struct{})}
	args = append([]string{
		"serve", "--log-level=debug", "--drain-delay=0s",
		"--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0",
	}, args...)
	d.process = exec.Command(program, args...)
	d.process.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environment...)
	stderr, err := d.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.process.Start(); err != nil {
		t.Fatal(err)
	}
	serving := make(chan map[string]string, 1)
	go func() {
		defer close(d.ended)
		d.follow(stderr, serving)
		_ = d.process.Wait()
	}()
	t.Cleanup(func() {
		d.stop(t)
		if t.Failed() {
			t.Logf("log of the daemon:\n%.10000s", d.log)
		}
	})
	select {
	case line := <-serving:
		d.grpc, d.http, d.admin = line["grpc_addr"], line["http_addr"], line["admin_addr"]
	case <-d.ended:
		t.Fatalf("the daemon has ended:\n%s", d.log)
	}
	return d
}

// follow keeps the log, and passes on the line that says where the daemon listens.
func (d *daemon) follow(stderr io.Reader, serving chan<- map[string]string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fmt.Fprintln(d.log, lines.Text())
		line := map[string]string{}
		// Values that are no texts are of no interest, and stop nothing.
		_ = json.Unmarshal(lines.Bytes(), &line)
		if line["msg"] == "serving" {
			serving <- line
		}
	}
}

// stop ends the daemon as an operator would, and waits.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	d.signal(t, syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(30 * time.Second):
		t.Error("the daemon does not end")
		d.signal(t, syscall.SIGKILL)
		<-d.ended
	}
}

func (d *daemon) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	select {
	case <-d.ended:
	default:
		if err := d.process.Process.Signal(signal); err != nil {
			t.Logf("signal: %v", err)
		}
	}
}

// answer is a JSON answer.
type answer struct {
	status int
	body   map[string]any
}

// text finds a text in an answer, by keys from the outside in.
func (a answer) text(keys ...string) string {
	var value any = a.body
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	text, _ := value.(string)
	return text
}

func (d *daemon) post(t *testing.T, path string, header http.Header, body map[string]any) answer {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return d.do(t, http.MethodPost, path, header, data)
}

func (d *daemon) do(t *testing.T, method, path string, header http.Header, body []byte) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+d.http+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	maps.Copy(request.Header, header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	if err := json.NewDecoder(response.Body).Decode(&a.body); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	return a
}

// scrape reads /metrics as Prometheus does.
func (d *daemon) scrape(t *testing.T) (body []byte, contentType string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.admin+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return body, response.Header.Get("Content-Type"), err
}

// game is one that a test plays over HTTP.
type game struct {
	d       *daemon
	state   string
	created answer
	// last is the newest answer with the game.
	last answer
}

func (d *daemon) create(t *testing.T, request map[string]any) *game {
	t.Helper()
	a := d.post(t, "/v1/games", nil, request)
	if a.status != http.StatusOK {
		t.Fatalf("create %v: %v", request, a)
	}
	return &game{d: d, state: a.text("state"), created: a, last: a}
}

// moveRequest makes the first legal move, with the key of the seat to move if seats are
// sealed.
func (g *game) moveRequest() map[string]any {
	position, _ := g.last.body["game"].(map[string]any)
	turn, _ := position["turn"].(map[string]any)
	seat, _ := turn["seat"].(float64)
	moves, _ := position["legalMoves"].([]any)
	move, _ := moves[0].(map[string]any)
	request := map[string]any{"state": g.state, "move": map[string]any{"notation": move["notation"]}}
	if keys, ok := g.created.body["seatKeys"].([]any); ok && len(keys) > 0 {
		request["seatKey"] = keys[int(seat)-1]
	}
	return request
}

// move plays one move, and tells whether the game goes on.
func (g *game) move(t *testing.T, header http.Header, more ...map[string]any) bool {
	t.Helper()
	request := g.moveRequest()
	for _, fields := range more {
		maps.Copy(request, fields)
	}
	a := g.d.post(t, "/v1/games:applyMove", header, request)
	if a.status != http.StatusOK {
		t.Fatalf("move %v: %v", request, a)
	}
	g.state, g.last = a.text("state"), a
	return a.text("game", "status") == "IN_PROGRESS"
}

// playToTheEnd plays on until somebody has won or nobody can.
func (g *game) playToTheEnd(t *testing.T) {
	t.Helper()
	for range 2000 {
		if !g.move(t, nil) {
			return
		}
	}
	t.Fatal("the game does not end")
}

// newKeyset makes a keyset file.
func newKeyset(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "games.keyset.json")
	if output, err := exec.Command(program, "keys", "new", "--keyset", file).CombinedOutput(); err != nil {
		t.Fatalf("keys new: %v\n%s", err, output)
	}
	return file
}

// redis is a running redis-server that keeps nothing on disk.
type redis struct{ process *exec.Cmd }

func startRedis(t *testing.T) (r redis, url string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "redis.sock")
	port := freePort(t)
	r.process = exec.Command(need(t, "redis-server"), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port", port, "--unixsocket", socket)
	if err := r.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.process.Process.Kill()
		_ = r.process.Wait()
	})
	// The socket comes after the port.
	eventually(t, "Redis listens", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	return r, "redis://127.0.0.1:" + port
}

// pause makes the server hang.
func (r redis) pause(t *testing.T) {
	t.Helper()
	if err := r.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("it does not happen: %s", what)
}

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer strings.Builder
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
