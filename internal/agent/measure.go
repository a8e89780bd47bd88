package agent

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/internal/agent/load"
	"evenkeel.dev/evenkeel/internal/pace"
)

// sampleEvery is how often the load is measured while pods wait or start.
const sampleEvery = 2 * time.Second

// sample measures the load while it matters.
func (l *loop) sample(now time.Time) time.Time {
	if !samples(l.limits) || !l.queue.Busy() {
		l.sampleAt = time.Time{}
		return time.Time{}
	}
	if l.sampleAt.IsZero() { // the processor figure is over the time since the last reading
		l.measure()
		l.sampleAt = now.Add(sampleEvery / 2)
	}
	if now.Before(l.sampleAt) {
		return l.sampleAt
	}
	l.sampleAt = now.Add(sampleEvery)
	if s, ok := l.measure(); ok {
		l.apply(now, l.queue.Sample(now, pace.Load{CPU: s.CPU, Memory: s.Memory, IO: s.IO}))
	}
	return l.sampleAt
}

// measure reads the load, and says in the status when a limit that was asked for
// cannot follow it.
func (l *loop) measure() (load.Sample, bool) {
	s, err := l.reader.Read()
	if err != nil {
		l.trouble("load", fmt.Errorf("the load cannot be measured, the limit does not follow it: %w", err))
		return s, false
	}
	l.trouble("load", unmeasured(l.limits, s))
	return s, true
}

// unmeasured names the threshold that the system gives no figure for.
func unmeasured(limits pace.Limits, s load.Sample) error {
	if limits.Pressure == nil || limits.Pressure.IO <= 0 || s.IO != load.Unknown {
		return nil
	}
	return fmt.Errorf("pace.limits.pressure.io: %g: this system has no figure for it, the limit does not follow it "+
		"(Linux has one where /proc/pressure is)", limits.Pressure.IO)
}

// limit takes over the limits, and looks at once whether what they go by can be
// measured.
func (l *loop) limit(limits pace.Limits) {
	l.limits = limits
	if !samples(limits) {
		l.trouble("load", nil)
		return
	}
	l.measure()
}

// samples reports whether limits go by the load.
func samples(limits pace.Limits) bool { return limits.Pressure != nil || limits.Adaptive != nil }
