package strategy

import (
	"math"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
)

// This file chooses nodes for pods that have several constraints: within the domain that one of them moves a pod to, it is the node that is best
// by the others.

// floor is what no node of a domain is below in what a list of constraints counts.
type floor struct {
	others **spread // the list
	least  int32
}

// domainFrom stands for the nodes of a domain, beginning with one of them.
type domainFrom struct {
	*domains
	id, next int32
}

// crowdTo stands for the choice that pods on a node with a list of other constraints have in a domain.
type crowdTo struct {
	domainFrom
	own    *cluster.Node
	others **spread
}

// bestFor finds the first of the nodes that acceptable would list; nil means none.
func (b *evening) bestFor(to int32, v *victim) []*cluster.Node {
	f := b.floors[to]
	if f.others != &v.others[0] {
		f = floor{others: &v.others[0]}
	}
	if o := v.others[0]; len(v.others) == 1 && o.domains.single && f.least+1 > o.allows(v.pod) {
		return nil
	}
	least := int32(math.MaxInt32)
	for i, n := range b.sp.domains.from(to) {
		if i >= fit.LookAhead {
			if b.c.Effort.Over() {
				b.ended = true
				return nil
			}
			b.c.Effort.Spend(1)
		}
		size := crowding(v, n)
		if size == f.least && keepsOthers(v, n) && b.fit.Fits(v.pod, n) {
			return []*cluster.Node{n}
		}
		least = min(least, size)
	}
	f.least = least
	b.floors[to] = f
	if nodes := b.acceptable(to, v); len(nodes) > 0 {
		return nodes[:1]
	}
	return nil
}

// acceptable lists the nodes on which the pod's other constraints would be kept, or not be worse off than now, those first where these
// count fewest, beginning with one on which the pod fits.
func (b *evening) acceptable(to int32, v *victim) []*cluster.Node {
	b.c.Effort.Spend(len(b.sp.domains.from(to)))
	b.ranked = b.ranked[:0]
	for _, n := range b.sp.domains.from(to) {
		if keepsOthers(v, n) {
			b.ranked = append(b.ranked, rankedNode{n, crowding(v, n)})
		}
	}
	b.nodes = byRank(b.ranked, b.nodes[:0])
	i := slices.IndexFunc(b.nodes, func(n *cluster.Node) bool { return b.fit.Fits(v.pod, n) })
	if i < 0 {
		return nil
	}
	return b.nodes[i:]
}

// rankedNode is a node and how many pods are there by a pod's other constraints.
type rankedNode struct {
	node *cluster.Node
	rank int32
}

// byRank appends the nodes to into by rank, those of one rank in the order they come in. There are few ranks, most nodes having
// none or one of the pods.
func byRank(nodes []rankedNode, into []*cluster.Node) []*cluster.Node {
	for rank, left := int32(0), len(nodes); left > 0; {
		next := int32(math.MaxInt32)
		for _, r := range nodes {
			switch {
			case r.rank == rank:
				into = append(into, r.node)
				left--
			case r.rank > rank:
				next = min(next, r.rank)
			}
		}
		rank = next
	}
	return into
}

func keepsOthers(v *victim, n *cluster.Node) bool {
	for _, o := range v.others {
		at := o.domains.of[n.Index]
		if at == noDomain {
			if o.rule.hard() {
				return false
			}
			continue
		}
		if at == o.domains.of[v.pod.Node.Index] || !o.domains.eligible[n.Index] {
			continue
		}
		if o.counts.count[at]+1 > o.allows(v.pod) {
			return false
		}
	}
	return true
}

// allows is how many pods a domain that the pod moves to may have after that.
func (sp *spread) allows(p *cluster.Pod) int32 {
	least, here := sp.least(), int32(0)
	if now := sp.domains.countedIn(p.Node); now != noDomain {
		here = sp.counts.count[now]
		least = min(least, here-1) // once the pod has left
	}
	allowed := least + sp.rule.MaxSkew
	if !sp.rule.hard() {
		allowed = max(allowed, here)
	}
	return allowed
}

// shrank is told that a constraint counts one pod less in one of its domains, at a node.
func (b *evening) shrank(sp *spread, id int32, at *cluster.Node) {
	switch {
	case sp == b.sp:
	case len(sp.domains.from(id)) > 1:
		clear(b.floors)
	default:
		delete(b.floors, b.sp.domains.countedIn(at))
	}
}

// grew is told that a constraint counts one pod more in one of its domains, at a node: the crowds in that domain have grown.
func (b *evening) grew(sp *spread, id int32, at *cluster.Node) {
	switch {
	case sp == b.sp:
	case len(sp.domains.from(id)) > 1:
		b.grown++
	default:
		if m := b.movers[b.sp.domains.countedIn(at)]; m != nil {
			m.grown = -1
		}
	}
}
