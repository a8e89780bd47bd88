package herd

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxBeats is how many heartbeats go on at one time, so that a machine that can't keep up is not buried under them. The
// next one waits, and its waiting counts.
const maxBeats = 64

// beats lets a heartbeat begin at every interval from began on, until ctx ends, and says how late each was done, in the
// order in which they were due. Like probes, each goes by itself: a late one does not hold up the next. Those in
// progress when ctx ends are waited for. The error of one ends it all.
func beats(ctx context.Context, began time.Time, every time.Duration, beat func() error) ([]Beat, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type outcome struct {
		Beat
		err error
	}
	var (
		outcomes []*outcome
		running  sync.WaitGroup
		places   = make(chan struct{}, maxBeats)
	)
	for due := began; ; due = due.Add(every) {
		sleep(ctx, time.Until(due))
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		o := &outcome{Beat: Beat{Due: seconds(due.Sub(began))}}
		outcomes = append(outcomes, o)
		running.Go(func() {
			if o.err = beat(); o.err != nil {
				stop()
			}
			o.Delay = seconds(time.Since(due))
			<-places
		})
	}
	running.Wait()
	var (
		done []Beat
		errs []error
	)
	for _, o := range outcomes {
		done, errs = append(done, o.Beat), append(errs, o.err)
	}
	return done, errors.Join(errs...)
}
