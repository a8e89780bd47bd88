package strategy

import (
	"encoding/binary"
	"math"
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
	usages []*nodeUsage
	nodes  []*cluster.Node // the same
	byNode map[*cluster.Node]*nodeUsage
	lists  map[string]*takers
	booked []*cluster.Node // in order
	key    []byte
	hint   int     // where the last search ended
	room   []int64 // by resource: no node has more left
	seen   int     // of booked, when that was measured
}

// takers are the nodes that can take a pod of one size and stay within their ceilings.
type takers struct {
	nodes []*cluster.Node
	seen  int // of receivers.booked
}

// newReceivers takes the targets, the emptiest first.
func newReceivers(rs usedResources, targets []*nodeUsage, kind meterKind) *receivers {
	r := &receivers{
		rs: rs, kind: kind, usages: slices.Clone(targets), byNode: make(map[*cluster.Node]*nodeUsage, len(targets)),
		lists: map[string]*takers{}, room: make([]int64, len(rs)),
	}
	rs.sortByFill(r.usages)
	for i, u := range r.usages {
		u.place = i
		r.byNode[u.node] = u
		r.nodes = append(r.nodes, u.node)
	}
	r.measure()
	return r
}

// left is the most that any node has left below its ceiling, by resource.
func (r *receivers) left() []int64 {
	if r.seen != len(r.booked) {
		r.measure()
	}
	return r.room
}

func (r *receivers) measure() {
	r.seen = len(r.booked)
	for i := range r.room {
		r.room[i] = math.MinInt64
		for _, u := range r.usages {
			r.room[i] = max(r.room[i], u.ceiling[i]-u.use[i])
		}
	}
}

// propose makes why a case for moving a pod that uses so much to the nodes that can take it; false if there are none. It is good
// until the next booking, and until use is changed.
func (r *receivers) propose(use []int64, why Why) (Why, bool) {
	if list := r.list(use); list != nil {
		why.Targets, why.Alike = list.nodes, list
		return why, len(list.nodes) > 0
	}
	why.Targets, why.Better = r.nodes, func(n *cluster.Node) bool { return r.byNode[n].takes(use) }
	return why, r.any(use)
}

// list is the list of takers for pods that use so much; nil when pods of one size are few, so that a list would not pay.
func (r *receivers) list(use []int64) *takers {
	if r.kind == byMeasures {
		return nil
	}
	r.key = r.key[:0]
	for _, v := range use {
		r.key = binary.AppendVarint(r.key, v)
	}
	list := r.lists[string(r.key)]
	if list == nil {
		if len(r.lists) >= maxTakerLists {
			return nil
		}
		list = &takers{nodes: r.collect(nil, use), seen: len(r.booked)}
		r.lists[string(r.key)] = list
	}
	for _, n := range r.booked[list.seen:] {
		if !r.byNode[n].takes(use) {
			list.drop(r.byNode, n)
		}
	}
	list.seen = len(r.booked)
	return list
}

func (r *receivers) collect(into []*cluster.Node, use []int64) []*cluster.Node {
	for _, u := range r.usages {
		if u.takes(use) {
			into = append(into, u.node)
		}
	}
	return into
}

// any reports whether there is a node that can take so much.
func (r *receivers) any(use []int64) bool {
	for i, v := range use {
		if v > 0 && v > r.room[i] {
			return false
		}
	}
	for i := range r.usages {
		at := (r.hint + i) % len(r.usages)
		if r.usages[at].takes(use) {
			r.hint = at
			return true
		}
	}
	r.left() // so that what is as large is refused at once
	return false
}

// drop takes out a node that can't take another pod of the size.
func (t *takers) drop(usage map[*cluster.Node]*nodeUsage, n *cluster.Node) {
	i, found := slices.BinarySearchFunc(t.nodes, usage[n].place, func(other *cluster.Node, place int) int { return usage[other].place - place })
	if found {
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
