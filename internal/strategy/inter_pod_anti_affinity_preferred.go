package strategy

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// separatePreferred moves pods that share a domain with pods that their preferred anti-affinity would rather keep them apart from, if
// a node with less of that can take them. The peer looks at required terms only; this is done when it is asked for.
func (s *interPodAntiAffinity) separatePreferred(c *Cycle) {
	x := &softNeighbours{c: c, filter: &s.filter, counts: map[softNeighbourKey]map[string]int{}}
	for _, n := range c.Nodes {
		var pods []*cluster.Pod
		for p := range c.View.PodsOn(n) {
			if len(p.Spec.PreferredAnti) > 0 && !p.Terminal() && !p.Deleting && s.filter.Selects(p) {
				pods = append(pods, p)
			}
		}
		SortLeastImportantFirst(pods)
		for _, p := range pods {
			own := x.weight(p, n)
			if own == 0 {
				continue
			}
			v := c.Try(p, Why{
				Reason: preferredApart(own), Targets: c.Nodes, Better: func(t *cluster.Node) bool { return x.weight(p, t) < own },
			})
			if v.Accepted {
				x.left(p)
				continue
			}
			if v.Stop == plan.ThisCycle {
				return
			}
			if v.Stop == plan.ThisNode {
				break
			}
		}
	}
}

// softNeighbours counts, for each preferred term, the pods it would keep away, by domain.
type softNeighbours struct {
	c      *Cycle
	filter *Filter
	counts map[softNeighbourKey]map[string]int
}

type softNeighbourKey struct {
	namespace string // of the pods that carry the term
	term      *cluster.WeightedTerm
}

// weight is the sum of the weights of the pods that p's preferred terms would keep out of n's domains, p itself left out.
func (x *softNeighbours) weight(p *cluster.Pod, n *cluster.Node) int {
	sum := 0
	for i := range p.Spec.PreferredAnti {
		t := &p.Spec.PreferredAnti[i]
		value, ok := n.Labels[t.TopologyKey]
		if !ok {
			continue
		}
		others := x.count(softNeighbourKey{p.Namespace, t})[value]
		if p.Node.Labels[t.TopologyKey] == value && x.counted(p) && fit.TermSelects(&t.Term, p.Namespace, p) {
			others--
		}
		for _, arriving := range x.c.View.Arrivals(n) {
			if fit.TermSelects(&t.Term, p.Namespace, arriving) {
				others++
			}
		}
		sum += int(t.Weight) * others
	}
	return sum
}

func (x *softNeighbours) count(key softNeighbourKey) map[string]int {
	if known, ok := x.counts[key]; ok {
		return known
	}
	counts := map[string]int{}
	for _, n := range x.c.Nodes {
		value, ok := n.Labels[key.term.TopologyKey]
		if !ok {
			continue
		}
		for p := range x.c.View.PodsOn(n) {
			if x.counted(p) && fit.TermSelects(&key.term.Term, key.namespace, p) {
				counts[value]++
			}
		}
	}
	x.counts[key] = counts
	return counts
}

func (x *softNeighbours) counted(p *cluster.Pod) bool {
	return !p.Terminal() && !p.Deleting && x.filter.Selects(p)
}

// left takes a pod that moves out of the counts.
func (x *softNeighbours) left(p *cluster.Pod) {
	for key, counts := range x.counts {
		if value, ok := p.Node.Labels[key.term.TopologyKey]; ok && fit.TermSelects(&key.term.Term, key.namespace, p) {
			counts[value]--
		}
	}
}

func preferredApart(weight int) plan.Reason {
	return plan.Reason{
		Code:    "PreferredAntiAffinity",
		Message: fmt.Sprintf("its preferred anti-affinity would rather keep it apart from pods in its domain (weight %d)", weight),
		Numbers: plan.Numbers{"weight": float64(weight)},
	}
}
