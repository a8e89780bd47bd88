package fit

import "evenkeel.dev/evenkeel/internal/cluster"

// grouping is the topology to look for a node for p by: of those that its rules count over, the one with the fewest domains; nil if each domain is a node.
func (s *Scheduler) grouping(p *cluster.Pod) *topology {
	var fewest *topology
	over := func(t *topology) {
		if t.shared && (fewest == nil || len(t.values) < len(fewest.values)) {
			fewest = t
		}
	}
	for i := range p.Spec.AntiAffinity {
		over(s.termCounter(p, &p.Spec.AntiAffinity[i]).topology)
	}
	for _, g := range s.guardsFor(p) {
		over(g.topology)
	}
	for i := range p.Spec.Affinity {
		over(s.affinityCounter(p, i).topology)
	}
	for i := range p.Spec.TopologySpread {
		if sc := &p.Spec.TopologySpread[i]; hard(sc) {
			over(s.spreadCounter(p, sc).topology)
		}
	}
	return fewest
}

// open reports whether the rules of p that count over a topology let its replacement into a domain, for nodes that its placement allows: those count in its
// spread constraints, whatever their inclusion policies are.
func (s *Scheduler) open(p *cluster.Pod, t *topology, d int32) bool {
	for i := range p.Spec.AntiAffinity {
		if c := s.termCounter(p, &p.Spec.AntiAffinity[i]); c.topology == t && s.besidesIn(p, c, d) > 0 {
			return false
		}
	}
	for _, g := range s.guardsFor(p) {
		if g.topology == t && s.others(g, p, d) {
			return false
		}
	}
	for i := range p.Spec.Affinity {
		if c := s.affinityCounter(p, i); c.topology == t && !s.nearIn(p, c, d) {
			return false
		}
	}
	for i := range p.Spec.TopologySpread {
		sc := &p.Spec.TopologySpread[i]
		if !hard(sc) {
			continue
		}
		if c := s.spreadCounter(p, sc); c.topology == t && (d < 0 || s.unevenIn(p, c, sc, d).code != "") {
			return false
		}
	}
	return true
}
