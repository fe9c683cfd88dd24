// Package apikeys knows who may call: API keys, each with a name and limits, from a
// file that holds only the keys' hashes.
//
// The hash is plain SHA-256. Slow hashes such as bcrypt protect passwords, which
// people choose and attackers can therefore guess. A key made by [New] has 130 random
// bits: who stole the file would not find one in the lifetime of the sun, however
// fast the hash. A slow one would only slow down every request, and more so for
// whoever sends wrong keys.
package apikeys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"

	"golang.org/x/time/rate"
	"sigs.k8s.io/yaml"

	"github.com/avalanched/avalanched/internal/watch"
)

const (
	// prefix lets people, and tools that look for leaked secrets, know an API key
	// when they see one.
	prefix = "avk_"
	// maxKeyLength bounds what is hashed, in bytes. Keys of other makers are welcome
	// if they are as random.
	maxKeyLength = 256
	// maxFileSize is room for some 30,000 keys.
	maxFileSize = 4 << 20
)

// New makes a key.
func New() string { return prefix + rand.Text() }

// Entry is one key in the file, in YAML or JSON. Entries of one name are several
// keys of one tenant, as while a key is being replaced: they share the limits, which
// must be equal.
type Entry struct {
	// Name of whom the key belongs to, the tenant: 1 to 64 letters, digits, dots,
	// dashes and underscores.
	Name string `json:"name"`
	// SHA256 is the hash of the key, in hex.
	SHA256 string `json:"sha256"`
	// RequestsPerSecond is how many requests the tenant may make in the long run;
	// without it there is no limit.
	RequestsPerSecond *float64 `json:"requestsPerSecond,omitempty"`
	// Burst is how many requests the tenant may make at once after a pause; without
	// it as many as in a second.
	Burst *int `json:"burst,omitempty"`
	// Disabled keys are refused like unknown ones.
	Disabled bool `json:"disabled,omitempty"`
}

// NewEntry makes the entry of a key.
func NewEntry(name, key string, requestsPerSecond float64, burst int) (Entry, error) {
	hash := sha256.Sum256([]byte(key))
	entry := Entry{Name: name, SHA256: hex.EncodeToString(hash[:])}
	if requestsPerSecond != 0 {
		entry.RequestsPerSecond = &requestsPerSecond
	}
	if burst != 0 {
		entry.Burst = &burst
	}
	return entry, entry.check()
}

// Line writes an entry as one line of the file.
func (e Entry) Line() string {
	line := fmt.Sprintf("- {name: %q, sha256: %q", e.Name, e.SHA256)
	if e.RequestsPerSecond != nil {
		line += fmt.Sprintf(", requestsPerSecond: %v", *e.RequestsPerSecond)
	}
	if e.Burst != nil {
		line += fmt.Sprintf(", burst: %d", *e.Burst)
	}
	return line + "}"
}

var (
	goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	goodHash = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
	anyKey   = regexp.MustCompile(prefix + `[A-Za-z0-9_-]*`)
)

func (e Entry) check() error {
	switch {
	case !goodName.MatchString(e.Name):
		return errors.New("name: must be 1 to 64 letters, digits, dots, dashes or underscores, and begin with a letter or digit")
	case !goodHash.MatchString(e.SHA256):
		// What stands there may be the key itself, so it is not repeated.
		return errors.New(`sha256: must be the SHA-256 of the key in 64 hex digits, as "avalanched apikeys new" prints it`)
	case e.RequestsPerSecond != nil && !(*e.RequestsPerSecond > 0 && *e.RequestsPerSecond <= maxRate): // NaN is neither.
		return fmt.Errorf("requestsPerSecond: must be above 0 and at most %d; leave it out for no limit", maxRate)
	case e.Burst != nil && e.RequestsPerSecond == nil:
		return errors.New("burst: needs requestsPerSecond")
	case e.Burst != nil && (*e.Burst < 1 || *e.Burst > maxRate):
		return fmt.Errorf("burst: must be from 1 to %d", maxRate)
	default:
		return nil
	}
}

// maxRate bounds rates and bursts: what is above it is meant to be no limit.
const maxRate = 1_000_000

// limits are what the tenant may do; the zero value is no limit.
type limits struct {
	rate  rate.Limit
	burst int
}

func (e Entry) limits() limits {
	if e.RequestsPerSecond == nil {
		return limits{}
	}
	burst := int(math.Ceil(*e.RequestsPerSecond))
	if e.Burst != nil {
		burst = *e.Burst
	}
	return limits{rate.Limit(*e.RequestsPerSecond), burst}
}

