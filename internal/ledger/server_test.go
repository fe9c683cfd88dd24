package ledger

import (
	"bytes"
	"context"
	"io"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/avalanched/avalanched/internal/testenv"
)

// server is a redis-server (or Sentinel) that a test started on a loopback port.
type server struct {
	path string
	args []string
	port int
	// admin reaches the server beside the ledger under test.
	admin *redis.Client

	process *exec.Cmd
	output  lockedBuffer
}

// startServer starts a redis-server that keeps nothing on disk, with more arguments
// for its command line.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := newServer(t, append([]string{"--save", "", "--appendonly", "no"}, args...)...)
	s.start(t)
	return s
}

// newServer prepares a server with a free port and a folder of its own.
func newServer(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{path: testenv.Need(t, "redis-server"), port: freePort(t)}
	s.args = append(args, "--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", t.TempDir())
	options := &redis.Options{Addr: s.addr(), MaxRetries: -1, DialerRetries: 1}
	if i := slices.Index(args, "--requirepass"); i >= 0 {
		options.Password = args[i+1]
	}
	s.admin = redis.NewClient(options)
	t.Cleanup(func() {
		if err := s.admin.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *server) addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

func (s *server) url() string { return "redis://" + s.addr() }

// start runs the server, again if need be, until it answers.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.process = exec.Command(s.path, s.args...)
	s.process.Stdout, s.process.Stderr = &s.output, &s.output
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.stop(t)
		if t.Failed() {
			t.Logf("output of %s %q:\n%s", s.path, s.args, &s.output)
		}
	})
	eventually(t, "redis-server answers", func() error { return s.admin.Ping(t.Context()).Err() })
}

// stop kills the server as a crash would.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.Process.Kill(); err != nil {
		t.Errorf("kill redis-server: %v", err)
	}
	_ = s.process.Wait() // It was killed, which Wait reports as an error.
	s.process = nil
}

// pause makes the server hang: connections stay open and nothing is answered.
func (s *server) pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// resume lets a hanging server go on with what it was sent meanwhile.
func (s *server) resume(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *server) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := s.process.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// do sends the server a command that is not the ledger's.
func (s *server) do(t testing.TB, args ...any) {
	t.Helper()
	if err := s.admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
}

// proxy stands between a ledger and its server.
type proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex
	links []*link
}

// link is one connection through a proxy.
type link struct {
	client, server net.Conn
	mute           atomic.Bool
}

func startProxy(t testing.TB, serverAddr string) *proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener}
	p.wg.Go(func() { p.serve(serverAddr) })
	t.Cleanup(p.close)
	return p
}

// muteConnections keeps back all answers on the connections that are open now.
func (p *proxy) muteConnections() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		l.mute.Store(true)
	}
}

func (p *proxy) serve(serverAddr string) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).Dial("tcp", serverAddr)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client, server: server}
		p.mu.Lock()
		p.links = append(p.links, l)
		p.mu.Unlock()
		p.wg.Go(func() { _, _ = io.Copy(server, client) })
		p.wg.Go(func() { _, _ = io.Copy(l, server) })
	}
}

// Write passes on an answer of the server, or loses it.
func (l *link) Write(answer []byte) (int, error) {
	if l.mute.Load() {
		return len(answer), nil
	}
	return l.client.Write(answer)
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, l := range p.links {
		_, _ = l.client.Close(), l.server.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// freePort finds a port that nobody listens on. Ports of closed listeners are not
// given out again at once, so that the server has time to take it.
func freePort(t testing.TB) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

// eventually waits for an action to succeed.
func eventually(t testing.TB, what string, action func() error) {
	t.Helper()
	const patience = 15 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := action()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lockedBuffer collects what several goroutines write.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
