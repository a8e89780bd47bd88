package pace

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot is the queue's state for status, metrics and people. Durations are up to the last input.
type Snapshot struct {
	// Limit now, and what it is now set by: "maxConcurrent", "adaptive" or "pressure".
	Limit     int    `json:"limit"`
	LimitedBy string `json:"limitedBy"`
	// Short is what the node had too little of at the last sample, where LimitedBy is "pressure"; empty once it recovers.
	Short []Shortage `json:"short,omitempty"`
	// NextStart is in how long the rate limit allows the next start; 0 if it does now.
	NextStart Duration `json:"nextStart,omitempty"`
	// Holding slots, longest first.
	Holding []Holder `json:"holding"`
	// Waiting pods in the order of their turns.
	Waiting []Waiter `json:"waiting"`
	// LockHolders run their original without the agent's leave.
	LockHolders int `json:"lockHolders"`
	// Recovering is the time after a restart in which nobody is given a turn.
	Recovering  bool `json:"recovering"`
	Maintenance bool `json:"maintenance"`
	// Connected executables of ours: waiting for an answer or running the original.
	Connected int `json:"connected"`
	// PluginMedian and PluginP99 are over the last 256 successful runs of the original; 0 without any.
	PluginMedian Duration `json:"pluginMedian"`
	PluginP99    Duration `json:"pluginP99"`
}

// Holder is a pod with a slot.
type Holder struct {
	UID       string   `json:"uid"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Class     string   `json:"class"`
	Phase     Phase    `json:"phase"`
	For       Duration `json:"for"`
}

// A Phase is how far a pod with a slot has come.
type Phase string

// The phases.
const (
	PhaseGranted  Phase = "granted"  // not acknowledged yet
	PhasePlugin   Phase = "plugin"   // the original runs
	PhaseStarting Phase = "starting" // the original is done; its status ends the slot
	PhaseLapsing  Phase = "lapsing"  // the peer vanished; the slot ends soon unless the pod comes back
)

// Waiter is a pod in the line.
type Waiter struct {
	UID       string   `json:"uid"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Priority  int32    `json:"priority"`
	Waited    Duration `json:"waited"`
	// Present is whether an attempt of it is connected; if not, the kubelet will try again.
	Present bool `json:"present"`
	// Overdue is whether it has waited maxWait and is at the head for that.
	Overdue bool `json:"overdue,omitempty"`
	// SlotKept is whether a free slot is kept for it.
	SlotKept bool `json:"slotKept,omitempty"`
}

// Snapshot copies the state; the caller may keep it.
func (q *Queue) Snapshot() Snapshot {
	t := q.clock.t
	s := Snapshot{
		Limit:        q.limit(t),
		LimitedBy:    q.limitedBy(t),
		Holding:      []Holder{},
		Waiting:      make([]Waiter, 0, len(q.line.pods)),
		LockHolders:  q.locks,
		Recovering:   t < q.grace,
		Maintenance:  q.maintenance,
		Connected:    len(q.attempts),
		PluginMedian: Duration(q.plugin.median),
		PluginP99:    Duration(q.plugin.p99),
	}
	if s.LimitedBy == "pressure" {
		s.Short = slices.Clone(q.pressure.short)
	}
	if next := q.limiter.next(t); next != never {
		s.NextStart = Duration(next - t)
	}
	for _, p := range q.pods {
		if p.slot != nil {
			s.Holding = append(s.Holding, Holder{
				UID: p.uid, Namespace: p.namespace, Name: p.name,
				Class: p.info.Class.String(), Phase: p.slot.phase(), For: Duration(t - p.slot.since),
			})
		}
	}
	slices.SortFunc(s.Holding, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.For, a.For), cmp.Compare(a.UID, b.UID))
	})
	for _, p := range q.line.pods {
		s.Waiting = append(s.Waiting, Waiter{
			UID: p.uid, Namespace: p.namespace, Name: p.name,
			Priority: p.info.Priority, Waited: Duration(t - p.arrival), Present: len(p.asking) > 0,
			Overdue: p.overdue, SlotKept: q.kept == p,
		})
	}
	return s
}

func (q *Queue) limitedBy(t instant) string {
	switch {
	case q.limit(t) < q.aimd.limit():
		return "pressure"
	case q.aimd.adaptive != nil:
		return "adaptive"
	}
	return "maxConcurrent"
}

func (s *slot) phase() Phase {
	switch {
	case s.lapses != never:
		return PhaseLapsing
	case len(s.peers) == 0:
		return PhaseStarting
	case s.acked:
		return PhasePlugin
	}
	return PhaseGranted
}

// Counts are the numbers for gauges, cheap enough for every scrape.
type Counts struct {
	Waiting     int // pods in the line
	Present     int // of them, those connected now
	Overdue     int // of them, those that have waited maxWait and are at the head for that
	Holding     int // slots
	LockHolders int
	Limit       int
}

// Counts returns the gauges.
func (q *Queue) Counts() Counts {
	return Counts{
		Waiting: len(q.line.pods), Present: q.present, Overdue: q.line.overdue, Holding: q.holding, LockHolders: q.locks,
		Limit: q.limit(q.clock.t),
	}
}

// Waits reports whether a pod is in the line, and whether an attempt of it is connected, answered or not.
func (q *Queue) Waits(uid string) (waits, present bool) {
	p := q.pods[uid]
	if p == nil || !p.waiting {
		return false, false
	}
	return true, len(p.asking) > 0
}

// Holds reports whether a pod holds a slot.
func (q *Queue) Holds(uid string) bool {
	p := q.pods[uid]
	return p != nil && p.slot != nil
}

// Position is the rank, from 1, of an attempt's pod among the waiting pods, and its wait so far. ok is false once the
// attempt is answered.
func (q *Queue) Position(now time.Time, id AttemptID) (rank, waiting int, waited time.Duration, ok bool) {
	a := q.attempts[id]
	if a == nil || a.state != asking || !a.pod.waiting {
		return 0, 0, 0, false
	}
	elapsed := max(0, min(now.Sub(q.clock.last), maxIdle))
	return q.line.index(a.pod) + 1, len(q.line.pods), q.clock.t + elapsed - a.pod.arrival, true
}
