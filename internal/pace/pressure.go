package pace

import "time"

// sampleLife is how long a sample is believed: a sampler that stopped must not hold pods up.
const sampleLife = 30 * time.Second

// Load is a sample of how busy the node is, in percent: CPU in use, memory in use, and the share of time in which
// something waited for I/O (PSI "some avg10" on Linux). A negative value or NaN is unknown and exceeds nothing.
type Load struct{ CPU, Memory, IO float64 }

// adaptiveDefault is what the adaptive limit calls short when no thresholds are configured.
var adaptiveDefault = Pressure{CPU: 90, Memory: 95, IO: 50}

// A Shortage is what a sample has too much of.
type Shortage struct {
	Of    string  `json:"of"`    // "cpu", "memory" or "io"
	Now   float64 `json:"now"`   // percent, in the last sample
	Above float64 `json:"above"` // the threshold
}

// shortages are the thresholds, of those that are set, which the load is above.
func (l Load) shortages(p Pressure) []Shortage {
	var short []Shortage
	for _, s := range []Shortage{{"cpu", l.CPU, p.CPU}, {"memory", l.Memory, p.Memory}, {"io", l.IO, p.IO}} {
		if s.Above > 0 && s.Now > s.Above {
			short = append(short, s)
		}
	}
	return short
}

// pressure is the limit's lid while the node is short of something.
type pressure struct {
	lid   int        // 0 is none
	short []Shortage // of the last sample
	at    instant    // of the last sample
}

// note lowers the lid to one, or raises it by one until it no longer matters.
func (p *pressure) note(t instant, short []Shortage, limit int) {
	p.at, p.short = t, short
	switch {
	case len(short) > 0:
		p.lid = 1
	case p.lid >= limit-1:
		p.lid = 0
	case p.lid > 0:
		p.lid++
	}
}

// stale is when the last sample stops to count.
func (p *pressure) stale() instant {
	if p.lid == 0 {
		return never
	}
	return p.at + sampleLife
}

func (p *pressure) forget(t instant) {
	if p.stale() <= t {
		p.lid = 0
	}
}

// Sample tells how busy the node is. It matters only while the queue is [Queue.Busy], and only with a pressure or
// adaptive limit.
func (q *Queue) Sample(now time.Time, load Load) Output {
	t := q.begin(now)
	limits := q.cfg.Limits
	thresholds := adaptiveDefault
	if limits.Pressure != nil {
		thresholds = *limits.Pressure
	}
	short := load.shortages(thresholds)
	if limits.Pressure != nil {
		q.pressure.note(t, short, q.aimd.limit())
	}
	q.aimd.short = len(short) > 0
	q.aimd.shortUntil = t + sampleLife
	if q.aimd.short {
		q.aimd.cut(t)
	}
	return q.settle(t)
}
