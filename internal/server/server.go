// Package server is how the service meets the network: listeners for gRPC, for JSON
// over HTTP and for the operator, what every request goes through on its way to the
// service and back, and an end in which no request is lost.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	avalanchev1 "github.com/avalanched/avalanched/api/proto/avalanche/v1"
)

// Server serves one service on three ports.
type Server struct {
	config Config
	log    requestLog

	grpc   *grpc.Server
	health *health.Server
	http   *http.Server
	admin  *http.Server

	grpcListener, httpListener, adminListener net.Listener
	refusedConnections                        metric.Int64Counter

	// ready tells whether new requests are welcome.
	ready atomic.Bool
	// endStreams ends the streams that would go on for ever.
	endStreams context.CancelFunc
}

// The timeouts of the HTTP port.
const (
	readHeaderTimeout = 5 * time.Second
	// readTimeout is for a whole request: 2 MiB over a slow mobile network.
	readTimeout = 30 * time.Second
	// writeTimeout is for the answer, after the request was read and worked on.
	writeTimeout = 20 * time.Second
	idleTimeout  = 2 * time.Minute
)

// arrivalTimeout is how long a call over gRPC may take, from its headers to its answer.
func arrivalTimeout(config Config) time.Duration { return readTimeout + config.RequestTimeout }

// New makes a server that is not listening yet. The configuration must pass its
// Check.
func New(config Config, games avalanchev1.GameServiceServer, telemetry *Telemetry, log *slog.Logger) (*Server, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	rules, err := newRequestRules(gameService())
	if err != nil {
		return nil, err
	}
	requests, err := newRequestLog(log, telemetry)
	if err != nil {
		return nil, err
	}
	var refused metric.Int64Counter
	err = makeCounters(telemetry.Meter(), []counter{
		{&refused, "avalanched.connections.refused", "{connection}", "Connections closed at once because there were too many, by port: grpc or http."},
	})
	if err != nil {
		return nil, err
	}
	startAtZero(refused, portKey, []string{portGRPC, portHTTP})
	draining, endStreams := context.WithCancel(context.Background())
	admission := newAdmission(config)
	calls := interceptors{
		admission:      admission,
		log:            requests,
		draining:       draining,
		rules:          rules,
		maxBytes:       config.MaxRequestBytes,
		requestTimeout: config.RequestTimeout,
	}
	unary := chainUnary(calls.unaryChain())
	statsHandler := telemetry.rpcHandler(isGameMethod)

	s := &Server{
		config: config,
		log:    requests,
		grpc:   newGRPCServer(config, unary, calls, statsHandler),
		health: health.NewServer(),

		refusedConnections: refused,
		endStreams:         endStreams,
	}
	avalanchev1.RegisterGameServiceServer(s.grpc, games)
	healthgrpc.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	s.setServing(false)
	if err := s.showReadiness(telemetry); err != nil {
		endStreams()
		return nil, err
	}

	conn := newInProcess(unary, statsHandler)
	avalanchev1.RegisterGameServiceServer(conn, games)
	gateway, err := newGateway(conn, admission, config.MaxRequestBytes, log)
	if err != nil {
		endStreams()
		return nil, err
	}
	httpLog := slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	s.http = &http.Server{
		Handler:           newHTTPHandler(gateway, config.CORSOrigins, &s.ready, telemetry, requests),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + config.RequestTimeout + writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		// Over TLS, clients may use HTTP/2 here, too.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: int(config.MaxConcurrentStreams),
			MaxReadFrameSize:     maxFrameBytes,
			SendPingTimeout:      pingInterval,
			PingTimeout:          pingTimeout,
		},
		ErrorLog: httpLog,
	}
	if config.TLS != nil {
		s.http.TLSConfig = tlsConfig(config.TLS, "h2", "http/1.1")
	}
	s.admin = &http.Server{
		Handler:           newAdminHandler(&s.ready, telemetry, config.PProf),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          httpLog,
	}
	return s, nil
}

// Listen takes the three ports. Nothing is answered on them before Run. An error
// names the flag of the address at fault.
func (s *Server) Listen(ctx context.Context) error {
	var open []net.Listener
	for _, port := range []struct {
		flag, addr string
		listener   *net.Listener
	}{
		{"--grpc-addr", s.config.GRPCAddr, &s.grpcListener},
		{"--http-addr", s.config.HTTPAddr, &s.httpListener},
		{"--admin-addr", s.config.AdminAddr, &s.adminListener},
	} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", port.addr)
		if err != nil {
			for _, l := range open {
				err = errors.Join(err, l.Close())
			}
			return fmt.Errorf("%s=%s: %w", port.flag, port.addr, err)
		}
		*port.listener = listener
		open = append(open, listener)
	}
	s.grpcListener = s.limitConnections(ctx, s.grpcListener, portGRPC)
	s.httpListener = s.limitConnections(ctx, s.httpListener, portHTTP)
	return nil
}

