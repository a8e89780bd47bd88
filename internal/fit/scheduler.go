package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Scheduler asks where a replacement of a pod could start, by the rules of kube-scheduler's filters: everything that [Checker]
// looks at, and required affinity and anti-affinity in both directions and over whole topology domains, hard topology spread, host ports,
// and the node affinity of bound volumes. The pod asked about counts as gone.
//
// It follows the view: after each View.Remove and View.Expect, Left and Arrived have to be told.
type Scheduler struct {
	*Checker
	counters map[counterKey]*counter
	equal    map[counting]*counter // the same by what rules say, for rules of different specs
	// following holds the counters, by the pods that count in them.
	following cluster.Selecting[*counter]
	guards    *cluster.Selecting[*guard] // required anti-affinity of pods that run; nil until it is asked for
	guarded   map[labelsKey][]*guard
	carried   map[carrier][]*guard
	repelling map[repulsion]*guard // by what terms say
	// softTaints tells that some node has a PreferNoSchedule taint.
	softTaints bool
	owed       map[Likeness]int // what searches for a place to book cost that did not find one, and left open what kept the pods off each node
	namespaces *cluster.NamespaceSets
	selectors  map[*cluster.Volume]*nodeaffinity.NodeSelector

	topologies map[string]*topology
	inclusions map[inclusionKey]*inclusion
}

// NewScheduler returns a scheduler for nodes, which must be nodes of the view.
func NewScheduler(view *cluster.View, nodes []*cluster.Node) *Scheduler {
	s := &Scheduler{
		Checker: NewChecker(view, nodes), counters: map[counterKey]*counter{}, equal: map[counting]*counter{},
		topologies: map[string]*topology{}, inclusions: map[inclusionKey]*inclusion{},
		namespaces: cluster.NewNamespaceSets(view.Snapshot), owed: map[Likeness]int{}, selectors: map[*cluster.Volume]*nodeaffinity.NodeSelector{},
	}
	for _, n := range view.Nodes {
		s.softTaints = s.softTaints || slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
	}
	return s
}

// Accepts reports whether a replacement of p could start on n and would not rather go back to its own node.
func (s *Scheduler) Accepts(p *cluster.Pod, n *cluster.Node) bool {
	return s.allowed(s.placement(p), p, n) && s.roomAfter(p, n) && s.further(p, n).code == ""
}

// Filters reports whether the scheduler's filters let a replacement of p start on n, whatever draws it elsewhere.
func (s *Scheduler) Filters(p *cluster.Pod, n *cluster.Node) bool {
	return s.allowed(s.placement(p), p, n) && s.roomAfter(p, n) && s.barred(p, n).code == ""
}

// AnyBut returns a node other than the pod's own that accepts it, or nil: then [Scheduler.NowhereBut] has the reason, be it that the search ended early.
func (s *Scheduler) AnyBut(p *cluster.Pod) *cluster.Node {
	return s.anyBut(p, true)
}

// ToBook is AnyBut for those who do not ask for the reason; all is false if the search ended early.
func (s *Scheduler) ToBook(p *cluster.Pod) (n *cluster.Node, all bool) {
	n = s.anyBut(p, false)
	return n, !s.GaveUp(p)
}

func (s *Scheduler) anyBut(p *cluster.Pod, explained bool) *cluster.Node {
	s.gaveUp = nil
	if !s.constrained(p) {
		return s.AnyOther(p)
	}
	return s.search(p, explained)
}

// Explain says what keeps a replacement of p off n.
func (s *Scheduler) Explain(p *cluster.Pod, n *cluster.Node) (plan.Reason, bool) {
	return s.told(p, n, s.hindrance(p, n))
}

