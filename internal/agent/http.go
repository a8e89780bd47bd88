package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// handler serves scrapers and the kubelet: /healthz (the loop answers), /readyz
// (see Conditions) and /metrics.
func (a *Agent) handler(reg prometheus.Gatherer) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if !a.alive(r.Context()) {
			http.Error(w, "the queue does not answer", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s, _ := a.status(false); !s.Ready {
			http.Error(w, "not ready: "+strings.Join(s.Conditions.missing(), ", "), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	metrics := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		a.gauge()
		metrics.ServeHTTP(w, r)
	})
	return mux
}

// statusHandler is handler and /status, which names pods and files: for the
// socket, that only administrators reach.
func (a *Agent) statusHandler(reg prometheus.Gatherer) *http.ServeMux {
	mux := a.handler(reg)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		s, _ := a.status(true)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s) // a peer that left needs no answer
	})
	return mux
}

// alive reports whether the loop answers soon.
func (a *Agent) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	answered := make(chan bool, 1)
	go func() { answered <- a.loop.ask(func(time.Time) {}) }()
	select {
	case ok := <-answered:
		return ok
	case <-ctx.Done():
		return false
	}
}

// gauge brings the gauges that no input moves up to date.
func (a *Agent) gauge() {
	s, _ := a.status(false)
	setBool(a.metrics.ready, s.Ready)
	setBool(a.metrics.installed, s.Conditions.Installed)
	a.metrics.trouble.Set(float64(len(s.Problems)))
}

// serveHTTP serves l until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, WriteTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// listenTCP listens at addr, and goes on trying while an old agent of this node
// still holds the port.
func listenTCP(ctx context.Context, addr string, failed func(error)) net.Listener {
	for {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err == nil {
			failed(nil)
			return l
		}
		failed(fmt.Errorf("health and metrics are not served: %w", err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}
