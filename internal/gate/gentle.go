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
	view  *cluster.View
	ready map[ownerKey]int
	out   map[ownerKey]int // neither ready nor ended, or being deleted
	moved map[ownerKey]int
	keys  map[ownerList]ownerKey
}

type ownerKey struct{ namespace, kind, name string }

// ownerList stands for the owners of a pod: replicas share one list.
type ownerList struct {
	namespace string
	first     *cluster.Owner
}

// NewGentle starts a cycle.
func NewGentle(v *cluster.View) *Gentle {
	return &Gentle{view: v, moved: map[ownerKey]int{}, keys: map[ownerList]ownerKey{}}
}

// Check asks whether one more pod of p's workload may be moved. Pods that nothing owns, and pods that have ended, always may.
func (g *Gentle) Check(p *cluster.Pod) (plan.Reason, bool) {
	key, owned := g.key(p)
	if !owned || p.Terminal() {
		return plan.Reason{}, true
	}
	if g.ready == nil {
		g.count()
	}
	used := g.moved[key]
	if p.Ready { // moving one that is not ready takes nothing away
		used += g.out[key]
	}
	if used < max(1, int(float64(g.ready[key])*GentleShare)) {
		return plan.Reason{}, true
	}
	return tooMany(key, g.moved[key], g.out[key], g.ready[key]), false
}

// Add counts a move.
func (g *Gentle) Add(p *cluster.Pod) {
	if key, owned := g.key(p); owned && !p.Terminal() {
		g.moved[key]++
	}
}

// key names the workload: the Deployment rather than one of its ReplicaSets, where that is known.
func (g *Gentle) key(p *cluster.Pod) (ownerKey, bool) {
	if len(p.Owners) == 0 {
		return ownerKey{}, false
	}
	list := ownerList{p.Namespace, &p.Owners[0]}
	key, ok := g.keys[list]
	if !ok {
		o := g.view.Top(p.PodInfo)
		key = ownerKey{p.Namespace, o.Kind, o.Name}
		g.keys[list] = key
	}
	return key, true
}

func (g *Gentle) count() {
	g.ready, g.out = map[ownerKey]int{}, map[ownerKey]int{}
	for _, p := range g.view.Pods {
		key, owned := g.key(p)
		switch {
		case !owned || p.Terminal():
		case p.Ready && !p.Deleting:
			g.ready[key]++
		default:
			g.out[key]++
		}
	}
}

func tooMany(key ownerKey, moved, out, ready int) plan.Reason {
	return plan.Reason{
		Code: "Gentle",
		Message: fmt.Sprintf("as many pods of %s %s as may be are out: %d chosen to move, %d not ready or leaving, %d ready",
			key.kind, key.name, moved, out, ready),
		Numbers: plan.Numbers{"moved": float64(moved), "out": float64(out), "ready": float64(ready), "share": GentleShare},
	}
}
