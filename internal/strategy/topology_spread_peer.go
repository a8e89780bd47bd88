package strategy

import (
	"cmp"
	"math"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// peerDomain is a domain and the pods that the peer counts in it.
type peerDomain struct {
	id   int32
	pods []victim
}

// peerScratch is memory that is used again for every constraint.
type peerScratch struct {
	lists   [][]victim // by domain
	touched []int32
	sorted  []peerDomain
	fits    map[*cluster.Spec]bool
}

// likeThePeer returns the pods that the peer would move for one constraint: it counts evictable pods that the policy selects, in every
// domain with an eligible node or such a pod, and moves pods pairwise from the largest to the smallest domain until all are
// about the average. Of a domain it takes, from last to first: pods that fit nowhere in a domain below the average, pods
// with a node selector or affinity, others; among these those of lowest priority come first, so that it is the highest that go (docs/parity.md).
func (x *spreader) likeThePeer(sp *spread) []victim {
	total := x.list(sp)
	defer x.unlist()
	balanced, domains := x.balanced(sp)
	if balanced {
		x.tell(sp)
		return nil
	}
	average := float64(total) / float64(domains)
	sorted := x.sort(sp)
	below := belowAverage(sp, sorted, average)
	clear(x.peer.fits)
	var out []victim
	ordered := len(sorted) // from here on the domains' pods are in order
	for i, j := 0, len(sorted)-1; i < j; {
		if float64(len(sorted[j].pods)) <= average {
			j--
		}
		from, to := &sorted[j], &sorted[i]
		move := peerMoves(len(from.pods), len(to.pods), average, int(sp.rule.MaxSkew))
		if move <= 0 {
			i++
			continue
		}
		if j < ordered {
			slices.SortStableFunc(from.pods, peerOrder)
			ordered = j
			x.putFittingLast(from.pods, below)
		}
		rest := len(from.pods) - move
		for _, v := range from.pods[rest:] {
			if !x.s.nodeFit || x.fitsBelow(v.pod, below) {
				v.why = spreadViolated(sp, from.id, to.id, len(from.pods), len(to.pods))
				out = append(out, v)
			} else {
				x.c.Tell(v.pod, func() plan.Reason { return fitsNoSmaller(sp, from.id) })
			}
		}
		to.pods = append(to.pods, from.pods[rest:]...)
		from.pods = from.pods[:rest]
	}
	return out
}

// peerMoves is how many pods the peer moves from a domain to a smaller one.
func peerMoves(from, to int, average float64, maxSkew int) int {
	skew := from - to
	if skew <= maxSkew {
		return 0
	}
	above := math.Ceil(float64(from) - average)
	under := math.Ceil(average - float64(to))
	half := math.Ceil(float64(skew-maxSkew) / 2)
	return int(min(above, under, half))
}

// list sorts the pods that the peer counts into domains.
func (x *spreader) list(sp *spread) int {
	if n := len(sp.domains.values); len(x.peer.lists) < n {
		x.peer.lists = append(x.peer.lists, make([][]victim, n-len(x.peer.lists))...)
	}
	if x.peer.fits == nil {
		x.peer.fits = map[*cluster.Spec]bool{}
	}
	total := 0
	for _, group := range sp.groups {
		if !group.selected {
			continue
		}
		for _, p := range group.pods {
			id := sp.domains.of[p.Node.Index]
			if id == noDomain || x.c.View.Gone(p) || !x.c.Evictable(p) {
				continue
			}
			if len(x.peer.lists[id]) == 0 {
				x.peer.touched = append(x.peer.touched, id)
			}
			x.peer.lists[id] = append(x.peer.lists[id], victim{pod: p, group: group})
			total++
		}
	}
	if len(sp.groups) > 1 {
		for _, id := range x.peer.touched {
			slices.SortFunc(x.peer.lists[id], func(a, b victim) int { return cmp.Compare(a.pod.Index, b.pod.Index) })
		}
	}
	return total
}

// tell tells the stories of the listed pods, whose constraint is kept.
func (x *spreader) tell(sp *spread) {
	kept := func() plan.Reason { return spreadKept(sp) }
	for _, id := range x.peer.touched {
		for i := range x.peer.lists[id] {
			x.c.Tell(x.peer.lists[id][i].pod, kept)
		}
	}
}

func (x *spreader) unlist() {
	for _, id := range x.peer.touched {
		x.peer.lists[id] = x.peer.lists[id][:0]
	}
	x.peer.touched = x.peer.touched[:0]
}

// balanced reports whether no two domains differ by more than the rule allows, and how many domains there are.
func (x *spreader) balanced(sp *spread) (ok bool, domains int) {
	domains = len(sp.domains.present)
	most, fewest := 0, math.MaxInt
	for _, id := range x.peer.touched {
		n := len(x.peer.lists[id])
		most, fewest = max(most, n), min(fewest, n)
		if len(sp.domains.nodes[id]) == 0 {
			domains++
		}
	}
	if domains > len(x.peer.touched) {
		fewest = 0
	}
	return domains == 0 || most-fewest <= int(sp.rule.MaxSkew), domains
}

// sort lists all domains by their numbers of pods. The lists are copies, because the pods that are moved are appended to them.
func (x *spreader) sort(sp *spread) []peerDomain {
	sorted := x.peer.sorted[:0]
	for _, id := range sp.domains.present {
		if len(x.peer.lists[id]) == 0 {
			sorted = append(sorted, peerDomain{id: id})
		}
	}
	empty := len(sorted)
	slices.Sort(x.peer.touched)
	for _, id := range x.peer.touched {
		sorted = append(sorted, peerDomain{id: id, pods: slices.Clone(x.peer.lists[id])})
	}
	slices.SortStableFunc(sorted[empty:], func(a, b peerDomain) int { return cmp.Compare(len(a.pods), len(b.pods)) })
	x.peer.sorted = sorted
	return sorted
}

// smaller are the domains that have fewer pods than the average.
type smaller struct {
	*domains
	ids  []int32
	hint int    // where in ids the last answer came from
	has  []bool // by domain; nil until it is needed
}

func belowAverage(sp *spread, sorted []peerDomain, average float64) *smaller {
	below := &smaller{domains: sp.domains}
	for i := range sorted {
		if float64(len(sorted[i].pods)) >= average {
			break
		}
		below.ids = append(below.ids, sorted[i].id)
	}
	return below
}

// part is their nodes, to look for one with room.
func (s *smaller) part() fit.Part {
	if s.has == nil {
		s.has = make([]bool, len(s.values))
		for _, id := range s.ids {
			s.has[id] = true
		}
	}
	return fit.Part{Of: s, Has: func(n *cluster.Node) bool {
		id := s.countedIn(n)
		return id != noDomain && s.has[id]
	}}
}

// fitsBelow reports whether the pod fits on an eligible node of a domain below the average; it never is on one itself.
func (x *spreader) fitsBelow(p *cluster.Pod, below *smaller) bool {
	same := len(p.Spec.AntiAffinity) == 0 // then the answer is the same for every pod of the spec
	if ok, known := x.peer.fits[p.Spec]; known && same {
		return ok
	}
	ok, all := x.fitsNext(p, below)
	if !ok && !all {
		ok = x.fit.AnyOf(p, below.part()) != nil
	}
	if same {
		x.peer.fits[p.Spec] = ok
	}
	return ok
}

// fitsNext looks at a few nodes; all tells that there are no others.
func (x *spreader) fitsNext(p *cluster.Pod, below *smaller) (ok, all bool) {
	left := fit.LookAhead
	for i := range below.ids {
		at := (below.hint + i) % len(below.ids)
		for _, n := range below.from(below.ids[at]) {
			if x.fit.Fits(p, n) {
				below.hint = at
				return true, false
			}
			if left--; left == 0 {
				return false, false
			}
		}
	}
	return false, true
}

func (x *spreader) putFittingLast(pods []victim, below *smaller) {
	slices.SortStableFunc(pods, func(a, b victim) int {
		return cmp.Compare(truth(x.fitsBelow(a.pod, below)), truth(x.fitsBelow(b.pod, below)))
	})
}

// peerOrder is the order of a domain's pods, those to be moved last.
func peerOrder(a, b victim) int {
	return cmp.Or(
		-cmp.Compare(truth(hasNodePreference(a.pod)), truth(hasNodePreference(b.pod))),
		cmp.Compare(priority(a.pod), priority(b.pod)),
	)
}
