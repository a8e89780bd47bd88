package herd

import (
	"context"
	"time"
)

// beats lets one beat happen at every interval from began on, until ctx ends, and says how late each was done. A beat
// that takes too long holds up the next ones, which count their waiting. The beat in progress when ctx ends is waited for.
func beats(ctx context.Context, began time.Time, every time.Duration, beat func() error) ([]Beat, error) {
	var done []Beat
	for due := began; ; due = due.Add(every) {
		sleep(ctx, time.Until(due))
		if ctx.Err() != nil {
			return done, nil
		}
		if err := beat(); err != nil {
			return done, err
		}
		done = append(done, Beat{Due: seconds(due.Sub(began)), Delay: seconds(time.Since(due))})
	}
}
