package ledger

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]target{
		"redis://localhost":              {config: redis.UniversalOptions{Addrs: []string{"localhost:6379"}}},
		"redis://localhost/":             {config: redis.UniversalOptions{Addrs: []string{"localhost:6379"}}},
		"REDIS://[::1]:7000/15":          {config: redis.UniversalOptions{Addrs: []string{"[::1]:7000"}, DB: 15}},
		"redis://:secret@r.example:6380": {config: redis.UniversalOptions{Addrs: []string{"r.example:6380"}, Password: "secret"}},
		"rediss://user:p%40%2F%3F%23%25@r.example?pool_size=7": {
			tls:    true,
			config: redis.UniversalOptions{Addrs: []string{"r.example:6379"}, Username: "user", Password: "p@/?#%", PoolSize: 7},
		},
		"rediss://r.example?ca_file=%2Fetc%2Fca.pem&cert_file=c&key_file=k": {
			tls: true, caFile: "/etc/ca.pem", certFile: "c", keyFile: "k",
			config: redis.UniversalOptions{Addrs: []string{"r.example:6379"}},
		},
		"redis+sentinel://s1.example/2?master_name=games": {
			config: redis.UniversalOptions{Addrs: []string{"s1.example:26379"}, MasterName: "games", DB: 2},
		},
		"rediss+sentinel://watch:man@s1.example:1?addr=s2.example:2&addr=s3.example&master_name=games&username=user&password=secret": {
			tls: true,
			config: redis.UniversalOptions{
				Addrs:            []string{"s1.example:1", "s2.example:2", "s3.example:26379"},
				MasterName:       "games",
				SentinelUsername: "watch", SentinelPassword: "man",
				Username: "user", Password: "secret",
			},
		},
		"redis+cluster://user:secret@c1.example?addr=c2.example:7002&addr=[::1]:7003": {
			config: redis.UniversalOptions{
				Addrs: []string{"c1.example:6379", "c2.example:7002", "[::1]:7003"}, IsClusterMode: true,
				Username: "user", Password: "secret",
			},
		},
		"rediss+cluster://c1.example/0": {tls: true, config: redis.UniversalOptions{Addrs: []string{"c1.example:6379"}, IsClusterMode: true}},
	} {
		got, err := parseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(&want, got, cmp.AllowUnexported(target{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"redis://":                                            "lacks a host",
		"redis:localhost":                                     "none, memory, or a URL",
		"redis:///0":                                          "lacks a host",
		"redis://:6379":                                       "lacks a host",
		"redis://0]0":                                         "bad host",
		"redis://user:1/2@localhost":                          "has an @ after",
		"redis://localhost:0":                                 "bad port",
		"redis://localhost:65536":                             "bad port",
		"redis://localhost:http":                              "malformed",
		"redis://local host":                                  "malformed",
		"redis://localhost#1":                                 "malformed",
		"http://localhost":                                    "unknown scheme",
		"redisss://localhost":                                 "unknown scheme",
		"redis+://localhost":                                  "unknown scheme",
		"redis+rediss://localhost":                            "unknown scheme",
		"unix:///run/redis.sock":                              "unknown scheme",
		"redis://localhost/games":                             "bad database",
		"redis://localhost/-1":                                "bad database",
		"redis://localhost/1/2":                               "bad database",
		"redis://localhost/65536":                             "bad database",
		"redis+cluster://localhost/1":                         "has only 0",
		"redis://user@localhost":                              "no password",
		"redis://user:@localhost":                             "no password",
		"redis+sentinel://user@localhost?master_name=m":       "no password",
		"redis+sentinel://localhost?master_name=m&username=u": "add password=",
		"redis+sentinel://localhost":                          "add master_name=",
		"redis+sentinel://localhost?master_name=":             "master_name without a value",
		"redis://localhost?master_name=m":                     "it may have pool_size, ca_file, cert_file, key_file",
		"redis://localhost?addr=other:1":                      "unknown parameter",
		"redis+cluster://localhost?password=x":                "unknown parameter",
		"redis+cluster://localhost?read_only=true":            "unknown parameter",
		"redis+cluster://localhost?addr=a/b":                  "malformed addr",
		"redis+cluster://localhost?addr=/run/redis":           "malformed addr",
		"redis+cluster://localhost?addr=:1":                   "lacks a host",
		"redis+cluster://localhost?addr=a:b":                  "malformed addr",
		"redis+cluster://localhost?addr=a:99999":              "bad port",
		"redis+cluster://localhost?addr=u:p%40a:1":            "malformed addr",
		"redis+cluster://localhost?addr=":                     "addr without a value",
		"redis://localhost?pool_size=0":                       "bad pool_size",
		"redis://localhost?pool_size=10001":                   "from 1 to 10000",
		"redis://localhost?pool_size=many":                    "bad pool_size",
		"redis://localhost?pool_size=1&pool_size=2":           "more than once",
		"redis://localhost?a=1;b=2":                           "malformed parameters",
		"redis://localhost?ca_file=ca.pem":                    "begin it with rediss",
		"rediss://localhost?cert_file=c":                      "needs both",
		"rediss://localhost?key_file=k":                       "needs both",
	} {
		if got, err := parseURL(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want an error with %q", text, got, err, want)
		}
	}
}

// Whoever forgets to encode a password must not find it in the log.
func TestParseURLHidesPasswords(t *testing.T) {
	for _, password := range []string{"hush/hush", "hush?hush", "hush#hush", "hush%hush", "hush hush", "hush\\hush", "hush[hush", "hush\nhush", "1/hush", "1?hush", "1#hush", "1?a=hush&hush=1"} {
		text := "redis://user:" + password + "@localhost:6379/0"
		_, err := Open(t.Context(), text, Options{Logger: quiet})
		if err == nil {
			t.Errorf("%q: accepted", text)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"redis+sentinel://localhost?master_name=m&password=a&hush=1",
		"redis+sentinel://localhost?master_name=m&password=hush&password=hush",
		"redis+sentinel://localhost?master_name=m&password=hush%",
		"redis+sentinel://localhost?master_name=m&password=hush;",
		"redis+sentinel://localhost?password=hush",
		"redis:/user:hush@localhost",
		"redis:user:hush@localhost",
		"user:hush@localhost",
		"hush://localhost",
	} {
		if _, err := Open(t.Context(), text, Options{Logger: quiet}); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v; want an error that hides the password", text, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, text := range []string{
		"redis://localhost",
		"rediss://user:p%40ss@r.example:6380/3?pool_size=7&ca_file=ca.pem&cert_file=c&key_file=k",
		"redis+sentinel://watch:man@s1.example/2?addr=s2.example:2&master_name=games&username=user&password=secret",
		"rediss+cluster://:secret@[::1]:7000?addr=c2.example",
		"redis://user:hush/hush@localhost",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseURL(text)
		if err != nil {
			// All messages are constant but for known words and numbers, so none is
			// longer than the longest of these.
			if message := err.Error(); len(message) > 250 || !strings.HasPrefix(message, "the ledger's URL ") {
				t.Errorf("%q: strange error %q", text, message)
			}
			return
		}
		for _, addr := range got.config.Addrs {
			if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
				t.Errorf("%q: bad address %q: %v", text, addr, err)
			}
		}
		if got.config.MasterName != "" && got.config.IsClusterMode {
			t.Errorf("%q is both a cluster and behind a Sentinel", text)
		}
		// go-redis panics on options that it does not like.
		if err := redis.NewUniversalClient(&got.config).Close(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}
