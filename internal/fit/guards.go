package fit

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// guard is a required anti-affinity term of pods that run: it keeps the pods it selects out of their domains.
type guard struct {
	spec      *cluster.Spec
	namespace string
	term      *cluster.Term
	counts    map[string]int // running pods that carry the term, by domain
	carriers  *Scheduler
}

// others reports whether a pod other than p carries the term in that domain.
func (g *guard) others(p *cluster.Pod, value string) bool {
	n := g.counts[value]
	if p.Spec == g.spec && p.Namespace == g.namespace && p.Node != nil && !g.carriers.view.Gone(p) && p.Node.Labels[g.term.TopologyKey] == value {
		n--
	}
	return n > 0
}

// guardsFor lists the guards that select p.
func (s *Scheduler) guardsFor(p *cluster.Pod) []*guard {
	s.buildGuards()
	of := s.guards[p.Namespace]
	if len(of) == 0 {
		return nil
	}
	key := labelsKey{p.Namespace, labelsID(p.Labels)}
	list, ok := s.guarded[key]
	if !ok {
		for _, g := range of {
			if g.term.Selector.Matches(labels.Set(p.Labels)) {
				list = append(list, g)
			}
		}
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
	s.guards = map[string][]*guard{}
	s.guarded = map[labelsKey][]*guard{}
	s.carried = map[carrier][]*guard{}
	for _, p := range s.view.Pods {
		if len(p.Spec.AntiAffinity) > 0 && p.Node != nil && !p.Terminal() && !s.view.Gone(p) {
			s.guard(p, p.Node, 1)
		}
	}
	for _, list := range s.arrived {
		for _, a := range list {
			s.guard(a.pod, a.node, 1)
		}
	}
}

// guard counts p in or out of the guards it carries. Before they are first needed there is nothing to do: they are then counted
// from the view as it is.
func (s *Scheduler) guard(p *cluster.Pod, n *cluster.Node, by int) {
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
		if value, ok := n.Labels[g.term.TopologyKey]; ok {
			g.counts[value] += by
		}
	}
}

// newGuards makes the guards of the pods that are like p.
func (s *Scheduler) newGuards(p *cluster.Pod) []*guard {
	var list []*guard
	for i := range p.Spec.AntiAffinity {
		g := &guard{spec: p.Spec, namespace: p.Namespace, term: &p.Spec.AntiAffinity[i], counts: map[string]int{}, carriers: s}
		list = append(list, g)
		for _, ns := range s.namespacesOf(g.term, p.Namespace) {
			s.guards[ns] = append(s.guards[ns], g)
		}
	}
	clear(s.guarded) // what selects whom has changed
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
		claim := s.view.Claims[p.Namespace+"/"+name]
		if claim != nil && claim.Volume == "" {
			continue // still free to be bound where the pod lands
		}
		var volume *cluster.Volume
		if claim != nil {
			volume = s.view.Volumes[claim.Volume]
		}
		switch {
		case volume == nil:
			if p.Node != nil && p.Node.Labels[corev1.LabelTopologyZone] != n.Labels[corev1.LabelTopologyZone] {
				return name, true
			}
		case volume.Nodes != nil:
			selector, err := nodeaffinity.NewNodeSelector(volume.Nodes)
			if err != nil || !selector.Match(n.Object()) {
				return name, true
			}
		}
	}
	return "", false
}
