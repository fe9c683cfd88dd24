package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/service"
)

var jsonHeader = http.Header{"Content-Type": {"application/json"}}

func (r *running) postJSON(t testing.TB, path, body string) answer {
	t.Helper()
	return r.do(t, http.MethodPost, path, jsonHeader, strings.NewReader(body))
}

// errorOf reads an answer that must have the shape that all errors have.
func errorOf(t testing.TB, got answer) *status.Status {
	t.Helper()
	var message statuspb.Status
	if err := protojson.Unmarshal([]byte(got.body), &message); err != nil {
		t.Fatalf("HTTP %d with a body that is no google.rpc.Status: %v\n%s", got.status, err, got.body)
	}
	s := status.FromProto(&message)
	info := errorInfo(s)
	if info.GetDomain() != service.ErrorDomain || info.GetReason() == "" || message.GetMessage() == "" {
		t.Errorf("incomplete error: %s", got.body)
	}
	if want := httpStatus(s.Code(), info.GetReason()); got.status != want {
		t.Errorf("HTTP %d for %v %s, want %d", got.status, s.Code(), info.GetReason(), want)
	}
	checkHeaders(t, got)
	return s
}

func checkHeaders(t testing.TB, got answer) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Type":           "application/json",
		"Cache-Control":          "no-store",
		"X-Content-Type-Options": "nosniff",
	} {
		if value := got.header.Get(name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
}

func fieldsOf(s *status.Status) []string {
	var fields []string
	for _, detail := range s.Details() {
		if badRequest, ok := detail.(*errdetails.BadRequest); ok {
			for _, v := range badRequest.GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
	}
	return fields
}

// TestRefusalsOverHTTP is about what the server refuses before there is a call.
// What it refuses over both transports stands in testdata/cases.
func TestRefusalsOverHTTP(t *testing.T) {
	r := start(t, fakeGames{})
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for name, test := range map[string]struct {
		method, path string
		header       http.Header
		body         string
		status       int
		reason       string
		message      string
		field        string
		allow        string
	}{
		"unknown path":        {method: "GET", path: "/v2/rulesets", status: 404, reason: "ROUTE_UNKNOWN", message: "/openapi.json"},
		"unclean path":        {method: "GET", path: "//v1/rulesets", status: 404, reason: "ROUTE_UNKNOWN"},
		"slash at the end":    {method: "POST", path: "/v1/games/", header: jsonHeader, body: "{}", status: 404, reason: "ROUTE_UNKNOWN"},
		"unknown verb":        {method: "POST", path: "/v1/games:cheat", header: jsonHeader, body: "{}", status: 404, reason: "ROUTE_UNKNOWN"},
		"path that's no text": {method: "GET", path: "/v1/rulesets/%ff", status: 404, reason: "ROUTE_UNKNOWN"},
		"unknown, OPTIONS":    {method: "OPTIONS", path: "/v2", status: 404, reason: "ROUTE_UNKNOWN"},

		"GET of a POST":        {method: "GET", path: "/v1/games", status: 405, reason: "METHOD_NOT_ALLOWED", allow: "POST, OPTIONS"},
		"POST of a GET":        {method: "POST", path: "/v1/rulesets", header: jsonHeader, body: "{}", status: 405, reason: "METHOD_NOT_ALLOWED", allow: "GET, HEAD, OPTIONS"},
		"form POST of a GET":   {method: "POST", path: "/v1/rulesets", header: form, body: "pageSize=1", status: 405, reason: "METHOD_NOT_ALLOWED", allow: "GET, HEAD, OPTIONS"},
		"DELETE of a verb":     {method: "DELETE", path: "/v1/games:applyMove", status: 405, reason: "METHOD_NOT_ALLOWED", message: "POST", allow: "POST, OPTIONS"},
		"method of its own":    {method: "AVALANCHE", path: "/v1/games", status: 405, reason: "METHOD_NOT_ALLOWED", allow: "POST, OPTIONS"},
		"method in a header":   {method: "POST", path: "/v1/rulesets", header: http.Header{"Content-Type": form["Content-Type"], "X-Http-Method-Override": {"GET"}}, status: 405, reason: "METHOD_NOT_ALLOWED", allow: "GET, HEAD, OPTIONS"},
		"POST of the homepage": {method: "POST", path: "/", header: jsonHeader, status: 405, reason: "METHOD_NOT_ALLOWED", allow: "GET, HEAD, OPTIONS"},

		"form":            {method: "POST", path: "/v1/games", header: form, body: `{"ruleset":"x"}`, status: 415, reason: "CONTENT_TYPE_UNSUPPORTED", message: "-H 'content-type: application/json'"},
		"no content type": {method: "POST", path: "/v1/games", body: `{"ruleset":"x"}`, status: 415, reason: "CONTENT_TYPE_UNSUPPORTED"},
		"other charset":   {method: "POST", path: "/v1/games", header: http.Header{"Content-Type": {"application/json; charset=latin1"}}, body: `{}`, status: 415, reason: "CONTENT_TYPE_UNSUPPORTED"},
		"no media type":   {method: "POST", path: "/v1/games", header: http.Header{"Content-Type": {";;"}}, body: `{}`, status: 415, reason: "CONTENT_TYPE_UNSUPPORTED"},
		"compressed":      {method: "POST", path: "/v1/games", header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, body: `{}`, status: 415, reason: "CONTENT_TYPE_UNSUPPORTED", message: "compressed"},

		"too long": {method: "POST", path: "/v1/games", header: jsonHeader, body: `{"ruleset":"` + strings.Repeat("x", 65<<10) + `"}`, status: 413, reason: "REQUEST_TOO_LARGE", message: "65536"},

		"query of a POST":                   {method: "POST", path: "/v1/games?players=2", header: jsonHeader, body: "{}", status: 400, reason: "REQUEST_INVALID", message: "body"},
		"body of a GET":                     {method: "GET", path: "/v1/rulesets", header: jsonHeader, body: "{}", status: 400, reason: "BODY_MALFORMED", message: "query"},
		"two wrong parameters":              {method: "GET", path: "/v1/rulesets?page=2&tint=red", status: 400, reason: "REQUEST_INVALID", message: "pageSize", field: "page tint"},
		"unknown parameter":                 {method: "GET", path: "/v1/rulesets?tint=red", status: 400, reason: "REQUEST_INVALID", message: "pageSize", field: "tint"},
		"parameter twice":                   {method: "GET", path: "/v1/rulesets?pageSize=1&pageSize=2", status: 400, reason: "REQUEST_INVALID", message: "twice", field: "pageSize"},
		"parameter in the path":             {method: "GET", path: "/v1/rulesets/x?ruleset=y", status: 400, reason: "REQUEST_INVALID", field: "ruleset"},
		"word for a number":                 {method: "GET", path: "/v1/rulesets?pageSize=many", status: 400, reason: "REQUEST_INVALID", message: "whole number", field: "pageSize"},
		"number out of range":               {method: "GET", path: "/v1/rulesets?page_size=1000", status: 400, reason: "REQUEST_INVALID", field: "pageSize"},
		"parameter, no text":                {method: "GET", path: "/v1/rulesets?pageToken=%ff", status: 400, reason: "REQUEST_INVALID", message: "UTF-8", field: "pageToken"},
		"name that's no text":               {method: "GET", path: "/v1/rulesets?%ff=1", status: 400, reason: "REQUEST_INVALID", field: "\uFFFD"},
		"escape":                            {method: "GET", path: "/v1/rulesets?pageToken=%zz", status: 400, reason: "REQUEST_INVALID", message: "%25"},
		"exponent":                          {method: "GET", path: "/v1/rulesets?pageSize=1e1", status: 400, reason: "REQUEST_INVALID", message: "whole number", field: "pageSize"},
		"fraction":                          {method: "GET", path: "/v1/rulesets?pageSize=1.0", status: 400, reason: "REQUEST_INVALID", message: "whole number", field: "pageSize"},
		"parameter twice, in two spellings": {method: "GET", path: "/v1/rulesets?pageSize=1&page_size=2", status: 400, reason: "REQUEST_INVALID", message: "twice", field: "pageSize page_size"},
		"grpc-timeout":                      {method: "GET", path: "/v1/rulesets/x", header: http.Header{"Grpc-Timeout": {"soon"}}, status: 400, reason: "REQUEST_INVALID", message: "soon"},
		"grpc-timeout, over already":        {method: "GET", path: "/v1/rulesets/x", header: http.Header{"Grpc-Timeout": {"1n"}}, status: 504, reason: "REQUEST_ABANDONED"},
		"grpc-timeout, no text":             {method: "GET", path: "/v1/rulesets/x", header: http.Header{"Grpc-Timeout": {"\xff1"}}, status: 400, reason: "REQUEST_INVALID"},
	} {
		t.Run(name, func(t *testing.T) {
			got := r.do(t, test.method, test.path, test.header, strings.NewReader(test.body))
			s := errorOf(t, got)
			if got.status != test.status || errorInfo(s).GetReason() != test.reason {
				t.Errorf("HTTP %d %s, want %d %s\n%s", got.status, errorInfo(s).GetReason(), test.status, test.reason, got.body)
			}
			if !strings.Contains(s.Message(), test.message) {
				t.Errorf("message %q, want %q in it", s.Message(), test.message)
			}
			if fields := strings.Join(fieldsOf(s), " "); fields != test.field {
				t.Errorf("fields at fault %q, want %q", fields, test.field)
			}
			if allow := got.header.Get("Allow"); allow != test.allow {
				t.Errorf("Allow: %q, want %q", allow, test.allow)
			}
		})
	}
}

func TestAcceptedOverHTTP(t *testing.T) {
	r := start(t, fakeGames{})
	for name, test := range map[string]struct {
		method, path, contentType, body string
		want                            string
	}{
		"camel case":         {"POST", "/v1/games", "application/json", `{"ruleset":"x","requestId":"1"}`, `"state":"state of x"`},
		"proto names":        {"POST", "/v1/games", "application/json", `{"ruleset":"x","request_id":"1"}`, `"state":"state of x"`},
		"charset":            {"POST", "/v1/games", "application/json; charset=UTF-8", `{"ruleset":"x"}`, `"state":"state of x"`},
		"media type's case":  {"POST", "/v1/games", "Application/JSON", `{"ruleset":"x"}`, `"state":"state of x"`},
		"blanks":             {"POST", "/v1/games", "application/json", " {\n\t\"ruleset\" : \"x\" } \n", `"state":"state of x"`},
		"path variable":      {"GET", "/v1/rulesets/marble-basic", "", "", `"ruleset":"marble-basic","version":0`},
		"query":              {"GET", "/v1/rulesets/marble-basic?version=3", "", "", `"version":3`},
		"default values":     {"GET", "/v1/rulesets/x", "", "", `"decisions":[]`},
		"GET, content type":  {"GET", "/v1/rulesets/x", "application/json", "", `"ruleset":"x"`},
		"homepage":           {"GET", "/", "", "", `"/v1/rulesets"`},
		"OpenAPI":            {"GET", "/openapi.json", "", "", `"/v1/games:applyMove"`},
		"numbers as strings": {"POST", "/v1/games", "application/json", `{"ruleset":"x","players":"2"}`, `"state":"state of x"`},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if test.contentType != "" {
				header.Set("Content-Type", test.contentType)
			}
			got := r.do(t, test.method, test.path, header, strings.NewReader(test.body))
			if got.status != http.StatusOK || !strings.Contains(got.body, test.want) {
				t.Errorf("HTTP %d %s, want %s in it", got.status, got.body, test.want)
			}
			checkHeaders(t, got)
		})
	}
}

