package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/service"
)

// invalid is a request that cannot be served because of some of its fields.
func invalid(message string, violations ...service.Violation) *service.Problem {
	return &service.Problem{
		Code:       codes.InvalidArgument,
		Reason:     avalanchev1.ErrorReason_REQUEST_INVALID,
		Message:    message,
		Violations: violations,
	}
}

func malformed(message string) *service.Problem {
	return &service.Problem{
		Code:    codes.InvalidArgument,
		Reason:  avalanchev1.ErrorReason_BODY_MALFORMED,
		Message: message,
	}
}

func tooLarge(limit string) *service.Problem {
	return &service.Problem{
		Code:     codes.ResourceExhausted,
		Reason:   avalanchev1.ErrorReason_REQUEST_TOO_LARGE,
		Message:  "the request is longer than the " + limit + " bytes that this server accepts",
		Metadata: map[string]string{"maxBytes": limit},
	}
}

func methodUnknown() *service.Problem {
	return &service.Problem{
		Code:    codes.Unimplemented,
		Reason:  avalanchev1.ErrorReason_METHOD_UNKNOWN,
		Message: "this server has no such method; gRPC reflection lists those that it has",
	}
}

func abandoned(code codes.Code, message string) *service.Problem {
	return &service.Problem{
		Code:    code,
		Reason:  avalanchev1.ErrorReason_REQUEST_ABANDONED,
		Message: message,
	}
}

func apiKeyInvalid(message string) *service.Problem {
	return &service.Problem{
		Code:    codes.Unauthenticated,
		Reason:  avalanchev1.ErrorReason_API_KEY_INVALID,
		Message: message,
	}
}

// rateLimited tells a caller to wait; scope is what has made too many requests.
func rateLimited(scope string, wait time.Duration) *service.Problem {
	return &service.Problem{
		Code:       codes.ResourceExhausted,
		Reason:     avalanchev1.ErrorReason_RATE_LIMITED,
		Message:    "too many requests from this " + scope + "; RetryInfo tells when the next one is welcome",
		Metadata:   map[string]string{"scope": scope},
		RetryAfter: wait,
	}
}

// overloaded tells a caller to come back when there is room. Not all at the same
// moment, or there would be none then either.
func overloaded() *service.Problem {
	return &service.Problem{
		Code:       codes.ResourceExhausted,
		Reason:     avalanchev1.ErrorReason_OVERLOADED,
		Message:    "the server has as much to do as it can; RetryInfo tells when to try again",
		RetryAfter: time.Second + rand.N(time.Second), //nolint:gosec // Nothing secret.
	}
}

// fault is all that a client hears of an error of ours. The log knows more.
func fault() *service.Problem {
	return &service.Problem{
		Code:    codes.Internal,
		Reason:  avalanchev1.ErrorReason_INTERNAL_FAULT,
		Message: "the service failed; the request may be repeated as it is",
	}
}

// presentable turns any error into one that has an ErrorInfo and that a client may
// read. Errors of unknown origin become a fault, and hidden tells that the
// original has something to say that the client does not hear.
func presentable(err error) (hidden bool, shown error) {
	if problem, ok := errors.AsType[*service.Problem](err); ok {
		return false, problem
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false, abandoned(codes.DeadlineExceeded, "the request took longer than it was given")
	}
	if errors.Is(err, context.Canceled) {
		return false, abandoned(codes.Canceled, "the request was given up before it was answered")
	}
	given, ok := status.FromError(err)
	if !ok {
		return true, fault()
	}
	if errorInfo(given) != nil {
		return false, err
	}
	reason, ok := statusReasons[given.Code()]
	if !ok {
		return true, fault()
	}
	return false, &service.Problem{
		Code:    given.Code(),
		Reason:  reason,
		Message: strings.ToValidUTF8(given.Message(), "\uFFFD"),
	}
}

// statusReasons are the reasons for errors that libraries make: the grpc package,
// its health service and the gateway. A code that none of them has use for is a
// fault.
var statusReasons = map[codes.Code]avalanchev1.ErrorReason_Reason{
	codes.Canceled:          avalanchev1.ErrorReason_REQUEST_ABANDONED,
	codes.DeadlineExceeded:  avalanchev1.ErrorReason_REQUEST_ABANDONED,
	codes.InvalidArgument:   avalanchev1.ErrorReason_REQUEST_INVALID,
	codes.NotFound:          avalanchev1.ErrorReason_REQUEST_INVALID,
	codes.ResourceExhausted: avalanchev1.ErrorReason_REQUEST_TOO_LARGE,
	codes.Unimplemented:     avalanchev1.ErrorReason_METHOD_UNKNOWN,
}

func errorInfo(s *status.Status) *errdetails.ErrorInfo {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}

// outcome sums up an error for the log: OK and no reason if there is none.
func outcome(err error) (codes.Code, string) {
	s := status.Convert(err)
	return s.Code(), errorInfo(s).GetReason()
}

// httpStatus is the status of a JSON error. Three reasons have a better one than
// their code.
func httpStatus(code codes.Code, reason string) int {
	switch reason {
	case avalanchev1.ErrorReason_METHOD_NOT_ALLOWED.String():
		return http.StatusMethodNotAllowed
	case avalanchev1.ErrorReason_REQUEST_TOO_LARGE.String():
		return http.StatusRequestEntityTooLarge
	case avalanchev1.ErrorReason_CONTENT_TYPE_UNSUPPORTED.String():
		return http.StatusUnsupportedMediaType
	default:
		return runtime.HTTPStatusFromCode(code)
	}
}
