package apikeys

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hashOf(key string) string {
	hash := sha256.Sum256([]byte(key))
	return hex.EncodeToString(hash[:])
}

func mustParse(t *testing.T, data string, before *Set) *Set {
	t.Helper()
	set, err := Parse([]byte(data), before)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestNewKeysAreLongAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		key := New()
		if !strings.HasPrefix(key, "avk_") || len(key) != 30 || seen[key] {
			t.Fatalf("key %q", key)
		}
		seen[key] = true
	}
}

// TestWhatIsMadeCanBeUsed makes a file of lines as the command does.
func TestWhatIsMadeCanBeUsed(t *testing.T) {
	var file strings.Builder
	keys := map[string]string{}
	for name, limits := range map[string]struct {
		rate  float64
		burst int
	}{"bot": {0.5, 20}, "app-2.0_beta": {100, 0}, "free": {}} {
		key := New()
		entry, err := NewEntry(name, key, limits.rate, limits.burst)
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = key
		file.WriteString(entry.Line() + "\n")
		if strings.Contains(entry.Line(), key) {
			t.Errorf("the line shows the key: %s", entry.Line())
		}
	}
	set := mustParse(t, file.String(), nil)
	if set.Len() != 3 {
		t.Errorf("%d keys", set.Len())
	}
	for name, key := range keys {
		if tenant := set.Find(key); tenant == nil || tenant.Name != name {
			t.Errorf("the key of %s is that of %v", name, tenant)
		}
	}
	for name, want := range map[string]struct {
		rate  float64
		burst int
	}{"bot": {0.5, 20}, "app-2.0_beta": {100, 100}} {
		limiter := set.Find(keys[name]).Limiter
		if float64(limiter.Limit()) != want.rate || limiter.Burst() != want.burst {
			t.Errorf("%s may make %v per second, %d at once", name, limiter.Limit(), limiter.Burst())
		}
	}
	if set.Find(keys["free"]).Limiter != nil {
		t.Error("a key without limits has some")
	}
}

func TestFind(t *testing.T) {
	set := mustParse(t, `[
		{"name": "one", "sha256": "`+strings.ToUpper(hashOf("first"))+`"},
		{"name": "one", "sha256": "`+hashOf("second")+`"},
		{"name": "off", "sha256": "`+hashOf("third")+`", "disabled": true},
		{"name": "long", "sha256": "`+hashOf(strings.Repeat("x", 257))+`"}
	]`, nil)
	first := set.Find("first")
	if first == nil || first != set.Find("second") {
		t.Error("the keys of one name are not of one tenant")
	}
	for _, key := range []string{"", "third", "firs", "First", "first ", hashOf("first"), strings.Repeat("x", 257)} {
		if tenant := set.Find(key); tenant != nil {
			t.Errorf("%q is taken for a key of %s", key, tenant.Name)
		}
	}
	if set.Len() != 3 {
		t.Errorf("%d keys may be used", set.Len())
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	good := `{name: a, sha256: "` + hashOf("a") + `"}`
	for name, test := range map[string]struct{ file, want string }{
		"nothing":          {"", "has no keys"},
		"empty list":       {"[]", "has no keys"},
		"comment":          {"# later", "has no keys"},
		"no list":          {good, "no list of API keys"},
		"no YAML":          {"- {", "no list of API keys"},
		"unknown field":    {`- {name: a, sha256: "` + hashOf("a") + `", rate: 3}`, "rate"},
		"field twice":      {`- {name: a, name: b, sha256: "` + hashOf("a") + `"}`, "name"},
		"no name":          {`- {sha256: "` + hashOf("a") + `"}`, "key 1: name"},
		"odd name":         {`- {name: "a b", sha256: "` + hashOf("a") + `"}`, "key 1: name"},
		"long name":        {`- {name: ` + strings.Repeat("a", 65) + `, sha256: "` + hashOf("a") + `"}`, "key 1: name"},
		"no hash":          {`- {name: a}`, "key 1: sha256"},
		"half a hash":      {`- {name: a, sha256: "abcdef"}`, "64 hex digits"},
		"second is wrong":  {"- " + good + "\n- {name: b}", "key 2: sha256"},
		"same key twice":   {"- " + good + "\n- " + good, "keys 1 and 2 are the same"},
		"same, upper case": {"- " + good + "\n- {name: b, sha256: \"" + strings.ToUpper(hashOf("a")) + "\"}", "keys 1 and 2 are the same"},
		"other limits":     {"- " + good + "\n- {name: a, requestsPerSecond: 2, sha256: \"" + hashOf("b") + "\"}", "key 2: the keys of a must have the same limits"},
		"no requests":      {`- {name: a, requestsPerSecond: 0, sha256: "` + hashOf("a") + `"}`, "leave it out for no limit"},
		"negative":         {`- {name: a, requestsPerSecond: -1, sha256: "` + hashOf("a") + `"}`, "requestsPerSecond"},
		"endless":          {`- {name: a, requestsPerSecond: .inf, sha256: "` + hashOf("a") + `"}`, ""},
		"no burst":         {`- {name: a, requestsPerSecond: 1, burst: 0, sha256: "` + hashOf("a") + `"}`, "burst"},
		"only a burst":     {`- {name: a, burst: 5, sha256: "` + hashOf("a") + `"}`, "needs requestsPerSecond"},
		"a key as a field": {`- avk_SECRET: a`, `unknown field "avk_…"`},
		"no number":        {`- {name: a, requestsPerSecond: .nan, sha256: "` + hashOf("a") + `"}`, ""},
		"the key itself":   {`- {name: a, sha256: avk_SECRET}`, "sha256"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Parse([]byte(test.file), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v, want %q", set, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "SECRET") {
				t.Errorf("the error tells a key: %v", err)
			}
		})
	}
	if _, err := NewEntry("a", "key", math.NaN(), 0); err == nil {
		t.Error("no number is taken for a rate")
	}
	if _, err := NewEntry("a b", "key", 0, 0); err == nil {
		t.Error("an odd name is accepted for a new key")
	}
}

