package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// interceptors are what every call goes through, over both transports.
type interceptors struct {
	admission
	log requestLog
	// draining ends when the server wants to stop.
	draining       context.Context //nolint:containedctx // It is a signal, not passed on.
	rules          *requestRules
	maxBytes       int
	requestTimeout time.Duration
}

// namedInterceptor has a name by which a test asserts the order.
type namedInterceptor struct {
	name  string
	unary grpc.UnaryServerInterceptor
}

// unaryChain lists the interceptors, outermost first. Metrics and traces stand
// outside of all: they are the transport's, see inProcess and newGRPCServer.
func (i interceptors) unaryChain() []namedInterceptor {
	return []namedInterceptor{
		// The request is there, and the client no longer the one who is waited for.
		{"arrive", i.noteArrival},
		// The log wants the last word on how a call ended, and its duration.
		{"log", i.logCalls},
		// Whatever panics below is an INTERNAL error for the log and the metrics.
		{"recover", recovery.UnaryServerInterceptor(recovery.WithRecoveryHandlerContext(i.recovered))},
		// Everything below may return any error.
		{"present", i.presentErrors},
		// Who may not call, or not as often, costs nothing more than being told so.
		{"access", i.checkAccess},
		// No place is held for who was refused, and nothing is worked on without one.
		{"work", i.limitWork},
		// Time counts from here, the checks included.
		{"deadline", i.limitTime},
		// Unknown fields come before the rules: a message that did not decode is
		// empty, and would break rules that the client kept.
		{"unknown", i.refuseUnknownFields},
		{"validate", i.validateRequests},
	}
}

// chainUnary makes one interceptor of many, for both transports to use.
func chainUnary(chain []namedInterceptor) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		next := handler
		for _, interceptor := range slices.Backward(chain) {
			inner, unary := next, interceptor.unary
			next = func(ctx context.Context, request any) (any, error) {
				return unary(ctx, request, info, inner)
			}
		}
		return next(ctx, request)
	}
}

// streamChain is for health watching, reflection and unknown methods: the service
// itself has no streams.
func (i interceptors) streamChain() []grpc.StreamServerInterceptor {
	return []grpc.StreamServerInterceptor{
		i.noteStreamArrival,
		i.logStreams,
		recovery.StreamServerInterceptor(recovery.WithRecoveryHandlerContext(i.recovered)),
		i.presentStreamErrors,
		i.checkStreamAccess,
		i.limitStreams,
	}
}

func (i interceptors) logCalls(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	began := time.Now()
	response, err := handler(ctx, request)
	if x := exchangeFrom(ctx); x != nil {
		x.logged = true
		i.log.ended(ctx, began, err, slog.String("transport", portHTTP), slog.String("method", info.FullMethod))
	} else {
		i.log.grpcEnded(ctx, info.FullMethod, began, err)
	}
	return response, err
}

func (i interceptors) logStreams(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	began := time.Now()
	err := handler(server, stream)
	accounted := err
	if info.FullMethod == healthgrpc.Health_Watch_FullMethodName && status.Code(err) == codes.Canceled {
		// There is no other end to it.
		accounted = nil
	}
	i.log.grpcEnded(stream.Context(), info.FullMethod, began, accounted)
	return err
}

func (i interceptors) recovered(ctx context.Context, cause any) error {
	i.log.ErrorContext(ctx, "panic", slog.String("panic", fmt.Sprint(cause)), slog.String("stack", string(debug.Stack())))
	return fault()
}

func (i interceptors) presentErrors(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	response, err := handler(ctx, request)
	if err != nil {
		return nil, i.present(ctx, info.FullMethod, err)
	}
	return response, nil
}

func (i interceptors) presentStreamErrors(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	// Who watches the health of this server watches for as long as it lives.
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	stop := context.AfterFunc(i.draining, cancel)
	defer stop()
	if err := handler(server, strictStream{stream, ctx, i.maxBytes}); err != nil {
		return i.present(ctx, info.FullMethod, err)
	}
	return nil
}

func (i interceptors) present(ctx context.Context, method string, err error) error {
	hidden, shown := presentable(err)
	if hidden {
		i.log.ErrorContext(ctx, "fault", slog.String("method", method), slog.Any("error", err))
	}
	return shown
}

// strictStream refuses what refuseUnknownFields does for single calls.
type strictStream struct {
	grpc.ServerStream
	ctx      context.Context //nolint:containedctx // The interface has it so.
	maxBytes int
}

// Context implements grpc.ServerStream.
func (s strictStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream. A client that keeps a stream open without sending
// anything does not keep it from ending.
func (s strictStream) RecvMsg(m any) error {
	received := make(chan error, 1)
	go func() { received <- s.ServerStream.RecvMsg(m) }()
	select {
	case err := <-received:
		if err != nil {
			return err
		}
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	if message, ok := m.(proto.Message); ok {
		return refuseUnknown(message, s.maxBytes)
	}
	return nil
}

func (i interceptors) limitTime(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, i.requestTimeout)
	defer cancel()
	// Nobody waits for an answer that is late already.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

func (i interceptors) refuseUnknownFields(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if message, ok := request.(proto.Message); ok {
		if err := refuseUnknown(message, i.maxBytes); err != nil {
			return nil, err
		}
	}
	return handler(ctx, request)
}

func (i interceptors) validateRequests(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	// The health service has no rules.
	message, ok := request.(proto.Message)
	if ok && strings.HasPrefix(info.FullMethod, gameServicePrefix) {
		if err := i.rules.check(message); err != nil {
			return nil, err
		}
	}
	return handler(ctx, request)
}
