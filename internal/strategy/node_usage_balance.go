package strategy

import (
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// nodeBalance moves pods off some nodes and onto others by what the nodes use: what LowNodeUtilization and
// HighNodeUtilization have in common.
//
// The peer takes the source nodes by the sum of their raw numbers, and from each the least important pods for as long as the node is above its
// ceiling and the target nodes together have something left of every resource. Which target could take a pod is not looked at.
// By default the same is worked out first without moving anything: that gives each node a quota. Then the nodes are taken by
// their percentages, and a pod moves only if that helps and some target can take it and stay within its ceiling.
type nodeBalance struct {
	c        *Cycle
	rs       usedResources
	meter    meter
	sources  []*nodeUsage
	targets  []*nodeUsage
	perNode  *uint                   // nil: no limit for a node
	excluded map[string]bool         // namespaces
	selects  func(*cluster.Pod) bool // nil: every pod
	drain    bool                    // pods leave until the budget is spent, not until the node is within its ceiling
	reason   func(*nodeUsage) plan.Reason

	said      said
	rehearsal bool // setQuotas is at work
	tolerated map[*cluster.Placement]bool
}

// said is the case that was last made for moves off a node.
type said struct {
	u      *nodeUsage // nil when something was moved since
	reason plan.Reason
}

// because makes the case for moves off a node, once until something is moved.
func (b *nodeBalance) because(u *nodeUsage) plan.Reason {
	if b.said.u != u {
		b.said = said{u, b.reason(u)}
	}
	return b.said.reason
}

// run proposes the moves.
func (b *nodeBalance) run(order func([]*nodeUsage)) {
	peerOrder := sortByRaw
	if b.drain {
		peerOrder = sortByRawAscending
	}
	peerOrder(b.sources)
	if b.c.Compat {
		b.likeThePeer(b.sources, func(p *cluster.Pod, u *nodeUsage) plan.Verdict { return b.c.Try(p, Why{Reason: b.because(u)}) })
		return
	}
	b.setQuotas()
	order(b.sources)
	left, rec := b.budget(), newReceivers(b.rs, b.targets, b.meter.kind(), b.c.Effort)
	for _, u := range b.sources {
		if b.relieve(u, left, rec) == plan.ThisCycle {
			return
		}
	}
}

// budget is what the targets have left below their ceilings, together.
func (b *nodeBalance) budget() []int64 {
	left := make([]int64, len(b.rs))
	for _, u := range b.targets {
		for i := range left {
			left[i] += u.ceiling[i] - u.use[i]
		}
	}
	return left
}

// goesOn reports whether another pod is to leave the node.
func (b *nodeBalance) goesOn(u *nodeUsage, left []int64) bool {
	for _, v := range left {
		if v < 1 {
			return false
		}
	}
	return b.drain || u.aboveCeiling()
}

// removable are the node's pods that may be moved, the least important first.
func (b *nodeBalance) removable(n *cluster.Node) []*cluster.Pod {
	var pods []*cluster.Pod
	for p := range b.c.View.PodsOn(n) {
		if p.Terminal() || !b.c.Evictable(p) {
			continue
		}
		if b.selects == nil || b.selects(p) {
			pods = append(pods, p)
		} else if !b.rehearsal {
			b.c.Tell(p, notSelected)
		}
	}
	SortLeastImportantFirst(pods)
	return pods
}

// setQuotas plays the peer's part without moving anything.
func (b *nodeBalance) setQuotas() {
	copies := make([]*nodeUsage, len(b.sources))
	for i, u := range b.sources {
		twin := *u
		twin.use = slices.Clone(u.use)
		copies[i] = &twin
	}
	b.rehearsal = true
	defer func() { b.rehearsal = false }()
	counts := b.likeThePeer(copies, func(*cluster.Pod, *nodeUsage) plan.Verdict { return plan.Verdict{Accepted: true} })
	for i, u := range b.sources {
		u.quota = counts[i]
	}
}

// likeThePeer proposes moves as the peer does and returns how many pods left each source.
func (b *nodeBalance) likeThePeer(sources []*nodeUsage, try func(*cluster.Pod, *nodeUsage) plan.Verdict) []int {
	counts, left := make([]int, len(sources)), b.budget()
	for i, u := range sources {
		if !b.goesOn(u, left) {
			continue
		}
		var stop plan.Scope
		if counts[i], stop = b.peerNode(u, left, try); stop == plan.ThisCycle {
			break
		}
	}
	return counts
}

func (b *nodeBalance) peerNode(u *nodeUsage, left []int64, try func(*cluster.Pod, *nodeUsage) plan.Verdict) (moved int, stop plan.Scope) {
	use := make([]int64, len(b.rs))
	before := b.c.MovedOff(u.node)
	for _, p := range b.removable(u.node) {
		if b.perNode != nil && uint(before+moved) >= *b.perNode {
			break
		}
		if !b.tolerates(p) || b.excluded[p.Namespace] || !b.c.PreEviction(p) {
			continue
		}
		known := b.meter.pod(p, use)
		if !known && b.meter.kind() != byQuery {
			continue
		}
		if v := try(p, u); !v.Accepted {
			if v.Stop == plan.ThisNode || v.Stop == plan.ThisCycle {
				return moved, v.Stop
			}
			continue
		}
		moved++
		if !known {
			if b.perNode == nil {
				break // without knowing what the move changed, one has to do
			}
			continue
		}
		b.take(u, left, use)
		if !b.goesOn(u, left) {
			break
		}
	}
	return moved, plan.ThisPod
}

// take moves what a pod uses from its node to the targets.
func (b *nodeBalance) take(u *nodeUsage, left, use []int64) {
	b.said.u = nil
	for i, v := range use {
		u.use[i] -= v
		left[i] -= v
	}
}

// tolerates reports whether at least one target has no taint that the pod does not tolerate. For the peer taints of any effect count, and a
// target with more taints than the pod has tolerations is out, even if one toleration covers them all.
func (b *nodeBalance) tolerates(p *cluster.Pod) bool {
	pl := p.Spec.Placement
	if ok, known := b.tolerated[pl]; known {
		return ok
	}
	ok := slices.ContainsFunc(b.targets, func(u *nodeUsage) bool {
		if b.c.misreads() {
			return toleratedLikeThePeer(u.node, pl)
		}
		_, found := fit.Untolerated(u.node.Taints, pl.Tolerations, fit.HardTaint)
		return !found
	})
	if b.tolerated == nil {
		b.tolerated = map[*cluster.Placement]bool{}
	}
	b.tolerated[pl] = ok
	return ok
}

// relieve moves pods off one node, by our rules.
func (b *nodeBalance) relieve(u *nodeUsage, left []int64, rec *receivers) plan.Scope {
	use := make([]int64, len(b.rs))
	moved := 0
	for _, p := range b.removable(u.node) {
		known := b.meter.pod(p, use)
		if !known {
			clear(use)
		}
		if moved >= u.quota || !b.goesOn(u, left) {
			b.c.Tell(p, func() plan.Reason { return b.stays(u, p, use, known, moved) })
			continue
		}
		if why := b.unsuitable(u, p, use, known); why != nil {
			b.c.Tell(p, why)
			continue
		}
		v, at := b.try(u, p, use, rec)
		if !v.Accepted {
			if v.Stop == plan.ThisNode || v.Stop == plan.ThisCycle {
				return v.Stop
			}
			continue
		}
		moved++
		b.take(u, left, use)
		rec.book(at, use)
		if !known && b.perNode == nil {
			break
		}
	}
	return plan.ThisPod
}

// unsuitable says why a pod is not proposed at all; nil when nothing speaks against it.
func (b *nodeBalance) unsuitable(u *nodeUsage, p *cluster.Pod, use []int64, known bool) func() plan.Reason {
	switch {
	case b.excluded[p.Namespace]:
		return func() plan.Reason { return namespaceExcluded(p) }
	case !known && b.meter.kind() != byQuery:
		return func() plan.Reason { return podUsageUnknown(p) }
	case known && !b.drain && !helps(u, use):
		return func() plan.Reason { return b.rs.noHelp(u) }
	case !b.tolerates(p):
		return func() plan.Reason { return toleratesNone(len(b.targets)) }
	case !b.c.PreEviction(p):
		return heldBack
	}
	return nil
}

// helps reports whether the pod uses something of what the node uses too much of.
func helps(u *nodeUsage, use []int64) bool {
	for i, v := range use {
		if v > 0 && u.use[i] > u.ceiling[i] {
			return true
		}
	}
	return false
}

// try proposes one pod to the targets that could take it. On acceptance at is the target on which room was booked, nil when none was.
func (b *nodeBalance) try(u *nodeUsage, p *cluster.Pod, use []int64, rec *receivers) (v plan.Verdict, at *cluster.Node) {
	why, ok := rec.propose(use, Why{Reason: b.because(u)})
	if !ok {
		reason := b.rs.overloads(use, rec.left(), len(b.targets))
		if rec.ended {
			reason = b.c.Effort.End()
		}
		b.c.Refuse(p, gateStrategy, reason)
		return plan.Verdict{Gate: gateStrategy, Reason: reason}, nil
	}
	before := len(b.c.View.Changed())
	v = b.c.Try(p, why)
	if !v.Accepted {
		return v, nil
	}
	return v, bookedSince(b.c.View, before, p)
}

// bookedSince is the node on which room was booked for a replacement of p since the view had seen so many changes.
func bookedSince(view *cluster.View, changes int, p *cluster.Pod) *cluster.Node {
	for _, i := range view.Changed()[changes:] {
		if n := view.Nodes[i]; n != p.Node {
			return n
		}
	}
	return nil
}

// stays says why a pod that could move stays once its node has been dealt with.
func (b *nodeBalance) stays(u *nodeUsage, p *cluster.Pod, use []int64, known bool, moved int) plan.Reason {
	if !b.drain && !u.aboveCeiling() {
		return b.rs.withinTarget(u)
	}
	if why := b.unsuitable(u, p, use, known); why != nil {
		return why()
	}
	return enoughMoved(moved)
}
