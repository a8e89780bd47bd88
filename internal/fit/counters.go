package fit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// counterKey names what a counter counts: the pods that a term, or a spread constraint, of a spec in a namespace selects.
type counterKey struct {
	namespace string
	rule      any    // *cluster.Term or *cluster.SpreadConstraint
	values    string // of the constraint's matchLabelKeys
}

// counting is what counters count. Those with the same are one.
type counting struct {
	topologyKey, selector string
	in                    *cluster.NamespaceSet
	staying               bool
	nodes                 *inclusion
}

// counter counts pods by the domain of their nodes.
type counter struct {
	*topology
	id       int
	in       *cluster.NamespaceSet
	selector labels.Selector
	counts   []int32    // by domain
	nodes    *inclusion // of a spread constraint; nil for an affinity term: every node
	domains  []bool     // that count; nil: all
	total    int
	version  int // of the counts of domains with several nodes
	// staying leaves out pods that are being deleted, as topology spread does and affinity does not.
	staying bool

	having []int32 // how many of the domains that count have a count, by the count; nil until it is asked for
	least  int32   // the smallest of these
}

// at is the domain of n, -1 when n does not count.
func (c *counter) at(n *cluster.Node) int32 {
	if c.nodes != nil && !c.nodes.nodes[n.Index] {
		return -1
	}
	return c.domain[n.Index]
}

func (c *counter) selects(p *cluster.Pod) bool {
	return !(c.staying && p.Deleting) && c.selector.Matches(labels.Set(p.Labels))
}

func (c *counter) add(n *cluster.Node, by int32) {
	if d := c.at(n); d >= 0 {
		c.recount(d, by)
		c.total += int(by)
		if c.sizes[d] > 1 {
			c.version++
		}
	}
}

// recount changes the count of a domain, and with it the least count, if that is known: it moves by one at most.
func (c *counter) recount(d, by int32) {
	was := c.counts[d]
	c.counts[d] += by
	if c.having == nil || c.domains != nil && !c.domains[d] {
		return
	}
	c.having[was]--
	c.have(was + by)
	switch {
	case was+by < c.least:
		c.least = was + by
	case was == c.least && c.having[was] == 0:
		c.least = was + by
	}
}

func (c *counter) have(n int32) {
	for int(n) >= len(c.having) {
		c.having = append(c.having, 0)
	}
	c.having[n]++
}

// fewest is the count of the domain that has fewest.
func (c *counter) fewest() int32 {
	if c.having == nil {
		c.having = []int32{}
		first := true
		for d, n := range c.counts {
			if c.domains == nil || c.domains[d] {
				c.have(n)
				if first || n < c.least {
					c.least, first = n, false
				}
			}
		}
	}
	return c.least
}

// size is how many domains count.
func (c *counter) size() int {
	if c.domains == nil {
		return len(c.counts)
	}
	n := 0
	for _, in := range c.domains {
		if in {
			n++
		}
	}
	return n
}

// counterFor makes a counter over the pods of the namespaces, those that are still in their places and those that are expected.
func (s *Scheduler) counterFor(key counterKey, topologyKey string, in *cluster.NamespaceSet, fill func(*counter)) *counter {
	if c := s.counters[key]; c != nil {
		return c
	}
	t := s.topology(topologyKey)
	c := &counter{topology: t, in: in}
	fill(c)
	says := counting{topologyKey, cluster.SelectorKey(c.selector), in, c.staying, c.nodes}
	if equal := s.equal[says]; equal != nil {
		s.counters[key] = equal
		return equal
	}
	s.effort.Grant(len(s.nodes))
	c.id, c.counts = len(s.equal), make([]int32, len(t.values))
	s.equal[says] = c
	for _, g := range s.view.Groups().Selected(in, c.selector) {
		for _, p := range g.Pods {
			if !s.view.Gone(p) && !(c.staying && p.Deleting) {
				c.add(p.Node, 1)
			}
		}
		for _, n := range s.crowd.arrivalsOf(s.view, g) {
			c.add(n, 1)
		}
	}
	s.following.AddIn(in, c.selector, c)
	s.counters[key] = c
	return c
}

func (s *Scheduler) termCounter(p *cluster.Pod, t *cluster.Term) *counter {
	return s.counterFor(counterKey{namespace: p.Namespace, rule: t}, t.TopologyKey, s.namespaces.Of(t, p.Namespace), func(c *counter) {
		c.selector = t.Selector
	})
}

// besides counts the pods that a term selects in n's domain, p itself left out.
func (s *Scheduler) besides(p *cluster.Pod, n *cluster.Node, t *cluster.Term) int32 {
	c := s.termCounter(p, t)
	return s.besidesIn(p, c, c.at(n))
}

// besidesIn counts the pods in a domain, p itself left out.
func (s *Scheduler) besidesIn(p *cluster.Pod, c *counter, d int32) int32 {
	if d < 0 {
		return 0
	}
	return c.counts[d] - s.self(p, c, d)
}

// self is 1 if p is counted in that domain of c.
func (s *Scheduler) self(p *cluster.Pod, c *counter, domain int32) int32 {
	if p.Node == nil || s.view.Gone(p) || p.Terminal() || c.at(p.Node) != domain || !c.selects(p) {
		return 0
	}
	return 1
}

