package fit

import (
	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// drawnBack asks whether the scheduler would rather put the replacement of p back on its own node than on n: because n has more soft taints
// that the pod does not tolerate, less weight in its preferred node affinity, or fewer of the pods that its preferred affinity wants to be near.
// To these scores the scheduler gives more weight than to an even spread, so that such a pod would come and go for ever.
func (s *Scheduler) drawnBack(p *cluster.Pod, n *cluster.Node) obstacle {
	if p.Node == nil || n == p.Node {
		return obstacle{}
	}
	o := s.worseThanOwn(p, n)
	if o.code != "" && !s.TakesBack(p) {
		return obstacle{} // it can't come back
	}
	return o
}

// worseThanOwn compares the scores of n and of the pod's own node.
func (s *Scheduler) worseThanOwn(p *cluster.Pod, n *cluster.Node) obstacle {
	if s.softTaints {
		if have, own := softTaints(p, n), softTaints(p, p.Node); have > own {
			return obstacle{code: CodeSoftTaint, have: int64(have), least: int64(own)}
		}
	}
	if pl := p.Spec.Placement; len(pl.Preferred) > 0 {
		if have, own := pl.Weight(n.NodeInfo), pl.Weight(p.Node.NodeInfo); have < own {
			return obstacle{code: CodeLessPreferred, have: have, most: own}
		}
	}
	if have, own := s.attraction(p, n), s.attraction(p, p.Node); have < own {
		return obstacle{code: CodeDrawnBack, have: have, most: own}
	}
	return obstacle{}
}

// Draw is what draws a replacement of p to n by the scores that drawnBack looks at: soft taints that it does not tolerate, fewer being better, and the
// weight of its preferred affinity to nodes and pods, more being better.
func (s *Scheduler) Draw(p *cluster.Pod, n *cluster.Node) (taints int, weight int64) {
	if s.softTaints {
		taints = softTaints(p, n)
	}
	return taints, p.Spec.Placement.Weight(n.NodeInfo) + s.attraction(p, n)
}

// drawn reports whether any score could draw p back.
func (s *Scheduler) drawn(p *cluster.Pod) bool {
	return s.softTaints || len(p.Spec.Placement.Preferred) > 0 || len(p.Spec.PreferredAffinity) > 0
}

// TakesBack reports whether the scheduler's filters would let the replacement start on the pod's own node, where it leaves room.
func (s *Scheduler) TakesBack(p *cluster.Pod) bool {
	return s.allowed(s.placement(p), p, p.Node) && s.barred(p, p.Node).code == ""
}

// IgnoreSoftTaints is for schedulers that give PreferNoSchedule taints little weight: they draw no pod back to its own node.
// It must be called before the first question.
func (s *Scheduler) IgnoreSoftTaints() { s.softTaints = false }

// softTaints counts the PreferNoSchedule taints of n that p does not tolerate.
func softTaints(p *cluster.Pod, n *cluster.Node) int {
	count := 0
	for i := range n.Taints {
		if t := &n.Taints[i]; t.Effect == corev1.TaintEffectPreferNoSchedule {
			if _, found := Untolerated(n.Taints[i:i+1], p.Spec.Placement.Tolerations, func(*corev1.Taint) bool { return true }); found {
				count++
			}
		}
	}
	return count
}

// attraction is the weight of the pods near n that p's preferred affinity is for, p itself left out.
func (s *Scheduler) attraction(p *cluster.Pod, n *cluster.Node) int64 {
	var sum int64
	for i := range p.Spec.PreferredAffinity {
		t := &p.Spec.PreferredAffinity[i]
		sum += int64(t.Weight) * int64(s.besides(p, n, &t.Term))
	}
	return sum
}
