package fit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// counterKey names what a counter counts: the pods that a term, or a spread constraint, of a spec in a namespace selects.
type counterKey struct {
	namespace string
	rule      any    // *cluster.Term or *cluster.SpreadConstraint
	values    string // of the constraint's matchLabelKeys
}

// counter counts pods by the value of a topology key of their nodes.
type counter struct {
	key      string
	selector labels.Selector
	counts   map[string]int
	eligible func(*cluster.Node) bool // nil: every node that has the key
	total    int
	// staying leaves out pods that are being deleted, as topology spread does and affinity does not.
	staying bool

	least      int // of all domains
	leastKnown bool
}

func (c *counter) add(n *cluster.Node, by int) {
	value, ok := n.Labels[c.key]
	if !ok || c.eligible != nil && !c.eligible(n) {
		return
	}
	c.counts[value] += by
	c.total += by
	c.leastKnown = false
}

// fewest is the count of the domain that has fewest.
func (c *counter) fewest() int {
	if !c.leastKnown {
		first := true
		for _, n := range c.counts {
			if first || n < c.least {
				c.least, first = n, false
			}
		}
		if first {
			c.least = 0
		}
		c.leastKnown = true
	}
	return c.least
}

// counterFor makes a counter over the pods of the namespaces, those that are still in their places and those that are expected.
func (s *Scheduler) counterFor(key counterKey, namespaces []string, fill func(*counter)) *counter {
	if c := s.counters[key]; c != nil {
		return c
	}
	c := &counter{counts: map[string]int{}}
	fill(c)
	for _, ns := range namespaces {
		for _, g := range s.like(ns) {
			if !c.selector.Matches(labels.Set(g.labels)) {
				continue
			}
			for _, p := range g.pods {
				if !s.view.Gone(p) && !(c.staying && p.Deleting) {
					c.add(p.Node, 1)
				}
			}
		}
		s.following[ns] = append(s.following[ns], c)
	}
	for _, n := range s.view.Nodes {
		for _, p := range s.view.Arrivals(n) {
			if slices.Contains(namespaces, p.Namespace) && c.selector.Matches(labels.Set(p.Labels)) {
				c.add(n, 1)
			}
		}
	}
	s.counters[key] = c
	return c
}

func (s *Scheduler) termCounter(p *cluster.Pod, t *cluster.Term) *counter {
	return s.counterFor(counterKey{namespace: p.Namespace, rule: t}, s.namespacesOf(t, p.Namespace), func(c *counter) {
		c.key, c.selector = t.TopologyKey, t.Selector
	})
}

// namespacesOf resolves a term's namespaces as the scheduler does: those named, those selected, or else the pod's own.
func (s *Scheduler) namespacesOf(t *cluster.Term, own string) []string {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return []string{own}
	}
	list := slices.Clone(t.Namespaces)
	if t.NamespaceSelector != nil {
		for _, name := range sortedNames(s.view.Namespaces) {
			if t.NamespaceSelector.Matches(labels.Set(s.view.Namespaces[name].Labels)) {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// besides counts the pods that a term selects in n's domain, p itself left out.
func (s *Scheduler) besides(p *cluster.Pod, n *cluster.Node, t *cluster.Term) int {
	value, ok := n.Labels[t.TopologyKey]
	if !ok {
		return 0
	}
	c := s.termCounter(p, t)
	return c.counts[value] - s.self(p, c, value)
}

// self is 1 if p is counted in that domain of c.
func (s *Scheduler) self(p *cluster.Pod, c *counter, value string) int {
	if p.Node == nil || s.view.Gone(p) || p.Terminal() || c.staying && p.Deleting || p.Node.Labels[c.key] != value || !c.selector.Matches(labels.Set(p.Labels)) {
		return 0
	}
	if c.eligible != nil && !c.eligible(p.Node) {
		return 0
	}
	return 1
}

// near reports whether required affinity is met on n: a pod that the term selects runs in its domain, or none runs anywhere and
// the pod selects itself.
func (s *Scheduler) near(p *cluster.Pod, n *cluster.Node, t *cluster.Term) bool {
	if _, ok := n.Labels[t.TopologyKey]; !ok {
		return false
	}
	if s.besides(p, n, t) > 0 {
		return true
	}
	c := s.termCounter(p, t)
	own := 0
	if p.Node != nil {
		own = s.self(p, c, p.Node.Labels[t.TopologyKey])
	}
	return c.total-own == 0 && slices.Contains(s.namespacesOf(t, p.Namespace), p.Namespace) && t.Selector.Matches(labels.Set(p.Labels))
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

// evenOn reports whether a replacement of p on n keeps a hard spread constraint.
func (s *Scheduler) evenOn(p *cluster.Pod, n *cluster.Node, sc *cluster.SpreadConstraint) (plan.Reason, bool) {
	value, ok := n.Labels[sc.TopologyKey]
	if !ok {
		return uneven(n, sc.TopologyKey, "the node lacks the topology key"), false
	}
	c := s.spreadCounter(p, sc)
	if _, known := c.counts[value]; !known {
		return plan.Reason{}, true // a node that the constraint's inclusion policies leave out
	}
	least := c.fewest()
	if own := s.ownDomain(p, c); own != "" && s.self(p, c, own) == 1 {
		least = min(least, c.counts[own]-1)
	}
	if int(sc.MinDomains) > len(c.counts) {
		least = 0
	}
	after := c.counts[value] - s.self(p, c, value)
	if c.selector.Matches(labels.Set(p.Labels)) {
		after++
	}
	if after-least > int(sc.MaxSkew) {
		return uneven(n, sc.TopologyKey, fmt.Sprintf("%s %s would have %d pods, another domain %d; maxSkew is %d", sc.TopologyKey, value, after, least, sc.MaxSkew)), false
	}
	return plan.Reason{}, true
}

func (s *Scheduler) ownDomain(p *cluster.Pod, c *counter) string {
	if p.Node == nil {
		return ""
	}
	return p.Node.Labels[c.key]
}

func (s *Scheduler) spreadCounter(p *cluster.Pod, sc *cluster.SpreadConstraint) *counter {
	key := counterKey{namespace: p.Namespace, rule: sc}
	for _, k := range sc.MatchLabelKeys {
		key.values += k + "=" + p.Labels[k] + ","
	}
	placement := p.Spec.Placement
	return s.counterFor(key, []string{p.Namespace}, func(c *counter) {
		c.key, c.selector, c.staying = sc.TopologyKey, SelectorOf(sc, p.PodInfo), true
		c.eligible = func(n *cluster.Node) bool {
			if sc.HonorNodeAffinity && !placement.Selects(n.NodeInfo) {
				return false
			}
			if sc.HonorNodeTaints {
				if _, found := Untolerated(n.Taints, placement.Tolerations, HardTaint); found {
					return false
				}
			}
			return true
		}
		for _, n := range s.view.Nodes {
			if value, ok := n.Labels[c.key]; ok && c.eligible(n) {
				c.counts[value] += 0 // an empty domain is one, too
			}
		}
	})
}
