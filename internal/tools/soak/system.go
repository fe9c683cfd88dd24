package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/avalanched/avalanched/internal/state"
)

// replicas is the number of daemons.
const replicas = 3

// startTime is how long a daemon or Redis may take to answer after its start.
const startTime = 30 * time.Second

// system is what the players play against.
type system struct {
	folder                     string
	keyset                     string
	redis                      *process
	daemons                    []*daemon
	httpBalancer, grpcBalancer *balancer
	endWatching                context.CancelFunc
}

// process is a program that can be started again as it was.
type process struct {
	path    string
	args    []string
	log     *os.File
	command *exec.Cmd
}

func (p *process) start() error {
	p.command = exec.Command(p.path, p.args...) //nolint:gosec,noctx // The path is our own; it is ended by a signal, to see it drain.
	p.command.Stdout, p.command.Stderr = p.log, p.log
	return p.command.Start()
}

// stop asks the program to end and waits until it has.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return p.command.Wait()
}

// daemon is one replica.
type daemon struct {
	process
	grpcAddr, httpAddr, adminAddr string
	// ready is what the balancer believes.
	ready atomic.Bool
}

func startSystem(ctx context.Context) (*system, error) {
	folder, err := os.MkdirTemp("", "avalanched-soak-")
	if err != nil {
		return nil, err
	}
	watching, endWatching := context.WithCancel(ctx)
	s := &system{folder: folder, keyset: filepath.Join(folder, "keyset.json"), endWatching: endWatching}
	if err := s.start(ctx, watching); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *system) start(ctx, watching context.Context) error {
	keys, err := state.NewKeyset()
	if err != nil {
		return err
	}
	if err := keys.CreateFile(s.keyset, nil); err != nil {
		return err
	}
	redisAddr, err := s.startRedis(ctx)
	if err != nil {
		return err
	}
	program := filepath.Join(s.folder, "avalanched")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/avalanched") //nolint:gosec // The path is our own.
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the daemon (run this from the root of the repository): %w\n%s", err, output)
	}
	for i := range replicas {
		d, err := s.newDaemon(i, program, redisAddr)
		if err != nil {
			return err
		}
		s.daemons = append(s.daemons, d)
		if err := d.start(); err != nil {
			return err
		}
		go d.watch(watching)
		if err := waitUntil(ctx, d.ready.Load); err != nil {
			return fmt.Errorf("daemon %d does not become ready, see %s: %w", i, d.log.Name(), err)
		}
	}
	if s.httpBalancer, err = newBalancer(s.daemons, func(d *daemon) string { return d.httpAddr }); err != nil {
		return err
	}
	s.grpcBalancer, err = newBalancer(s.daemons, func(d *daemon) string { return d.grpcAddr })
	return err
}

// startRedis starts a Redis that forgets nothing when it restarts.
func (s *system) startRedis(ctx context.Context) (addr string, err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("install redis-server: %w", err)
	}
	if addr, err = freeAddr(); err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(s.folder, "redis.log"))
	if err != nil {
		return "", err
	}
	s.redis = &process{path: path, log: log, args: []string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.folder,
		"--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction",
	}}
	if err := s.redis.start(); err != nil {
		return "", err
	}
	return addr, waitUntil(ctx, func() bool { return answers(ctx, addr) })
}

func (s *system) newDaemon(i int, program, redisAddr string) (*daemon, error) {
	d := &daemon{}
	for _, addr := range []*string{&d.grpcAddr, &d.httpAddr, &d.adminAddr} {
		var err error
		if *addr, err = freeAddr(); err != nil {
			return nil, err
		}
	}
	log, err := os.Create(filepath.Join(s.folder, fmt.Sprintf("daemon-%d.log", i)))
	if err != nil {
		return nil, err
	}
	d.process = process{path: program, log: log, args: []string{
		"serve", "--keyset", s.keyset, "--require-keyset", "--ledger", "redis://" + redisAddr,
		"--grpc-addr", d.grpcAddr, "--http-addr", d.httpAddr, "--admin-addr", d.adminAddr,
		"--drain-delay", "1s",
	}}
	return d, nil
}

// watch asks the daemon again and again whether it is ready, as a load balancer does.
func (d *daemon) watch(ctx context.Context) {
	client := &http.Client{Timeout: time.Second}
	for ctx.Err() == nil {
		ready := false
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.adminAddr+"/readyz", nil)
		if err == nil {
			if answer, err := client.Do(ask); err == nil {
				ready = answer.StatusCode == http.StatusOK
				_ = answer.Body.Close()
			}
		}
		d.ready.Store(ready)
		time.Sleep(100 * time.Millisecond)
	}
}

// disturb restarts the daemons one by one, rotates the keyset in its steps and restarts
// Redis, in turn, until the context ends.
func (s *system) disturb(ctx context.Context, t *tally, pause time.Duration) error {
	for i := 0; ; i++ {
		for _, step := range []struct {
			name string
			do   func(context.Context) error
		}{
			{"restarts of a daemon", func(ctx context.Context) error { return s.restart(ctx, s.daemons[i%replicas]) }},
			{"keys added and made primary", s.rotate},
			{"restarts of Redis", s.restartRedis},
		} {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			// What has begun is finished, so that the players can end their games.
			if err := step.do(context.WithoutCancel(ctx)); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
			t.disturbed(step.name)
		}
	}
}

func (s *system) restart(ctx context.Context, d *daemon) error {
	if err := d.stop(); err != nil {
		return fmt.Errorf("it should end with exit code 0: %w", err)
	}
	if err := d.start(); err != nil {
		return err
	}
	return waitUntil(ctx, d.ready.Load)
}

// rotate adds a key, gives every replica time to load it, and makes it the primary one.
func (s *system) rotate(context.Context) error {
	keys, err := state.LoadKeyset(s.keyset, nil)
	if err != nil {
		return err
	}
	id, err := keys.Add()
	if err != nil {
		return err
	}
	if err := keys.ReplaceFile(s.keyset, nil); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	if err := keys.Promote(id); err != nil {
		return err
	}
	return keys.ReplaceFile(s.keyset, nil)
}

func (s *system) restartRedis(context.Context) error {
	if err := s.redis.stop(); err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond)
	return s.redis.start()
}

func (s *system) close() {
	s.endWatching()
	for _, b := range []*balancer{s.httpBalancer, s.grpcBalancer} {
		if b != nil {
			b.close()
		}
	}
	for _, d := range s.daemons {
		_ = d.stop()
	}
	if s.redis != nil && s.redis.command != nil {
		_ = s.redis.stop()
	}
	_ = os.RemoveAll(s.folder)
}

func answers(ctx context.Context, addr string) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// freeAddr is a loopback address that nobody listens on now.
func freeAddr() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // Loopback answers at once.
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func waitUntil(ctx context.Context, done func() bool) error {
	deadline := time.Now().Add(startTime)
	for !done() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return errors.New("it takes too long")
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}
