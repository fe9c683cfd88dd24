package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/service"
)

func TestOrderOfInterceptors(t *testing.T) {
	var names []string
	for _, i := range (interceptors{}).unaryChain() {
		names = append(names, i.name)
	}
	if want := []string{"arrive", "log", "recover", "present", "access", "work", "deadline", "unknown", "validate"}; !slices.Equal(names, want) {
		t.Errorf("order %v, want %v", names, want)
	}
}

func TestChainCallsInOrder(t *testing.T) {
	var order []string
	step := func(name string) namedInterceptor {
		return namedInterceptor{name, func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			order = append(order, name+" in")
			response, err := handler(ctx, request)
			order = append(order, name+" out")
			return response, err
		}}
	}
	chain := chainUnary([]namedInterceptor{step("a"), step("b")})
	for range 2 { // A chain that keeps state would differ the second time.
		order = nil
		response, err := chain(t.Context(), 1, nil, func(_ context.Context, request any) (any, error) {
			order = append(order, "handler")
			return request, nil
		})
		if got := strings.Join(order, ", "); got != "a in, b in, handler, b out, a out" || response != 1 || err != nil {
			t.Errorf("%s: %v, %v", got, response, err)
		}
	}
}

// TestBothTransportsRunTheSameInterceptors counts log lines, which the outermost
// one writes, and refusals, which the innermost one makes.
func TestBothTransportsRunTheSameInterceptors(t *testing.T) {
	r := start(t, fakeGames{})
	if _, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{Ruleset: "x"}); err != nil {
		t.Fatal(err)
	}
	_, err := r.games.CreateGame(t.Context(), &avalanchev1.CreateGameRequest{})
	wantError(t, err, codes.InvalidArgument, "REQUEST_INVALID")
	if got := r.postJSON(t, "/v1/games", `{"ruleset":"x"}`); got.status != http.StatusOK {
		t.Fatalf("%+v", got)
	}
	if s := errorOf(t, r.postJSON(t, "/v1/games", `{}`)); errorInfo(s).GetReason() != "REQUEST_INVALID" {
		t.Errorf("%v", s)
	}

	lines := map[string]int{}
	for _, line := range requestLines(t, r.logs) {
		lines[fmt.Sprint(line["transport"], " ", line["method"], " ", line["code"], " ", line["reason"])]++
	}
	want := []string{
		"grpc /avalanche.v1.GameService/CreateGame OK <nil>",
		"grpc /avalanche.v1.GameService/CreateGame INVALID_ARGUMENT REQUEST_INVALID",
		"http /avalanche.v1.GameService/CreateGame OK <nil>",
		"http /avalanche.v1.GameService/CreateGame INVALID_ARGUMENT REQUEST_INVALID",
	}
	for _, line := range want {
		if lines[line] != 1 {
			t.Errorf("%d lines %q, want one; all: %v", lines[line], line, lines)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("lines: %v", lines)
	}
}

func requestLines(t *testing.T, logs *logBuffer) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(logs.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if fields["msg"] == "request" {
			lines = append(lines, fields)
		}
	}
	return lines
}

