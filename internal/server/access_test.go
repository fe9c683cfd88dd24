package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectiongrpc "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
	"github.com/avalanched/avalanched/internal/apikeys"
	"github.com/avalanched/avalanched/internal/engine/rulesets"
	"github.com/avalanched/avalanched/internal/service"
	"github.com/avalanched/avalanched/internal/state"
)

// keySet makes a set in which each name is its own key. A name may be followed by
// limits, as in "bot, requestsPerSecond: 1".
func keySet(t *testing.T, entries ...string) *apikeys.Set {
	t.Helper()
	var file strings.Builder
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, ",")
		hash := sha256.Sum256([]byte(name))
		fmt.Fprintf(&file, "- {sha256: %q, name: %s}\n", hex.EncodeToString(hash[:]), entry)
	}
	set, err := apikeys.Parse([]byte(file.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// withKeys configures API keys.
func withKeys(t *testing.T, entries ...string) func(*Config) {
	t.Helper()
	set := keySet(t, entries...)
	return func(c *Config) { c.APIKeys = func() *apikeys.Set { return set } }
}

// bothTransports makes the same call over both, with some headers, and returns how
// each was answered.
func (r *running) bothTransports(t *testing.T, headers ...string) map[string]*status.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), headers...), 10*time.Second)
	defer cancel()
	_, err := r.games.GetRuleset(ctx, &avalanchev1.GetRulesetRequest{Ruleset: "x"})
	answers := map[string]*status.Status{"gRPC": status.Convert(err), "HTTP": status.New(codes.OK, "")}
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Add(headers[i], headers[i+1])
	}
	if got := r.do(t, http.MethodGet, "/v1/rulesets/x", header, nil); got.status != http.StatusOK {
		answers["HTTP"] = errorOf(t, got)
	}
	return answers
}

func expect(t *testing.T, answers map[string]*status.Status, want codes.Code, reason string) {
	t.Helper()
	for transport, got := range answers {
		if got.Code() != want || errorInfo(got).GetReason() != reason {
			t.Errorf("over %s: %v %s, want %v %s: %s", transport, got.Code(), errorInfo(got).GetReason(), want, reason, got.Message())
		}
	}
}

func TestAPIKeys(t *testing.T) {
	for name, test := range map[string]struct {
		headers              []string
		keys, withoutKeys    codes.Code
		allowAnonymous, long bool
	}{
		"good":               {headers: []string{"authorization", "Bearer bot"}},
		"scheme's case":      {headers: []string{"authorization", "bEARER bot"}},
		"more blanks":        {headers: []string{"authorization", "Bearer   bot "}},
		"none":               {keys: codes.Unauthenticated},
		"unknown":            {headers: []string{"authorization", "Bearer bat"}, keys: codes.Unauthenticated},
		"disabled":           {headers: []string{"authorization", "Bearer old"}, keys: codes.Unauthenticated},
		"only a scheme":      {headers: []string{"authorization", "Bearer"}, keys: codes.Unauthenticated},
		"no scheme":          {headers: []string{"authorization", "bot"}, keys: codes.Unauthenticated},
		"other scheme":       {headers: []string{"authorization", "Basic bot"}, keys: codes.Unauthenticated},
		"empty":              {headers: []string{"authorization", ""}, keys: codes.Unauthenticated},
		"two":                {headers: []string{"authorization", "Bearer bot", "authorization", "Bearer bot"}, keys: codes.Unauthenticated},
		"too long":           {headers: []string{"authorization", "Bearer " + strings.Repeat("x", 8000)}, keys: codes.Unauthenticated},
		"anonymous, none":    {allowAnonymous: true},
		"anonymous, good":    {allowAnonymous: true, headers: []string{"authorization", "Bearer bot"}},
		"anonymous, unknown": {allowAnonymous: true, headers: []string{"authorization", "Bearer bat"}, keys: codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, fakeGames{}, withKeys(t, "bot", "old, disabled: true"), func(c *Config) { c.AllowAnonymous = test.allowAnonymous })
			reason := ""
			if test.keys != codes.OK {
				reason = "API_KEY_INVALID"
			}
			answers := r.bothTransports(t, test.headers...)
			expect(t, answers, test.keys, reason)
			if answers["gRPC"].Message() != answers["HTTP"].Message() {
				t.Errorf("messages: %v", answers)
			}
			if strings.Contains(answers["gRPC"].Message()+r.logs.String(), "bat") {
				t.Errorf("the wrong key is repeated: %s\n%s", answers["gRPC"].Message(), r.logs)
			}

			open := start(t, fakeGames{})
			expect(t, open.bothTransports(t, test.headers...), codes.OK, "")
		})
	}
}

