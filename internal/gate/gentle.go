package gate

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// GentleShare is the part of an owner's ready replicas that one cycle may move; one pod may be moved in any case, unless others are out already.
const GentleShare = 0.25

// Gentle keeps a workload from losing many replicas at once: to one cycle, or to several when replacements are slow to get ready.
type Gentle struct {
	view    *cluster.View
	byKey   map[ownerKey]*workload
	likely  map[*cluster.Owner]*workload // by the first owner of a list, which replicas share
	counted bool
}

type ownerKey struct{ namespace, kind, name string }

// workload counts the pods of one owner.
type workload struct {
	ownerKey
	ready, moved int
	out          int         // neither ready nor ended, or being deleted
	refused      plan.Reason // the last one; empty when a pod was moved since
}

// NewGentle starts a cycle.
func NewGentle(v *cluster.View) *Gentle {
	return &Gentle{view: v, byKey: map[ownerKey]*workload{}, likely: map[*cluster.Owner]*workload{}}
}

// Check asks whether one more pod of p's workload may be moved. Pods that nothing owns, and pods that have ended, always may.
func (g *Gentle) Check(p *cluster.Pod) (plan.Reason, bool) {
	if !g.concerns(p) {
		return plan.Reason{}, true
	}
	if !g.counted {
		g.count()
	}
	w := g.of(p)
	used := w.moved
	if p.Ready { // moving one that is not ready takes nothing away
		used += w.out
	}
	if used < max(1, int(float64(w.ready)*GentleShare)) {
		return plan.Reason{}, true
	}
	if w.refused.Code == "" {
		w.refused = w.tooMany()
	}
	return w.refused, false
}

// Add counts a move.
func (g *Gentle) Add(p *cluster.Pod) {
	if g.concerns(p) {
		w := g.of(p)
		w.moved++
		w.refused = plan.Reason{}
	}
}

func (g *Gentle) concerns(p *cluster.Pod) bool { return len(p.Owners) > 0 && !p.Terminal() }

// of is the workload of a pod that something owns: the Deployment rather than one of its ReplicaSets, where that is known.
func (g *Gentle) of(p *cluster.Pod) *workload {
	first := &p.Owners[0]
	if w := g.likely[first]; w != nil && w.namespace == p.Namespace {
		return w
	}
	o := g.view.Top(p.PodInfo)
	key := ownerKey{p.Namespace, o.Kind, o.Name}
	w := g.byKey[key]
	if w == nil {
		w = &workload{ownerKey: key}
		g.byKey[key] = w
	}
	g.likely[first] = w
	return w
}

func (g *Gentle) count() {
	g.counted = true
	for _, p := range g.view.Pods {
		switch {
		case !g.concerns(p):
		case p.Ready && !p.Deleting:
			g.of(p).ready++
		default:
			g.of(p).out++
		}
	}
}

func (w *workload) tooMany() plan.Reason {
	return plan.Reason{
		Code: "Gentle",
		Message: fmt.Sprintf("as many pods of %s %s as may be are out: %d chosen to move, %d not ready or leaving, %d ready",
			w.kind, w.name, w.moved, w.out, w.ready),
		Numbers: plan.Numbers{"moved": float64(w.moved), "out": float64(w.out), "ready": float64(w.ready), "share": GentleShare},
	}
}
