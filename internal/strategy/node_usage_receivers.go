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
	usages []*nodeUsage
	nodes  []*cluster.Node // the same
	byNode map[*cluster.Node]*nodeUsage
	lists  map[string]*takers
	booked []*cluster.Node // in order
	key    []byte
	hint   int        // where the last search ended
	rooms  *fit.Rooms // what they have left below their ceilings, by place; nil until it is needed
	seen   int        // of booked, by rooms
	effort *fit.Effort
	ended  bool // the last search did, because the effort was used up
}

// takers are the nodes that can take a pod of one size and stay within their ceilings.
type takers struct {
	nodes []*cluster.Node // the emptiest first, full ones among them
	full  int             // how many of nodes are
	out   []bool          // by place: it is full, or was so from the beginning
	seen  int             // of receivers.booked
}

// newReceivers takes the targets, the emptiest first, and what searches among them may take.
func newReceivers(rs usedResources, targets []*nodeUsage, kind meterKind, effort *fit.Effort) *receivers {
	r := &receivers{
		rs: rs, kind: kind, usages: slices.Clone(targets), byNode: make(map[*cluster.Node]*nodeUsage, len(targets)), lists: map[string]*takers{}, effort: effort,
	}
	rs.sortByFill(r.usages)
	for i, u := range r.usages {
		u.place = i
		r.byNode[u.node] = u
		r.nodes = append(r.nodes, u.node)
	}
	return r
}

// left is the most that any node has left below its ceiling, by resource.
func (r *receivers) left() []int64 { return r.upToDate().Most() }

// upToDate is rooms with all that was booked.
func (r *receivers) upToDate() *fit.Rooms {
	if r.rooms == nil {
		left := make([]int64, len(r.rs))
		room := func(place int) []int64 {
			u := r.usages[place]
			for i := range left {
				left[i] = u.ceiling[i] - u.use[i]
			}
			return left
		}
		r.rooms = fit.NewRooms(fit.NewLayout(len(r.usages), len(r.rs), room), room)
		r.seen = len(r.booked)
	}
	for _, n := range r.booked[r.seen:] {
		r.rooms.Change(r.byNode[n].place)
	}
	r.seen = len(r.booked)
	return r.rooms
}

// propose makes why a case for moving a pod that uses so much to the nodes that can take it; false if there are none. It is good
// until the next booking, and until use is changed.
func (r *receivers) propose(use []int64, why Why) (Why, bool) {
	r.ended = false
	if list := r.list(use); list != nil {
		why.Targets, why.Alike = list.nodes, list
		if list.full > 0 {
			why.Better = func(n *cluster.Node) bool { return r.byNode[n] != nil && !list.out[r.byNode[n].place] }
		}
		return why, len(list.nodes) > list.full
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
		list = r.collect(use)
		r.lists[string(r.key)] = list
	}
	for _, n := range r.booked[list.seen:] {
		if u := r.byNode[n]; !list.out[u.place] && !u.takes(use) {
			list.out[u.place] = true
			list.full++
		}
	}
	list.seen = len(r.booked)
	if list.full > len(list.nodes)/2 {
		list.nodes = slices.DeleteFunc(list.nodes, func(n *cluster.Node) bool { return list.out[r.byNode[n].place] })
		list.full = 0
	}
	return list
}

func (r *receivers) collect(use []int64) *takers {
	t := &takers{out: make([]bool, len(r.usages)), seen: len(r.booked)}
	for i, u := range r.usages {
		if t.out[i] = !u.takes(use); !t.out[i] {
			t.nodes = append(t.nodes, u.node)
		}
	}
	return t
}

// any reports whether there is a node that can take so much.
func (r *receivers) any(use []int64) bool {
	for i := range min(fit.LookAhead, len(r.usages)) {
		at := (r.hint + i) % len(r.usages)
		if r.usages[at].takes(use) {
			r.hint = at
			return true
		}
	}
	if len(r.usages) <= fit.LookAhead {
		return false
	}
	var wants []fit.Want
	for i, v := range use {
		if v > 0 {
			wants = append(wants, fit.Want{Kind: i, Amount: v})
		}
	}
	search := fit.Search{Wants: wants, OK: func(place int) bool { return r.usages[place].takes(use) }, Effort: r.effort}
	at := r.upToDate().Find(&search)
	r.ended = search.Ended()
	if at < 0 {
		return false
	}
	r.hint = at
	return true
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
