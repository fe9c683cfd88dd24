package server

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"sigs.k8s.io/yaml"

	"github.com/avalanched/avalanched/internal/engine/rulesets"
	"github.com/avalanched/avalanched/internal/ledger"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// apiCase is a file of testdata/cases; the README there explains it.
type apiCase struct {
	Description string     `json:"description"`
	Ledger      string     `json:"ledger"`
	Steps       []caseStep `json:"steps"`
}

type caseStep struct {
	Comment string            `json:"comment"`
	RPC     string            `json:"rpc"`
	Request map[string]any    `json:"request"`
	HTTP    *rawRequest       `json:"http"`
	Only    string            `json:"only"`
	Save    map[string]string `json:"save"`
	Want    wanted            `json:"want"`
}

type rawRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

type wanted struct {
	Code            string            `json:"code"`
	HTTPStatus      int               `json:"httpStatus"`
	Reason          string            `json:"reason"`
	MessageContains string            `json:"messageContains"`
	Metadata        map[string]string `json:"metadata"`
	FieldViolations []string          `json:"fieldViolations"`
	Headers         map[string]string `json:"headers"`
	Response        any               `json:"response"`
}

// reply is how a step was answered, over either transport.
type reply struct {
	status *status.Status // OK or the error.
	body   string         // The response as JSON, if it is OK.
	http   *answer        // Only over HTTP.
}

// TestCases plays the cases over both transports and compares the answers.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	keys, err := state.LoadKeyset("testdata/cases.keyset.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	keyring, err := keys.Keyring()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			c := readCase(t, file)
			// Two equal services, so that a ledger sees each game over one transport.
			c.play(t, startForCase(t, name, c.Ledger, keyring), startForCase(t, name, c.Ledger, keyring))
		})
	}
}

func readCase(t *testing.T, file string) apiCase {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c apiCase
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		t.Fatal(err)
	}
	if c.Description == "" || len(c.Steps) == 0 {
		t.Fatal("a case needs a description and steps")
	}
	if c.Ledger == "" {
		c.Ledger = "none"
	}
	for i, step := range c.Steps {
		if (step.RPC == "") == (step.HTTP == nil) {
			t.Fatalf("step %d needs either rpc or http", i+1)
		}
		if step.Only != "" && step.Only != "grpc" && step.Only != "http" {
			t.Fatalf("step %d: only may be grpc or http", i+1)
		}
	}
	return c
}

// startForCase makes a server whose random numbers depend on the name of the case
// alone.
func startForCase(t *testing.T, name, ledgerName string, keyring *state.Keyring) *running {
	t.Helper()
	remembered, err := ledger.Open(t.Context(), ledgerName, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hash := fnv.New128a()
	_, _ = io.WriteString(hash, name)
	seed := [32]byte(append(hash.Sum(nil), make([]byte, 16)...))
	return start(t, service.New(service.Config{
		Rulesets: rulesets.Registry(),
		Keys:     func() *state.Keyring { return keyring },
		Ledger:   remembered,
		Random:   rand.NewChaCha8(seed),
	}))
}

func (c apiCase) play(t *testing.T, overGRPC, overHTTP *running) {
	t.Helper()
	grpcValues, httpValues := values{}, values{}
	for i, step := range c.Steps {
		label := fmt.Sprintf("step %d", i+1)
		var replies []reply
		if step.HTTP == nil && step.Only != "http" {
			got := overGRPC.call(t, step, grpcValues)
			check(t, label+" over gRPC", step, got, grpcValues)
			replies = append(replies, got)
		}
		if step.Only != "grpc" {
			got := overHTTP.request(t, step, httpValues)
			check(t, label+" over HTTP", step, got, httpValues)
			replies = append(replies, got)
		}
		if len(replies) == 2 {
			compare(t, label, replies[0], replies[1])
		}
		if t.Failed() {
			return // Later steps would only repeat it.
		}
	}
}

func methodOf(t *testing.T, rpc string) protoreflect.MethodDescriptor {
	t.Helper()
	method := gameService().Methods().ByName(protoreflect.Name(rpc))
	if method == nil {
		t.Fatalf("the service has no method %q", rpc)
	}
	return method
}

// call makes a step over gRPC.
func (r *running) call(t *testing.T, step caseStep, known values) reply {
	t.Helper()
	method := methodOf(t, step.RPC)
	request, response := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := protojson.Unmarshal(known.encode(t, step.Request), request); err != nil {
		t.Fatalf("the request is no %s (say only: http if that is the point): %v", method.Input().Name(), err)
	}
	if err := r.conn.Invoke(t.Context(), gameServicePrefix+step.RPC, request, response); err != nil {
		return reply{status: status.Convert(err)}
	}
	body, err := jsonCodec{}.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: status.New(codes.OK, ""), body: string(body)}
}

