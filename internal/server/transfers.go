package server

import (
	"container/list"
	"io"
	"net/http"
	"sync"
	"time"
)

// transfers are the requests that have not arrived in full and the answers that have
// not left. When there are too many, the oldest are cut off, whose clients are slowest;
// when they hold too many bytes, those that hold most.
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
		worst := ts.oldest()
		if ts.open.Len() <= ts.maxCount {
			worst = ts.largest()
		}
		ts.remove(worst)
		excess = append(excess, worst)
	}
	ts.mu.Unlock()
	for _, t := range excess {
		t.cut()
	}
}

func (ts *transfers) oldest() *transfer {
	return ts.open.Front().Value.(*transfer)
}

// largest is the oldest of those that hold most.
func (ts *transfers) largest() *transfer {
	largest := ts.oldest()
	for place := ts.open.Front(); place != nil; place = place.Next() {
		if t := place.Value.(*transfer); t.bytes > largest.bytes {
			largest = t
		}
	}
	return largest
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