func TestEveryRequestHasOneLine(t *testing.T) {
	r := start(t, fakeGames{})
	r.do(t, http.MethodGet, "/nowhere/SECRET", nil, nil)
	r.postJSON(t, "/v1/games", `{"SECRET`)
	r.postJSON(t, "/v1/games", `{"ruleset":"SECRET"}`)
	r.do(t, http.MethodGet, "/v1/rulesets/x?SECRET=1", nil, nil)
	r.do(t, http.MethodGet, "/openapi.json", nil, nil)
	_ = r.conn.Invoke(t.Context(), "/avalanche.v1.SECRET/SECRET", &emptypb.Empty{}, &emptypb.Empty{})

	// A line may come a little later than its answer.
	eventually(t, func() bool { return len(requestLines(t, r.logs)) >= 6 })
	var got []string
	for _, line := range requestLines(t, r.logs) {
		got = append(got, fmt.Sprint(line["level"], " ", line["transport"], " ", cmp.Or(line["method"], line["http_method"]), " ", line["route"], " ", line["reason"]))
	}
	slices.Sort(got)
	want := []string{
		"DEBUG http /avalanche.v1.GameService/CreateGame <nil> <nil>",
		"DEBUG http GET /openapi.json <nil>",
		"INFO grpc unknown <nil> METHOD_UNKNOWN",
		"INFO http GET  ROUTE_UNKNOWN",
		"INFO http GET /v1/rulesets/{ruleset} REQUEST_INVALID",
		"INFO http POST /v1/games BODY_MALFORMED",
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if strings.Contains(r.logs.String(), "SECRET") {
		t.Errorf("the log tells what clients said: %s", r.logs)
	}
}

// TestErrorsOfHandlers is how errors of every origin reach a client, over both
// transports.
func TestErrorsOfHandlers(t *testing.T) {
	own := &service.Problem{Code: codes.FailedPrecondition, Reason: avalanchev1.ErrorReason_MOVE_ILLEGAL, Message: "not now", Metadata: map[string]string{"legal": "Ar"}}
	withInfo := own.GRPCStatus().Err()
	for name, test := range map[string]struct {
		err     error
		code    codes.Code
		reason  string
		message string
		hidden  bool
	}{
		"own":                 {own, codes.FailedPrecondition, "MOVE_ILLEGAL", "not now", false},
		"own, wrapped":        {fmt.Errorf("apply: %w", own), codes.FailedPrecondition, "MOVE_ILLEGAL", "not now", false},
		"status with reason":  {withInfo, codes.FailedPrecondition, "MOVE_ILLEGAL", "not now", false},
		"status of a library": {status.Error(codes.NotFound, "no such"), codes.NotFound, "REQUEST_INVALID", "no such", false},
		"odd status":          {status.Error(codes.DataLoss, "hush"), codes.Internal, "INTERNAL_FAULT", "the service failed", true},
		"deadline":            {fmt.Errorf("replay: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "REQUEST_ABANDONED", "longer", false},
		"canceled":            {context.Canceled, codes.Canceled, "REQUEST_ABANDONED", "given up", false},
		"anything":            {errors.New("hush"), codes.Internal, "INTERNAL_FAULT", "the service failed", true},
		"panic":               {nil, codes.Internal, "INTERNAL_FAULT", "the service failed", true},
	} {
		t.Run(name, func(t *testing.T) {
			games := fakeGames{get: func(context.Context, *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
				if test.err == nil {
					panic("hush")
				}
				return nil, test.err
			}}
			r := start(t, games)
			_, err := r.games.GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{Ruleset: "x"})
			wantError(t, err, test.code, test.reason)
			if message := status.Convert(err).Message(); !strings.Contains(message, test.message) || strings.Contains(message, "hush") {
				t.Errorf("message over gRPC: %q", message)
			}
			s := errorOf(t, r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil))
			if !proto.Equal(s.Proto(), status.Convert(err).Proto()) {
				t.Errorf("HTTP: %v\ngRPC: %v", s.Proto(), status.Convert(err).Proto())
			}
			if logged := strings.Count(r.logs.String(), "hush"); test.hidden != (logged > 0) {
				t.Errorf("the log tells it %d times: %s", logged, r.logs)
			}
			for _, line := range requestLines(t, r.logs) {
				if faulty := line["level"] == slog.LevelError.String(); faulty != test.hidden || line["reason"] != test.reason {
					t.Errorf("log line: %v", line)
				}
			}
		})
	}
}

func TestRequestTimeout(t *testing.T) {
	games := fakeGames{get: func(ctx context.Context, _ *avalanchev1.GetRulesetRequest) (*avalanchev1.GetRulesetResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	r := start(t, games, func(c *Config) { c.RequestTimeout = 20 * time.Millisecond })
	_, err := r.games.GetRuleset(t.Context(), &avalanchev1.GetRulesetRequest{Ruleset: "x"})
	wantError(t, err, codes.DeadlineExceeded, "REQUEST_ABANDONED")
	s := errorOf(t, r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil))
	if s.Code() != codes.DeadlineExceeded {
		t.Errorf("over HTTP: %v", s)
	}
}

func TestUnknownMethods(t *testing.T) {
	r := start(t, fakeGames{})
	for _, method := range []string{"/avalanche.v1.GameService/Cheat", "/avalanche.v2.GameService/CreateGame", "/nothing/at/all"} {
		err := r.conn.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{})
		wantError(t, err, codes.Unimplemented, "METHOD_UNKNOWN")
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct{ data []byte }

func (rawCodec) Name() string { return "proto" }

func (c rawCodec) Marshal(any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(c.data)}, nil
}

func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

func (r *running) sendRaw(ctx context.Context, method string, data []byte, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	// The library calls no codec for a nil request.
	return r.conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, append(opts, grpc.ForceCodecV2(rawCodec{data}))...)
}

func marshal(t *testing.T, message proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRefusalsOfBinaryMessages(t *testing.T) {
	const (
		create = "/avalanche.v1.GameService/CreateGame"
		apply  = "/avalanche.v1.GameService/ApplyMove"
		replay = "/avalanche.v1.GameService/ReplayGame"
		check  = "/grpc.health.v1.Health/Check"
		watch  = "/grpc.health.v1.Health/Watch"
	)
	unknownField := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)
	strange := &avalanchev1.Move{}
	strange.ProtoReflect().SetUnknown(unknownField)
	valid := marshal(t, &avalanchev1.CreateGameRequest{Ruleset: "x"})
	long := &avalanchev1.CreateGameRequest{Ruleset: strings.Repeat("x", 65<<10)}
	r := start(t, fakeGames{})
	for name, test := range map[string]struct {
		method  string
		data    []byte
		code    codes.Code
		reason  string
		message string
		field   string
	}{
		"cut off":              {create, valid[:len(valid)-1], codes.InvalidArgument, "BODY_MALFORMED", "avalanche.v1.CreateGameRequest", ""},
		"not UTF-8":            {create, []byte{0x0a, 1, 0xff}, codes.InvalidArgument, "BODY_MALFORMED", "UTF-8", ""},
		"noise":                {create, []byte("\xff\xff"), codes.InvalidArgument, "BODY_MALFORMED", "", ""},
		"our own marks":        {create, markTooLarge, codes.InvalidArgument, "BODY_MALFORMED", "", ""},
		"unknown field":        {create, append(slices.Clone(valid), unknownField...), codes.InvalidArgument, "REQUEST_INVALID", "newer version", "99"},
		"unknown, nested":      {apply, marshal(t, &avalanchev1.ApplyMoveRequest{Move: strange}), codes.InvalidArgument, "REQUEST_INVALID", "", "move.99"},
		"unknown, in a list":   {replay, marshal(t, &avalanchev1.ReplayGameRequest{Moves: []*avalanchev1.Move{{}, strange}}), codes.InvalidArgument, "REQUEST_INVALID", "", "moves[1].99"},
		"too long":             {create, marshal(t, long), codes.ResourceExhausted, "REQUEST_TOO_LARGE", "65536", ""},
		"health, noise":        {check, []byte("\xff\xff"), codes.InvalidArgument, "BODY_MALFORMED", "grpc.health.v1.HealthCheckRequest", ""},
		"health stream, noise": {watch, []byte("\xff\xff"), codes.InvalidArgument, "BODY_MALFORMED", "grpc.health.v1.HealthCheckRequest", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := r.sendRaw(t.Context(), test.method, test.data)
			wantError(t, err, test.code, test.reason)
			s := status.Convert(err)
			if !strings.Contains(s.Message(), test.message) {
				t.Errorf("message %q, want %q in it", s.Message(), test.message)
			}
			if fields := strings.Join(fieldsOf(s), " "); fields != test.field {
				t.Errorf("fields %q, want %q", fields, test.field)
			}
		})
	}
	t.Run("endless", func(t *testing.T) {
		// The transport itself refuses this: the code is all there is.
		if err := r.sendRaw(t.Context(), create, make([]byte, 1<<20)); status.Code(err) != codes.ResourceExhausted || errorInfo(status.Convert(err)) != nil {
			t.Errorf("1 MiB: %v", err)
		}
	})
	t.Run("bomb", func(t *testing.T) {
		err := r.sendRaw(t.Context(), create, make([]byte, 4<<20), grpc.UseCompressor(gzip.Name))
		if status.Code(err) != codes.ResourceExhausted {
			t.Errorf("4 MiB of zeros, compressed: %v", err)
		}
	})
	if err := r.sendRaw(t.Context(), create, valid, grpc.UseCompressor(gzip.Name)); err != nil {
		t.Errorf("a good request, compressed: %v", err)
	}
}

