package server

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/structpb"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// TestJSONDepth uses a message that may be nested without end, which no request of
// ours may.
func TestJSONDepth(t *testing.T) {
	nested := func(depth int) []byte {
		return []byte(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
	}
	// Each level is an object in a value in a field.
	if wrong := decodeJSON(nested(maxJSONDepth/3), &structpb.Struct{}); wrong != nil {
		t.Errorf("%d levels: %+v", maxJSONDepth/3, wrong)
	}
	wrong := decodeJSON(nested(maxJSONDepth+1), &structpb.Struct{})
	if wrong == nil || wrong.problem != "is nested too deep" {
		t.Errorf("%d levels: %+v", maxJSONDepth+1, wrong)
	}
}

// TestDeepRequests fill all that a request may have with levels.
func TestDeepRequests(t *testing.T) {
	r := start(t, fakeGames{})
	fill := func(begin, level, end string) string {
		return begin + strings.Repeat(level, (r.config.MaxRequestBytes-len(begin)-len(end))/len(level)) + end
	}
	for name, body := range map[string]string{
		"arrays":              fill("", "[", ""),
		"objects":             fill("", `{"a":`, ""),
		"objects of a field":  fill("", `{"options":`, ""),
		"arrays of a field":   fill(`{"options":{"marble":{"houseRules":`, "[", ""),
		"arrays in a number":  fill(`{"players":`, "[", ""),
		"behind the end":      fill(`{"ruleset":"x"}`, "[", ""),
		"in an unknown field": fill(`{"a":`, "[", ""),
	} {
		t.Run(name, func(t *testing.T) {
			if s := errorOf(t, r.postJSON(t, "/v1/games", body)); s.Code() != codes.InvalidArgument {
				t.Errorf("%v", s)
			}
		})
	}

	groups := bytes.Repeat(protowire.AppendTag(nil, 99, protowire.StartGroupType), r.config.MaxRequestBytes/4)
	closed := append(bytes.Clone(groups), bytes.Repeat(protowire.AppendTag(nil, 99, protowire.EndGroupType), r.config.MaxRequestBytes/4)...)
	for name, message := range map[string][]byte{"groups without an end": groups, "groups": closed} {
		t.Run(name, func(t *testing.T) {
			err := r.sendRaw(t.Context(), avalanchev1.GameService_CreateGame_FullMethodName, message)
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%v", err)
			}
		})
	}
	if got := r.do(t, http.MethodGet, "/v1/rulesets/x", nil, nil); got.status != http.StatusOK {
		t.Errorf("afterwards: %+v", got)
	}
}