// Tenant is on whose behalf a request is made.
type Tenant struct {
	Name string
	// Limiter has a token for each request that the tenant may make; nil is no limit.
	Limiter *rate.Limiter
}

// Set is the keys of one file.
type Set struct {
	tenants map[string]*Tenant
	// enabled are the tenants of all keys that may be used, by hash.
	enabled map[[sha256.Size]byte]*Tenant
}

// Len is the number of keys that may be used.
func (s *Set) Len() int { return len(s.enabled) }

// Find returns whose key a key is, and nil if it is nobody's.
//
// Comparing hashes takes no care to last equally long: how long it lasts tells
// something about the hash of a wrong key at most, and nobody can make a key for a
// hash.
func (s *Set) Find(key string) *Tenant {
	if len(key) > maxKeyLength {
		return nil
	}
	return s.enabled[sha256.Sum256([]byte(key))]
}

// Parse reads a file of keys. Tenants of the set before keep what they have used up
// of their limits, even if the limits are others now; before may be nil.
func Parse(data []byte, before *Set) (*Set, error) {
	var entries []Entry
	if err := yaml.UnmarshalStrict(data, &entries); err != nil {
		// The library's error repeats what it does not know, which may be a key itself.
		return nil, fmt.Errorf("it is no list of API keys in YAML or JSON: %s", anyKey.ReplaceAllString(err.Error(), prefix+"…"))
	}
	if len(entries) == 0 {
		return nil, errors.New(`it has no keys: add a line made by "avalanched apikeys new"`)
	}
	wanted := map[string]limits{}
	hashes := map[[sha256.Size]byte]int{}
	for i, entry := range entries {
		number := i + 1
		if err := entry.check(); err != nil {
			return nil, fmt.Errorf("key %d: %w", number, err)
		}
		if first, ok := hashes[entry.hash()]; ok {
			return nil, fmt.Errorf("keys %d and %d are the same", first, number)
		}
		hashes[entry.hash()] = number
		if limits, ok := wanted[entry.Name]; ok && limits != entry.limits() {
			return nil, fmt.Errorf("key %d: the keys of %s must have the same limits, because they share them", number, entry.Name)
		}
		wanted[entry.Name] = entry.limits()
	}

	set := &Set{tenants: map[string]*Tenant{}, enabled: map[[sha256.Size]byte]*Tenant{}}
	for name, limits := range wanted {
		set.tenants[name] = &Tenant{Name: name, Limiter: limits.limiter(before.limiterOf(name))}
	}
	for _, entry := range entries {
		if !entry.Disabled {
			set.enabled[entry.hash()] = set.tenants[entry.Name]
		}
	}
	return set, nil
}

// hash decodes the hash of an entry that was checked.
func (e Entry) hash() (hash [sha256.Size]byte) {
	_, _ = hex.Decode(hash[:], []byte(e.SHA256))
	return hash
}

func (s *Set) limiterOf(name string) *rate.Limiter {
	if s == nil || s.tenants[name] == nil {
		return nil
	}
	return s.tenants[name].Limiter
}

// limiter makes a limiter, or adapts the one that there was.
func (l limits) limiter(before *rate.Limiter) *rate.Limiter {
	switch {
	case l == limits{}:
		return nil
	case before == nil:
		return rate.NewLimiter(l.rate, l.burst)
	default:
		before.SetLimit(l.rate)
		before.SetBurst(l.burst)
		return before
	}
}

// Watch reads a file of keys, which must be usable, and follows its changes until
// Close. A changed file that cannot be used is refused. onReload is told how each
// reload ended.
func Watch(path string, log *slog.Logger, onReload func(error)) (*watch.Value[Set], error) {
	return watch.Follow(watch.Config[Set]{
		What:     "API keys",
		Paths:    []string{path},
		MaxBytes: maxFileSize,
		Parse:    func(contents [][]byte, inForce *Set) (*Set, error) { return Parse(contents[0], inForce) },
		Logger:   log,
		OnReload: func(inForce *Set, err error) {
			if err != nil {
				log.Error("the file of API keys is refused; the keys in force stay in force", "path", path, "error", err)
			} else {
				log.Info("API keys reloaded", "path", path, "usable_keys", inForce.Len())
			}
			onReload(err)
		},
	})
}
