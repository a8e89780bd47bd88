package strategy

import (
	"cmp"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// evenOut proposes the moves for the constraints of one namespace, by our rules. Constraints with fewer domains come first: what is
// moved between zones for one can be placed so that the nodes are even, too. For the constraints up to any point, together no
// more pods are proposed than the peer would evict for them.
func (x *spreader) evenOut(spreads []*spread) plan.Scope {
	order := slices.DeleteFunc(slices.Clone(spreads), func(sp *spread) bool { return !sp.listed })
	slices.SortStableFunc(order, func(a, b *spread) int { return cmp.Compare(len(a.domains.present), len(b.domains.present)) })
	peers, proposed := map[*cluster.Pod]bool{}, 0
	for _, sp := range order {
		for _, v := range sp.victims {
			if x.c.PreEviction(v.pod) {
				peers[v.pod] = true
			}
		}
		if len(peers) == proposed {
			continue
		}
		b := &evening{spreader: x, sp: sp, room: len(peers) - proposed}
		stop := b.run()
		proposed = len(peers) - b.room
		if stop == plan.ThisCycle {
			return stop
		}
	}
	return plan.ThisPod
}

// evening moves pods for one constraint: one at a time from the largest domain that has pods to move to the smallest that can
// take them, until no two domains differ by more than maxSkew. That takes the fewest moves.
type evening struct {
	*spreader
	sp     *spread
	room   int // for so many more proposals
	movers map[int32]*movers
	joint  bool     // some pod has another constraint
	grown  int      // how often crowds of several domains may have grown
	stuck  []victim // no smaller domain can take them
	// spent is how many domains, from the end of the order, have no pods to move any more.
	spent int
	// shut is how many domains, from the beginning of the order, can't take pods of a spec that placement and room alone matter to. Nothing
	// leaves such a domain as long as others have more pods, so that stays so.
	shut   map[*cluster.Spec]int
	floors map[int32]floor // by domain
	ended  bool            // not all nodes were looked at for the pod at hand
	// the last answer of othersOf
	asked   carrier
	answer  []*spread
	carries bool
}

func (b *evening) run() plan.Scope {
	b.count(b.sp)
	b.findMovers()
	for b.room > 0 {
		from, ok := b.largest()
		if !ok {
			break
		}
		if b.moveOne(from) == plan.ThisCycle {
			return plan.ThisCycle
		}
	}
	// What could not be moved and should have been goes on record.
	for _, v := range b.stuck[:min(len(b.stuck), b.room)] {
		c := b.sp.counts
		from := b.sp.domains.countedIn(v.pod.Node)
		if c.count[from]-c.fewest() <= b.sp.rule.MaxSkew {
			continue
		}
		reason := nowhereToSpread(b.sp, from)
		if v.ended {
			reason = b.c.Effort.End()
		}
		b.c.Refuse(v.pod, gateStrategy, reason)
	}
	return plan.ThisPod
}

// count counts the pods of a constraint as the scheduler does: all that the selector selects, on the nodes that the inclusion
// policies let in, those that are expected there too.
func (x *spreader) count(sp *spread) *domainCounts {
	if sp.counts != nil {
		return sp.counts
	}
	c := newDomainCounts(sp.domains)
	add := func(n *cluster.Node) {
		if id := sp.domains.countedIn(n); id != noDomain {
			c.count[id]++
		}
	}
	for _, group := range sp.groups {
		for _, p := range group.pods {
			if !x.c.View.Gone(p) {
				add(p.Node)
			}
		}
		for _, n := range group.arrivals {
			add(n)
		}
		x.follow[group] = append(x.follow[group], sp)
	}
	c.sort()
	sp.counts = c
	return c
}

// findMovers lists, by domain, the pods that may be moved: those that carry the constraint, the first to go first.
func (b *evening) findMovers() {
	b.movers, b.shut, b.floors = map[int32]*movers{}, map[*cluster.Spec]int{}, map[int32]floor{}
	for _, group := range b.sp.groups {
		if !group.selected {
			continue
		}
		for _, p := range group.pods {
			id := b.sp.domains.countedIn(p.Node)
			if id == noDomain || b.c.View.Gone(p) || !b.c.Evictable(p) {
				continue
			}
			if others, carries := b.othersOf(carrier{group, p.Spec}); carries {
				m := b.movers[id]
				if m == nil {
					m = &movers{}
					b.movers[id] = m
				}
				m.list = append(m.list, victim{pod: p, group: group, others: others})
				b.joint = b.joint || len(others) > 0
			}
		}
	}
	for _, m := range b.movers {
		slices.SortFunc(m.list, func(a, b victim) int { return moveFirst(a.pod, b.pod) })
	}
}

// othersOf lists the constraints that pods carry besides this one, and reports whether they carry this one.
func (b *evening) othersOf(as carrier) (others []*spread, carries bool) {
	if b.asked == as {
		return b.answer, b.carries
	}
	b.asked, b.answer, b.carries = as, nil, false
	for _, sp := range b.carried[as] {
		if sp == b.sp {
			b.carries = true
			continue
		}
		b.count(sp)
		b.answer = append(b.answer, sp)
	}
	return b.answer, b.carries
}

// largest is the domain with the most pods of which some may still be moved, if it has too many.
func (b *evening) largest() (int32, bool) {
	c := b.sp.counts
	for ; b.spent < len(c.order); b.spent++ {
		id := c.order[len(c.order)-1-b.spent]
		if c.count[id]-c.fewest() <= b.sp.rule.MaxSkew {
			break
		}
		if m := b.movers[id]; m != nil && !m.empty() {
			return id, true
		}
	}
	return 0, false
}

// moveOne proposes the next pod of a domain.
func (b *evening) moveOne(from int32) plan.Scope {
	v := b.movers[from].next(b.joint, b.grown)
	if b.full[v.pod.Node] {
		return plan.ThisPod
	}
	b.ended = false
	to, nodes := b.target(from, &v)
	if v.ended = b.ended; nodes == nil {
		b.stuck = append(b.stuck, v)
		return plan.ThisPod
	}
	c := b.sp.counts
	before := len(b.c.View.Changed())
	why := Why{Reason: spreadViolated(b.sp, from, to, int(c.count[from]), int(c.count[to])), Targets: nodes, Forced: b.sp.rule.hard()}
	why.Alike = domainFrom{b.sp.domains, to, b.sp.domains.next[to]}
	if len(v.others) > 0 {
		why.Alike = crowdTo{why.Alike.(domainFrom), v.pod.Node, &v.others[0]}
		why.Rest = func() []*cluster.Node { return b.acceptable(to, &v) }
	}
	verdict := b.c.Try(v.pod, why)
	b.room--
	if !verdict.Accepted {
		if verdict.Stop == plan.ThisNode {
			b.full[v.pod.Node] = true
		}
		return verdict.Stop
	}
	b.moved(v, bookedSince(b.c.View, before, v.pod))
	return plan.ThisPod
}

// target finds the smallest domain that can take the pod, and its nodes, the best first.
func (b *evening) target(from int32, v *victim) (int32, []*cluster.Node) {
	c, skew := b.sp.counts, b.sp.rule.MaxSkew
	alike := len(v.others) == 0 && len(v.pod.Spec.AntiAffinity) == 0
	begin := 0
	if alike {
		begin = b.shut[v.pod.Spec]
	}
	for i := begin; i < len(c.order); i++ {
		to := c.order[i]
		if c.count[from]-c.count[to] <= skew || b.sp.rule.hard() && c.count[to]+1-b.sp.least() > skew {
			break
		}
		if i-begin >= fit.LookAhead {
			if b.c.Effort.Over() {
				b.ended = true
				break
			}
			b.c.Effort.Spend(1)
		}
		if nodes := b.nodesFor(to, v); nodes != nil {
			return to, nodes
		}
		if alike && !b.ended && i == b.shut[v.pod.Spec] {
			b.shut[v.pod.Spec]++
		}
	}
	return 0, nil
}

// least is what the scheduler takes for the smallest count: 0 while there are fewer domains than minDomains.
func (sp *spread) least() int32 {
	if int(sp.rule.MinDomains) > len(sp.domains.present) {
		return 0
	}
	return sp.counts.fewest()
}

// nodesFor lists nodes of a domain on which the pod could run, beginning with one on which it can; nil means none. For a pod of several
// constraints it is the best node alone.
func (b *evening) nodesFor(to int32, v *victim) []*cluster.Node {
	if len(v.others) > 0 {
		return b.bestFor(to, v)
	}
	d := b.sp.domains
	next := d.from(to)
	few := next[:min(len(next), fit.LookAhead)]
	switch i := slices.IndexFunc(few, func(n *cluster.Node) bool { return b.fit.Fits(v.pod, n) }); {
	case i >= 0:
		d.skip(to, i)
	case len(few) == len(next):
		return nil
	default:
		n := b.fit.AnyOf(v.pod, d.part(to))
		if n == nil {
			b.ended = b.ended || b.fit.GaveUp(v.pod)
			return nil
		}
		d.begin(n)
	}
	return d.from(to)
}

// moved makes every count of the namespace see a move; at is where the replacement is expected, nil when it is not known.
func (b *evening) moved(v victim, at *cluster.Node) {
	for _, sp := range b.follow[v.group] {
		if id := sp.domains.countedIn(v.pod.Node); id != noDomain {
			sp.counts.down(id)
			b.shrank(sp, id, v.pod.Node)
		}
		if at == nil {
			continue
		}
		if id := sp.domains.countedIn(at); id != noDomain {
			sp.counts.up(id)
			b.grew(sp, id, at)
		}
	}
	if at != nil {
		v.group.arrivals = append(v.group.arrivals, at)
		if id := b.sp.domains.countedIn(at); id != noDomain {
			b.sp.domains.skip(id, 1)
		}
	}
}
