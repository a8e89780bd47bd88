package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

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
	byNamespace map[string][]*likePods
	counters    map[counterKey]*counter
	// following lists, for each namespace, the counters that pods of it may count in.
	following map[string][]*counter
	guards    map[string][]*guard // required anti-affinity of pods that run, by the namespace it applies to
	guarded   map[labelsKey][]*guard
	carried   map[carrier][]*guard
	built     bool
	// softTaints tells that some node has a PreferNoSchedule taint.
	softTaints bool
	likely     likely

	topologies map[string]*topology
	inclusions map[inclusionKey]*inclusion
	arrived    map[string][]arrival // by namespace
}

// arrival is a replacement that is expected.
type arrival struct {
	pod  *cluster.Pod
	node *cluster.Node
}

// likePods are the pods of a namespace with the same labels.
type likePods struct {
	labels map[string]string
	pods   []*cluster.Pod
}

// NewScheduler returns a scheduler for nodes, which must be nodes of the view.
func NewScheduler(view *cluster.View, nodes []*cluster.Node) *Scheduler {
	s := &Scheduler{
		Checker: NewChecker(view, nodes), byNamespace: map[string][]*likePods{}, counters: map[counterKey]*counter{},
		following: map[string][]*counter{}, topologies: map[string]*topology{}, inclusions: map[inclusionKey]*inclusion{},
		arrived: map[string][]arrival{},
	}
	for _, n := range view.Nodes {
		s.softTaints = s.softTaints || slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
		for _, p := range view.Arrivals(n) {
			s.arrived[p.Namespace] = append(s.arrived[p.Namespace], arrival{p, n})
		}
	}
	return s
}

// Accepts reports whether a replacement of p could start on n.
func (s *Scheduler) Accepts(p *cluster.Pod, n *cluster.Node) bool {
	return s.allowed(s.placement(p), p, n) && s.roomAfter(p, n) && s.further(p, n).code == ""
}

// AnyBut returns a node other than the pod's own that accepts it, or nil.
func (s *Scheduler) AnyBut(p *cluster.Pod) *cluster.Node {
	if !s.constrained(p) {
		return s.AnyOther(p)
	}
	pl := s.placement(p)
	for i := range s.nodes {
		at := (pl.hint + i) % len(s.nodes)
		if n := s.nodes[at]; n != p.Node && s.Accepts(p, n) {
			pl.hint = at
			return n
		}
	}
	return nil
}

// Explain says what keeps a replacement of p off n.
func (s *Scheduler) Explain(p *cluster.Pod, n *cluster.Node) (plan.Reason, bool) {
	return s.told(p, n, s.hindrance(p, n))
}

func (s *Scheduler) hindrance(p *cluster.Pod, n *cluster.Node) obstacle {
	if o := s.obstacle(p, n); o.code != "" && o.code != CodeRepelled {
		return o
	}
	return s.further(p, n)
}

// NowhereBut sums up why no node other than its own accepts p.
func (s *Scheduler) NowhereBut(p *cluster.Pod) plan.Reason { return s.nowhereBecause(p, s.hindrance) }

// constrained reports whether anything beyond placement and room matters to the pod.
func (s *Scheduler) constrained(p *cluster.Pod) bool {
	spec := p.Spec
	if s.softTaints || len(spec.PreferredAffinity) > 0 || len(spec.AntiAffinity) > 0 || len(spec.Affinity) > 0 || len(spec.HostPorts) > 0 || len(p.Claims) > 0 {
		return true
	}
	for i := range spec.TopologySpread {
		if hard(&spec.TopologySpread[i]) {
			return true
		}
	}
	return len(s.guardsFor(p)) > 0
}

// further applies the rules that Checker does not have.
func (s *Scheduler) further(p *cluster.Pod, n *cluster.Node) obstacle {
	for i := range p.Spec.AntiAffinity {
		if t := &p.Spec.AntiAffinity[i]; s.besides(p, n, t) > 0 {
			return obstacle{code: CodeApart, key: t.TopologyKey}
		}
	}
	for _, g := range s.guardsFor(p) {
		if value, ok := n.Labels[g.term.TopologyKey]; ok && g.others(p, value) {
			return obstacle{code: CodeGuarded, key: g.term.TopologyKey}
		}
	}
	for i := range p.Spec.Affinity {
		if t := &p.Spec.Affinity[i]; !s.near(p, n, t) {
			return obstacle{code: CodeLonely, key: t.TopologyKey}
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
	return s.drawnBack(p, n)
}

// roomAfter is room for p, counting what it takes now as free if it is on n.
func (s *Scheduler) roomAfter(p *cluster.Pod, n *cluster.Node) bool {
	return p.Node == n && !s.view.Gone(p) || s.HasRoom(p, n)
}

// like returns the pods of a namespace, grouped by labels.
func (s *Scheduler) like(namespace string) []*likePods {
	if !s.built {
		s.group()
	}
	return s.byNamespace[namespace]
}

func (s *Scheduler) group() {
	s.built = true
	groups := map[string]map[uintptr]*likePods{}
	for _, p := range s.view.Pods {
		if p.Node == nil || p.Terminal() {
			continue
		}
		of := groups[p.Namespace]
		if of == nil {
			of = map[uintptr]*likePods{}
			groups[p.Namespace] = of
		}
		id := labelsID(p.Labels)
		g := of[id]
		if g == nil {
			g = &likePods{labels: p.Labels}
			of[id] = g
			s.byNamespace[p.Namespace] = append(s.byNamespace[p.Namespace], g)
		}
		g.pods = append(g.pods, p)
	}
}

// Left is told when p has been removed from the view.
func (s *Scheduler) Left(p *cluster.Pod) {
	if p.Node == nil || p.Terminal() {
		return
	}
	for _, c := range s.following[p.Namespace] {
		if c.selects(p) {
			c.add(p.Node, -1)
		}
	}
	s.guard(p, p.Node, -1)
}

// Arrived is told when a replacement of p is expected on n.
func (s *Scheduler) Arrived(p *cluster.Pod, n *cluster.Node) {
	s.arrived[p.Namespace] = append(s.arrived[p.Namespace], arrival{p, n})
	for _, c := range s.following[p.Namespace] {
		if c.selector.Matches(labels.Set(p.Labels)) {
			c.add(n, 1)
		}
	}
	s.guard(p, n, 1)
}
