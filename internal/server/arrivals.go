package server

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// arrival is the transfer of the request of a call over gRPC.
type arrival struct {
	*transfer
	method   string
	began    time.Time
	complete atomic.Bool
}

type arrivalKey struct{}

// tap notes each call over gRPC before its request is there. The library itself would
// wait for the request for as long as the connection lives. Streams that may go on
// for ever are left alone.
func (ts *transfers) tap(timeout time.Duration) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if isEndless(info.FullMethodName) {
			return ctx, nil
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		arriving := &arrival{transfer: ts.begin(cancel), method: info.FullMethodName, began: time.Now()}
		context.AfterFunc(ctx, func() {
			arriving.end()
			cancel()
		})
		return context.WithValue(ctx, arrivalKey{}, arriving), nil
	}
}

// noteArrival ends the transfer of a call's request.
func (interceptors) noteArrival(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	arrived(ctx)
	return handler(ctx, request)
}

// noteStreamArrival is noteArrival for unknown methods, which count as streams.
func (interceptors) noteStreamArrival(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	arrived(stream.Context())
	return handler(server, stream)
}

func arrived(ctx context.Context) {
	if arriving, ok := ctx.Value(arrivalKey{}).(*arrival); ok {
		arriving.complete.Store(true)
		arriving.end()
	}
}

// lostCalls accounts for calls over gRPC whose request never arrived in full, or could not
// be read: they pass no interceptor, but end for a stats.Handler like others.
type lostCalls struct{ requestLog }

// TagRPC implements stats.Handler.
func (lostCalls) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (l lostCalls) HandleRPC(ctx context.Context, event stats.RPCStats) {
	end, isEnd := event.(*stats.End)
	if !isEnd {
		return
	}
	arriving, ok := ctx.Value(arrivalKey{}).(*arrival)
	if !ok || arriving.complete.Load() || end.Error == nil {
		return
	}
	err := end.Error
	switch {
	case arriving.end():
		err = overloaded()
	case status.Code(err) == codes.Internal:
		// The transport's word for a message that it cannot read.
		err = malformed("the message cannot be read")
	}
	_, shown := presentable(err)
	l.grpcEnded(ctx, arriving.method, arriving.began, shown)
}

// TagConn implements stats.Handler.
func (lostCalls) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (lostCalls) HandleConn(context.Context, stats.ConnStats) {}
