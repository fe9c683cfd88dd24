package server

import (
	"context"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
)

// Overload is answered by refusing at once what is too much. A queue would only add
// waiting: the clients at its end have given up by the time their turn comes.
//
// What is bounded: connections (limitedListener), requests that are worked on
// (workload), and those that arrive or leave at the pace of their clients
// (transfers). The last is why a slow client costs nobody but itself: it holds no
// place among those that are worked on, and when there are too many slow ones the
// slowest go first.

// admission is what requests get past before anything is done for them.
type admission struct {
	access    *access
	work      *workload
	transfers *transfers
	streams   *endlessStreams
}

func newAdmission(config Config) admission {
	return admission{
		access:    newAccess(config),
		work:      newWorkload(config.MaxInFlight),
		transfers: newTransfers(config),
		streams:   &endlessStreams{maxTotal: config.MaxConnections, open: map[string]int{}},
	}
}

// bytesPerPlace is how long a request may be to count as one. Only replays are
// longer.
const bytesPerPlace = 16 << 10

// workload bounds the requests that are worked on, over both transports.
type workload struct {
	places    *semaphore.Weighted
	maxPlaces int64
}

func newWorkload(maxInFlight int) *workload {
	return &workload{semaphore.NewWeighted(int64(maxInFlight)), int64(maxInFlight)}
}

// begin takes the places of a request, one and one more for each 16 KiB, until end
// is called, which may be repeated.
func (w *workload) begin(requestBytes int) (end func(), err error) {
	// Alone, a request of any length may be worked on.
	places := min(1+int64(requestBytes)/bytesPerPlace, w.maxPlaces)
	if !w.places.TryAcquire(places) {
		return nil, overloaded()
	}
	return sync.OnceFunc(func() { w.places.Release(places) }), nil
}

// limitWork is begin for calls over gRPC. Calls over JSON have begun before their
// body was decoded, and health checks must be answered under any load.
func (i interceptors) limitWork(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	message, ok := request.(proto.Message)
	if isAdmitted(ctx) || !ok || !strings.HasPrefix(info.FullMethod, gameServicePrefix) {
		return handler(ctx, request)
	}
	end, err := i.work.begin(proto.Size(message))
	if err != nil {
		return nil, err
	}
	defer end()
	return handler(ctx, request)
}

// maxEndlessStreams is how many streams that may go on for ever a connection may have. A
// client watches health once, and a person looks around with another.
const maxEndlessStreams = 4

// endlessStreams bounds the streams that may go on for ever: health watching and
// reflection. A client that has too many must not take the places of others, for clients
// that cannot watch a server's health leave it.
type endlessStreams struct {
	maxTotal int

	mu    sync.Mutex
	total int
	open  map[string]int // By the address and port of the client.
}

func (s *endlessStreams) begin(client string) (end func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.maxTotal || s.open[client] >= maxEndlessStreams {
		return nil, overloaded()
	}
	s.total++
	s.open[client]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.total--
		if s.open[client]--; s.open[client] == 0 {
			delete(s.open, client)
		}
	}, nil
}

// limitStreams makes streams take the places that there are.
func (i interceptors) limitStreams(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	client := ""
	if p, ok := peer.FromContext(stream.Context()); ok {
		client = p.Addr.String()
	}
	end, err := i.streams.begin(client)
	if err != nil {
		return err
	}
	defer end()
	return handler(server, stream)
}
