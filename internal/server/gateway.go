package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/service"
)

// gateway translates between JSON over HTTP and calls of the service.
type gateway struct {
	admission
	mux      *runtime.ServeMux
	log      *slog.Logger
	maxBytes int
	// requests are the request messages of the routes, by pattern.
	requests map[string]protoreflect.MessageDescriptor
}

// newGateway makes a gateway to the service behind a connection.
func newGateway(conn grpc.ClientConnInterface, admission admission, maxBytes int, log *slog.Logger) (*gateway, error) {
	g := &gateway{admission: admission, log: log, maxBytes: maxBytes, requests: routeRequests(gameService())}
	nothing := func(string) (string, bool) { return "", false }
	g.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, jsonCodec{}),
		runtime.WithMiddlewares(g.admit),
		runtime.WithErrorHandler(g.handleError),
		runtime.WithRoutingErrorHandler(g.handleRoutingError),
		runtime.WithWriteContentLength(),
		// A form or a header must not turn a POST into something else.
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		// The service reads no headers and sends none. (Authorization and
		// X-Forwarded-For are passed on by the library in any case.)
		runtime.WithIncomingHeaderMatcher(nothing),
		runtime.WithOutgoingHeaderMatcher(nothing),
		runtime.WithOutgoingTrailerMatcher(nothing),
	)
	if err := avalanchev1.RegisterGameServiceHandlerClient(context.Background(), g.mux, avalanchev1.NewGameServiceClient(conn)); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return g, nil
}

// pathVariable is a variable in a path as proto files write it.
var pathVariable = regexp.MustCompile(`\{(\w+)\}`)

// routeRequests maps the patterns of a service's HTTP routes, in the gateway's
// spelling, to their request messages.
func routeRequests(sd protoreflect.ServiceDescriptor) map[string]protoreflect.MessageDescriptor {
	requests := map[string]protoreflect.MessageDescriptor{}
	for i := range sd.Methods().Len() {
		method := sd.Methods().Get(i)
		rule, ok := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
		if !ok {
			continue
		}
		path := rule.GetGet() + rule.GetPost()
		requests[pathVariable.ReplaceAllString(path, "{$1=*}")] = method.Input()
	}
	return requests
}

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if page, ok := pages[r.URL.Path]; ok {
		if err := g.countAnonymous(r); err != nil {
			g.refuse(w, r, err)
			return
		}
		servePage(w, r, page)
		return
	}
	switch r.Method {
	case http.MethodHead:
		// The net/http server drops the body.
		r = withMethod(r, http.MethodGet)
	case http.MethodOptions:
		if err := g.countAnonymous(r); err != nil {
			g.refuse(w, r, err)
			return
		}
		if allowed := g.allowed(r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	g.mux.ServeHTTP(w, r)
}

func withMethod(r *http.Request, method string) *http.Request {
	r = r.WithContext(r.Context())
	r.Method = method
	return r
}

// probe is a request that only asks whether a route exists.
type probe struct{ found bool }

type probeKey struct{}

func probeFrom(ctx context.Context) *probe {
	p, _ := ctx.Value(probeKey{}).(*probe)
	return p
}

// allowed lists the HTTP methods that a path has, none if there is no such path.
func (g *gateway) allowed(r *http.Request) []string {
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		p := &probe{}
		ask := withMethod(r.WithContext(context.WithValue(r.Context(), probeKey{}, p)), method)
		g.mux.ServeHTTP(nil, ask)
		if !p.found {
			continue
		}
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	if len(methods) > 0 {
		methods = append(methods, http.MethodOptions)
	}
	return methods
}

// admit stands before every route. It refuses who may not call and what is wrong with
// a request as HTTP, and leaves it with a body in memory and a place to be worked on:
// decoding JSON is a good part of the work.
func (g *gateway) admit(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, pathParams map[string]string) {
		if p := probeFrom(r.Context()); p != nil {
			p.found = true
			return
		}
		pattern, _ := runtime.HTTPPattern(r.Context())
		route := strings.ReplaceAll(pattern.String(), "=*}", "}")
		if x := exchangeFrom(r.Context()); x != nil {
			x.route = route
		}
		trace.SpanFromContext(r.Context()).SetAttributes(semconv.HTTPRoute(route))

		ctx, err := g.access.enter(r.Context(), r.Header.Values("Authorization"), r.Header.Values("X-Forwarded-For"))
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		body, err := g.readRequest(w, r, g.requests[pattern.String()], pathParams)
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		endWork, err := g.work.begin(body.Len())
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		defer endWork()
		if x := exchangeFrom(ctx); x != nil {
			x.admitted = true
		}
		r = r.WithContext(ctx)
		r.Body = body
		next(sendingWriter{w, endWork, g.transfers}, r, pathParams)
	}
}

func (g *gateway) readRequest(w http.ResponseWriter, r *http.Request, request protoreflect.MessageDescriptor, pathParams map[string]string) (*requestBody, error) {
	if !utf8.ValidString(r.URL.Path) {
		return nil, routeUnknown()
	}
	if err := checkContentType(r); err != nil {
		return nil, err
	}
	data, err := g.readBody(w, r)
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodGet {
		if len(data) > 0 {
			return nil, malformed("a GET has no body: give the fields in the query, as in ?version=1")
		}
		if err := checkQuery(r.URL, request, pathParams); err != nil {
			return nil, err
		}
		return newRequestBody(nil), nil
	}
	if r.URL.RawQuery != "" {
		return nil, invalid("a POST has no query: give the fields in the body, as JSON")
	}
	if len(data) > 0 && r.Header.Get("Content-Type") == "" {
		return nil, contentTypeUnsupported()
	}
	return newRequestBody(data), nil
}

