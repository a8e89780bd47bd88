package agent

import "time"

// wallClock notices that the node's clock was set back, by comparing it with the
// time that has passed. A clock that runs slow for a while, to be set back
// gently, is noticed in steps of a second.
type wallClock struct {
	began time.Time     // without a monotonic reading
	ahead time.Duration // of began plus what has passed since, when last looked at
}

func newWallClock(now time.Time) wallClock { return wallClock{began: now.Round(0)} }

// setBack is by how much the clock was set back since the last call. wall is what
// it shows now, passed how much time has passed since began.
func (c *wallClock) setBack(wall time.Time, passed time.Duration) time.Duration {
	ahead := wall.Round(0).Sub(c.began) - passed
	by := c.ahead - ahead
	if by.Abs() < time.Second {
		return 0
	}
	c.ahead = ahead
	return max(0, by)
}

// watchClock keeps what is known of pods right when the clock is set back. Times
// of the API come from the same clock.
func (l *loop) watchClock(now time.Time) {
	by := l.clock.setBack(now, now.Sub(l.began))
	if by == 0 {
		return
	}
	l.log.Warn("the clock was set back", "by", by)
	l.note("the clock was set back by %s", by.Round(time.Second))
	l.pods.clockSetBack(by)
	l.judgeAll(now)
}

// clockSetBack moves the times that statuses are compared with.
func (b *podBook) clockSetBack(by time.Duration) {
	b.boot = b.boot.Add(-by)
	for _, w := range b.slots {
		w.memory.ClockSetBack(by)
	}
	for _, a := range b.asked {
		a.at = a.at.Add(-by)
	}
}
