package strategy

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
)

// maxTakerLists bounds how many lists of takers are kept. Pods beyond that many different sizes have theirs made anew.
const maxTakerLists = 256

// receivers are the target nodes of a balance, with what has been booked on them.
type receivers struct {
	rs     usedResources
	kind   meterKind
	nodes  []*nodeUsage
	byNode map[*cluster.Node]*nodeUsage
	lists  map[string]*takers
	booked []*cluster.Node // in order
	key    []byte
	buf    []*cluster.Node
}

// takers are the nodes that can take a pod of one size and stay within their ceilings.
type takers struct {
	nodes []*cluster.Node
	seen  int // of receivers.booked
}

// newReceivers takes the targets, the emptiest first.
func newReceivers(rs usedResources, targets []*nodeUsage, kind meterKind) *receivers {
	r := &receivers{rs: rs, kind: kind, nodes: slices.Clone(targets), byNode: make(map[*cluster.Node]*nodeUsage, len(targets)), lists: map[string]*takers{}}
	rs.sortByFill(r.nodes)
	for _, u := range r.nodes {
		r.byNode[u.node] = u
	}
	return r
}

// takers lists the nodes that can take so much. The list is good until the next booking.
func (r *receivers) takers(use []int64) []*cluster.Node {
	if r.kind == byMeasures {
		r.buf = r.collect(r.buf[:0], use)
		return r.buf
	}
	r.key = r.key[:0]
	for _, v := range use {
		r.key = binary.AppendVarint(r.key, v)
	}
	list := r.lists[string(r.key)]
	switch {
	case list == nil && len(r.lists) >= maxTakerLists:
		r.buf = r.collect(r.buf[:0], use)
		return r.buf
	case list == nil:
		list = &takers{nodes: r.collect(nil, use), seen: len(r.booked)}
		r.lists[string(r.key)] = list
	}
	for _, n := range r.booked[list.seen:] {
		if !r.byNode[n].takes(use) {
			list.drop(n)
		}
	}
	list.seen = len(r.booked)
	return list.nodes
}

func (r *receivers) collect(into []*cluster.Node, use []int64) []*cluster.Node {
	for _, u := range r.nodes {
		if u.takes(use) {
			into = append(into, u.node)
		}
	}
	return into
}

// drop takes out a node that can't take another pod of the size.
func (t *takers) drop(n *cluster.Node) {
	if i := slices.Index(t.nodes, n); i >= 0 {
		t.nodes = slices.Delete(t.nodes, i, i+1)
	}
}

// book counts what a pod uses on the node that its replacement is expected on; nil stands for none.
func (r *receivers) book(n *cluster.Node, use []int64) {
	u := r.byNode[n]
	if u == nil {
		return
	}
	for i, v := range use {
		u.use[i] += v
	}
	r.booked = append(r.booked, n)
}

// toleratedLikeThePeer counts taints against tolerations before it looks at either.
func toleratedLikeThePeer(n *cluster.Node, pl *cluster.Placement) bool {
	if len(pl.Tolerations) < len(n.Taints) {
		return false
	}
	_, found := fit.Untolerated(n.Taints, pl.Tolerations, func(*corev1.Taint) bool { return true })
	return !found
}