func TestEmptyBodyIsAnEmptyMessage(t *testing.T) {
	r := start(t, fakeGames{})
	for _, header := range []http.Header{jsonHeader, nil} {
		s := errorOf(t, r.do(t, http.MethodPost, "/v1/games", header, http.NoBody))
		if fields := fieldsOf(s); len(fields) != 1 || fields[0] != "ruleset" {
			t.Errorf("an empty body with header %v breaks the rules of %v, want ruleset", header, fields)
		}
	}
}

func TestAnswersHaveNoNullsAndNoBlanks(t *testing.T) {
	r := start(t, fakeGames{})
	got := r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil)
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(got.body)); err != nil {
		t.Fatal(err)
	}
	if got.body != compact.String() || strings.Contains(got.body, "null") {
		t.Errorf("answer: %s", got.body)
	}
	if length := got.header.Get("Content-Length"); length != strconv.Itoa(len(got.body)) {
		t.Errorf("Content-Length: %s for %d bytes", length, len(got.body))
	}
}

func TestHeadAndOptions(t *testing.T) {
	r := start(t, fakeGames{})
	for _, path := range []string{"/v1/rulesets/x", "/", "/openapi.json"} {
		want := r.do(t, http.MethodGet, path, nil, nil)
		got := r.do(t, http.MethodHead, path, nil, nil)
		if got.status != http.StatusOK || got.body != "" || got.header.Get("Content-Length") != want.header.Get("Content-Length") {
			t.Errorf("HEAD %s: %+v", path, got)
		}
	}
	if got := r.do(t, http.MethodHead, "/v1/games", nil, nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("HEAD of a POST: %d", got.status)
	}
	for path, allow := range map[string]string{
		"/v1/games":      "POST, OPTIONS",
		"/v1/rulesets/x": "GET, HEAD, OPTIONS",
		"/openapi.json":  "GET, HEAD, OPTIONS",
	} {
		got := r.do(t, http.MethodOptions, path, nil, nil)
		if got.status != http.StatusNoContent || got.header.Get("Allow") != allow {
			t.Errorf("OPTIONS %s: %d, Allow %q", path, got.status, got.header.Get("Allow"))
		}
	}
}

