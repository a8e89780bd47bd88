package strategy

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// priority is the pod's priority; a pod without one comes before every other.
func priority(p *cluster.Pod) int64 {
	if p.Spec.Priority == nil {
		return math.MinInt64
	}
	return int64(*p.Spec.Priority)
}

// SortLeastImportantFirst orders pods for eviction as the peer does: by priority, none first, then BestEffort, Burstable,
// Guaranteed, then those without the prefer-no-eviction annotation; what is equal in all of that keeps the
// order of namespace and name. (The peer's own comparison is not a strict order; see docs/parity.md.)
func SortLeastImportantFirst(pods []*cluster.Pod) {
	slices.SortStableFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(
			cmp.Compare(priority(a), priority(b)),
			cmp.Compare(qosRank(a), qosRank(b)),
			cmp.Compare(prefersToStay(a), prefersToStay(b)),
		)
	})
}

// SortOldestFirst orders pods by creation time, then namespace and name.
func SortOldestFirst(pods []*cluster.Pod) {
	slices.SortFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

func qosRank(p *cluster.Pod) int {
	switch p.QoS {
	case corev1.PodQOSGuaranteed:
		return 2
	case corev1.PodQOSBurstable:
		return 1
	default:
		return 0
	}
}

func prefersToStay(p *cluster.Pod) int {
	_, ok := p.Annotations[cluster.AnnotationPreferNoEviction]
	return truth(ok)
}
