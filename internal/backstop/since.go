package backstop

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/internal/admission"
)

// record remembers since when nodes are tainted. It holds no clock.
type record struct {
	taint admission.Taint
	grace time.Duration
	nodes map[types.UID]sight
}

// sight is what was seen of a node last.
type sight struct {
	tainted bool
	since   time.Time // tainted only
}

// see takes note of a node at the time now. It returns when the taint is to be taken away, and false for a node without it.
func (r *record) see(node *corev1.Node, now time.Time) (time.Time, bool) {
	before, known := r.nodes[node.UID]
	if !r.taint.On(node) {
		r.nodes[node.UID] = sight{}
		return time.Time{}, false
	}
	if !before.tainted {
		before = sight{tainted: true, since: now}
		if created := node.CreationTimestamp.Time; !known && created.Add(r.grace).After(now) && created.Before(now) {
			before.since = created
		}
		r.nodes[node.UID] = before
	}
	return before.since.Add(r.grace), true
}

func (r *record) forget(uid types.UID) { delete(r.nodes, uid) }
