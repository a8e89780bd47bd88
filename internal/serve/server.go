package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Server serves HTTPS until its context is done.
type Server struct {
	listener net.Listener
	http     *http.Server
}

// Listen takes the port and prepares the certificates. The error names the flag to change. A nil Server without an error: the port is 0.
func (o *Options) Listen(ctx context.Context, handler http.Handler, log *slog.Logger) (*Server, error) {
	if o.Port == 0 {
		return nil, nil
	}
	config, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	if err := o.certificates(ctx, config); err != nil {
		return nil, err
	}
	listen := net.ListenConfig{Control: o.control}
	listener, err := listen.Listen(ctx, "tcp", net.JoinHostPort(o.BindAddress.String(), strconv.Itoa(o.Port)))
	if err != nil {
		return nil, fmt.Errorf("serve /healthz and /metrics (--bind-address, --secure-port; 0 serves nothing): %w", err)
	}
	server := &http.Server{
		Handler: handler, TLSConfig: config, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 1 << 16,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: o.HTTP2MaxStreams},
	}
	if !o.http2() {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	return &Server{listener: listener, http: server}, nil
}

// Addr is where it listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Serve answers until ctx is done, then lets requests in flight end for up to two seconds.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve HTTPS on %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := s.http.Shutdown(stop); err != nil {
		_ = s.http.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTPS on %s: %w", s.Addr(), err)
	}
	return nil
}

// Handler serves /healthz, which reports an error of healthy as 500, and, when metrics is not nil, /metrics.
func Handler(healthy func() error, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("ok"))
	})
	if metrics != nil {
		mux.Handle("/metrics", metrics)
	}
	return mux
}
