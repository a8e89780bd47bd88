package fit

import (
	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// drawnBack asks whether the scheduler would rather put the replacement of p back on its own node than on n: because n has more soft taints
// that the pod does not tolerate, or fewer of the pods that its preferred affinity wants to be near. To these scores the scheduler gives more weight than to an
// even spread, so that such a pod would come and go for ever.
func (s *Scheduler) drawnBack(p *cluster.Pod, n *cluster.Node) obstacle {
	if p.Node == nil || n == p.Node || !s.allowed(s.placement(p), p, p.Node) {
		return obstacle{} // it can't come back
	}
	if have, own := softTaints(p, n), softTaints(p, p.Node); have > own {
		return obstacle{code: CodeSoftTaint, have: int64(have), least: int64(own)}
	}
	if have, own := s.attraction(p, n), s.attraction(p, p.Node); have < own {
		return obstacle{code: CodeDrawnBack, have: have, most: own}
	}
	return obstacle{}
}

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
