package pace

import (
	"math"
	"time"
)

// instant is a moment on the queue's own clock: the time since the queue was made.
type instant = time.Duration

const (
	never instant = math.MaxInt64

	// maxLateness is how far the clock goes beyond an instant that the caller should have ticked at.
	maxLateness = 10 * time.Second
	// maxIdle bounds one step of an idle queue, so that no sum of instants overflows.
	maxIdle = 24 * time.Hour
)

// clock turns the caller's times into instants. It never runs backwards, and it does not leap over what is due: after
// a suspended machine or a set clock the waits go on where they were, so deadlines do not fall due all together.
type clock struct {
	last time.Time
	t    instant
}

func (c *clock) advance(now time.Time, due instant) instant {
	step := min(now.Sub(c.last), maxIdle)
	c.last = now
	if step <= 0 {
		return c.t
	}
	if due == never {
		c.t += step
	} else {
		c.t = min(c.t+step, max(due, c.t)+maxLateness)
	}
	return c.t
}

// until is the caller's time at which the clock will show the instant, never before now.
func (c *clock) until(now time.Time, due instant) time.Time {
	elapsed := max(0, now.Sub(c.last))
	return now.Add(max(0, due-c.t-elapsed))
}
