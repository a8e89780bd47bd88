package strategy

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// usageWatch follows what the nodes of a cycle use.
type usageWatch struct {
	rs     usedResources
	meter  meter
	byNode []*nodeUsage // by node index; nil: not of the cycle, or not known
	under  int          // how many nodes are at or below the low thresholds, and how many of those can be scheduled on
	vacant int
	others int // how many of the rest can be scheduled on
	pod    []int64
}

func newUsageWatch(c *Cycle, rs usedResources, m meter, nodes []*nodeUsage) *usageWatch {
	w := &usageWatch{rs: rs, meter: m, byNode: make([]*nodeUsage, len(c.View.Nodes)), pod: make([]int64, len(rs))}
	for _, u := range nodes {
		w.byNode[u.node.Index] = u
		if m.kind() == byMeasures {
			w.catchUp(c.View, u)
		}
		w.tally(u, 1)
	}
	return w
}

// catchUp brings what was measured of a node up to the moves that were taken since. Requests, and the number of pods, are the view's and need none of it.
func (w *usageWatch) catchUp(view *cluster.View, u *nodeUsage) {
	for _, p := range u.node.Pods {
		if view.Gone(p) && !p.Terminal() {
			w.add(u, p, -1)
		}
	}
	for _, p := range view.Arrivals(u.node) {
		w.add(u, p, 1)
	}
	for i := range w.rs {
		if w.rs[i].id == cluster.Pods {
			u.use[i] = view.Used(u.node).Get(cluster.Pods)
		}
	}
}

func (w *usageWatch) tally(u *nodeUsage, by int) {
	switch low := w.rs.below(u); {
	case low && u.node.Unschedulable:
		w.under += by
	case low:
		w.under, w.vacant = w.under+by, w.vacant+by
	case !u.node.Unschedulable:
		w.others += by
	}
}

// add changes what the node uses by what the pod does, as far as that is known: of a pod that was not measured, that it is one.
func (w *usageWatch) add(u *nodeUsage, p *cluster.Pod, by int64) {
	known := w.meter.pod(p, w.pod)
	for i, v := range w.pod {
		switch {
		case known:
			u.use[i] += by * v
		case w.meter.kind() == byMeasures && w.rs[i].id == cluster.Pods:
			u.use[i] += by
		}
	}
}

// objection is about the node as it would be with p on it; message puts that into words.
func (w *usageWatch) objection(u *nodeUsage, p *cluster.Pod, code string, message func(*nodeUsage) string) func() plan.Reason {
	return func() plan.Reason {
		w.add(u, p, 1)
		defer w.add(u, p, -1)
		return plan.Reason{Code: code, Message: message(u), Numbers: w.rs.usageNumbers(u)}
	}
}

// at is the usage of a node; nil when it is not known, or no node of the cycle.
func (w *usageWatch) at(n *cluster.Node) *nodeUsage {
	if n == nil {
		return nil
	}
	return w.byNode[n.Index]
}

// Moved implements Opinion.
func (w *usageWatch) Moved(p *cluster.Pod, to *cluster.Node) {
	if p.Terminal() {
		return
	}
	w.change(p.Node, p, -1)
	w.change(to, p, 1)
}

func (w *usageWatch) change(n *cluster.Node, p *cluster.Pod, by int64) {
	if u := w.at(n); u != nil {
		w.tally(u, -1)
		w.add(u, p, by)
		w.tally(u, 1)
	}
}

// lowUsageOpinion is that of LowNodeUtilization: no node is to be over its target as long as there are under-used ones.
type lowUsageOpinion struct {
	*usageWatch
	s       *lowNodeUtilization
	c       *Cycle
	spare   int   // with so many under-used nodes nothing is done
	movable []int // by node index: how many pods there the strategy may move; notCounted until it is asked for
}

const notCounted = -1

// Opinion implements Opinionated.
func (s *lowNodeUtilization) Opinion(c *Cycle) Opinion {
	rs := newUsedResources(c.View.Resources, s.args.Thresholds, s.args.TargetThresholds, s.args.UsageSource() == PrometheusMetrics)
	m, err := newMeter(s.args, c.View, rs)
	if err != nil {
		return nil
	}
	nodes, missing, _ := measureNodes(c.Nodes, m, rs)
	if s.args.UseDeviationThresholds {
		if len(missing) > 0 {
			return nil
		}
		rs.around(nodes)
	}
	rs.setCeilings(nodes)
	return &lowUsageOpinion{
		usageWatch: newUsageWatch(c, rs, m, nodes), s: s, c: c, spare: max(0, s.args.NumberOfNodes),
		movable: slices.Repeat([]int{notCounted}, len(c.View.Nodes)),
	}
}

// mayMove reports whether the strategy may move p.
func (o *lowUsageOpinion) mayMove(p *cluster.Pod) bool {
	return !p.Terminal() && !o.s.excluded[p.Namespace] && o.c.Evictable(p)
}

