package strategy

import (
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
)

// quota is how many pods of a group each node may keep.
type quota struct {
	group   *replicas
	holders []int // by position in group.nodes
	others  int   // a target without a pod of the group may get this many
}

func (q *quota) ofHolder(i int) int { return q.holders[i] }

// of is the quota of a target.
func (q *quota) of(n *cluster.Node) int {
	if i, ok := q.group.index(n); ok {
		return q.holders[i]
	}
	return q.others
}

// quotas divides the replicas among the target nodes. A node that is not a target (its pods could not start there
// again) may keep the rounded-up average, as with the peer; what it has above that is expected on the targets.
func quotas(compat bool, g *replicas, targets []*cluster.Node, total int) *quota {
	upper := (total + len(targets) - 1) / len(targets)
	q := &quota{group: g, holders: make([]int, len(g.nodes)), others: upper}
	for i := range q.holders {
		q.holders[i] = upper
	}
	if compat {
		return q
	}
	var holders []int // the positions of those that are targets
	arriving := 0
	for i, on := range g.nodes {
		if isTarget(targets, on.node) {
			holders = append(holders, i)
			arriving += on.count(false)
		} else {
			arriving += max(0, min(on.count(false)-upper, len(on.movable)-1))
		}
	}
	// The larger share goes to the nodes that have most already: that takes the fewest moves.
	slices.SortStableFunc(holders, func(a, b int) int { return g.nodes[b].count(false) - g.nodes[a].count(false) })
	base, extra := arriving/len(targets), arriving%len(targets)
	for rank, i := range holders {
		q.holders[i] = base
		if rank < extra {
			q.holders[i]++
		}
	}
	q.others = base
	if extra > len(holders) {
		q.others++
	}
	return q
}

// isTarget looks n up in a list that is in node order.
func isTarget(targets []*cluster.Node, n *cluster.Node) bool {
	_, ok := slices.BinarySearchFunc(targets, n.Index, func(t *cluster.Node, index int) int { return t.Index - index })
	return ok
}

// targetNodes finds the nodes that a group's surplus pods may run on: selected by the pod and without hard taints that it does not
// tolerate. A pod that may run on fewer than two nodes adds none. Room is not looked at here, as with the peer.
type targetNodes struct {
	nodes []*cluster.Node
	known map[*cluster.Placement][]*cluster.Node
}

func newTargetNodes(c *Cycle) *targetNodes {
	return &targetNodes{nodes: c.Nodes, known: map[*cluster.Placement][]*cluster.Node{}}
}

func (t *targetNodes) of(g *replicas) []*cluster.Node {
	var placements []*cluster.Placement
	for _, on := range g.nodes {
		for i, p := range on.movable {
			if i > 0 && !slices.Contains(placements, p.Spec.Placement) {
				placements = append(placements, p.Spec.Placement)
			}
		}
	}
	if len(placements) == 0 { // every duplicate is held back: they are looked at all the same, so that it can be said
		for _, on := range g.nodes {
			for _, p := range on.stuck {
				if !slices.Contains(placements, p.Spec.Placement) {
					placements = append(placements, p.Spec.Placement)
				}
			}
		}
	}
	if len(placements) == 1 {
		return t.allowed(placements[0])
	}
	in := map[*cluster.Node]bool{}
	for _, pl := range placements {
		for _, n := range t.allowed(pl) {
			in[n] = true
		}
	}
	var union []*cluster.Node
	for _, n := range t.nodes {
		if in[n] {
			union = append(union, n)
		}
	}
	return union
}

func (t *targetNodes) allowed(pl *cluster.Placement) []*cluster.Node {
	if list, ok := t.known[pl]; ok {
		return list
	}
	var list []*cluster.Node
	for _, n := range t.nodes {
		if _, found := fit.Untolerated(n.Taints, pl.Tolerations, fit.HardTaint); !found && pl.Selects(n.NodeInfo) {
			list = append(list, n)
		}
	}
	if len(list) < 2 {
		list = nil
	}
	t.known[pl] = list
	return list
}