// TestNoKeyIsNeededTo look around: the API is public, and who asks for health has no
// key.
func TestNoKeyIsNeededTo(t *testing.T) {
	r := start(t, fakeGames{}, withKeys(t, "bot"))
	t.Run("ask for health", func(t *testing.T) {
		if _, err := healthgrpc.NewHealthClient(r.conn).Check(t.Context(), &healthgrpc.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("use reflection", func(t *testing.T) {
		if err := r.reflect(t); err != nil {
			t.Error(err)
		}
	})
	t.Run("read the pages", func(t *testing.T) {
		for _, path := range []string{"/", "/openapi.json"} {
			if got := r.do(t, http.MethodGet, path, nil, nil); got.status != http.StatusOK {
				t.Errorf("%s: %d", path, got.status)
			}
		}
	})
	t.Run("learn of a wrong path", func(t *testing.T) {
		if got := r.do(t, http.MethodGet, "/v2", nil, nil); got.status != http.StatusNotFound {
			t.Errorf("%d", got.status)
		}
	})
	got := r.do(t, http.MethodGet, "/v1/rulesets", nil, nil)
	if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("and yet one for the API: %d, %v", got.status, got.header)
	}
}

// reflect asks for the list of services.
func (r *running) reflect(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := reflectiongrpc.NewServerReflectionClient(r.conn).ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	// What the server has refused ends with EOF here, and Recv says why.
	err = stream.Send(&reflectiongrpc.ServerReflectionRequest{MessageRequest: &reflectiongrpc.ServerReflectionRequest_ListServices{}})
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err = stream.Recv()
	return err
}

// TestRefusedBeforeAnythingIsRead: a body that nobody may send is not read, not even
// to find that it is too long.
func TestRefusedBeforeAnythingIsRead(t *testing.T) {
	r := start(t, fakeGames{}, withKeys(t, "bot"))
	for name, body := range map[string]string{"malformed": `{`, "too long": strings.Repeat(" ", 65<<10), "invalid": `{}`} {
		if s := errorOf(t, r.postJSON(t, "/v1/games", body)); errorInfo(s).GetReason() != "API_KEY_INVALID" {
			t.Errorf("%s: %v", name, s)
		}
	}
	err := r.sendRaw(t.Context(), "/avalanche.v1.GameService/CreateGame", []byte("\xff\xff"))
	wantError(t, err, codes.Unauthenticated, "API_KEY_INVALID")
}

// TestTenantsDoNotMeet: the same requestId stands for one game of each.
func TestTenantsDoNotMeet(t *testing.T) {
	keyring, err := state.Throwaway()
	if err != nil {
		t.Fatal(err)
	}
	games := service.New(service.Config{Rulesets: rulesets.Registry(), Keys: func() *state.Keyring { return keyring }})
	r := start(t, games, withKeys(t, "red", "blue"), func(c *Config) { c.AllowAnonymous = true })
	create := func(headers ...string) (overGRPC, overHTTP string) {
		t.Helper()
		ctx := metadata.AppendToOutgoingContext(t.Context(), headers...)
		created, err := r.games.CreateGame(ctx, &avalanchev1.CreateGameRequest{Ruleset: "marble-basic", Players: 2, RequestId: "1"})
		if err != nil {
			t.Fatal(err)
		}
		header := jsonHeader.Clone()
		for i := 0; i < len(headers); i += 2 {
			header.Set(headers[i], headers[i+1])
		}
		got := r.do(t, http.MethodPost, "/v1/games", header, strings.NewReader(`{"ruleset":"marble-basic","players":2,"requestId":"1"}`))
		var decoded struct{ State string }
		if err := json.Unmarshal([]byte(got.body), &decoded); err != nil || got.status != http.StatusOK {
			t.Fatalf("%+v, %v", got, err)
		}
		return created.GetState(), decoded.State
	}
	seen := map[string]string{}
	for name, headers := range map[string][]string{"red": {"authorization", "Bearer red"}, "blue": {"authorization", "Bearer blue"}, "nobody": nil} {
		overGRPC, overHTTP := create(headers...)
		if overGRPC != overHTTP {
			t.Errorf("%s has another game over each transport", name)
		}
		if other, ok := seen[overGRPC]; ok {
			t.Errorf("%s and %s have the same game", name, other)
		}
		seen[overGRPC] = name
	}
}

func TestKeysChangeWhileServing(t *testing.T) {
	var current atomic.Pointer[apikeys.Set]
	current.Store(keySet(t, "first"))
	r := start(t, fakeGames{}, func(c *Config) { c.APIKeys = current.Load })
	expect(t, r.bothTransports(t, "authorization", "Bearer first"), codes.OK, "")
	current.Store(keySet(t, "second"))
	expect(t, r.bothTransports(t, "authorization", "Bearer first"), codes.Unauthenticated, "API_KEY_INVALID")
	expect(t, r.bothTransports(t, "authorization", "Bearer second"), codes.OK, "")
}

// Rates of the tests are so low that no new token comes while they run.
const (
	rarely     = 1e-6
	rarelyYAML = ", requestsPerSecond: 0.000001, burst: 4"
)

func TestLimitsOfAKey(t *testing.T) {
	r := start(t, fakeGames{}, withKeys(t, "bot"+rarelyYAML, "other"+rarelyYAML, "free"))
	for range 2 { // Two requests each, a burst of four: both transports share it.
		expect(t, r.bothTransports(t, "authorization", "Bearer bot"), codes.OK, "")
	}
	answers := r.bothTransports(t, "authorization", "Bearer bot")
	expect(t, answers, codes.ResourceExhausted, "RATE_LIMITED")
	for transport, s := range answers {
		if delay := retryDelay(s); delay < time.Hour {
			t.Errorf("over %s: try again after %v", transport, delay)
		}
	}
	got := r.do(t, http.MethodGet, "/v1/rulesets", http.Header{"Authorization": {"Bearer bot"}}, nil)
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("over HTTP: %d, %v", got.status, got.header)
	}
	expect(t, r.bothTransports(t, "authorization", "Bearer other"), codes.OK, "")
	for range 5 {
		expect(t, r.bothTransports(t, "authorization", "Bearer free"), codes.OK, "")
	}
}

func retryDelay(s *status.Status) time.Duration {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

func TestLimitsOfAnAddress(t *testing.T) {
	r := start(t, fakeGames{}, func(c *Config) {
		c.AnonymousRate, c.AnonymousBurst = rarely, 2
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	expect(t, r.bothTransports(t, "x-forwarded-for", "203.0.113.1"), codes.OK, "")
	expect(t, r.bothTransports(t, "x-forwarded-for", "203.0.113.1"), codes.ResourceExhausted, "RATE_LIMITED")
	expect(t, r.bothTransports(t, "x-forwarded-for", "198.51.100.9, 203.0.113.1"), codes.ResourceExhausted, "RATE_LIMITED")
	expect(t, r.bothTransports(t, "x-forwarded-for", "198.51.100.9", "x-forwarded-for", "203.0.113.1"), codes.ResourceExhausted, "RATE_LIMITED")
	expect(t, r.bothTransports(t, "x-forwarded-for", "203.0.113.2"), codes.OK, "")
	// Without the header it is the proxy itself that calls.
	expect(t, r.bothTransports(t), codes.OK, "")
	expect(t, r.bothTransports(t), codes.ResourceExhausted, "RATE_LIMITED")
	if err := r.reflect(t); errorInfo(status.Convert(err)).GetReason() != "RATE_LIMITED" {
		t.Errorf("reflection: %v", err)
	}
	for _, path := range []string{"/openapi.json", "/v2"} {
		if got := r.do(t, http.MethodGet, path, nil, nil); got.status != http.StatusTooManyRequests {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for range 5 {
		if _, err := healthgrpc.NewHealthClient(r.conn).Check(t.Context(), &healthgrpc.HealthCheckRequest{}); err != nil {
			t.Errorf("health: %v", err)
		}
	}
}

// TestNobodyIsBelievedWithoutTrust: anybody can write the header.
func TestNobodyIsBelievedWithoutTrust(t *testing.T) {
	r := start(t, fakeGames{}, func(c *Config) { c.AnonymousRate, c.AnonymousBurst = rarely, 2 })
	expect(t, r.bothTransports(t, "x-forwarded-for", "203.0.113.1"), codes.OK, "")
	expect(t, r.bothTransports(t, "x-forwarded-for", "203.0.113.2"), codes.ResourceExhausted, "RATE_LIMITED")
}

// TestWrongKeysCount: each of them is an anonymous request, and good ones are not.
func TestWrongKeysCount(t *testing.T) {
	r := start(t, fakeGames{}, withKeys(t, "bot"), func(c *Config) { c.AnonymousRate, c.AnonymousBurst = rarely, 2 })
	for range 3 {
		expect(t, r.bothTransports(t, "authorization", "Bearer bot"), codes.OK, "")
	}
	expect(t, r.bothTransports(t, "authorization", "Bearer bat"), codes.Unauthenticated, "API_KEY_INVALID")
	expect(t, r.bothTransports(t, "authorization", "Bearer bat"), codes.ResourceExhausted, "RATE_LIMITED")
	expect(t, r.bothTransports(t, "authorization", "Bearer bot"), codes.OK, "")
}

func TestClientAddr(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for name, test := range map[string]struct {
		connected string
		header    []string
		want      string
	}{
		"direct":                   {"203.0.113.1", nil, "203.0.113.1"},
		"direct, forged":           {"203.0.113.1", []string{"198.51.100.1"}, "203.0.113.1"},
		"a proxy":                  {"10.0.0.1", []string{"203.0.113.1"}, "203.0.113.1"},
		"a proxy, mapped to IPv6":  {"::ffff:10.0.0.1", []string{"203.0.113.1"}, "203.0.113.1"},
		"a proxy, forged":          {"10.0.0.1", []string{"198.51.100.1, 203.0.113.1"}, "203.0.113.1"},
		"forged as a proxy":        {"10.0.0.1", []string{"10.9.9.9, 203.0.113.1"}, "203.0.113.1"},
		"two proxies":              {"10.0.0.1", []string{"203.0.113.1, 10.0.0.2"}, "203.0.113.1"},
		"two lines":                {"10.0.0.1", []string{"198.51.100.1", "203.0.113.1"}, "203.0.113.1"},
		"two proxies, two lines":   {"10.0.0.1", []string{"203.0.113.1", "10.0.0.2"}, "203.0.113.1"},
		"inside":                   {"10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"a proxy, no header":       {"10.0.0.1", nil, "10.0.0.1"},
		"a proxy, empty header":    {"10.0.0.1", []string{""}, "10.0.0.1"},
		"no address":               {"10.0.0.1", []string{"203.0.113.1, unknown"}, "10.0.0.1"},
		"no address behind one":    {"10.0.0.1", []string{"203.0.113.1, _x, 10.0.0.2"}, "10.0.0.2"},
		"IPv6":                     {"2001:db8:1::1", []string{"2001:db8:2::5"}, "2001:db8:2::5"},
		"IPv6, bracketed":          {"2001:db8:1::1", []string{"[2001:db8:2::5]"}, "2001:db8:2::5"},
		"IPv6 and port":            {"2001:db8:1::1", []string{"[2001:db8:2::5]:443"}, "2001:db8:2::5"},
		"IPv4 and port":            {"10.0.0.1", []string{"203.0.113.1:443"}, "203.0.113.1"},
		"IPv4 mapped to IPv6":      {"10.0.0.1", []string{"::ffff:203.0.113.1"}, "203.0.113.1"},
		"zone":                     {"fe80::1%eth0", nil, "fe80::1"},
		"blanks and empty entries": {"10.0.0.1", []string{" , 203.0.113.1 "}, "203.0.113.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clientAddr(netip.MustParseAddr(test.connected), test.header, trusted); got.String() != test.want {
				t.Errorf("the client is %v, want %s", got, test.want)
			}
		})
	}
}

func TestAddressLimitsByHousehold(t *testing.T) {
	limits := newAddressLimits(rarely, 1, 100)
	now := time.Now()
	for _, test := range []struct {
		addr    string
		allowed bool
	}{
		{"203.0.113.1", true},
		{"203.0.113.1", false},
		{"203.0.113.2", true},
		{"2001:db8::1", true},
		{"2001:db8::2", false},
		{"2001:db8::ffff:ffff:ffff:ffff", false},
		{"2001:db8:0:1::1", true},
	} {
		if wait := limits.spend(netip.MustParseAddr(test.addr), now); (wait == 0) != test.allowed {
			t.Errorf("%s has to wait for %v, want it allowed: %v", test.addr, wait, test.allowed)
		}
	}
	if limits.spend(netip.Addr{}, now) != 0 || limits.spend(netip.Addr{}, now) == 0 {
		t.Error("callers without an address do not share one limit")
	}
	if newAddressLimits(0, 0, 1).spend(netip.MustParseAddr("203.0.113.1"), now) != 0 {
		t.Error("no limit is a limit")
	}
	if burst := newAddressLimits(2.5, 0, 1).burst; burst != 3 {
		t.Errorf("a rate of 2.5 has a burst of %d, want 3", burst)
	}
}

// TestManyAddressesDoNotGrowMemory, and those who call all the time are not
// forgotten because of them.
func TestManyAddressesDoNotGrowMemory(t *testing.T) {
	const size = 100
	limits := newAddressLimits(rarely, 3, size)
	regular := netip.MustParseAddr("203.0.113.1")
	now := time.Now()
	allowed := 0
	addr := netip.MustParseAddr("10.0.0.0")
	for i := range 10 * size {
		addr = addr.Next()
		if wait := limits.spend(addr, now); wait > 0 {
			t.Fatalf("%s has to wait for %v", addr, wait)
		}
		if i%(size/2) == 0 && limits.spend(regular, now) == 0 {
			allowed++
		}
	}
	if got := limits.limiters.Len(); got != size {
		t.Errorf("%d addresses are remembered, want %d", got, size)
	}
	if allowed != 3 {
		t.Errorf("the regular caller was let in %d times, want 3", allowed)
	}
}

func TestRefusedRequestsAreNotCharged(t *testing.T) {
	limiter := rate.NewLimiter(1, 1)
	now := time.Now()
	if wait := spend(limiter, now); wait != 0 {
		t.Fatalf("the first has to wait for %v", wait)
	}
	for range 10 {
		if wait := spend(limiter, now); wait != time.Second {
			t.Errorf("has to wait for %v, want 1s", wait)
		}
	}
	if wait := spend(limiter, now.Add(time.Second)); wait != 0 {
		t.Errorf("who waited as told has to wait for %v more", wait)
	}
	if spend(nil, now) != 0 {
		t.Error("no limiter limits")
	}
}

// TestLateCallersGainNothing has callers look at the clock and come to the limiter in
// another order, as they do when there are many at once.
func TestLateCallersGainNothing(t *testing.T) {
	limiter := rate.NewLimiter(1, 1)
	now := time.Now()
	if wait := spend(limiter, now); wait != 0 {
		t.Fatalf("the first has to wait for %v", wait)
	}
	for ms := range 1000 {
		if spend(limiter, now.Add(time.Duration(ms)*time.Millisecond)) == 0 || spend(limiter, now) == 0 {
			t.Fatalf("a token comes back after %d ms instead of 1000", ms)
		}
	}
	if wait := spend(limiter, now.Add(time.Second)); wait != 0 {
		t.Errorf("after the flood, one has to wait for %v more", wait)
	}
}

func TestCORS(t *testing.T) {
	const site = "https://play.example.com"
	listed := start(t, fakeGames{}, withKeys(t, "bot"), func(c *Config) { c.CORSOrigins = []string{site, "https://*.example.org"} })
	preflight := func(r *running, origin string) answer {
		return r.do(t, http.MethodOptions, "/v1/games", http.Header{
			"Origin":                         {origin},
			"Access-Control-Request-Method":  {"POST"},
			"Access-Control-Request-Headers": {"authorization,content-type"},
		}, nil)
	}
	for origin, allowed := range map[string]bool{
		site: true, "https://a.example.org": true,
		"https://example.com": false, "http://play.example.com": false, "https://play.example.com.evil.test": false, "null": false, "https://example.org": false,
	} {
		want := ""
		if allowed {
			want = origin
		}
		got := preflight(listed, origin)
		if got.status != http.StatusNoContent || got.header.Get("Access-Control-Allow-Origin") != want {
			t.Errorf("preflight of %s: %d %v", origin, got.status, got.header)
		}
		if allowed && (got.header.Get("Access-Control-Allow-Headers") != "authorization,content-type" || got.header.Get("Access-Control-Allow-Methods") != "POST") {
			t.Errorf("preflight of %s: %v", origin, got.header)
		}
		// An error has to be readable for the page, too.
		refused := listed.do(t, http.MethodGet, "/v1/rulesets/x", http.Header{"Origin": {origin}}, nil)
		if errorOf(t, refused).Code() != codes.Unauthenticated || refused.header.Get("Access-Control-Allow-Origin") != want {
			t.Errorf("call from %s: %d %v", origin, refused.status, refused.header)
		}
	}
	call := listed.do(t, http.MethodPost, "/v1/games", http.Header{"Origin": {site}, "Content-Type": {"application/json"}, "Authorization": {"Bearer bot"}}, strings.NewReader(`{"ruleset":"x"}`))
	if call.status != http.StatusOK || call.header.Get("Access-Control-Allow-Origin") != site || call.header.Get("Access-Control-Expose-Headers") != "Retry-After" || call.header.Get("Vary") != "Origin" {
		t.Errorf("call: %+v", call)
	}
	if call.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("cookies are welcome")
	}
	if got := listed.do(t, http.MethodOptions, "/v1/games", nil, nil); got.header.Get("Allow") != "POST, OPTIONS" {
		t.Errorf("OPTIONS of no page: %v", got.header)
	}

	off := start(t, fakeGames{})
	if got := preflight(off, site); got.header.Get("Access-Control-Allow-Origin") != "" || got.header.Get("Allow") == "" {
		t.Errorf("preflight without a list: %d %v", got.status, got.header)
	}
	all := start(t, fakeGames{}, func(c *Config) { c.CORSOrigins = []string{"*"} })
	if got := preflight(all, site); got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("preflight where all are welcome: %v", got.header)
	}
}

func TestAccessConfigIsCheckedByFlag(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no origin":          {func(c *Config) { c.CORSOrigins = []string{""} }, "--cors-origins=: "},
		"host":               {func(c *Config) { c.CORSOrigins = []string{"play.example.com"} }, "--cors-origins=play.example.com: "},
		"path":               {func(c *Config) { c.CORSOrigins = []string{"https://play.example.com/"} }, "without a path"},
		"other scheme":       {func(c *Config) { c.CORSOrigins = []string{"ftp://play.example.com"} }, "--cors-origins"},
		"upper case":         {func(c *Config) { c.CORSOrigins = []string{"https://Play.example.com"} }, "lower case"},
		"two stars":          {func(c *Config) { c.CORSOrigins = []string{"https://*.*.com"} }, "--cors-origins"},
		"second is wrong":    {func(c *Config) { c.CORSOrigins = []string{"https://a.test", "b"} }, "--cors-origins=b: "},
		"negative rate":      {func(c *Config) { c.AnonymousRate = -1 }, "--anonymous-rate=-1: "},
		"negative burst":     {func(c *Config) { c.AnonymousRate, c.AnonymousBurst = 1, -1 }, "--anonymous-burst=-1: "},
		"burst alone":        {func(c *Config) { c.AnonymousBurst = 1 }, "needs --anonymous-rate"},
		"nothing in flight":  {func(c *Config) { c.MaxInFlight = 0 }, "--max-in-flight=0: "},
		"nobody can connect": {func(c *Config) { c.MaxConnections = 0 }, "--max-connections=0: "},
	} {
		config := DefaultConfig()
		test.change(&config)
		if err := config.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	config := DefaultConfig()
	config.CORSOrigins = []string{"*", "https://play.example.com", "http://localhost:3000", "https://*.example.com"}
	if err := config.Check(); err != nil {
		t.Error(err)
	}
}