// checkContentType lets JSON pass, and requests that name no type: those may have
// no body, which is not known yet.
func checkContentType(r *http.Request) error {
	if len(r.Header.Values("Content-Type")) > 1 {
		return contentTypeUnsupported()
	}
	if encoding := strings.Join(r.Header.Values("Content-Encoding"), ", "); encoding != "" && !strings.EqualFold(encoding, "identity") {
		problem := contentTypeUnsupported()
		problem.Message = "the body must not be compressed: leave the header content-encoding out"
		return problem
	}
	given := r.Header.Get("Content-Type")
	if given == "" {
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(given)
	charset, hasCharset := params["charset"]
	if err != nil || mediaType != "application/json" || hasCharset && !strings.EqualFold(charset, "utf-8") {
		return contentTypeUnsupported()
	}
	return nil
}

func contentTypeUnsupported() *service.Problem {
	return &service.Problem{
		Code:    codes.InvalidArgument,
		Reason:  avalanchev1.ErrorReason_CONTENT_TYPE_UNSUPPORTED,
		Message: "the body must be JSON and say so; with curl: -H 'content-type: application/json'",
	}
}

func (g *gateway) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limit := int64(g.maxBytes)
	var err error
	var data []byte
	if r.ContentLength <= limit {
		arriving := g.transfers.reading(w)
		data, err = io.ReadAll(http.MaxBytesReader(w, countingBody{r.Body, arriving}, limit))
		if arriving.end() && err != nil {
			w.Header().Set("Connection", "close")
			return nil, overloaded()
		}
	}
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong || r.ContentLength > limit {
		// Else net/http would read a good part of the rest to keep the connection.
		w.Header().Set("Connection", "close")
		return nil, tooLarge(strconv.Itoa(g.maxBytes))
	}
	if err != nil {
		return nil, abandoned(codes.Canceled, "the body did not arrive in full")
	}
	return data, nil
}

// checkQuery refuses what the gateway would let pass or explain badly. Requests
// of GET routes have scalar fields only.
func checkQuery(u *url.URL, request protoreflect.MessageDescriptor, pathParams map[string]string) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return invalid("the query has an invalid escape or separator; a percent sign is written %25")
	}
	// A field has two spellings, in JSON and in the proto file.
	values := map[protoreflect.FieldNumber][]string{}
	for name := range query {
		if field := fieldNamed(request, name); field != nil {
			values[field.Number()] = append(values[field.Number()], query[name]...)
		}
	}
	var violations []service.Violation
	for _, name := range slices.Sorted(maps.Keys(query)) {
		field := fieldNamed(request, name)
		if _, inPath := pathParams[name]; inPath {
			field = nil
		}
		problem := "there is no such query parameter; " + knownFields(request, pathParams)
		if field != nil {
			problem = checkParameter(field, values[field.Number()])
		}
		if problem != "" {
			violations = append(violations, service.Violation{Field: clip(strings.ToValidUTF8(name, "\uFFFD")), Description: problem})
		}
	}
	if len(violations) > 0 {
		return broken(violations)
	}
	return nil
}

// checkParameter says what is wrong with the values that a query gives a field, if
// anything is.
func checkParameter(field protoreflect.FieldDescriptor, values []string) string {
	switch {
	case len(values) > 1:
		return "the field is given twice"
	case !utf8.ValidString(values[0]):
		return "must be UTF-8"
	case field.Kind() == protoreflect.Int32Kind:
		// As the gateway reads it: JSON has more spellings of a number.
		if _, err := strconv.ParseInt(values[0], 10, 32); err != nil {
			return "must be " + expected(field, false)
		}
	}
	return ""
}

// handleError answers with the error of a call, or one that the generated code
// made before there was a call.
func (g *gateway) handleError(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	if body, ok := r.Body.(*requestBody); ok && body.err != nil {
		err = body.err
	}
	g.refuse(w, r, err)
}

func (g *gateway) handleRoutingError(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int) {
	if probeFrom(ctx) != nil {
		return
	}
	if err := g.countAnonymous(r); err != nil {
		g.refuse(w, r, err)
		return
	}
	if code != http.StatusMethodNotAllowed {
		g.refuse(w, r, routeUnknown())
		return
	}
	refuseMethod(w, r, g.allowed(r))
}

// countAnonymous refuses a request that needs no API key, because it is no call, if its
// address has made too many.
func (g *gateway) countAnonymous(r *http.Request) error {
	return g.access.countAnonymous(r.Context(), r.Header.Values("X-Forwarded-For"))
}

func (g *gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	hidden, shown := presentable(err)
	if hidden {
		g.log.ErrorContext(r.Context(), "fault", slog.Any("error", err))
	}
	writeError(w, r, shown)
}

func routeUnknown() *service.Problem {
	return &service.Problem{
		Code:    codes.NotFound,
		Reason:  avalanchev1.ErrorReason_ROUTE_UNKNOWN,
		Message: "no method has this path; /openapi.json describes those that there are",
	}
}