// The label of metrics about ports.
const (
	portKey  = attribute.Key("port")
	portGRPC = "grpc"
	portHTTP = "http"
)

func (s *Server) limitConnections(ctx context.Context, listener net.Listener, port string) net.Listener {
	labels := metric.WithAttributes(portKey.String(port))
	return &limitedListener{
		Listener: listener,
		max:      int64(s.config.MaxConnections),
		refused:  func() { s.refusedConnections.Add(ctx, 1, labels) },
	}
}

// GRPCAddr is the address that Listen took for gRPC.
func (s *Server) GRPCAddr() net.Addr { return s.grpcListener.Addr() }

// HTTPAddr is the address that Listen took for JSON over HTTP.
func (s *Server) HTTPAddr() net.Addr { return s.httpListener.Addr() }

// AdminAddr is the address that Listen took for the operator.
func (s *Server) AdminAddr() net.Addr { return s.adminListener.Addr() }

// Run serves until the context ends, drains, and returns nil; or until a listener
// fails. Listen must have succeeded.
func (s *Server) Run(ctx context.Context) error {
	serving, failed := errgroup.WithContext(ctx)
	serving.Go(func() error { return closedIsFine(s.grpc.Serve(s.grpcListener)) })
	serving.Go(func() error { return closedIsFine(s.serveHTTP()) })
	serving.Go(func() error { return closedIsFine(s.admin.Serve(s.adminListener)) })
	s.setServing(true)
	serving.Go(func() error {
		<-failed.Done()
		s.setServing(false)
		if ctx.Err() != nil {
			s.waitForBalancers(ctx)
		}
		s.drain(context.WithoutCancel(ctx))
		return nil
	})
	return serving.Wait()
}

func (s *Server) serveHTTP() error {
	if s.config.TLS != nil {
		return s.http.ServeTLS(s.httpListener, "", "")
	}
	return s.http.Serve(s.httpListener)
}

func closedIsFine(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// setServing tells everybody who asks whether new requests are welcome.
func (s *Server) setServing(serving bool) {
	s.ready.Store(serving)
	status := healthgrpc.HealthCheckResponse_NOT_SERVING
	if serving {
		status = healthgrpc.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", status)
	s.health.SetServingStatus(avalanchev1.GameService_ServiceDesc.ServiceName, status)
}

// showReadiness lets the metrics say what /readyz says.
func (s *Server) showReadiness(telemetry *Telemetry) error {
	_, err := telemetry.Meter().Int64ObservableGauge(
		"avalanched.ready",
		metric.WithDescription("1 if this replica welcomes new requests, 0 while it starts or drains."),
		metric.WithInt64Callback(func(_ context.Context, observer metric.Int64Observer) error {
			ready := int64(0)
			if s.ready.Load() {
				ready = 1
			}
			observer.Observe(ready)
			return nil
		}),
	)
	return err
}

// waitForBalancers goes on serving, because requests keep coming until everybody
// has seen that the server is not ready.
func (s *Server) waitForBalancers(ctx context.Context) {
	s.log.InfoContext(ctx, "draining", slog.String("delay", s.config.DrainDelay.String()), slog.String("timeout", s.config.DrainTimeout.String()))
	time.Sleep(s.config.DrainDelay)
}

// drain takes no new requests, waits for those in flight, and cuts off what is
// left when time is up. The admin port closes last.
func (s *Server) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.config.DrainTimeout)
	defer cancel()
	s.endStreams()
	var ports sync.WaitGroup
	ports.Go(func() { s.stopGRPC(ctx) })
	ports.Go(func() { s.stopHTTP(ctx, s.http, portHTTP) })
	ports.Wait()
	s.stopHTTP(ctx, s.admin, "admin")
}

func (s *Server) stopGRPC(ctx context.Context) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.log.WarnContext(ctx, "calls in flight are cut off", slog.String("after", s.config.DrainTimeout.String()))
		s.grpc.Stop()
	}
}

func (s *Server) stopHTTP(ctx context.Context, server *http.Server, port string) {
	if err := server.Shutdown(ctx); err == nil {
		return
	}
	s.log.WarnContext(ctx, "requests in flight are cut off", slog.String("port", port), slog.String("after", s.config.DrainTimeout.String()))
	if err := server.Close(); err != nil {
		s.log.WarnContext(ctx, "closing a listener", slog.Any("error", err))
	}
}