func TestStrictCodecKeepsGoodMessages(t *testing.T) {
	codec := newStrictCodec(100)
	if codec.Name() != encoding.GetCodecV2("proto").Name() {
		t.Errorf("the codec is called %s", codec.Name())
	}
	want := &avalanchev1.CreateGameRequest{Ruleset: "x", Players: 3}
	data, err := codec.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &avalanchev1.CreateGameRequest{}
	if err := codec.Unmarshal(data, got); err != nil || !proto.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if err := refuseUnknown(got, 100); err != nil {
		t.Error(err)
	}
	if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer("\xff")}, "no message"); err == nil {
		t.Error("a string is taken for a message")
	}
}

// TestTooManyPartsAreNotMade: each takes much more memory than the two bytes in which it is
// sent, wherever it is in the request.
func TestTooManyPartsAreNotMade(t *testing.T) {
	codec := newStrictCodec(1 << 20)
	// part is one more message or item of a list, and around puts them where they belong.
	for name, test := range map[string]struct {
		part   []byte
		around []protowire.Number
		into   proto.Message
	}{
		"moves":       {[]byte{2<<3 | byte(protowire.BytesType), 0}, nil, &avalanchev1.ReplayGameRequest{}},
		"house rules": {[]byte{3<<3 | byte(protowire.BytesType), 0}, []protowire.Number{1, 3}, &avalanchev1.CreateGameRequest{}},
	} {
		for _, more := range []int{0, 1} {
			data := bytes.Repeat(test.part, maxParts-len(test.around)+more)
			for _, number := range test.around {
				data = protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), data)
			}
			if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data)}, test.into); err != nil {
				t.Fatal(err)
			}
			err := refuseUnknown(test.into, 1<<20)
			if made := proto.Size(test.into) > maxParts; made != (more == 0) || (err == nil) != made {
				t.Errorf("%s, %d too many: they are made: %v; the error is %v", name, more, made, err)
			}
			if more > 0 {
				wantError(t, err, codes.InvalidArgument, "BODY_MALFORMED")
			}
		}
	}
}

