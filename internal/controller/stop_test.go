package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestStoppingIsNeverACrash: reported of the descheduler, issue 728: a channel was closed twice when a cycle had ended and the program was stopped as well. Stopped before,
// while, as and after a cycle ends, more than once, with one cycle or many, good or failing, Run returns, and can run again.
func TestStoppingIsNeverACrash(t *testing.T) {
	const takes = time.Minute
	for _, interval := range []time.Duration{0, takes, 5 * takes} {
		for _, fails := range []error{nil, errors.New("no API")} {
			for _, after := range []time.Duration{0, takes / 2, takes, takes + time.Nanosecond, 7 * takes} {
				synctest.Test(t, func(t *testing.T) {
					w := &world{snapshotTakes: takes, snapshotErr: fails}
					c := w.controller(interval)
					for range 2 {
						ctx, stop := context.WithCancel(t.Context())
						time.AfterFunc(after, stop)
						time.AfterFunc(after, stop)
						began := time.Now()
						err := c.Run(ctx)
						stop()
						if interval > 0 && err != nil {
							t.Errorf("interval %s, stopped after %s: %v", interval, after, err)
						}
						if ran := time.Since(began); ran > after+takes {
							t.Errorf("interval %s, stopped after %s: returned only after %s", interval, after, ran)
						}
						synctest.Wait()
					}
				})
			}
		}
	}
}
