package server

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/avalanched/avalanched/internal/apikeys"
	"github.com/avalanched/avalanched/internal/service"
)

// access decides who may call, and how often.
type access struct {
	// keys are the API keys in force; nil if there are none to be had, and everybody
	// may call.
	keys           func() *apikeys.Set
	allowAnonymous bool
	// anonymous limits callers without a key by their address.
	anonymous *addressLimits
	// trustedProxies may say whom they call for.
	trustedProxies []netip.Prefix
}

func newAccess(config Config) *access {
	return &access{
		keys:           config.APIKeys,
		allowAnonymous: config.AllowAnonymous,
		anonymous:      newAddressLimits(config.AnonymousRate, config.AnonymousBurst, maxAddresses),
		trustedProxies: config.TrustedProxies,
	}
}

// enter lets a call in with some values of the headers Authorization and
// X-Forwarded-For, or tells why not. The returned context knows the tenant.
func (a *access) enter(ctx context.Context, authorization, forwardedFor []string) (context.Context, error) {
	tenant, err := a.identify(authorization)
	if tenant != nil {
		if wait := spend(tenant.Limiter, time.Now()); wait > 0 {
			return nil, rateLimited("API key", wait)
		}
		return service.WithTenant(ctx, tenant.Name), nil
	}
	// Wrong keys count, too, or one could try them without end.
	if limited := a.countAnonymous(ctx, forwardedFor); limited != nil {
		return nil, limited
	}
	return ctx, err
}

// countAnonymous refuses a caller whose address has made too many requests.
func (a *access) countAnonymous(ctx context.Context, forwardedFor []string) error {
	if wait := a.anonymous.spend(a.callerOf(ctx, forwardedFor), time.Now()); wait > 0 {
		return rateLimited("address", wait)
	}
	return nil
}

// identify returns who calls, nil for an anonymous caller. A wrong key is refused
// even where anonymous calls are allowed: a mistyped one must not go unnoticed.
func (a *access) identify(authorization []string) (*apikeys.Tenant, error) {
	if a.keys == nil {
		// Whatever the header says, it is not for us.
		return nil, nil
	}
	if len(authorization) == 0 {
		if a.allowAnonymous {
			return nil, nil
		}
		return nil, apiKeyInvalid("this server needs an API key: send the header \"authorization: Bearer KEY\"")
	}
	scheme, key, _ := strings.Cut(authorization[0], " ")
	if len(authorization) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return nil, apiKeyInvalid("the authorization must be one header of the form \"Bearer KEY\"")
	}
	tenant := a.keys().Find(strings.TrimSpace(key))
	if tenant == nil {
		return nil, apiKeyInvalid("this server does not know the API key, or no longer")
	}
	return tenant, nil
}

// checkAccess is enter for calls over gRPC. A call over JSON was let in before its
// body was read. The health service is for everybody: who asks it has no key.
func (i interceptors) checkAccess(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if isAdmitted(ctx) || !strings.HasPrefix(info.FullMethod, gameServicePrefix) {
		return handler(ctx, request)
	}
	md, _ := metadata.FromIncomingContext(ctx)
	ctx, err := i.access.enter(ctx, md.Get("authorization"), md.Get("x-forwarded-for"))
	if err != nil {
		return nil, err
	}
	return handler(ctx, request)
}

// checkStreamAccess is for reflection and unknown methods. They need no key: they
// tell nothing that the published API does not. Watching health is not even
// counted.
func (i interceptors) checkStreamAccess(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.FullMethod != healthgrpc.Health_Watch_FullMethodName {
		md, _ := metadata.FromIncomingContext(stream.Context())
		if err := i.access.countAnonymous(stream.Context(), md.Get("x-forwarded-for")); err != nil {
			return err
		}
	}
	return handler(server, stream)
}

// callerOf is the address that a call comes from: that of the other end of the
// connection or, behind proxies that are trusted, of whom they call for.
func (a *access) callerOf(ctx context.Context, forwardedFor []string) netip.Addr {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddrPort(p.Addr.String())
	if err != nil { // A connection inside of the process, as in tests.
		return netip.Addr{}
	}
	return clientAddr(addr.Addr(), forwardedFor, a.trustedProxies)
}

// clientAddr finds the client behind trusted proxies. Each proxy adds to the right
// end of X-Forwarded-For whom it was called by, so the client is the rightmost that
// is no trusted proxy; what stands left of it is hearsay.
func clientAddr(connected netip.Addr, forwardedFor []string, trusted []netip.Prefix) netip.Addr {
	// A proxy may add a line of its own instead of adding to the one there is.
	hops := strings.Split(strings.Join(forwardedFor, ","), ",")
	client := connected.Unmap().WithZone("")
	for i := len(hops) - 1; i >= 0 && isTrusted(client, trusted); i-- {
		hop, ok := parseHop(hops[i])
		if !ok {
			break
		}
		client = hop
	}
	return client
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	for _, prefix := range trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// parseHop reads an address as proxies write it, some with a port.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return addr.Unmap().WithZone(""), err == nil
}

// spend takes a token from a limiter; nil has always one. Without a token, nothing is
// taken, and it returns how long it takes until there is one.
func spend(limiter *rate.Limiter, now time.Time) (wait time.Duration) {
	// To reserve a token and to give it back would disturb who does so at the same time.
	if limiter == nil || limiter.AllowN(now, 1) {
		return 0
	}
	missing := 1 - limiter.TokensAt(now)
	return max(1, time.Duration(missing/float64(limiter.Limit())*float64(time.Second)))
}
