package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// balancer gives each new connection to the next backend that is ready. It knows nothing
// of what runs through.
type balancer struct {
	listener net.Listener
	backends []*daemon
	port     func(*daemon) string
	next     atomic.Uint32
	open     sync.WaitGroup
}

func newBalancer(backends []*daemon, port func(*daemon) string) (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It lives as long as the program.
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener, backends: backends, port: port}
	b.open.Go(b.accept)
	return b, nil
}

func (b *balancer) addr() string { return b.listener.Addr().String() }

func (b *balancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.open.Go(func() { b.serve(client) })
	}
}

// serve pipes one connection. Without a ready backend it is closed, which the client
// takes for UNAVAILABLE.
func (b *balancer) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	backend := b.pick()
	if backend == nil {
		return
	}
	server, err := net.Dial("tcp", b.port(backend)) //nolint:noctx // Loopback answers at once.
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	done := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		// The other direction has nothing left to say to.
		_ = to.Close()
		_ = from.Close()
		done <- struct{}{}
	}
	go pipe(server, client)
	go pipe(client, server)
	<-done
	<-done
}

func (b *balancer) pick() *daemon {
	start := int(b.next.Add(1))
	for i := range b.backends {
		if backend := b.backends[(start+i)%len(b.backends)]; backend.ready.Load() {
			return backend
		}
	}
	return nil
}

func (b *balancer) close() { _ = b.listener.Close() }