func (s *Scheduler) hindrance(p *cluster.Pod, n *cluster.Node) obstacle {
	o := s.obstacle(p, n)
	if o.code == CodeNoRoom && s.selectedOn(p, n, "") != nil {
		o.code = CodeRepelled // if only by a pod of the same name: what is found holds for pods like it
	}
	if o.code != "" && o.code != CodeRepelled {
		return o
	}
	if o := s.further(p, n); o.code != "" {
		return o
	}
	if id, short := s.lacking(p, n); o.code == CodeRepelled && short && n != p.Node {
		return obstacle{code: CodeNoRoom, resource: id}
	}
	return obstacle{}
}

// NowhereBut sums up why no node other than its own accepts p.
func (s *Scheduler) NowhereBut(p *cluster.Pod) plan.Reason {
	if s.GaveUp(p) {
		return s.effort.End()
	}
	if !s.constrained(p) {
		return s.WhyNowhere(p)
	}
	if (len(p.Spec.AntiAffinity) == 0 || s.effort.Over()) && s.hopeless(p) {
		return s.noRoom(p, "")
	}
	return s.nowhereBecause(p)
}

// constrained reports whether anything beyond placement and room matters to the pod.
func (s *Scheduler) constrained(p *cluster.Pod) bool {
	spec := p.Spec
	if s.drawn(p) || len(spec.AntiAffinity) > 0 || len(spec.Affinity) > 0 || len(spec.HostPorts) > 0 || len(p.Claims) > 0 {
		return true
	}
	for i := range spec.TopologySpread {
		if hard(&spec.TopologySpread[i]) {
			return true
		}
	}
	return len(s.guardsFor(p)) > 0
}

// further applies the rules that Checker does not have, and asks what draws the pod back.
func (s *Scheduler) further(p *cluster.Pod, n *cluster.Node) obstacle {
	if o := s.barred(p, n); o.code != "" {
		return o
	}
	return s.drawnBack(p, n)
}

// barred applies the rules of the scheduler's filters that Checker does not have.
func (s *Scheduler) barred(p *cluster.Pod, n *cluster.Node) obstacle {
	for i := range p.Spec.AntiAffinity {
		if t := &p.Spec.AntiAffinity[i]; s.besides(p, n, t) > 0 {
			return obstacle{code: CodeApart, key: t.TopologyKey}
		}
	}
	for _, g := range s.guardsFor(p) {
		if s.others(g, p, g.domain[n.Index]) {
			return obstacle{code: CodeGuarded, key: g.key}
		}
	}
	for i := range p.Spec.Affinity {
		if !s.near(p, n, i) {
			return obstacle{code: CodeLonely, key: p.Spec.Affinity[i].TopologyKey}
		}
	}
	for i := range p.Spec.TopologySpread {
		if c := &p.Spec.TopologySpread[i]; hard(c) {
			if o := s.unevenOn(p, n, c); o.code != "" {
				return o
			}
		}
	}
	if port, taken := s.portTaken(p, n); taken {
		return obstacle{code: CodePort, have: int64(port)}
	}
	if claim, bad := s.volumeElsewhere(p, n); bad {
		return obstacle{code: CodeVolume, key: claim}
	}
	return obstacle{}
}

// roomAfter is room for p, counting what it takes now as free if it is on n.
func (s *Scheduler) roomAfter(p *cluster.Pod, n *cluster.Node) bool {
	return p.Node == n && !s.view.Gone(p) || s.HasRoom(p, n)
}

// Left is told when p has been removed from the view.
func (s *Scheduler) Left(p *cluster.Pod) {
	if p.Node == nil || p.Terminal() {
		return
	}
	for _, c := range s.following.Of(p.Namespace, p.Labels) {
		if !(c.staying && p.Deleting) {
			c.add(p.Node, -1)
		}
	}
	s.guard(p, p.Node, -1)
}

// Arrived is told when a replacement of p is expected on n.
func (s *Scheduler) Arrived(p *cluster.Pod, n *cluster.Node) {
	s.crowd.arrived(s.view, p, n)
	for _, c := range s.following.Of(p.Namespace, p.Labels) {
		c.add(n, 1)
	}
	s.guard(p, n, 1)
}
