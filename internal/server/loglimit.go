package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// LimitLog makes a logger that writes, in one second, at most so many lines of a kind:
// of one level and message. What is more is left out, and a line "left out" then says
// how many. Whoever floods the server with requests that are refused would else fill
// the disk, and a trouble of the ledger would be told once for every request. 0 means
// no limit.
func LimitLog(log *slog.Logger, perSecond int) *slog.Logger {
	if perSecond == 0 {
		return log
	}
	return slog.New(limitHandler{log.Handler(), &lineLimits{handler: log.Handler(), perSecond: perSecond}})
}

// limitHandler is a slog.Handler that leaves lines out.
type limitHandler struct {
	slog.Handler
	limits *lineLimits
}

// Handle implements slog.Handler.
func (h limitHandler) Handle(ctx context.Context, record slog.Record) error {
	if !h.limits.admit(lineKind{record.Level, record.Message}) {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h limitHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limitHandler{h.Handler.WithAttrs(attrs), h.limits}
}

// WithGroup implements slog.Handler.
func (h limitHandler) WithGroup(name string) slog.Handler {
	return limitHandler{h.Handler.WithGroup(name), h.limits}
}

// lineKind is what is counted together.
type lineKind struct {
	level   slog.Level
	message string
}

// maxLineKinds bounds the kinds in one second. Our own messages are few and fixed;
// those of libraries may be all different, and count as one kind beyond that.
const maxLineKinds = 100

// lineLimits counts lines, in spans of one second that begin with the first line after
// the span before.
type lineLimits struct {
	handler   slog.Handler
	perSecond int

	mu    sync.Mutex
	lines map[lineKind]int
}

func (l *lineLimits) admit(kind lineKind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		l.lines = map[lineKind]int{}
		time.AfterFunc(time.Second, l.endSecond)
	}
	if _, known := l.lines[kind]; !known && len(l.lines) >= maxLineKinds {
		kind.message = "others"
	}
	l.lines[kind]++
	return l.lines[kind] <= l.perSecond
}

func (l *lineLimits) endSecond() {
	l.mu.Lock()
	lines := l.lines
	l.lines = nil
	l.mu.Unlock()
	for kind, count := range lines {
		if count > l.perSecond {
			l.reportLeftOut(kind, count-l.perSecond)
		}
	}
}

func (l *lineLimits) reportLeftOut(kind lineKind, count int) {
	ctx := context.Background()
	if !l.handler.Enabled(ctx, kind.level) {
		return
	}
	record := slog.NewRecord(time.Now(), kind.level, "left out", 0)
	record.AddAttrs(slog.String("lines", kind.message), slog.Int("count", count))
	// There is nobody to tell that the log cannot be written.
	_ = l.handler.Handle(ctx, record)
}
