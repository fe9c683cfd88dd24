package server

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

func TestJSONErrorsInPlainWords(t *testing.T) {
	create, apply, simulate := &avalanchev1.CreateGameRequest{}, &avalanchev1.ApplyMoveRequest{}, &avalanchev1.SimulateDropRequest{}
	for name, test := range map[string]struct {
		into proto.Message
		body string
		path string
		// message is the whole of it.
		message string
	}{
		"cut off":         {create, `{"ruleset":`, "", "the body is no complete JSON: it ends too early"},
		"too many":        {create, `{"options":[` + strings.Repeat("{},", maxParts) + `]}`, "", "the body has more than 32768 braces or commas, and no request needs as many"},
		"too many texts":  {create, `{"options":{"marble":{"houseRules":[` + strings.Repeat(`"",`, maxParts+1) + `""]}}}`, "", "the body has more than 32768 braces or commas, and no request needs as many"},
		"cut off, string": {create, `{"ruleset":"x`, "", "the body is no complete JSON: it ends too early"},
		"word":            {create, `{"ruleset":marble}`, "", "the body is no valid JSON: something else is expected here (line 1, column 12)"},
		"single quotes":   {create, `{'ruleset':1}`, "", "the body is no valid JSON: something else is expected here (line 1, column 2)"},
		"colon":           {create, `{"ruleset" "x"}`, "", `the body is no valid JSON: ":" is missing after a field's name (line 1, column 12)`},
		"comma":           {create, `{"ruleset":"x",}`, "", "the body is no valid JSON: something else is expected here (line 1, column 16)"},
		"trailing":        {create, "{\"ruleset\":\"x\"}\n{}", "", "the body is no valid JSON: something else is expected here (line 2, column 1)"},
		"trailing brace":  {create, `{"ruleset":"x"}}`, "", "the body is no valid JSON: something else is expected here (line 1, column 16)"},
		"not UTF-8":       {create, "{\"ruleset\":\"\xff\"}", "", "the body is no valid JSON: a string is not UTF-8 (line 1, column 12)"},
		"surrogate":       {create, `{"ruleset":"\ud800 and more"}`, "", "the body is no valid JSON: a string has an invalid escape (line 1, column 12)"},
		"surrogate, end":  {create, `{"ruleset":"\ud800x"}`, "", "the body is no valid JSON: a string has an invalid escape"},
		"control":         {create, "{\"ruleset\":\"\x01\"}", "", "the body is no valid JSON: a string has a character that must be escaped (line 1, column 12)"},
		"binary":          {create, "\x0a\x01x", "", "the body is no valid JSON: something else is expected here (line 2, column 1)"},
		"array":           {create, `[]`, "", "the body must be a JSON object (line 1, column 1)"},
		"null":            {create, ` null`, "", "the body must be a JSON object (line 1, column 2)"},
		"string":          {create, `"x"`, "", "the body must be a JSON object (line 1, column 1)"},

		"unknown": {create, `{"ruleset":"x","rules":"y"}`, "rules", "rules: there is no such field; known are ruleset, players, options, requestId, context (line 1, column 16)"},
		"unknown, nested": {
			create, `{"options":{"marble":{"rows":4,"columns":8}}}`, "options.marble.columns",
			"options.marble.columns: there is no such field; known are board, rows, houseRules (line 1, column 32)",
		},
		"unknown, in a list": {
			simulate, `{"drops":[{"chute":"A","color":"RED"},{"chute":"A","paint":"RED"}]}`, "drops[1].paint",
			"drops[1].paint: there is no such field; known are chute, color (line 1, column 52)",
		},
		"unknown, of nothing": {apply, `{"move":{"pass":{"why":1}}}`, "move.pass.why", "move.pass.why: there is no such field; none are known here (line 1, column 18)"},
		"twice":               {create, `{"ruleset":"x","ruleset":"y"}`, "ruleset", "ruleset: the field is given twice (line 1, column 16)"},
		"twice, two names":    {create, `{"requestId":"x","request_id":"y"}`, "request_id", "request_id: the field is given twice (line 1, column 18)"},
		"two of a oneof": {
			apply, `{"move":{"notation":"Ar","pass":{}}}`, "move.pass",
			"move.pass: only one of drop, sow, card, pass, resign, notation may be given (line 1, column 26)",
		},
		"word for a number":  {create, `{"players":"two"}`, "players", "players: must be a whole number from -2147483648 to 2147483647 (line 1, column 12)"},
		"too large a number": {create, `{"players":2147483648}`, "players", "players: must be a whole number from -2147483648 to 2147483647 (line 1, column 12)"},
		"fraction":           {create, `{"players":2.5}`, "players", "players: must be a whole number from -2147483648 to 2147483647 (line 1, column 12)"},
		"number for a word":  {create, "{\"context\":\"äöü\",\n \"ruleset\":3}", "ruleset", "ruleset: must be a string (line 2, column 12)"},
		"same line, runes":   {create, `{"context":"äöü","ruleset":3}`, "ruleset", "ruleset: must be a string (line 1, column 28)"},
		"word for a bool":    {apply, `{"validateOnly":"yes"}`, "validateOnly", "validateOnly: must be true or false (line 1, column 17)"},
		"unknown enum":       {apply, `{"move":{"drop":{"chute":"G"}}}`, "move.drop.chute", "move.drop.chute: must be one of A, B, C, D, E, F (line 1, column 26)"},
		"scalar for a list":  {simulate, `{"drops":"Ar"}`, "drops", "drops: must be an array (line 1, column 10)"},
		"object for a list":  {simulate, `{"drops":{"chute":"A"}}`, "drops", "drops: must be an array (line 1, column 10)"},
		"scalar in a list":   {simulate, `{"drops":[{},"Ar"]}`, "drops[1]", "drops[1]: must be an object (line 1, column 14)"},
		"null in a list":     {simulate, `{"drops":[null]}`, "drops[0]", "drops[0]: must be an object (line 1, column 11)"},
		"list for an object": {apply, `{"move":["Ar"]}`, "move", "move: must be an object (line 1, column 9)"},
		"number in strings":  {create, `{"options":{"marble":{"houseRules":["a",2]}}}`, "options.marble.houseRules[1]", "options.marble.houseRules[1]: must be a string (line 1, column 41)"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := decodeJSON([]byte(test.body), proto.Clone(test.into))
			if wrong == nil {
				t.Fatal("it is accepted")
			}
			problem := wrong.inBody()
			if wrong.path != test.path || problem.Message != test.message {
				t.Errorf("path %q, message %q\nwant %q, %q", wrong.path, problem.Message, test.path, test.message)
			}
			reason := avalanchev1.ErrorReason_REQUEST_INVALID
			if test.path == "" {
				reason = avalanchev1.ErrorReason_BODY_MALFORMED
			}
			if problem.Reason != reason || (len(problem.Violations) > 0) != (test.path != "") {
				t.Errorf("%v with violations %v", problem.Reason, problem.Violations)
			}
		})
	}
}

