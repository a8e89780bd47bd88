package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"evenkeel.dev/evenkeel/internal/admission"
)

// Path is where AdmissionReviews are taken.
const Path = "/taint"

// Server answers AdmissionReviews over HTTPS, and kubelet's probes.
type Server struct {
	Taint admission.Taint
	// Certificate is asked at every handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready says why requests should go elsewhere.
	Ready func() error
	// Drain is how long requests are still taken after being told to stop, so that everybody can hear that /readyz fails.
	Drain time.Duration
	Log   *slog.Logger

	stopping atomic.Bool
}

// Serve answers on the listener until ctx is done, goes on for Drain, and lets requests in flight end.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.handler(),
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.Certificate, NextProtos: []string{"h2", "http/1.1"}},
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    1 << 15,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug), // scanners and probes
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the webhook on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	s.Log.Info("stopping", "drain", s.Drain)
	select {
	case err := <-ended:
		return fmt.Errorf("serve the webhook on %s: %w", listener.Addr(), err)
	case <-time.After(s.Drain):
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the webhook on %s: %w", listener.Addr(), err)
	}
	return nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(Path, s.review)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.readyz)
	return mux
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	err := s.Ready()
	if s.stopping.Load() {
		err = errors.New("stopping")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

func (s *Server) review(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, admission.MaxBody+1))
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	answer := s.Taint.Review(r.Method, r.Header.Get("Content-Type"), body)
	switch {
	case answer.Status != http.StatusOK:
		s.Log.Warn("refused a request that is no review", "from", r.RemoteAddr, "status", answer.Status)
	case answer.Tainted:
		s.Log.Info("tainted a new node", "node", answer.Node, "taint", s.Taint.String())
	}
	w.Header().Set("Content-Type", answer.ContentType)
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}