// TestBodyWithoutEnd sends a body that is longer than it was said to be, and one
// that says nothing of its length: neither may be taken in.
func TestBodyWithoutEnd(t *testing.T) {
	r := start(t, fakeGames{})
	endless := &zeros{}
	got := r.do(t, http.MethodPost, "/v1/games", jsonHeader, endless)
	if s := errorOf(t, got); errorInfo(s).GetReason() != "REQUEST_TOO_LARGE" || !got.last {
		t.Errorf("endless body: %v; the connection ends: %v", s, got.last)
	}
	if got := r.postJSON(t, "/v1/games", strings.Repeat(" ", 65<<10)); got.status != http.StatusRequestEntityTooLarge || !got.last {
		t.Errorf("a body little longer than allowed: %d; the connection ends: %v", got.status, got.last)
	}
	// The client may go on sending for a while after it has the answer.
	if taken := endless.taken.Load(); taken > 10<<20 {
		t.Errorf("the server took in %d bytes", taken)
	}
}

// zeros is a body of 100 MiB that knows how much of it was read.
type zeros struct{ taken atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	if z.taken.Add(int64(len(p))) > 100<<20 {
		return 0, io.EOF
	}
	return len(p), nil
}

func TestBrokenOffBody(t *testing.T) {
	r := start(t, fakeGames{})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.HTTPAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /v1/games HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(conn)
	if !strings.Contains(string(data), "REQUEST_ABANDONED") {
		t.Errorf("answer to half a body: %s", data)
	}
}