// request makes a step over HTTP.
func (r *running) request(t *testing.T, step caseStep, known values) reply {
	t.Helper()
	raw := step.HTTP
	if raw == nil {
		raw = asHTTP(t, methodOf(t, step.RPC), known.encode(t, step.Request))
	} else {
		filled := *raw
		filled.Path, filled.Body = known.fill(t, raw.Path), known.fill(t, raw.Body)
		raw = &filled
	}
	header := http.Header{}
	for name, value := range raw.Headers {
		header.Set(name, value)
	}
	got := r.do(t, raw.Method, raw.Path, header, strings.NewReader(raw.Body))
	if got.status >= 200 && got.status < 300 {
		return reply{status: status.New(codes.OK, ""), body: got.body, http: &got}
	}
	return reply{status: errorOf(t, got), http: &got}
}

// asHTTP is the HTTP request that stands for a call.
func asHTTP(t *testing.T, method protoreflect.MethodDescriptor, body []byte) *rawRequest {
	t.Helper()
	rule, ok := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok {
		t.Fatalf("%s has no HTTP route", method.Name())
	}
	if rule.GetPost() != "" {
		return &rawRequest{http.MethodPost, rule.GetPost(), map[string]string{"Content-Type": "application/json"}, string(body)}
	}
	var fields map[string]any
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	path := pathVariable.ReplaceAllStringFunc(rule.GetGet(), func(variable string) string {
		name := strings.Trim(variable, "{}")
		value := fmt.Sprint(fields[name])
		delete(fields, name)
		return url.PathEscape(value)
	})
	query := url.Values{}
	for name, value := range fields {
		query.Set(name, fmt.Sprint(value))
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return &rawRequest{http.MethodGet, path, nil, ""}
}

// check compares a reply with what the step wants, and saves values for later.
func check(t *testing.T, label string, step caseStep, got reply, known values) {
	t.Helper()
	want := step.Want
	wantCode := codes.OK
	if want.Code != "" {
		number, ok := code.Code_value[want.Code]
		if !ok {
			t.Fatalf("%s: there is no code %q", label, want.Code)
		}
		wantCode = codes.Code(number)
	}
	if got.status.Code() != wantCode {
		t.Errorf("%s: code %v, want %v: %s", label, got.status.Code(), wantCode, got.status.Message())
		return
	}
	if got.http != nil && want.HTTPStatus != 0 && got.http.status != want.HTTPStatus {
		t.Errorf("%s: HTTP status %d, want %d", label, got.http.status, want.HTTPStatus)
	}
	if got.http != nil {
		for name, value := range want.Headers {
			if header := got.http.header.Get(name); header != value {
				t.Errorf("%s: header %s is %q, want %q", label, name, header, value)
			}
		}
	}
	if wantCode != codes.OK {
		checkError(t, label, got.status, want, known)
		return
	}
	var response any
	if got.body != "" {
		if err := json.Unmarshal([]byte(got.body), &response); err != nil {
			t.Fatalf("%s: %v in %s", label, err, got.body)
		}
	}
	for _, difference := range unlike("response", known.fillAll(t, want.Response), response) {
		t.Errorf("%s: %s", label, difference)
	}
	for name, path := range step.Save {
		value, err := lookUp(response, path)
		if err != nil {
			t.Fatalf("%s: save %s: %v", label, name, err)
		}
		known[name] = value
	}
}

func checkError(t *testing.T, label string, got *status.Status, want wanted, known values) {
	t.Helper()
	info := errorInfo(got)
	if info.GetDomain() != service.ErrorDomain || info.GetReason() == "" {
		t.Errorf("%s: the error has no ErrorInfo: %v", label, got)
	}
	if want.Reason == "" || want.MessageContains == "" {
		t.Errorf("%s: a case about an error wants a reason and messageContains", label)
	}
	if info.GetReason() != want.Reason {
		t.Errorf("%s: reason %s, want %s: %s", label, info.GetReason(), want.Reason, got.Message())
	}
	if part := known.fill(t, want.MessageContains); !strings.Contains(got.Message(), part) {
		t.Errorf("%s: message %q, want %q in it", label, got.Message(), part)
	}
	for key, value := range want.Metadata {
		if info.GetMetadata()[key] != known.fill(t, value) {
			t.Errorf("%s: metadata %s is %q, want %q", label, key, info.GetMetadata()[key], value)
		}
	}
	if fields := fieldsOf(got); !slices.Equal(fields, want.FieldViolations) {
		t.Errorf("%s: field violations %q, want %q", label, fields, want.FieldViolations)
	}
}

// compare demands that both transports give the same answer.
func compare(t *testing.T, label string, overGRPC, overHTTP reply) {
	t.Helper()
	if !proto.Equal(overGRPC.status.Proto(), overHTTP.status.Proto()) {
		t.Errorf("%s: gRPC and HTTP disagree:\n%v\n%v", label, overGRPC.status.Proto(), overHTTP.status.Proto())
	}
	if overGRPC.body != overHTTP.body {
		t.Errorf("%s: gRPC and HTTP disagree:\n%s\n%s", label, overGRPC.body, overHTTP.body)
	}
}

// unlike lists where a value differs from what is wanted. Objects may have more
// fields than are wanted, and a wanted null stands for a field that is not there.
func unlike(path string, want, got any) []string {
	switch want := want.(type) {
	case nil:
		return nil
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %s, want an object", path, short(got))}
		}
		var differences []string
		for name, value := range want {
			present, ok := object[name]
			switch {
			case value == nil && ok:
				differences = append(differences, fmt.Sprintf("%s.%s is %s, want nothing", path, name, short(present)))
			case value != nil && !ok:
				differences = append(differences, fmt.Sprintf("%s.%s is missing, want %s", path, name, short(value)))
			default:
				differences = append(differences, unlike(path+"."+name, value, present)...)
			}
		}
		return differences
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []string{fmt.Sprintf("%s is %s, want %d elements: %s", path, short(got), len(want), short(want))}
		}
		var differences []string
		for i := range want {
			differences = append(differences, unlike(fmt.Sprintf("%s[%d]", path, i), want[i], list[i])...)
		}
		return differences
	default:
		if !reflect.DeepEqual(want, got) {
			return []string{fmt.Sprintf("%s is %s, want %s", path, short(got), short(want))}
		}
		return nil
	}
}