func TestRulesInJSONNames(t *testing.T) {
	rules, err := newRequestRules(gameService())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		request proto.Message
		fields  []string
		message string
	}{
		"missing": {&avalanchev1.CreateGameRequest{}, []string{"ruleset"}, "ruleset: "},
		"two": {
			&avalanchev1.CreateGameRequest{Players: 17, RequestId: strings.Repeat("x", 129)},
			[]string{"ruleset", "players", "requestId"},
			"; and 1 more",
		},
		"nested": {
			&avalanchev1.CreateGameRequest{Ruleset: "x", Options: &avalanchev1.GameOptions{Family: &avalanchev1.GameOptions_Marble{
				Marble: &avalanchev1.MarbleOptions{Rows: 17, HouseRules: []string{"a", ""}},
			}}},
			[]string{"options.marble.rows", "options.marble.houseRules[1]"},
			"options.marble.rows: ",
		},
		"list": {
			&avalanchev1.SimulateDropRequest{On: &avalanchev1.SimulateDropRequest_Board{Board: "x"}, Drops: []*avalanchev1.MarbleDrop{
				{Chute: avalanchev1.MarbleDrop_A, Color: avalanchev1.Marble_RED},
				{Chute: 9, Color: avalanchev1.Marble_RED},
			}},
			[]string{"drops[1].chute"},
			"drops[1].chute: ",
		},
		"oneof of a request": {
			&avalanchev1.SimulateDropRequest{Drops: []*avalanchev1.MarbleDrop{{Chute: avalanchev1.MarbleDrop_A, Color: avalanchev1.Marble_RED}}},
			[]string{"state", "board"},
			"one of state, board is needed",
		},
		"oneof of a move": {
			&avalanchev1.ApplyMoveRequest{Move: &avalanchev1.Move{}},
			[]string{"move"},
			"must have one of drop, sow, card, pass, resign, notation",
		},
		"good": {&avalanchev1.CreateGameRequest{Ruleset: "x"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := rules.check(test.request)
			if test.fields == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantError(t, err, codes.InvalidArgument, "REQUEST_INVALID")
			if fields := fieldsOf(status.Convert(err)); !slices.Equal(fields, test.fields) {
				t.Errorf("fields %q, want %q", fields, test.fields)
			}
			if !strings.Contains(err.Error(), test.message) {
				t.Errorf("message %q, want %q in it", err, test.message)
			}
		})
	}
}