// TestEveryRouteIsKnown fails when the gateway spells a pattern otherwise than
// routeRequests does.
func TestEveryRouteIsKnown(t *testing.T) {
	r := start(t, fakeGames{})
	if routes := len(routeRequests(gameService())); routes != gameService().Methods().Len() {
		t.Errorf("%d routes for %d methods", routes, gameService().Methods().Len())
	}
	for pattern, request := range routeRequests(gameService()) {
		path := strings.ReplaceAll(pattern, "{ruleset=*}", "x")
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			s := errorOf(t, r.do(t, method, path+"?bogus=1", nil, nil))
			if reason := errorInfo(s).GetReason(); reason != "REQUEST_INVALID" && reason != "METHOD_NOT_ALLOWED" {
				t.Errorf("%s %s (%s): %v", method, path, request.Name(), s)
			}
		}
	}
}

// TestInProcessCallsLookLikeGRPC compares what a handler sees of a call over the two
// transports.
func TestInProcessCallsLookLikeGRPC(t *testing.T) {
	type view struct {
		method   string
		loopback bool
		deadline bool
		stream   bool
		auth     string
	}
	var seen view
	games := fakeGames{get: func(ctx context.Context, _ *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
		seen = view{}
		seen.method, _ = grpc.Method(ctx)
		if p, ok := peer.FromContext(ctx); ok {
			if addr, ok := p.Addr.(*net.TCPAddr); ok {
				seen.loopback = addr.IP.IsLoopback()
			}
		}
		if deadline, ok := ctx.Deadline(); ok {
			seen.deadline = time.Until(deadline) < 3*time.Second
		}
		seen.stream = grpc.SetHeader(ctx, metadata.Pairs("x-test", "1")) == nil && grpc.SetTrailer(ctx, metadata.Pairs("x-end", "1")) == nil
		if md, ok := metadata.FromIncomingContext(ctx); ok {
			seen.auth = strings.Join(md.Get("authorization"), "")
		}
		if _, ok := metadata.FromOutgoingContext(ctx); ok {
			if md, _ := metadata.FromOutgoingContext(ctx); md.Len() > 0 {
				t.Error("the caller's headers would be sent on")
			}
		}
		return &avalanchev1.GetRulesetResponse{}, nil
	}}
	r := start(t, games)
	want := view{"/avalanche.v1.GameService/GetRuleset", true, true, true, "Bearer x"}

	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer x"), 2*time.Second)
	defer cancel()
	if _, err := r.games.GetRuleset(ctx, &avalanchev1.GetRulesetRequest{Ruleset: "x"}); err != nil || seen != want {
		t.Errorf("over gRPC: %+v, %v", seen, err)
	}
	got := r.do(t, http.MethodGet, "/v1/rulesets/x", http.Header{"Authorization": {"Bearer x"}, "Grpc-Timeout": {"2S"}}, nil)
	if got.status != http.StatusOK || seen != want {
		t.Errorf("over HTTP: %+v, %+v", seen, got)
	}
	for name := range got.header {
		if strings.HasPrefix(name, "Grpc-") {
			t.Errorf("the answer has a header %s", name)
		}
	}
}

