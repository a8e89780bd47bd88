package pace

import (
	"slices"
	"time"
)

// remembered is how many runs of the plugin the percentiles are taken over.
const remembered = 256

// durations is how long the last runs of the plugin took.
type durations struct {
	ring        []time.Duration
	at          int
	median, p99 time.Duration
}

func (d *durations) add(took time.Duration) {
	if len(d.ring) < remembered {
		d.ring = append(d.ring, took)
	} else {
		d.ring[d.at] = took
		d.at = (d.at + 1) % remembered
	}
	sorted := slices.Sorted(slices.Values(d.ring))
	d.median = sorted[(len(sorted)-1)/2]
	d.p99 = sorted[(len(sorted)*99+99)/100-1]
}

// observe records a run of the plugin; what cannot be a duration is taken as the nearest that can.
func (q *Queue) observe(t instant, took time.Duration, ok bool) {
	took = max(0, min(took, time.Hour))
	q.plugin.add(took)
	q.aimd.observe(t, took, ok, len(q.line.pods) > 0)
}
