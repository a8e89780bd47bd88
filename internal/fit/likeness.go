package fit

import (
	"encoding/binary"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// liken says which pods meet the same obstacles: those of a spec and a namespace, as far as their labels, their volumes and where they are now
// make no difference on other nodes. A pod that has left is like no other: its own replacement may be expected somewhere.
func (s *Scheduler) liken(p *cluster.Pod) (Likeness, int, bool) {
	if s.view.Gone(p) {
		return Likeness{}, 0, false
	}
	l := likener{s: s, p: p, rules: len(s.repelling)}
	l.truth(p.Terminal())
	l.truth(p.Deleting)
	for _, g := range s.guardsFor(p) {
		l.number(int64(g.id))
		l.truth(s.carries(p, g))
		l.place(g.topology)
		l.rules += g.version
	}
	for i := range p.Spec.AntiAffinity {
		l.counted(s.termCounter(p, &p.Spec.AntiAffinity[i]))
	}
	for i := range p.Spec.Affinity {
		c := s.affinityCounter(p, i)
		l.counted(c)
		l.truth(c.total == s.own(p, c))
	}
	for i := range p.Spec.TopologySpread {
		if sc := &p.Spec.TopologySpread[i]; hard(sc) {
			c := s.spreadCounter(p, sc)
			l.counted(c)
			l.truth(p.Node != nil && c.at(p.Node) >= 0)
			l.number(int64(s.leastWithout(p, c)))
		}
	}
	l.pull()
	l.volumes()
	return Likeness{p.Spec, p.Namespace, string(l.key)}, l.rules, true
}

// Like returns what the pod is like; ok is false when it is like no other.
func (s *Scheduler) Like(p *cluster.Pod) (key Likeness, ok bool) {
	key, _, ok = s.liken(p)
	return key, ok
}

// likener writes down what the place of a pod has to do with other nodes.
type likener struct {
	s     *Scheduler
	p     *cluster.Pod
	key   []byte
	rules int
}

func (l *likener) number(v int64) { l.key = binary.AppendVarint(l.key, v) }

func (l *likener) truth(b bool) {
	if b {
		l.number(1)
	} else {
		l.number(0)
	}
}

func (l *likener) counted(c *counter) {
	l.number(int64(c.id))
	l.truth(c.selects(l.p))
	l.place(c.topology)
	l.rules += c.version
}

// place is the domain that the pod is in, if there are other nodes in it.
func (l *likener) place(t *topology) {
	domain := int32(-1)
	if l.p.Node != nil {
		domain = t.domain[l.p.Node.Index]
	}
	if domain >= 0 && t.sizes[domain] == 1 {
		domain = -2
	}
	l.number(int64(domain))
}

// pull is what the pod's own node has that may draw it back.
func (l *likener) pull() {
	if !l.s.drawn(l.p) {
		return
	}
	if l.p.Node == nil || !l.s.TakesBack(l.p) {
		l.number(-1)
		return
	}
	l.number(int64(softTaints(l.p, l.p.Node)))
	l.number(l.p.Spec.Placement.Weight(l.p.Node.NodeInfo))
	l.number(l.s.attraction(l.p, l.p.Node))
	for i := range l.p.Spec.PreferredAffinity {
		l.counted(l.s.termCounter(l.p, &l.p.Spec.PreferredAffinity[i].Term))
	}
}

// volumes are the nodes that the pod's claims tie it to.
func (l *likener) volumes() {
	for _, name := range l.p.Claims {
		volume, free := l.s.volumeOf(l.p, name)
		switch {
		case free:
		case volume == nil && l.p.Node != nil:
			l.key = append(append(l.key, "zone "...), l.p.Node.Labels[corev1.LabelTopologyZone]...)
		case volume != nil && (volume.Nodes != nil || volume.Zones != nil):
			l.key = fmt.Appendf(l.key, "nodes %v, zones %v", volume.Nodes, volume.Zones)
		}
	}
}
