package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/avalanched/avalanched/internal/engine/rulesets"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// FuzzJSONRequests throws anything at the routes of the real service. Whatever
// comes, the answer is the method's response or an error of the one shape, and
// never one of the 500s.
func FuzzJSONRequests(f *testing.F) {
	handler := realHandler(f)
	methods := gameService().Methods()
	first := createForFuzzing(f, handler)
	for rpc, request := range map[string]string{
		"ListRulesets":  `{"pageSize":3}`,
		"GetRuleset":    `{"ruleset":"marble-basic"}`,
		"CreateGame":    `{"ruleset":"marble-basic","players":2,"options":{"marble":{"rows":3},"sealedSeats":true},"requestId":"1b4e28ba-2fa1-41d2-883f-0016d3cca427"}`,
		"ApplyMove":     `{"state":"` + first + `","move":{"notation":"Br"},"validateOnly":true}`,
		"SimulateDrop":  `{"state":"` + first + `","drops":[{"chute":"A","color":"RED"}]}`,
		"SimulateMoves": `{"state":"` + first + `","moves":[{"notation":"Br"},{"resign":{}}]}`,
		"InspectGame":   `{"state":"` + first + `"}`,
		"ReplayGame":    `{"firstState":"` + first + `","lastState":"` + first + `","moves":[]}`,
	} {
		method := methods.ByName(protoreflect.Name(rpc))
		f.Add(byte(method.Index()), "", request)
		f.Add(byte(method.Index()), "pageSize=1&pageToken=x", "")
	}
	f.Fuzz(func(t *testing.T, route byte, query, body string) {
		method := methods.Get(int(route) % methods.Len())
		raw := asHTTP(t, method, []byte(`{"ruleset":"marble-basic"}`))
		path, _, _ := strings.Cut(raw.Path, "?")
		request := httptest.NewRequestWithContext(t.Context(), raw.Method, "http://x", strings.NewReader(body))
		request.URL = &url.URL{Path: path, RawQuery: query}
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		got := answer{recorder.Code, recorder.Header(), recorder.Body.String(), false}
		switch {
		case got.status == http.StatusOK:
			response := dynamicpb.NewMessage(method.Output())
			if err := protojson.Unmarshal([]byte(got.body), response); err != nil {
				t.Fatalf("%s answers with no %s: %v", method.Name(), method.Output().Name(), err)
			}
			checkHeaders(t, got)
		case got.status >= http.StatusInternalServerError:
			t.Fatalf("HTTP %d: %s", got.status, got.body)
		default:
			errorOf(t, got)
		}
	})
}

// realHandler is the HTTP port of a server with the real service, without a network.
func realHandler(tb testing.TB) http.Handler {
	tb.Helper()
	keys, err := state.LoadKeyset("testdata/cases.keyset.json", nil)
	if err != nil {
		tb.Fatal(err)
	}
	keyring, err := keys.Keyring()
	if err != nil {
		tb.Fatal(err)
	}
	games := service.New(service.Config{Rulesets: rulesets.Registry(), Keys: func() *state.Keyring { return keyring }})
	server, err := New(testConfig(), games, newTelemetry(tb), slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return server.http.Handler
}

func createForFuzzing(tb testing.TB, handler http.Handler) string {
	tb.Helper()
	body := `{"ruleset":"marble-basic","players":2,"options":{"marble":{"board":"LRL/LRLL/RLL/LLRL"}},"requestId":"fuzz"}`
	request := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "/v1/games", bytes.NewBufferString(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	var created struct{ State string }
	if err := json.Unmarshal(recorder.Body.Bytes(), &created); err != nil || created.State == "" {
		tb.Fatalf("no game to begin with: %s", recorder.Body)
	}
	return created.State
}
