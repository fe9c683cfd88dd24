package server

import (
	"net"
	"sync"
	"sync/atomic"
)

// limitedListener closes connections that are too many. Left waiting, their clients
// could not tell a full server from a slow network.
type limitedListener struct {
	net.Listener
	max     int64
	open    atomic.Int64
	refused func()
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.max {
			return &limitedConn{conn, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.refused()
		// Nothing was written, so nothing can be lost.
		_ = conn.Close()
	}
}

// limitedConn makes room for another connection when it is closed.
type limitedConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite lets the HTTP server end its side first: a client that is still sending
// would not get to read why it is refused.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