// mayRelieve reports whether the strategy may move some pod away from n.
func (o *lowUsageOpinion) mayRelieve(n *cluster.Node) bool {
	count := &o.movable[n.Index]
	if *count == notCounted {
		*count = 0
		for p := range o.c.View.PodsOn(n) {
			o.recount(p, n, 1)
		}
		for _, p := range o.c.View.Arrivals(n) {
			o.recount(p, n, 1)
		}
	}
	return *count > 0
}

func (o *lowUsageOpinion) recount(p *cluster.Pod, n *cluster.Node, by int) {
	if n != nil && o.movable[n.Index] != notCounted && o.mayMove(p) {
		o.movable[n.Index] += by
	}
}

// Moved implements Opinion.
func (o *lowUsageOpinion) Moved(p *cluster.Pod, to *cluster.Node) {
	o.usageWatch.Moved(p, to)
	o.recount(p, p.Node, -1)
	o.recount(p, to, 1)
}

// Against implements Opinion.
func (o *lowUsageOpinion) Against(p *cluster.Pod, n *cluster.Node) func() plan.Reason {
	u := o.at(n)
	if u == nil || !o.overloads(u, p) || o.underUsed(p, u) <= o.spare || !o.mayMove(p) && !o.mayRelieve(n) {
		return nil
	}
	return o.objection(u, p, "WouldBeOverUtilized", o.overUsed)
}

func (o *lowUsageOpinion) overUsed(u *nodeUsage) string {
	return fmt.Sprintf("node %s would use %s; the target is %s", u.node.Name, o.rs.words(u), o.rs.thresholdWords(highOf))
}

// overloads reports whether the node would be over its target in something that the pod uses; where what pods use is not known, whether it is.
func (o *lowUsageOpinion) overloads(u *nodeUsage, p *cluster.Pod) bool {
	if !o.meter.pod(p, o.pod) {
		return o.rs.above(u)
	}
	for i, v := range o.pod {
		if v > 0 && o.rs[i].hasThreshold && u.use[i]+v > u.ceiling[i] {
			return true
		}
	}
	return false
}

// underUsed is how many nodes would be under-used once p has left its own for u.
func (o *lowUsageOpinion) underUsed(p *cluster.Pod, u *nodeUsage) int {
	count := o.vacant
	if !u.node.Unschedulable && o.rs.below(u) {
		count--
	}
	if own := o.at(p.Node); own != nil && own != u && !own.node.Unschedulable && !o.rs.below(own) {
		o.add(own, p, -1)
		if o.rs.below(own) {
			count++
		}
		o.add(own, p, 1)
	}
	return count
}

// highUsageOpinion is that of HighNodeUtilization: nothing is to start on a node that it empties.
type highUsageOpinion struct {
	*usageWatch
	s        *highNodeUtilization
	c        *Cycle
	selects  func(*cluster.Pod) bool
	emptiest bool // where all nodes are under-used, one of them is emptied
	message  func(*nodeUsage) string
}

// Opinion implements Opinionated.
func (s *highNodeUtilization) Opinion(c *Cycle) Opinion {
	rs := s.resources(c)
	m := requests{c.View, rs}
	nodes, _, _ := measureNodes(c.Nodes, m, rs)
	o := &highUsageOpinion{usageWatch: newUsageWatch(c, rs, m, nodes), s: s, c: c, selects: s.selector(c, rs), emptiest: c.DrainEmptiest}
	threshold := rs.thresholdWords(lowOf)
	o.message = func(u *nodeUsage) string {
		return "node " + u.node.Name + " would use only " + rs.words(u) + " and is to be emptied; the threshold is " + threshold
	}
	return o
}

// Against implements Opinion.
func (o *highUsageOpinion) Against(p *cluster.Pod, n *cluster.Node) func() plan.Reason {
	u := o.at(n)
	switch {
	case u == nil || o.under <= o.s.args.NumberOfNodes || o.s.excluded[p.Namespace] || o.selects != nil && !o.selects(p):
		return nil
	case !o.empties(u, p) || !o.c.Evictable(p):
		return nil
	}
	return o.objection(u, p, "WouldBeUnderUtilized", o.message)
}

// empties reports whether the node would be emptied with p on it.
func (o *highUsageOpinion) empties(u *nodeUsage, p *cluster.Pod) bool {
	o.add(u, p, 1)
	under := o.rs.below(u) && (o.others > 0 || o.emptiest && o.least(u))
	o.add(u, p, -1)
	return under
}

// least reports whether no node is emptier than u.
func (o *highUsageOpinion) least(u *nodeUsage) bool {
	for _, other := range o.byNode {
		if other != nil && other != u && o.rs.fill(other) <= o.rs.fill(u) {
			return false
		}
	}
	return true
}
