package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"evenkeel.dev/evenkeel/internal/sock/listen"
)

// checked is a listener that has lost its address, and cannot have it back until
// some time has passed.
type checked struct {
	err   error
	until time.Time
}

func (c *checked) Check() (lost, err error) {
	if lost = errors.New("removed"); time.Now().Before(c.until) {
		return lost, c.err
	}
	return lost, nil
}

func TestAnAgentThatCannotListenAnewEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		lasts,
		ends time.Duration // 0: it goes on
	}{
		{name: "for a moment", err: errors.New("no such folder"), lasts: 15 * time.Second},
		{name: "for good", err: errors.New("no such folder"), lasts: time.Hour, ends: 22 * time.Second},
		{name: "somebody else listens", err: fmt.Errorf("lock: %w", listen.ErrInUse), lasts: 10 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, err := newMetrics(prometheus.NewRegistry())
				if err != nil {
					t.Fatal(err)
				}
				a := &Agent{metrics: m, log: slog.New(slog.DiscardHandler)}
				ctx, cancel := context.WithTimeout(t.Context(), test.lasts+time.Second)
				defer cancel()
				began := time.Now()
				err = a.keepListening(ctx, &checked{err: test.err, until: began.Add(test.lasts)})
				if took := time.Since(began); test.ends > 0 && (!errors.Is(err, test.err) || took != test.ends) {
					t.Errorf("ended with %v after %s, want after %s", err, took, test.ends)
				}
				if test.ends > 0 {
					return
				}
				if err != nil || !a.listening.Load() || a.problems.get("socket") != "" || len(a.recent.notes()) == 0 || testutil.ToFloat64(m.repairs.WithLabelValues("socket")) == 0 {
					t.Errorf("ended with %v, listening %t, problem %q, notes %v", err, a.listening.Load(), a.problems.get("socket"), a.recent.notes())
				}
			})
		})
	}
}
