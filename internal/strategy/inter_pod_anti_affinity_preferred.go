package strategy

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// separatePreferred moves pods that share a domain with pods that their preferred anti-affinity would rather keep them apart from, if
// a node with less of that can take them. The peer looks at required terms only; this is done when it is asked for.
func (s *interPodAntiAffinity) separatePreferred(c *Cycle) {
	x := &softNeighbours{
		c: c, filter: &s.filter, groups: newPodGroups(c, &s.filter, func(p *cluster.Pod) bool { return !p.Deleting }),
		namespaces: cluster.NewNamespaceSets(c.View.Snapshot), counts: map[softNeighbourKey]*softCounts{}, equal: map[repulsionKey]*softCounts{},
	}
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
			targets := c.Nodes
			if x.floor(p) >= own {
				targets = []*cluster.Node{}
			}
			v := c.Try(p, Why{
				Reason: preferredApart(own), Targets: targets, Better: func(t *cluster.Node) bool { return x.weight(p, t) < own },
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
	c          *Cycle
	filter     *Filter
	groups     *podGroups
	namespaces *cluster.NamespaceSets
	counts     map[softNeighbourKey]*softCounts
	equal      map[repulsionKey]*softCounts // the same by what terms say, for terms of different specs
	follow     cluster.Selecting[*softCounts]
}

type softNeighbourKey struct {
	namespace string // of the pods that carry the term
	term      *cluster.WeightedTerm
}

// softCounts counts by the values of a topology key.
type softCounts struct {
	in    *cluster.NamespaceSet
	key   string
	of    map[string]int
	least int // no node has fewer
}

// selects reports whether the term, which is one of those that are counted, selects p.
func (n *softCounts) selects(t *cluster.WeightedTerm, p *cluster.Pod) bool {
	return n.in.Has(p.Namespace) && t.Selector.Matches(labels.Set(p.Labels))
}

// besides counts in n's domain, p itself left out if it is selected; replacements that are expected are not looked at.
func (x *softNeighbours) besides(p *cluster.Pod, n *cluster.Node, t *cluster.WeightedTerm) int {
	value, ok := n.Labels[t.TopologyKey]
	if !ok {
		return 0
	}
	counts := x.count(softNeighbourKey{p.Namespace, t})
	others := counts.of[value]
	if p.Node.Labels[t.TopologyKey] == value && x.counted(p) && counts.selects(t, p) {
		others--
	}
	return others
}

// weight is the sum of the weights of the pods that p's preferred terms would keep out of n's domains, p itself left out.
func (x *softNeighbours) weight(p *cluster.Pod, n *cluster.Node) int {
	sum := 0
	for i := range p.Spec.PreferredAnti {
		t := &p.Spec.PreferredAnti[i]
		if _, ok := n.Labels[t.TopologyKey]; !ok {
			continue
		}
		others := x.besides(p, n, t)
		counts := x.count(softNeighbourKey{p.Namespace, t})
		for _, arriving := range x.c.View.Arrivals(n) {
			if counts.selects(t, arriving) {
				others++
			}
		}
		sum += int(t.Weight) * others
	}
	return sum
}

// floor is a weight that no node is below.
func (x *softNeighbours) floor(p *cluster.Pod) int {
	sum := 0
	for i := range p.Spec.PreferredAnti {
		t := &p.Spec.PreferredAnti[i]
		sum += int(t.Weight) * min(x.count(softNeighbourKey{p.Namespace, t}).least, x.besides(p, p.Node, t))
	}
	return sum
}

func (x *softNeighbours) count(key softNeighbourKey) *softCounts {
	if known, ok := x.counts[key]; ok {
		return known
	}
	t := key.term
	in := x.namespaces.Of(&t.Term, key.namespace)
	says := repulsionKey{t.TopologyKey, cluster.SelectorKey(t.Selector), in}
	counts := x.equal[says]
	if counts == nil {
		counts = x.newCounts(t, in)
		x.equal[says] = counts
	}
	x.counts[key] = counts
	return counts
}

func (x *softNeighbours) newCounts(t *cluster.WeightedTerm, in *cluster.NamespaceSet) *softCounts {
	counts := &softCounts{in: in, key: t.TopologyKey, of: map[string]int{}}
	for _, group := range x.groups.matching(in, t.Selector) {
		for _, p := range group.pods {
			if value, ok := p.Node.Labels[t.TopologyKey]; ok && group.selected && !x.c.View.Gone(p) {
				counts.of[value]++
			}
		}
	}
	x.follow.AddIn(in, t.Selector, counts)
	counts.least = math.MaxInt
	for _, n := range x.c.Nodes {
		if value, ok := n.Labels[t.TopologyKey]; ok {
			counts.least = min(counts.least, counts.of[value])
		} else {
			counts.least = 0
		}
	}
	return counts
}

func (x *softNeighbours) counted(p *cluster.Pod) bool {
	return !p.Terminal() && !p.Deleting && x.filter.Selects(p)
}

// left takes a pod that moves out of the counts.
func (x *softNeighbours) left(p *cluster.Pod) {
	for _, counts := range x.follow.Of(p.Namespace, p.Labels) {
		if value, ok := p.Node.Labels[counts.key]; ok {
			counts.of[value]--
			counts.least = min(counts.least, counts.of[value])
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
