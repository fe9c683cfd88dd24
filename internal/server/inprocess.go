package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"
)

// inProcess is a client connection to services of the same process. A call looks
// to them as if it had come over gRPC: it passes the same interceptors and the same
// stats handler, and has the peer, the deadline, the metadata and a stream to take
// headers. What it saves is the second trip over the network.
type inProcess struct {
	methods     map[string]localMethod
	interceptor grpc.UnaryServerInterceptor
	stats       stats.Handler
}

type localMethod struct {
	server  any
	handler grpc.MethodHandler
}

func newInProcess(interceptor grpc.UnaryServerInterceptor, handler stats.Handler) *inProcess {
	return &inProcess{methods: map[string]localMethod{}, interceptor: interceptor, stats: handler}
}

// RegisterService implements grpc.ServiceRegistrar.
func (c *inProcess) RegisterService(sd *grpc.ServiceDesc, server any) {
	for _, method := range sd.Methods {
		c.methods["/"+sd.ServiceName+"/"+method.MethodName] = localMethod{server, method.Handler}
	}
}

// Invoke implements grpc.ClientConnInterface.
func (c *inProcess) Invoke(ctx context.Context, name string, request, reply any, opts ...grpc.CallOption) (err error) {
	method, ok := c.methods[name]
	if !ok {
		return methodUnknown()
	}
	in, isMessage := request.(proto.Message)
	out, isAlsoMessage := reply.(proto.Message)
	if !isMessage || !isAlsoMessage {
		return fmt.Errorf("call of %s with %T and %T, which are no messages", name, request, reply)
	}

	stream := &localStream{method: name}
	ctx = grpc.NewContextWithServerTransportStream(incoming(ctx), stream)
	ctx = c.stats.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: name})
	began := time.Now()
	c.stats.HandleRPC(ctx, &stats.Begin{BeginTime: began})
	defer func() {
		c.stats.HandleRPC(ctx, &stats.End{BeginTime: began, EndTime: time.Now(), Error: err})
	}()

	decode := func(v any) error {
		into, ok := v.(proto.Message)
		if !ok {
			return fmt.Errorf("method %s takes a %T, which is no message", name, v)
		}
		proto.Merge(into, in)
		return nil
	}
	response, err := method.handler(method.server, ctx, decode, c.interceptor)
	stream.deliver(opts)
	if err != nil {
		return err
	}
	answer, ok := response.(proto.Message)
	if !ok {
		return fmt.Errorf("method %s answered with a %T, which is no message", name, response)
	}
	proto.Merge(out, answer)
	return nil
}

// NewStream implements grpc.ClientConnInterface. There are no streams over JSON.
func (*inProcess) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, methodUnknown()
}

// incoming turns what the client side put into a context into what the server side
// expects to find.
func incoming(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	return metadata.NewOutgoingContext(metadata.NewIncomingContext(ctx, md), nil)
}

// localStream collects the headers and trailers that a handler sets.
type localStream struct {
	method string

	mu              sync.Mutex
	header, trailer metadata.MD
}

// Method implements grpc.ServerTransportStream.
func (s *localStream) Method() string { return s.method }

// SetHeader implements grpc.ServerTransportStream.
func (s *localStream) SetHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = metadata.Join(s.header, md)
	return nil
}

// SendHeader implements grpc.ServerTransportStream.
func (s *localStream) SendHeader(md metadata.MD) error { return s.SetHeader(md) }

// SetTrailer implements grpc.ServerTransportStream.
func (s *localStream) SetTrailer(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trailer = metadata.Join(s.trailer, md)
	return nil
}

// deliver hands the headers and trailers to a caller that asked for them.
func (s *localStream) deliver(opts []grpc.CallOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, opt := range opts {
		switch o := opt.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = s.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = s.trailer
		}
	}
}
