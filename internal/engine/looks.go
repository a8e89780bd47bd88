package engine

import (
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/gate"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// A cycle looks again. What it moves makes room, fills nodes and evens counts, so that other pods can move, or a node turns out the wrong one for a pod that is to
// start there. Left to the next cycle, that would move pods in dribs and drabs, and some of them twice. So the cycle looks at the cluster as it will be, with the
// replacements where room was booked, until it finds nothing more to move. The plan is what all looks come to, and has each pod once at most.
const (
	maxLooks = 8 // two do for most clusters
	// smallCluster is up to how many pods a cycle looks again in any case. In a larger one a look takes its time, so there are not as many; and while something
	// is held back for now, another cycle is to follow anyway, and what is left is left to that.
	smallCluster   = 2000
	maxLooksLarger = 3
)

// course is what the looks of a cycle came to so far.
type course struct {
	start *cluster.Snapshot
	plan  *plan.Plan

	// counts that go on from look to look
	limits  *gate.Counter
	allowed *allowance
	budgets *gate.Budgets
	gentle  *gate.Gentle
	starts  *gate.Starts
	bare    map[string]int
	effort  *fit.Effort

	moves  []plan.Move                           // in order; those that came to nothing have no Seq
	at     map[*cluster.PodInfo]int              // of pods of start: their moves
	origin map[*cluster.PodInfo]*cluster.PodInfo // of replacements, in the cluster that is looked at: the pods of start
	off    map[usedNode]int                      // how many pods each strategy moves off a node
}

type usedNode struct{ profile, strategy, node string }

// settle looks at the cluster again and again after a first look, and returns what that came to.
func settle(first *cycle, p *policy.Policy, o Options) (*plan.Plan, error) {
	if !first.goesOn(1) {
		return first.plan, nil
	}
	x := &course{
		start: first.view.Snapshot, plan: first.plan, limits: first.limits, allowed: first.allowed, budgets: first.budgets, gentle: first.gentle, starts: first.starts, bare: first.bare, effort: first.effort,
		at: map[*cluster.PodInfo]int{}, origin: map[*cluster.PodInfo]*cluster.PodInfo{}, off: map[usedNode]int{},
	}
	o.Around = nil // its strategies are measured once
	x.allowed.goOn()
	x.take(first)
	c := first
	for looks := 1; c.goesOn(looks); looks++ {
		var err error
		if c, err = look(x.snapshot(), p, o, x); err != nil {
			return nil, err
		}
		x.take(c)
	}
	return x.sum(), nil
}

// goesOn reports whether another look, after so many, is to be had: whether it may find more to move.
func (c *cycle) goesOn(looks int) bool {
	switch {
	case c.opts.Compat || c.measured:
		return false
	case !slices.ContainsFunc(c.plan.Moves, func(m plan.Move) bool { return m.Room != "" }):
		return false
	}
	if len(c.view.Pods) <= smallCluster {
		return looks < maxLooks
	}
	return looks < maxLooksLarger && !slices.ContainsFunc(c.plan.Refusals, func(r plan.Refusal) bool { return heldBack(r.Gate) })
}

// heldBack reports whether what a gate refuses may well be moved in the next cycle.
func heldBack(by string) bool {
	return by == GateLimit || by == GateBudget || by == GateGentle || by == GatePace
}

// again reports whether p stands for a replacement: moving it is no further eviction. There are none in the first look.
func (x *course) again(p *cluster.Pod) bool { return x != nil && x.origin[p.PodInfo] != nil }

// take adds what a look came to. A pod that it moved on goes where it goes now, after all others; one that it moved back stays.
func (x *course) take(c *cycle) {
	for _, m := range c.plan.Moves {
		info := c.view.Pod(m.Pod.Namespace, m.Pod.Name).PodInfo
		if pod := x.origin[info]; pod != nil {
			i := x.at[pod]
			old := &x.moves[i]
			old.Seq, m = 0, onward(*old, m)
			if m.Room == m.Node {
				delete(x.at, pod)
				x.spare(pod)
				continue
			}
			info = pod
		} else {
			x.off[usedNode{m.Profile, m.Strategy, m.Node}]++
		}
		x.at[info] = len(x.moves)
		x.moves = append(x.moves, m)
	}
	if c.plan != x.plan {
		x.addRefusals(c)
	}
}

// spare is told that a pod stays after all.
func (x *course) spare(p *cluster.PodInfo) {
	if key := bareKey(x.start, p); key != "" {
		if x.bare[key]--; x.bare[key] == 0 {
			delete(x.bare, key)
		}
	}
}

// addRefusals adds what a further look refused, and the story if it is about a pod that it moves. Of a pod that it moves, nothing is said any more that was refused before.
func (x *course) addRefusals(c *cycle) {
	moved := map[plan.PodRef]bool{}
	for _, m := range c.plan.Moves {
		moved[m.Pod] = true
	}
	known := map[asked]bool{}
	x.plan.Refusals = slices.DeleteFunc(x.plan.Refusals, func(r plan.Refusal) bool {
		known[askedOf(&r)] = true
		return moved[r.Pod]
	})
	for _, r := range c.plan.Refusals {
		if p := c.view.Pod(r.Pod.Namespace, r.Pod.Name); !known[askedOf(&r)] && !x.again(p) {
			x.plan.Refusals = append(x.plan.Refusals, r)
		}
	}
	if c.watched != nil && moved[refOf(c.watched)] && !x.again(c.watched) {
		x.plan.Story = c.plan.Story
	}
}

// asked is what a refusal answers.
type asked struct {
	pod                     plan.PodRef
	profile, strategy, gate string
}

func askedOf(r *plan.Refusal) asked { return asked{r.Pod, r.Profile, r.Strategy, r.Gate} }

// onward is a move that is followed by another of the same pod.
func onward(m, then plan.Move) plan.Move {
	if then.Room != "" {
		m.Room = then.Room
	}
	return m
}

// snapshot is the cluster with the replacements where room is booked for them. Where none is, the pod is just gone.
func (x *course) snapshot() *cluster.Snapshot {
	clear(x.origin)
	left := make(map[*cluster.PodInfo]*cluster.PodInfo, len(x.at))
	for pod, i := range x.at {
		if room := x.moves[i].Room; room != "" {
			left[pod] = pod.Replacement(room, x.start.TakenAt)
			x.origin[left[pod]] = pod
		} else {
			left[pod] = nil
		}
	}
	return x.start.After(left)
}

// sum is the plan of all looks: their moves and refusals, and the summary of the first, counted anew.
func (x *course) sum() *plan.Plan {
	x.plan.Moves = slices.DeleteFunc(x.moves, func(m plan.Move) bool { return m.Seq == 0 })
	by := x.plan.Summary.ByStrategy
	of := func(profile, strategy string) *plan.StrategyCount {
		return &by[slices.IndexFunc(by, func(c plan.StrategyCount) bool { return c.Profile == profile && c.Strategy == strategy })]
	}
	for i := range by {
		by[i].Moves, by[i].Refusals = 0, 0
	}
	for i := range x.plan.Moves {
		m := &x.plan.Moves[i]
		m.Seq = i + 1
		of(m.Profile, m.Strategy).Moves++
	}
	for i := range x.plan.Refusals {
		of(x.plan.Refusals[i].Profile, x.plan.Refusals[i].Strategy).Refusals++
	}
	summarize(x.plan, x.bare)
	return x.plan
}

// movedOff is how many pods a strategy has moved off a node in earlier looks.
func (x *course) movedOff(profile, name string) func(*cluster.Node) int {
	return func(n *cluster.Node) int {
		if x == nil {
			return 0
		}
		return x.off[usedNode{profile, name, n.Name}]
	}
}

// measuring reports whether a strategy goes by measurements, which say nothing of the cluster as it will be.
func measuring(profiles []profile) bool {
	for i := range profiles {
		for j := range profiles[i].uses {
			if m, ok := profiles[i].uses[j].strategy.(strategy.Measuring); ok && m.Measures() {
				return true
			}
		}
	}
	return false
}