// TestErrorsStayShort breaks the rules in as many places as there can be: the error must
// fit into what clients take, and cost little.
func TestErrorsStayShort(t *testing.T) {
	rules, err := newRequestRules(gameService())
	if err != nil {
		t.Fatal(err)
	}
	replay := &avalanchev1.ReplayGameRequest{FirstState: "x", LastState: "x"}
	for range longList {
		replay.Moves = append(replay.Moves, &avalanchev1.Move{})
	}
	err = rules.check(replay)
	wantError(t, err, codes.InvalidArgument, "REQUEST_INVALID")
	if fields := fieldsOf(status.Convert(err)); len(fields) != maxViolations || fields[1] != "moves[1]" {
		t.Errorf("fields %q", fields)
	}
	if !strings.HasSuffix(err.Error(), "; and 62 more") {
		t.Errorf("message %q", err)
	}
	if size := proto.Size(status.Convert(err).Proto()); size > 4<<10 {
		t.Errorf("the error has %d bytes", size)
	}

	for range 10_000 - longList {
		replay.Moves = append(replay.Moves, &avalanchev1.Move{})
	}
	err = rules.check(replay)
	wantError(t, err, codes.InvalidArgument, "REQUEST_INVALID")
	if fields := fieldsOf(status.Convert(err)); !slices.Equal(fields, []string{"moves[0]"}) {
		t.Errorf("fields %q", fields)
	}

	replay.Moves = append(replay.Moves, &avalanchev1.Move{})
	err = rules.check(replay)
	wantError(t, err, codes.InvalidArgument, "REQUEST_INVALID")
	if fields := fieldsOf(status.Convert(err)); !slices.Equal(fields, []string{"moves"}) || !strings.Contains(err.Error(), "no more than 10000") {
		t.Errorf("fields %q, message %q", fields, err)
	}

	names := &avalanchev1.CreateGameRequest{Ruleset: "x", Options: &avalanchev1.GameOptions{Family: &avalanchev1.GameOptions_Marble{
		Marble: &avalanchev1.MarbleOptions{HouseRules: make([]string, 9)},
	}}}
	if fields := fieldsOf(status.Convert(rules.check(names))); !slices.Equal(fields, []string{"options.marble.houseRules"}) {
		t.Errorf("fields %q", fields)
	}

	long := strings.Repeat("é", 1<<20)
	if wrong := decodeJSON([]byte(`{"`+long+`": 1}`), &avalanchev1.CreateGameRequest{}); wrong == nil || len(wrong.path) > 100 || !utf8.ValidString(wrong.path) {
		t.Errorf("a long name gives %v", wrong)
	}
}
