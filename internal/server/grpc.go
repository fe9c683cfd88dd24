package server

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	reflectiongrpc "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/reflect/protoreflect"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// gameServicePrefix begins the full names of the service's methods.
var gameServicePrefix = "/" + avalanchev1.GameService_ServiceDesc.ServiceName + "/"

func gameService() protoreflect.ServiceDescriptor {
	return avalanchev1.File_avalanche_v1_game_service_proto.Services().ByName("GameService")
}

// isGameMethod tells whether the service has a method.
func isGameMethod(fullMethod string) bool {
	for _, method := range avalanchev1.GameService_ServiceDesc.Methods {
		if fullMethod == gameServicePrefix+method.MethodName {
			return true
		}
	}
	return false
}

// isEndless tells whether a method is a stream that may go on for ever.
func isEndless(fullMethod string) bool {
	switch fullMethod {
	case healthgrpc.Health_Watch_FullMethodName,
		reflectiongrpc.ServerReflection_ServerReflectionInfo_FullMethodName,
		reflectionalpha.ServerReflection_ServerReflectionInfo_FullMethodName:
		return true
	default:
		return false
	}
}

// isServed tells whether the server has a method at all.
func isServed(fullMethod string) bool {
	switch fullMethod {
	case healthgrpc.Health_Check_FullMethodName, healthgrpc.Health_List_FullMethodName:
		return true
	default:
		return isGameMethod(fullMethod) || isEndless(fullMethod)
	}
}

const (
	// maxHeaderBytes bounds the headers of a request on either port. Clients
	// send a few hundred bytes; proxies and traces add some.
	maxHeaderBytes = 16 << 10
	// maxFrameBytes bounds a frame of HTTP/2, each of which is read in one piece. It
	// is what a client may rely on, and what the grpc package has.
	maxFrameBytes = 16 << 10
	// handshakeTimeout is for a new gRPC connection to become usable. The end of the
	// server waits for that, too.
	handshakeTimeout = readHeaderTimeout
	// maxConnectionAge makes clients that stay connected for long look for other
	// replicas now and then.
	maxConnectionAge = 30 * time.Minute
	// maxConnectionIdle closes connections that nobody uses.
	maxConnectionIdle = 15 * time.Minute
	// pingInterval and pingTimeout find connections whose other end has gone.
	pingInterval = 2 * time.Minute
	pingTimeout  = 20 * time.Second
	// minClientPing is how often a client may ping. Libraries for phones ping
	// every 30 s or so to keep mobile networks from forgetting a connection.
	minClientPing = 20 * time.Second
)

func newGRPCServer(config Config, unary grpc.UnaryServerInterceptor, calls interceptors, handler stats.Handler) *grpc.Server {
	security := insecure.NewCredentials()
	if config.TLS != nil {
		security = credentials.NewTLS(tlsConfig(config.TLS, "h2"))
	}
	return grpc.NewServer(
		grpc.Creds(security),
		grpc.InTapHandle(calls.transfers.tap(arrivalTimeout(config))),
		grpc.UnaryInterceptor(unary),
		grpc.ChainStreamInterceptor(calls.streamChain()...),
		grpc.StatsHandler(handler),
		grpc.StatsHandler(lostCalls{calls.log}),
		grpc.ForceServerCodecV2(newStrictCodec(config.MaxRequestBytes)),
		grpc.MaxRecvMsgSize(maxReceiveBytes(config.MaxRequestBytes)),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return methodUnknown() }),
		grpc.MaxConcurrentStreams(config.MaxConcurrentStreams),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.ConnectionTimeout(min(handshakeTimeout, config.DrainTimeout/2)),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: maxConnectionIdle,
			MaxConnectionAge:  maxConnectionAge,
			// Calls in flight may end, but not one begun after that.
			MaxConnectionAgeGrace: arrivalTimeout(config) + 5*time.Second,
			Time:                  pingInterval,
			Timeout:               pingTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             minClientPing,
			PermitWithoutStream: true,
		}),
	)
}