func TestJSONErrorsDoNotRepeatWhatTheClientSent(t *testing.T) {
	secret := strings.Repeat("secret", 1000)
	for _, body := range []string{
		`{"state":{"a":"` + secret + `"}}`,
		`{"validateOnly":"` + secret + `"}`,
		`{"state":"` + secret + `",}`,
		`{"state":"` + secret + `","state":"` + secret + `"}`,
	} {
		wrong := decodeJSON([]byte(body), &avalanchev1.ApplyMoveRequest{})
		if wrong == nil || strings.Contains(wrong.inBody().Message, "secret") {
			t.Errorf("%.30s…: %v", body, wrong)
		}
	}
}

func TestJSONIsDeterministic(t *testing.T) {
	message := &avalanchev1.CreateGameResponse{State: "a, b: <c>", Game: &avalanchev1.Game{Winners: []int32{1, 2}}}
	got, err := jsonCodec{}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"state":"a, b: <c>","game":{"ruleset":"","rulesetVersion":0,"gameId":"","ply":0,"players":0,` +
		`"status":"STATUS_UNSPECIFIED","winners":[1,2],"legalMoves":[],"position":""},"events":[],"seatKeys":[],"hostKey":""}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := (jsonCodec{}).Marshal("text"); err == nil {
		t.Error("a string is taken for a message")
	}
}

// FuzzDecodeJSON looks for bodies that decode into something else than they say, or
// whose refusal has no explanation.
func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{"ruleset":"x"}`, `{"options":{"marble":{"rows":"4"}}}`, `[[[`, `{"a":{"b":[1,{"c":null}]}}`, "\xef\xbb\xbf{}", `{"players":1e9999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		message := &avalanchev1.CreateGameRequest{}
		if wrong := decodeJSON(body, message); wrong != nil {
			if wrong.problem == "" || (wrong.line == 0) != (wrong.column == 0) {
				t.Fatalf("%q: %+v", body, wrong)
			}
			return
		}
		data, err := jsonCodec{}.Marshal(message)
		if err != nil {
			t.Fatalf("%q decodes to what has no JSON: %v", body, err)
		}
		again := &avalanchev1.CreateGameRequest{}
		if wrong := decodeJSON(data, again); wrong != nil || !proto.Equal(message, again) {
			t.Fatalf("%q decodes to %v, and its JSON to %v, %v", body, message, again, wrong)
		}
	})
}

func TestNothingDecodesToAnEmptyMessage(t *testing.T) {
	for _, body := range []string{"", " \n"} {
		message := &avalanchev1.CreateGameRequest{Ruleset: "of the call before"}
		if wrong := decodeJSON([]byte(body), message); wrong != nil || message.GetRuleset() != "" {
			t.Errorf("%q decodes to %v, %v", body, message, wrong)
		}
	}
}
