package fit

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// guard is a required anti-affinity term of pods that run: it keeps the pods it selects out of their domains. Equal terms are one.
type guard struct {
	*topology
	id      int
	counts  map[int32]int32 // running pods that carry the term, by domain
	version int             // of the counts of domains with several nodes
}

// repulsion is what guards keep apart. Those with the same are one.
type repulsion struct {
	topologyKey, selector string
	in                    *cluster.NamespaceSet
}

// others reports whether a pod other than p carries the term in a domain.
func (s *Scheduler) others(g *guard, p *cluster.Pod, d int32) bool {
	if d < 0 {
		return false
	}
	count := g.counts[d]
	if p.Node != nil && g.domain[p.Node.Index] == d && !s.view.Gone(p) && !p.Terminal() && s.carries(p, g) {
		count--
	}
	return count > 0
}

// carries reports whether pods like p carry the guard's term.
func (s *Scheduler) carries(p *cluster.Pod, g *guard) bool {
	return slices.Contains(s.carried[carrier{p.Spec, p.Namespace}], g)
}

// guardsFor lists the guards that select p.
func (s *Scheduler) guardsFor(p *cluster.Pod) []*guard {
	s.buildGuards()
	key := labelsKey{p.Namespace, labelsID(p.Labels)}
	list, ok := s.guarded[key]
	if !ok {
		list = s.guards.Of(p.Namespace, p.Labels)
		s.guarded[key] = list
	}
	return list
}

// labelsKey stands for the labels of a pod in a namespace.
type labelsKey struct {
	namespace string
	labels    uintptr
}

// labelsID tells label sets apart: equal ones are one map, see cluster.Converter; should they not be, they are looked at twice.
func labelsID(m map[string]string) uintptr { return reflect.ValueOf(m).Pointer() }

// carrier stands for the pods of a namespace that carry the same terms.
type carrier struct {
	spec      *cluster.Spec
	namespace string
}

func (s *Scheduler) buildGuards() {
	if s.guards != nil {
		return
	}
	s.guards = &cluster.Selecting[*guard]{}
	s.guarded = map[labelsKey][]*guard{}
	s.carried = map[carrier][]*guard{}
	s.repelling = map[repulsion]*guard{}
	for _, p := range s.view.Pods {
		if len(p.Spec.AntiAffinity) > 0 && p.Node != nil && !p.Terminal() && !s.view.Gone(p) {
			s.guard(p, p.Node, 1)
		}
	}
	for _, n := range s.view.Nodes {
		for _, p := range s.view.Arrivals(n) {
			s.guard(p, n, 1)
		}
	}
}

// guard counts p in or out of the guards it carries. Before they are first needed there is nothing to do: they are then counted
// from the view as it is.
func (s *Scheduler) guard(p *cluster.Pod, n *cluster.Node, by int32) {
	if s.guards == nil || len(p.Spec.AntiAffinity) == 0 {
		return
	}
	key := carrier{p.Spec, p.Namespace}
	guards, ok := s.carried[key]
	if !ok {
		guards = s.newGuards(p)
		s.carried[key] = guards
	}
	for _, g := range guards {
		if d := g.domain[n.Index]; d >= 0 {
			g.counts[d] += by
			if g.sizes[d] > 1 {
				g.version++
			}
		}
	}
}

// newGuards finds or makes the guards of the pods that are like p.
func (s *Scheduler) newGuards(p *cluster.Pod) []*guard {
	var list []*guard
	for i := range p.Spec.AntiAffinity {
		term := &p.Spec.AntiAffinity[i]
		in := s.namespaces.Of(term, p.Namespace)
		says := repulsion{term.TopologyKey, cluster.SelectorKey(term.Selector), in}
		g := s.repelling[says]
		if g == nil {
			s.effort.Grant(len(s.nodes))
			t := s.topology(term.TopologyKey)
			g = &guard{topology: t, id: len(s.repelling), counts: map[int32]int32{}}
			s.repelling[says] = g
			s.guards.AddIn(in, term.Selector, g)
			clear(s.guarded) // what selects whom has changed
		}
		if !slices.Contains(list, g) {
			list = append(list, g)
		}
	}
	return list
}

// portTaken reports whether a host port of p is in use on n by another pod.
func (s *Scheduler) portTaken(p *cluster.Pod, n *cluster.Node) (int32, bool) {
	if len(p.Spec.HostPorts) == 0 {
		return 0, false
	}
	taken := func(other *cluster.Pod) (int32, bool) {
		if other == p || other.Terminal() {
			return 0, false
		}
		for _, want := range p.Spec.HostPorts {
			for _, have := range other.Spec.HostPorts {
				if clash(want, have) {
					return want.Port, true
				}
			}
		}
		return 0, false
	}
	for other := range s.view.PodsOn(n) {
		if port, ok := taken(other); ok {
			return port, true
		}
	}
	for _, other := range s.view.Arrivals(n) {
		if port, ok := taken(other); ok {
			return port, true
		}
	}
	return 0, false
}

func clash(a, b cluster.HostPort) bool {
	any := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	protocol := func(p corev1.Protocol) corev1.Protocol {
		if p == "" {
			return corev1.ProtocolTCP
		}
		return p
	}
	return a.Port == b.Port && protocol(a.Protocol) == protocol(b.Protocol) && (a.IP == b.IP || any(a.IP) || any(b.IP))
}

// volumeElsewhere returns a claim of p whose volume can't be used on n. A volume that is not known (its claim or itself can't be
// listed, or is not in the file) may be tied to the zone that the pod is in, as those of clouds are, and is taken to be.
func (s *Scheduler) volumeElsewhere(p *cluster.Pod, n *cluster.Node) (string, bool) {
	for _, name := range p.Claims {
		volume, free := s.volumeOf(p, name)
		switch {
		case free:
		case volume == nil:
			if p.Node != nil && p.Node.Labels[corev1.LabelTopologyZone] != n.Labels[corev1.LabelTopologyZone] {
				return name, true
			}
		case !volume.Reaches(n.NodeInfo):
			return name, true
		case volume.Nodes != nil:
			if selector := s.selectorOf(volume); selector == nil || !selector.Match(n.Object()) {
				return name, true
			}
		}
	}
	return "", false
}

// volumeOf returns the volume of a claim, nil when it is not known; free is a claim that is still to be bound where the pod lands.
func (s *Scheduler) volumeOf(p *cluster.Pod, claim string) (v *cluster.Volume, free bool) {
	c := s.view.Claims[p.Namespace+"/"+claim]
	if c == nil {
		return nil, false
	}
	return s.view.Volumes[c.Volume], c.Volume == ""
}

// selectorOf parses a volume's node affinity, nil when that can't be done.
func (s *Scheduler) selectorOf(v *cluster.Volume) *nodeaffinity.NodeSelector {
	selector, ok := s.selectors[v]
	if !ok {
		selector, _ = nodeaffinity.NewNodeSelector(v.Nodes)
		s.selectors[v] = selector
	}
	return selector
}