func short(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(data) > 2000 {
		return string(data[:2000]) + "…"
	}
	return string(data)
}

// values are what earlier steps saved, by name.
type values map[string]any

// placeholder is ${name}, ${name[from:to]}, or either with an open end.
var placeholder = regexp.MustCompile(`\$\{(\w+)(?:\[(\d*):(\d*)\])?\}`)

// fill puts the saved values into a text.
func (v values) fill(t *testing.T, text string) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		saved, ok := v[parts[1]]
		if !ok {
			t.Fatalf("%s: no step has saved %s", found, parts[1])
		}
		value := fmt.Sprint(saved)
		from, to := 0, len(value)
		if parts[2] != "" {
			from, _ = strconv.Atoi(parts[2])
		}
		if parts[3] != "" {
			to, _ = strconv.Atoi(parts[3])
		}
		if from > to || to > len(value) {
			t.Fatalf("%s: the value has %d characters", found, len(value))
		}
		return value[from:to]
	})
}

// fillAll does so in every text of a tree. A text that is nothing but ${name} becomes
// the saved value itself, whatever its type.
func (v values) fillAll(t *testing.T, tree any) any {
	t.Helper()
	switch tree := tree.(type) {
	case string:
		if parts := placeholder.FindStringSubmatch(tree); parts != nil && tree == "${"+parts[1]+"}" {
			if saved, ok := v[parts[1]]; ok {
				return saved
			}
		}
		return v.fill(t, tree)
	case map[string]any:
		filled := make(map[string]any, len(tree))
		for name, value := range tree {
			filled[name] = v.fillAll(t, value)
		}
		return filled
	case []any:
		filled := make([]any, len(tree))
		for i, value := range tree {
			filled[i] = v.fillAll(t, value)
		}
		return filled
	default:
		return tree
	}
}

