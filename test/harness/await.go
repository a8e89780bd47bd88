package harness

import (
	"context"
	"testing"
	"time"
)

// Await calls check every 100 ms until it returns nil, and fails the test
// with its last error after the timeout.
func Await(t testing.TB, timeout time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := check(ctx)
	for last != nil {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, timeout, last)
		case <-tick.C:
		}
		if err := check(ctx); ctx.Err() == nil {
			last = err
		}
	}
}
