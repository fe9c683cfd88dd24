package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// pipes is a network inside of the process, for tests in a bubble of synctest: there
// time passes only while everything waits, so that half an hour takes no time and a
// busy machine changes nothing.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// dial connects, or finds that nobody listens any more.
func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) mustDial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := p.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// piped is a server whose ports are pipes.
type piped struct {
	*running
	grpcPort, httpPort, adminPort *pipes
}

// startPiped is start for a bubble.
func startPiped(t *testing.T, games avalanchev1.GameServiceServer, adjust ...func(*Config)) *piped {
	t.Helper()
	server, logs := newServer(t, games, adjust...)
	p := &piped{grpcPort: newPipes(), httpPort: newPipes(), adminPort: newPipes()}
	server.grpcListener, server.httpListener, server.adminListener = p.grpcPort, p.httpPort, p.adminPort

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p.running = &running{Server: server, logs: logs, stop: cancel, stopped: make(chan struct{})}
	go func() {
		defer close(p.stopped)
		p.err = server.Run(ctx)
	}()
	var err error
	p.conn, err = grpc.NewClient(
		"passthrough:pipes",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return p.grpcPort.dial(ctx) }),
	)
	if err != nil {
		t.Fatal(err)
	}
	p.games = avalanchev1.NewGameServiceClient(p.conn)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		port := map[string]*pipes{"http:80": p.httpPort, "admin:80": p.adminPort}[address]
		return port.dial(ctx)
	}}
	p.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		if err := p.conn.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		cancel()
		<-p.stopped
		if p.err != nil {
			t.Errorf("Run: %v", p.err)
		}
	})
	return p
}