func (v values) encode(t *testing.T, request map[string]any) []byte {
	t.Helper()
	if request == nil {
		request = map[string]any{}
	}
	data, err := json.Marshal(v.fillAll(t, request))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pathStep is a name or an index in a path such as game.legalMoves[0].notation.
var pathStep = regexp.MustCompile(`(\w+)|\[(\d+)\]`)

func lookUp(tree any, path string) (any, error) {
	for _, step := range pathStep.FindAllStringSubmatch(path, -1) {
		switch node := tree.(type) {
		case map[string]any:
			tree = node[step[1]]
		case []any:
			index, err := strconv.Atoi(step[2])
			if err != nil || index >= len(node) {
				return nil, fmt.Errorf("%s: no element %s of %d", path, step[0], len(node))
			}
			tree = node[index]
		}
		if tree == nil {
			return nil, fmt.Errorf("the response has no %s", path)
		}
	}
	return tree, nil
}

// TestTheRunnerItself: a runner that finds everything alike would let every case
// pass.
func TestTheRunnerItself(t *testing.T) {
	var got any
	if err := json.Unmarshal([]byte(`{"a":1,"b":[{"c":"x","d":2},3],"e":{}}`), &got); err != nil {
		t.Fatal(err)
	}
	for want, differences := range map[string]int{
		`null`:                               0,
		`{}`:                                 0,
		`{"a":1,"b":[{"c":"x"},3],"z":null}`: 0,
		`{"a":2}`:                            1,
		`{"a":"1"}`:                          1,
		`{"a":null}`:                         1,
		`{"z":1}`:                            1,
		`{"b":[]}`:                           1,
		`{"b":[{"c":"y"},4]}`:                2,
		`{"e":[]}`:                           1,
		`{"a":{}}`:                           1,
	} {
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if found := unlike("response", wanted, got); len(found) != differences {
			t.Errorf("%s differs in %q, want %d differences", want, found, differences)
		}
	}
	known := values{"name": "abcdef", "count": 3.0}
	for text, want := range map[string]string{"x": "x", "<${name}>": "<abcdef>", "${name[:2]}-${name[4:]}": "ab-ef", "${count}": "3"} {
		if got := known.fill(t, text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	if filled := known.fillAll(t, []any{"${count}", "n${count}"}); !reflect.DeepEqual(filled, []any{3.0, "n3"}) {
		t.Errorf("filled: %v", filled)
	}
	if value, err := lookUp(got, "b[0].d"); err != nil || value != 2.0 {
		t.Errorf("b[0].d: %v, %v", value, err)
	}
	for _, path := range []string{"b[2]", "z", "b[0].z"} {
		if value, err := lookUp(got, path); err == nil {
			t.Errorf("%s: %v", path, value)
		}
	}
}
