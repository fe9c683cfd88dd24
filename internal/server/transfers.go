package server

import (
	"container/list"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/tap"
)

// transfers are the requests that have not arrived in full and the answers that have
// not left. When there are too many, or too many bytes of them, the oldest are cut
// off: those whose clients are slowest.
type transfers struct {
	maxCount int
	maxBytes int64

	mu    sync.Mutex
	open  list.List // Of *transfer, the oldest first.
	bytes int64
}

// maxTransferBytes bounds what half-sent requests over HTTP may hold. Buffers that
// grow, and their leavings, take three times that until the collector has come by.
const maxTransferBytes = 32 << 20

func newTransfers(config Config) *transfers {
	return &transfers{
		// Clients of mobile networks take longer to send than the work takes.
		maxCount: 4 * config.MaxInFlight,
		maxBytes: max(maxTransferBytes, 2*int64(config.MaxRequestBytes)),
	}
}

// transfer is one request or answer under way.
type transfer struct {
	all   *transfers
	place *list.Element
	bytes int64

	mu     sync.Mutex
	cutOff func() // Nil when the transfer has ended.
	wasCut bool
}

// begin notes a transfer. cutOff ends it; it must return soon and is not called after
// end has returned.
func (ts *transfers) begin(cutOff func()) *transfer {
	t := &transfer{all: ts, cutOff: cutOff}
	ts.change(func() { t.place = ts.open.PushBack(t) })
	return t
}

// grow notes that more bytes are held.
func (t *transfer) grow(bytes int) {
	t.all.change(func() {
		if t.place != nil {
			t.bytes += int64(bytes)
			t.all.bytes += int64(bytes)
		}
	})
}

// end notes that the transfer is over. It may be repeated, and tells whether the
// transfer was cut off.
func (t *transfer) end() (wasCut bool) {
	t.all.change(func() { t.all.remove(t) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cutOff = nil
	return t.wasCut
}

func (t *transfer) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cutOff != nil {
		t.wasCut = true
		t.cutOff()
	}
}

// change changes what is open and then cuts off what is too much.
func (ts *transfers) change(change func()) {
	ts.mu.Lock()
	change()
	var excess []*transfer
	for ts.open.Len() > ts.maxCount || ts.bytes > ts.maxBytes {
		oldest, ok := ts.open.Front().Value.(*transfer)
		if !ok {
			break
		}
		ts.remove(oldest)
		excess = append(excess, oldest)
	}
	ts.mu.Unlock()
	for _, t := range excess {
		t.cut()
	}
}

func (ts *transfers) remove(t *transfer) {
	if t.place == nil {
		return
	}
	ts.open.Remove(t.place)
	t.place = nil
	ts.bytes -= t.bytes
}

// reading is the transfer of a request's body over HTTP.
func (ts *transfers) reading(w http.ResponseWriter) *transfer {
	return ts.begin(func() {
		// Without support for deadlines, as in tests, only the usual ones are left.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
}

// countingBody notes the bytes of a body as they arrive.
type countingBody struct {
	io.ReadCloser
	*transfer
}

// Read implements io.Reader.
func (b countingBody) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	b.grow(n)
	return n, err
}

// sendingWriter ends the work on a request when its answer begins to leave.
type sendingWriter struct {
	http.ResponseWriter
	endWork   func()
	transfers *transfers
}

// Write implements http.ResponseWriter.
func (w sendingWriter) Write(data []byte) (int, error) {
	w.endWork()
	sending := w.transfers.begin(func() {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
	})
	defer sending.end()
	sending.grow(len(data))
	return w.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (w sendingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type transferKey struct{}

// tap notes each call over gRPC before its request is there. The library itself would
// wait for the request for as long as the connection lives. Streams that may go on
// for ever are left alone.
func (ts *transfers) tap(timeout time.Duration) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if info.FullMethodName == healthgrpc.Health_Watch_FullMethodName || strings.HasPrefix(info.FullMethodName, "/grpc.reflection.") {
			return ctx, nil
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		arriving := ts.begin(cancel)
		context.AfterFunc(ctx, func() {
			arriving.end()
			cancel()
		})
		return context.WithValue(ctx, transferKey{}, arriving), nil
	}
}

// noteArrival ends the transfer of a call's request.
func (interceptors) noteArrival(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if arriving, ok := ctx.Value(transferKey{}).(*transfer); ok {
		arriving.end()
	}
	return handler(ctx, request)
}
