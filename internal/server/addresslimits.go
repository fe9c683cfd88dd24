package server

import (
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

// maxAddresses bounds how many addresses are remembered; it takes about 15 MB. Who
// comes from more addresses than that has as many limits in any case, and an address
// that is forgotten only gets its burst anew.
const maxAddresses = 1 << 16

// addressLimits limits requests by client address. A nil one sets no limits.
type addressLimits struct {
	rate  rate.Limit
	burst int

	mu sync.Mutex
	// limiters are forgotten when they have not been used for longest.
	limiters *simplelru.LRU[netip.Prefix, *rate.Limiter]
}

// newAddressLimits makes limits of some requests per second; 0 are no limits. A burst
// of 0 is as many as in a second.
func newAddressLimits(perSecond float64, burst, size int) *addressLimits {
	if perSecond == 0 {
		return nil
	}
	if burst == 0 {
		burst = int(math.Ceil(perSecond))
	}
	limiters, err := simplelru.NewLRU[netip.Prefix, *rate.Limiter](size, nil)
	if err != nil {
		panic(fmt.Errorf("a table of %d addresses: %w", size, err)) // The size is a constant.
	}
	return &addressLimits{rate: rate.Limit(perSecond), burst: burst, limiters: limiters}
}

// spend counts a request from an address. If there have been too many, it is not
// counted, and wait tells when the next one may come.
func (a *addressLimits) spend(addr netip.Addr, now time.Time) (wait time.Duration) {
	if a == nil {
		return 0
	}
	return spend(a.limiter(household(addr)), now)
}

func (a *addressLimits) limiter(prefix netip.Prefix) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter, ok := a.limiters.Get(prefix)
	if !ok {
		limiter = rate.NewLimiter(a.rate, a.burst)
		a.limiters.Add(prefix, limiter)
	}
	return limiter
}

// household is what one customer of a network has: an IPv4 address, or an IPv6
// network of 64 bits, in which each device makes up addresses as it likes.
func household(addr netip.Addr) netip.Prefix {
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // No address at all.
	}
	return prefix
}
