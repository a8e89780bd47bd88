// Package simulate estimates what a plan leads to: every moved pod is taken off its node, and a replacement is put where the
// scheduler would most likely put it.
//
// It is an estimate. The scheduler's own choice depends on its configuration and on what happens meanwhile; here, a
// replacement goes, of the nodes it fits, to the one with the fewest soft taints, then to the one that its preferred affinity to nodes and pods weighs most, then to the
// one with the fewest pods of its workload, then to the one with most of its cpu and memory left, then to the first by name.
package simulate

import (
	"cmp"
	"maps"
	"slices"
	"time"

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

// Apply carries out the plan on a view of s. With booked, a replacement goes where the plan has booked room for it, if it has and the node
// accepts it once those have started that can; the others then go where they may.
func Apply(s *cluster.Snapshot, p *plan.Plan, booked bool) *Result {
	r := &Result{View: cluster.NewView(s), Landed: map[*cluster.Pod]*cluster.Node{}}
	w := newScheduler(r.View)
	var pending []*cluster.Pod
	room := map[*cluster.Pod]*cluster.Node{}
	for _, m := range p.Moves {
		pod := s.Pod(m.Pod.Namespace, m.Pod.Name)
		if pod == nil || pod.UID != m.Pod.UID {
			continue
		}
		r.View.Remove(pod)
		w.fit.Left(pod)
		r.Landed[pod] = nil
		if pod.Owner() != nil && !pod.Terminal() {
			pending = append(pending, pod)
			room[pod] = s.Node(m.Room)
		}
	}
	for waiting := len(pending) + 1; booked && len(pending) < waiting; {
		waiting = len(pending)
		pending = slices.DeleteFunc(pending, func(pod *cluster.Pod) bool {
			n := room[pod]
			return n != nil && w.fit.Filters(pod, n) && r.land(w, pod, n)
		})
	}
	for _, pod := range pending {
		if n := w.place(pod); n != nil {
			r.land(w, pod, n)
		}
	}
	return r
}

// land starts a replacement of pod on n; it returns true.
func (r *Result) land(w *scheduler, pod *cluster.Pod, n *cluster.Node) bool {
	w.matesOf(pod)[n]++
	r.View.Expect(pod, n)
	w.fit.Arrived(pod, n)
	r.Landed[pod] = n
	return true
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
	var bestScore score
	for _, n := range w.fit.Nodes() {
		if !w.fit.Filters(p, n) {
			continue
		}
		s := score{mates: mates[n], used: w.usedShare(n)}
		s.taints, s.weight = w.fit.Draw(p, n)
		if best == nil || s.compare(bestScore) < 0 {
			best, bestScore = n, s
		}
	}
	return best
}

// score is what speaks for a node: the smaller, the better.
type score struct {
	taints int
	weight int64 // of preferred affinity: the larger, the better
	mates  int
	used   float64
}

func (s score) compare(o score) int {
	return cmp.Or(cmp.Compare(s.taints, o.taints), cmp.Compare(o.weight, s.weight), cmp.Compare(s.mates, o.mates), cmp.Compare(s.used, o.used))
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

// Snapshot is the cluster after the plan: replacements have new names and UIDs and are ready. Pods that found no place are bound to no node.
// Measurements and the status of budgets are those from before.
func (r *Result) Snapshot() (*cluster.Snapshot, error) {
	s := r.View.Snapshot
	parts := cluster.Parts{Resources: s.Resources, Usage: s.Usage, Starts: s.Starts, Has: s.Has}
	for _, n := range s.Nodes {
		parts.Nodes = append(parts.Nodes, n.NodeInfo)
	}
	for _, p := range s.Pods {
		to, moved := r.Landed[p]
		switch {
		case !moved:
			parts.Pods = append(parts.Pods, p.PodInfo)
		case p.Owner() == nil || p.Terminal():
		default:
			parts.Pods = append(parts.Pods, replacement(p, to, s.TakenAt))
		}
	}
	parts.Namespaces = values(s.Namespaces)
	parts.PriorityClasses = values(s.PriorityClasses)
	for _, list := range s.Budgets {
		parts.Budgets = append(parts.Budgets, list...)
	}
	parts.Claims = values(s.Claims)
	parts.Volumes = values(s.Volumes)
	parts.StorageClasses = values(s.StorageClasses)
	parts.Workloads = values(s.Workloads)
	return parts.Snapshot(s.TakenAt)
}

func replacement(p *cluster.Pod, to *cluster.Node, now time.Time) *cluster.PodInfo {
	node := ""
	if to != nil {
		node = to.Name
	}
	info := p.Replacement(node, now)
	info.Name += "-again"
	info.UID += "-again"
	return info
}

func values[V any](m map[string]V) []V { return slices.Collect(maps.Values(m)) }
