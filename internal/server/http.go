package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/avalanched/avalanched/api/openapi"
	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/service"
)

// newHTTPHandler is all of the HTTP port: the gateway, and what every answer has in
// common.
func newHTTPHandler(handler http.Handler, corsOrigins []string, ready *atomic.Bool, telemetry *Telemetry, log requestLog) http.Handler {
	if len(corsOrigins) > 0 {
		handler = allowOrigins(corsOrigins, handler)
	}
	return telemetry.httpMiddleware()(converse(handler, ready, log))
}

// exchange is what the layers of one HTTP request tell each other.
type exchange struct {
	// route is the pattern of the path, empty if there is no such route.
	route string
	// logged tells that the call has its line in the log.
	logged bool
	// admitted tells that the request was let in and has a place to be worked on.
	admitted bool
	// err is the error that was answered.
	err error
}

type exchangeKey struct{}

// exchangeFrom is nil for a call over gRPC.
func exchangeFrom(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// isAdmitted tells whether a call came over HTTP and was let in there.
func isAdmitted(ctx context.Context) bool {
	x := exchangeFrom(ctx)
	return x != nil && x.admitted
}

// converse sets up what all layers below rely on, and survives their panics.
func converse(next http.Handler, ready *atomic.Bool, log requestLog) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		x := &exchange{}
		ctx := context.WithValue(r.Context(), exchangeKey{}, x)
		if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
			ctx = peer.NewContext(ctx, &peer.Peer{Addr: net.TCPAddrFromAddrPort(addr)})
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if !ready.Load() {
			// Clients that keep their connection would never look for another server.
			w.Header().Set("Connection", "close")
		}
		answer := &answerWriter{ResponseWriter: w}
		defer func() {
			hideChosen(ctx, r, x.route)
			cause := recover()
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			if cause != nil {
				log.ErrorContext(ctx, "panic", slog.String("panic", fmt.Sprint(cause)), slog.String("stack", string(debug.Stack())))
				if answer.begun {
					panic(http.ErrAbortHandler)
				}
				writeError(w, r.WithContext(ctx), fault())
			}
			// The metrics take the route from here.
			r.Pattern = x.route
			if !x.logged {
				log.ended(ctx, began, x.err, slog.String("transport", portHTTP), slog.String("http_method", knownMethod(r.Method)), slog.String("route", x.route))
			}
		}()
		next.ServeHTTP(answer, r.WithContext(ctx))
	})
}

// answerWriter knows whether an answer has begun.
type answerWriter struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (w *answerWriter) WriteHeader(code int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *answerWriter) Write(data []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// writeError answers with an error in the one shape that all errors have. The error
// must be presentable.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	if x := exchangeFrom(r.Context()); x != nil {
		x.err = err
	}
	s := status.Convert(err)
	data, marshalErr := marshalCompact(s.Proto(), protojson.MarshalOptions{})
	if marshalErr != nil { // Only texts that are not UTF-8 have no JSON.
		s = fault().GRPCStatus()
		if data, marshalErr = marshalCompact(s.Proto(), protojson.MarshalOptions{}); marshalErr != nil {
			panic(marshalErr) // A constant message.
		}
	}
	if problem, ok := err.(*service.Problem); ok && problem.RetryAfter > 0 { //nolint:errorlint // Presentable errors are not wrapped.
		seconds := (problem.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	if s.Code() == codes.Unauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.Header().Del("Trailer")
	w.Header().Del("Transfer-Encoding")
	w.Header().Set("Content-Type", jsonCodec{}.ContentType(nil))
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(httpStatus(s.Code(), errorInfo(s).GetReason()))
	// A client that has gone hears nothing, and there is nobody else to tell.
	_, _ = w.Write(data) //nolint:gosec // It is JSON, and the header says so.
}

// refuseMethod answers a request whose path exists with other HTTP methods.
func refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	writeError(w, r, &service.Problem{
		Code:     codes.Unimplemented,
		Reason:   avalanchev1.ErrorReason_METHOD_NOT_ALLOWED,
		Message:  "this path takes " + list,
		Metadata: map[string]string{"allow": list},
	})
}

// pages are for people and tools who look around, and served as they are.
var pages = map[string][]byte{
	"/": []byte(`{"service":"avalanched","rulesets":"/v1/rulesets","openapi":"/openapi.json",` +
		`"example":"curl -H 'content-type: application/json' -d '{\"ruleset\":\"marble-basic\",\"players\":2}' $HOST/v1/games"}` + "\n"),
	"/openapi.json": openapi.Document,
}

func servePage(w http.ResponseWriter, r *http.Request, page []byte) {
	if x := exchangeFrom(r.Context()); x != nil {
		x.route = r.URL.Path
	}
	allowed := []string{http.MethodGet, http.MethodHead, http.MethodOptions}
	switch {
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		w.WriteHeader(http.StatusNoContent)
	case slices.Contains(allowed, r.Method):
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = w.Write(page)
	default:
		refuseMethod(w, r, allowed)
	}
}
