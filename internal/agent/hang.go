package agent

import (
	"time"

	"evenkeel.dev/evenkeel/internal/podstate"
)

const (
	// hungAfter is how late a wake-up may be before the agent counts as having
	// hung: stand-ins wait for a first answer for less.
	hungAfter = 3 * time.Second
	// backlog is how long after a hang what was sent meanwhile may still be read.
	backlog = 5 * time.Second
)

// hang is the last time in which the agent did nothing, because it was stopped or
// the node too busy; zero if it never was.
type hang struct{ from, until time.Time }

// mayBeOld is by how much what is read now may have been sent earlier.
func (h hang) mayBeOld(now time.Time) time.Duration {
	if h.until.IsZero() || now.Sub(h.until) > backlog {
		return 0
	}
	return h.until.Sub(h.from)
}

// late is told how late something in the agent woke up. After a hang, pods may
// have started by lock files, as after a restart, and what executables have said
// of themselves is about the past.
func (l *loop) late(now time.Time, by time.Duration) {
	from := now.Add(-by)
	if by < hungAfter || from.Before(l.hang.until) { // told by somebody else already
		return
	}
	l.hang = hang{from: from, until: now}
	l.log.Warn("this agent did nothing for a while: it was stopped, or the node was too busy", "for", by.Round(time.Millisecond))
	l.note("this agent did nothing for %s: it was stopped, or the node was too busy", by.Round(time.Second))
	l.metrics.hangs.Inc()
	l.locksAt, l.recoverEnd = now, now.Add(recoverTime)
	for key, w := range l.pods.slots {
		if !w.heard.IsZero() && now.Sub(w.heard) <= backlog {
			w.memory = podstate.Remember(nil, key, w.began.Add(-by), l.pods.boot)
			w.heard = time.Time{}
			l.judge(now, key)
		}
	}
}
