package pace

import (
	"slices"
	"time"
)

// remembered is how many runs of the plugin the percentiles are taken over.
const remembered = 256

// durations is how long the last successful runs of the plugin took. A failed run says nothing of what a run needs: one
// that hung until the runtime killed it would stand for the slowest of a hundred.
//
// They are not kept over a restart of the agent, which has no file of state to be lost, wrong or old. Until the first
// runs are reported nothing is reserved; an attempt of the default length then leaves the plugin 180 s of the runtime's
// 240, and what runs longer is tried again by the kubelet.
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

// observe judges a run of the plugin; what cannot be a duration is taken as the nearest that can.
func (q *Queue) observe(t instant, took time.Duration, ok bool) {
	took = max(0, min(took, time.Hour))
	if ok {
		q.plugin.add(took)
	}
	q.aimd.observe(t, took, ok, len(q.line.pods) > 0)
}