func TestInProcessConnectionReturnsHeaders(t *testing.T) {
	games := fakeGames{get: func(ctx context.Context, _ *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
		if err := grpc.SetHeader(ctx, metadata.Pairs("x-a", "1")); err != nil {
			t.Error(err)
		}
		return &avalanchev1.GetRulesetResponse{}, grpc.SetTrailer(ctx, metadata.Pairs("x-b", "2"))
	}}
	conn := newInProcess(chainUnary(nil), newTelemetry(t).rpcHandler(isGameMethod))
	avalanchev1.RegisterGameServiceServer(conn, games)
	var header, trailer metadata.MD
	_, err := avalanchev1.NewGameServiceClient(conn).GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{}, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil || strings.Join(header.Get("x-a"), "") != "1" || strings.Join(trailer.Get("x-b"), "") != "2" {
		t.Errorf("header %v, trailer %v, %v", header, trailer, err)
	}
	err = conn.Invoke(t.Context(), "/avalanche.v1.GameService/Cheat", &avalanchev1.GetRulesetRequest{}, &avalanchev1.GetRulesetResponse{})
	wantError(t, err, codes.Unimplemented, "METHOD_UNKNOWN")
	if _, err := conn.NewStream(t.Context(), nil, "x"); err == nil {
		t.Error("there are streams")
	}
}

func TestRetryAfter(t *testing.T) {
	games := fakeGames{get: func(context.Context, *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
		return nil, &service.Problem{
			Code: codes.ResourceExhausted, Reason: avalanchev1.ErrorReason_RATE_LIMITED, Message: "slow down", RetryAfter: 1500 * time.Millisecond,
		}
	}}
	r := start(t, games)
	got := r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil)
	errorOf(t, got)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "2" {
		t.Errorf("HTTP %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
}

func TestPanicInTheGateway(t *testing.T) {
	logs := &logBuffer{}
	telemetry := newTelemetry(t)
	server, err := New(testConfig(), fakeGames{}, telemetry, NewLogger(logs, 0, LogJSON, telemetry))
	if err != nil {
		t.Fatal(err)
	}
	begun := false
	server.http.Handler = newHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if begun {
			_, _ = w.Write([]byte("half"))
		}
		panic("snow")
	}), nil, &server.ready, telemetry, server.log)
	r := run(t, server, logs)
	if s := errorOf(t, r.do(t, http.MethodGet, "/x", nil, nil)); errorInfo(s).GetReason() != "INTERNAL_FAULT" || strings.Contains(s.Message(), "snow") {
		t.Errorf("answer: %v", s)
	}
	if !strings.Contains(logs.String(), "snow") {
		t.Errorf("log: %s", logs)
	}

	begun = true
	response, err := r.client.Get("http://" + r.HTTPAddr().String() + "/x")
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looks complete")
	}
}
