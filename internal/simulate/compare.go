package simulate

import (
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// Comparison is a cluster before and after a plan, in numbers. Pods that have ended count nowhere but in Ended.
type Comparison struct {
	Nodes     []NodeChange     // all nodes of the snapshot, by name
	Workloads []WorkloadChange // those that a moved pod belongs to, by kind, namespace and name
	// The moved pods that have no replacement in "after".
	NoRoom  int // no node would take it
	NoOwner int // nothing would start one
	Ended   int // the pod had ended already, so none is needed
}

// NodeChange is one node before and after.
type NodeChange struct {
	Node          *cluster.Node
	Before, After Load
}

// Load is what a node carries.
type Load struct {
	Pods     int
	Requests cluster.Amounts // Σ of its pods; not to be changed
}

// Share is the part of the node's allocatable amount of that resource that is requested, or, for [cluster.Pods], the part of the pods it may
// run: 1 is a full node, and more is possible. It is false where the node has none of the resource.
func (l Load) Share(n *cluster.Node, id cluster.ResourceID) (float64, bool) {
	total := n.Allocatable.Get(id)
	if total <= 0 {
		return 0, false
	}
	if id == cluster.Pods {
		return float64(l.Pods) / float64(total), true
	}
	return float64(l.Requests.Get(id)) / float64(total), true
}

// WorkloadChange is how the pods of one workload lie over the nodes, before and after. A pod without an owner is a workload of its own.
type WorkloadChange struct {
	Kind, Namespace, Name string
	Moved                 int        // pods of it that the plan moves
	Nodes                 []Replicas // the nodes that have any, before or after, by name
}

// String is "Deployment shop/web".
func (w *WorkloadChange) String() string { return w.Kind + " " + w.Namespace + "/" + w.Name }

// Replicas is how many pods of a workload one node has.
type Replicas struct {
	Node          *cluster.Node
	Before, After int
}

// Compare counts what the plan changes. It takes time in proportion to the pods and nodes.
func (r *Result) Compare() *Comparison {
	s := r.View.Snapshot
	c := &Comparison{Nodes: make([]NodeChange, len(s.Nodes))}
	touched := r.touched(c)
	before := cluster.NewView(s)
	for i, n := range s.Nodes {
		change := NodeChange{Node: n, Before: Load{Requests: before.Used(n)}, After: Load{Requests: r.View.Used(n)}}
		for _, p := range n.Pods {
			if p.Terminal() {
				continue
			}
			change.Before.Pods++
			replicas := touched[workloadOf(s, p)].on(n)
			replicas.Before++
			if !r.View.Gone(p) {
				change.After.Pods++
				replicas.After++
			}
		}
		for _, p := range r.View.Arrivals(n) {
			change.After.Pods++
			touched[workloadOf(s, p)].on(n).After++
		}
		c.Nodes[i] = change
	}
	for _, w := range touched {
		c.Workloads = append(c.Workloads, *w)
	}
	slices.SortFunc(c.Workloads, func(a, b WorkloadChange) int { return strings.Compare(a.String(), b.String()) })
	return c
}

// touched are the workloads of the pods that move; it also counts the pods that have no replacement.
func (r *Result) touched(c *Comparison) map[workload]*WorkloadChange {
	touched := map[workload]*WorkloadChange{}
	for p, to := range r.Landed {
		key := workloadOf(r.View.Snapshot, p)
		w := touched[key]
		if w == nil {
			w = &WorkloadChange{Kind: key.kind, Namespace: key.namespace, Name: key.name}
			touched[key] = w
		}
		w.Moved++
		switch {
		case to != nil:
		case p.Terminal():
			c.Ended++
		case p.Owner() == nil:
			c.NoOwner++
		default:
			c.NoRoom++
		}
	}
	return touched
}

// on is the entry of n, the node that is looked at now: nodes are looked at in order. A nil receiver counts for nobody.
func (w *WorkloadChange) on(n *cluster.Node) *Replicas {
	if w == nil {
		return &Replicas{}
	}
	if last := len(w.Nodes) - 1; last < 0 || w.Nodes[last].Node != n {
		w.Nodes = append(w.Nodes, Replicas{Node: n})
	}
	return &w.Nodes[len(w.Nodes)-1]
}

// workloadOf is what a pod counts for: what owns it, or the pod itself.
func workloadOf(s *cluster.Snapshot, p *cluster.Pod) workload {
	if p.Owner() == nil {
		return workload{p.Namespace, "Pod", p.Name}
	}
	return keyOf(s, p)
}
