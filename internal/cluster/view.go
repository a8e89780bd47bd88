package cluster

import (
	"iter"
	"maps"
	"slices"
)

// View is a snapshot as a cycle sees it while it decides: pods that were chosen to move are no longer on
// their nodes, and pods that are expected somewhere take room there. It is for one goroutine.
type View struct {
	*Snapshot
	gone     []bool    // by pod index
	used     []Amounts // by node index: Σ requests of the non-terminal pods on it
	arrivals map[int][]*Pod
	changed  []int32 // node index of each removal and booking, in order
}

// NewView returns a view of s with every pod in its place.
func NewView(s *Snapshot) *View {
	v := &View{Snapshot: s, gone: make([]bool, len(s.Pods)), used: make([]Amounts, len(s.Nodes))}
	n := s.Resources.Len()
	all := make([]int64, n*len(s.Nodes))
	for i, node := range s.Nodes {
		used := Amounts(all[i*n : (i+1)*n : (i+1)*n])
		for _, p := range node.Pods {
			if !p.Terminal() {
				used = used.Plus(p.Spec.Requests)
			}
		}
		v.used[i] = used
	}
	return v
}

// Remove takes a pod off its node. Removing it again, or a pod without a node, changes nothing.
func (v *View) Remove(p *Pod) {
	if v.gone[p.Index] {
		return
	}
	v.gone[p.Index] = true
	if p.Node == nil {
		return
	}
	v.changed = append(v.changed, int32(p.Node.Index))
	if !p.Terminal() {
		v.used[p.Node.Index] = v.used[p.Node.Index].Minus(p.Spec.Requests)
	}
}

// Expect books room on n for a replacement of p.
func (v *View) Expect(p *Pod, n *Node) {
	if v.arrivals == nil {
		v.arrivals = map[int][]*Pod{}
	}
	v.arrivals[n.Index] = append(v.arrivals[n.Index], p)
	v.used[n.Index] = v.used[n.Index].Plus(p.Spec.Requests)
	v.changed = append(v.changed, int32(n.Index))
}

// Arrivals are the pods that replacements are expected of on n, in the order they were booked.
func (v *View) Arrivals(n *Node) []*Pod { return v.arrivals[n.Index] }

// Gone reports whether the pod was removed.
func (v *View) Gone(p *Pod) bool { return v.gone[p.Index] }

// Changed lists the nodes, by index, that removals and bookings changed, in order: what was found when the list had length n about a node, from what is on
// that node alone, still holds if it is not in Changed()[n:]. What depends on other nodes, of its zone say, may not.
func (v *View) Changed() []int32 { return v.changed }

// PodsOn yields the pods on n, terminal ones included, by namespace and name.
func (v *View) PodsOn(n *Node) iter.Seq[*Pod] {
	return func(yield func(*Pod) bool) {
		for _, p := range n.Pods {
			if !v.gone[p.Index] && !yield(p) {
				return
			}
		}
	}
}

// Used is the sum of the requests of the non-terminal pods on n, and of the bookings. It must not be changed.
func (v *View) Used(n *Node) Amounts { return v.used[n.Index] }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