// TestLimitsSurviveAReload: else a client could make the operator's every edit a new
// burst.
func TestLimitsSurviveAReload(t *testing.T) {
	line := func(limits string) string { return `- {name: bot, sha256: "` + hashOf("k") + `"` + limits + `}` }
	now := time.Now()
	before := mustParse(t, line(", requestsPerSecond: 1, burst: 3"), nil)
	limiter := before.Find("k").Limiter
	if !limiter.AllowN(now, 3) {
		t.Fatal("there is no burst")
	}
	if _, err := Parse([]byte(line(", requestsPerSecond: 0")), before); err == nil || limiter.Burst() != 3 {
		t.Errorf("a refused file changes limits: %v, burst %d", err, limiter.Burst())
	}
	after := mustParse(t, line(", requestsPerSecond: 2, burst: 5"), before).Find("k").Limiter
	if after.Limit() != 2 || after.Burst() != 5 {
		t.Errorf("the new limits are not in force: %v, %d", after.Limit(), after.Burst())
	}
	if after.AllowN(now, 1) {
		t.Error("the reload gives another burst")
	}
	if mustParse(t, line(""), before).Find("k").Limiter != nil {
		t.Error("the limit stays although it was taken away")
	}
}

func TestWatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api-keys.yaml")
	write := func(keys ...string) {
		t.Helper()
		var file strings.Builder
		for _, key := range keys {
			file.WriteString(`- {name: bot, sha256: "` + hashOf(key) + "\"}\n")
		}
		if err := os.WriteFile(path+".new", []byte(file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	reloads := make(chan error)
	onReload := func(err error) { reloads <- err }
	if _, err := Watch(path, log, onReload); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	write("first")
	keys, err := Watch(path, log, onReload)
	if err != nil {
		t.Fatal(err)
	}
	write("first", "second")
	if err := <-reloads; err != nil {
		t.Fatal(err)
	}
	if keys.Current().Find("second") == nil {
		t.Error("the new key is not known")
	}
	write()
	if err := <-reloads; err == nil {
		t.Fatal("an empty file is accepted")
	}
	if keys.Current().Find("second") == nil {
		t.Error("a refused file took a key away")
	}
	write("second")
	if err := <-reloads; err != nil {
		t.Fatal(err)
	}
	if keys.Current().Find("first") != nil {
		t.Error("a removed key is still known")
	}
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"API keys reloaded", "usable_keys=2", "refused", path} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, &logged)
		}
	}
	if strings.Contains(logged.String(), hashOf("first")) {
		t.Errorf("the log has a hash:\n%s", &logged)
	}
}