// own is 1 if p is counted in c.
func (s *Scheduler) own(p *cluster.Pod, c *counter) int {
	if p.Node == nil || c.at(p.Node) < 0 {
		return 0
	}
	return int(s.self(p, c, c.at(p.Node)))
}

// affinityCounter counts for the i-th required affinity term of p. Where there are several, only a pod that all of them select counts for any.
func (s *Scheduler) affinityCounter(p *cluster.Pod, i int) *counter {
	terms := p.Spec.Affinity
	if len(terms) == 1 {
		return s.termCounter(p, &terms[i])
	}
	key := counterKey{namespace: p.Namespace, rule: &terms[i], values: "all"}
	if c := s.counters[key]; c != nil {
		return c
	}
	in, selector := s.namespaces.Of(&terms[0], p.Namespace), terms[0].Selector
	for j := 1; j < len(terms); j++ {
		in = s.namespaces.Both(in, s.namespaces.Of(&terms[j], p.Namespace))
		selector = both(selector, terms[j].Selector)
	}
	return s.counterFor(key, terms[i].TopologyKey, in, func(c *counter) { c.selector = selector })
}

// both selects what a and b select.
func both(a, b labels.Selector) labels.Selector {
	requirements, ok := b.Requirements()
	if !ok {
		return b // nothing
	}
	return a.Add(requirements...)
}

// near reports whether the i-th required affinity term is met on n: a pod that the terms select runs in its domain, or p is the first of them.
func (s *Scheduler) near(p *cluster.Pod, n *cluster.Node, i int) bool {
	c := s.affinityCounter(p, i)
	return s.nearIn(p, c, c.at(n))
}

// nearIn is near for the nodes of a domain.
func (s *Scheduler) nearIn(p *cluster.Pod, c *counter, d int32) bool {
	if d < 0 {
		return false
	}
	if s.besidesIn(p, c, d) > 0 {
		return true
	}
	return c.in.Has(p.Namespace) && c.selector.Matches(labels.Set(p.Labels)) && s.first(p)
}

// first reports whether no other pod that p's required affinity terms select runs in any domain, of whichever term.
func (s *Scheduler) first(p *cluster.Pod) bool {
	for i := range p.Spec.Affinity {
		if c := s.affinityCounter(p, i); c.total != s.own(p, c) {
			return false
		}
	}
	return true
}

func hard(c *cluster.SpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.DoNotSchedule
}

// SelectorOf is a spread constraint's selector for a pod, the values of its matchLabelKeys included.
func SelectorOf(c *cluster.SpreadConstraint, p *cluster.PodInfo) labels.Selector {
	if len(c.MatchLabelKeys) == 0 {
		return c.Selector
	}
	selector := c.Selector
	for _, key := range c.MatchLabelKeys {
		if value, ok := p.Labels[key]; ok {
			if r, err := labels.NewRequirement(key, "=", []string{value}); err == nil {
				selector = selector.Add(*r)
			}
		}
	}
	return selector
}

// unevenOn asks whether a replacement of p on n would break a hard spread constraint.
func (s *Scheduler) unevenOn(p *cluster.Pod, n *cluster.Node, sc *cluster.SpreadConstraint) obstacle {
	c := s.spreadCounter(p, sc)
	d := c.at(n)
	switch {
	case c.domain[n.Index] < 0:
		return obstacle{code: CodeUneven, key: sc.TopologyKey}
	case d < 0:
		return obstacle{} // the constraint's inclusion policies leave the node out
	}
	return s.unevenIn(p, c, sc, d)
}

// unevenIn is unevenOn for the nodes of a domain that count.
func (s *Scheduler) unevenIn(p *cluster.Pod, c *counter, sc *cluster.SpreadConstraint, d int32) obstacle {
	least := s.leastWithout(p, c)
	if sc.MinDomains > 0 && int(sc.MinDomains) > c.size() {
		least = 0
	}
	after := c.counts[d] - s.self(p, c, d)
	if c.selector.Matches(labels.Set(p.Labels)) {
		after++
	}
	if after-least > sc.MaxSkew {
		return obstacle{code: CodeUneven, key: sc.TopologyKey, value: c.values[d], have: int64(after), least: int64(least), most: int64(sc.MaxSkew)}
	}
	return obstacle{}
}

// leastWithout is the least count of a domain once p has left.
func (s *Scheduler) leastWithout(p *cluster.Pod, c *counter) int32 {
	if s.own(p, c) == 0 {
		return c.fewest()
	}
	return min(c.fewest(), c.counts[c.at(p.Node)]-1)
}

func (s *Scheduler) spreadCounter(p *cluster.Pod, sc *cluster.SpreadConstraint) *counter {
	key := counterKey{namespace: p.Namespace, rule: sc}
	for _, k := range sc.MatchLabelKeys {
		if value, ok := p.Labels[k]; ok {
			key.values += k + "=" + value + ","
		}
	}
	return s.counterFor(key, sc.TopologyKey, s.namespaces.One(p.Namespace), func(c *counter) {
		c.selector, c.staying = SelectorOf(sc, p.PodInfo), true
		c.nodes = s.included(p.Spec, sc)
		c.domains = c.nodes.of(c.topology)
	})
}
