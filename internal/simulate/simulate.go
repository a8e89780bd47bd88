// Package simulate estimates what a plan leads to: every moved pod is taken off its node, and a replacement is put where the
// scheduler would most likely put it.
//
// It is an estimate. The scheduler's own choice depends on its configuration and on what happens meanwhile; here, a
// replacement goes, of the nodes it fits, to the one with the fewest pods of its workload, then to the one with most of its cpu and memory left, then to the
// first by name.
package simulate

import (
	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Result is a cluster after a plan.
type Result struct {
	View *cluster.View
	// Landed maps a moved pod to the node of its replacement; nil: it would stay pending, or nothing replaces it.
	Landed map[*cluster.Pod]*cluster.Node
}

// Apply carries out the plan on a view of s.
func Apply(s *cluster.Snapshot, p *plan.Plan) *Result {
	r := &Result{View: cluster.NewView(s), Landed: map[*cluster.Pod]*cluster.Node{}}
	w := newScheduler(r.View)
	var moved []*cluster.Pod
	for _, m := range p.Moves {
		if pod := s.Pod(m.Pod.Namespace, m.Pod.Name); pod != nil && pod.UID == m.Pod.UID {
			r.View.Remove(pod)
			w.fit.Left(pod)
			moved = append(moved, pod)
		}
	}
	for _, pod := range moved {
		r.Landed[pod] = nil
		if pod.Owner() == nil || pod.Terminal() {
			continue
		}
		if n := w.place(pod); n != nil {
			r.View.Expect(pod, n)
			w.fit.Arrived(pod, n)
			r.Landed[pod] = n
		}
	}
	return r
}

// scheduler is a small model of kube-scheduler.
type scheduler struct {
	view  *cluster.View
	fit   *fit.Scheduler
	mates map[workload]map[*cluster.Node]int
}

type workload struct{ namespace, kind, name string }

func newScheduler(v *cluster.View) *scheduler {
	var ready []*cluster.Node
	for _, n := range v.Nodes {
		if n.Ready {
			ready = append(ready, n)
		}
	}
	return &scheduler{view: v, fit: fit.NewScheduler(v, ready), mates: map[workload]map[*cluster.Node]int{}}
}

func (w *scheduler) place(p *cluster.Pod) *cluster.Node {
	mates := w.matesOf(p)
	var best *cluster.Node
	bestMates, bestUsed := 0, 0.0
	for _, n := range w.fit.Nodes() {
		if !w.fit.Accepts(p, n) {
			continue
		}
		have, used := mates[n], w.usedShare(n)
		if best == nil || have < bestMates || have == bestMates && used < bestUsed {
			best, bestMates, bestUsed = n, have, used
		}
	}
	if best != nil {
		mates[best]++
	}
	return best
}

func (w *scheduler) matesOf(p *cluster.Pod) map[*cluster.Node]int {
	key := keyOf(w.view.Snapshot, p)
	if len(w.mates) == 0 {
		for _, n := range w.view.Nodes {
			for other := range w.view.PodsOn(n) {
				if other.Terminal() || other.Owner() == nil {
					continue
				}
				k := keyOf(w.view.Snapshot, other)
				if w.mates[k] == nil {
					w.mates[k] = map[*cluster.Node]int{}
				}
				w.mates[k][n]++
			}
		}
	}
	if w.mates[key] == nil {
		w.mates[key] = map[*cluster.Node]int{}
	}
	return w.mates[key]
}

func keyOf(s *cluster.Snapshot, p *cluster.Pod) workload {
	o := s.Top(p.PodInfo)
	return workload{p.Namespace, o.Kind, o.Name}
}

// usedShare is the mean of the requested shares of cpu and memory.
func (w *scheduler) usedShare(n *cluster.Node) float64 {
	share := func(id cluster.ResourceID) float64 {
		if total := n.Allocatable.Get(id); total > 0 {
			return float64(w.view.Used(n).Get(id)) / float64(total)
		}
		return 0
	}
	return (share(cluster.CPU) + share(cluster.Memory)) / 2
}
