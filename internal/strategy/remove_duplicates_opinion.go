package strategy

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// scanned is up to how many pods of a node are looked at one by one; beyond that, counting the whole namespace once is cheaper.
const scanned = 250

// replicaOpinion is that of RemoveDuplicates: replicas are not to be less even than they are.
type replicaOpinion struct {
	c       *Cycle
	s       *removeDuplicates
	targets *targetNodes
	inCycle []bool                    // by node index
	counts  map[string]*replicaCounts // by namespace, as they are needed
	// the last answer about a pod's own node
	asked   *cluster.Pod
	changes int
	own     int
}

// Opinion implements Opinionated.
func (s *removeDuplicates) Opinion(c *Cycle) Opinion {
	o := &replicaOpinion{c: c, s: s, targets: newTargetNodes(c), inCycle: make([]bool, len(c.View.Nodes)), counts: map[string]*replicaCounts{}}
	for _, n := range c.Nodes {
		o.inCycle[n.Index] = true
	}
	return o
}

// Against implements Opinion. With r replicas on t nodes every node may have r/t of them, rounded down; what is left over may be where it is,
// or move to a node that then has no more than the one it comes from: both leave no more to even out than there is.
func (o *replicaOpinion) Against(p *cluster.Pod, n *cluster.Node) func() plan.Reason {
	if !o.inCycle[n.Index] || !o.s.considers(p) {
		return nil
	}
	targets := o.targets.allowed(p.Spec.Placement)
	if len(targets) < 2 || !isTarget(targets, n) {
		return nil
	}
	would, leaving := o.on(p, n)+1, !isTarget(targets, p.Node)
	if would == 1 {
		return nil // it has at least itself where it is
	}
	own := o.onOwn(p)
	if would <= own && !leaving || would <= o.share(p, targets, would, leaving) || !o.c.Evictable(p) {
		return nil
	}
	return func() plan.Reason { return wouldBeDuplicate(n, would, own, len(targets)) }
}

// share is how many replicas of p's a node may have in any case; it is worked out only if it might be so many as would be.
func (o *replicaOpinion) share(p *cluster.Pod, targets []*cluster.Node, would int, leaving bool) int {
	extra := truth(leaving) // a pod that may not run where it is counts as one more on the targets
	if (would-extra)*len(targets) > o.atMost(p) {
		return 0
	}
	return o.countsOf(p.Namespace).among(p, targets)/len(targets) + extra
}

func (o *replicaOpinion) countsOf(namespace string) *replicaCounts {
	counts := o.counts[namespace]
	if counts == nil {
		counts = o.count(namespace)
		o.counts[namespace] = counts
	}
	return counts
}

// atMost is an upper bound of the number of p's replicas.
func (o *replicaOpinion) atMost(p *cluster.Pod) int {
	if o.c.ByWorkload {
		return len(o.c.View.Pods)
	}
	most := 0
	for i := range p.Owners {
		most = max(most, o.c.View.Siblings(p.Owners[i].UID))
	}
	return most
}

func (o *replicaOpinion) onOwn(p *cluster.Pod) int {
	if changes := len(o.c.View.Changed()); o.asked != p || o.changes != changes {
		o.asked, o.changes, o.own = p, changes, o.on(p, p.Node)
	}
	return o.own
}

// on counts the replicas of p on a node, those that are expected included.
func (o *replicaOpinion) on(p *cluster.Pod, n *cluster.Node) int {
	if n == nil || !o.inCycle[n.Index] {
		return 0
	}
	if len(n.Pods)+len(o.c.View.Arrivals(n)) > scanned {
		return o.countsOf(p.Namespace).on(p, n)
	}
	count := 0
	for other := range o.c.View.PodsOn(n) {
		if o.replicas(p, other) {
			count++
		}
	}
	for _, other := range o.c.View.Arrivals(n) {
		if o.replicas(p, other) {
			count++
		}
	}
	return count
}

// replicas reports whether two pods are replicas of each other.
func (o *replicaOpinion) replicas(p, other *cluster.Pod) bool {
	if p.Namespace != other.Namespace || len(other.Owners) == 0 {
		return false
	}
	same := &p.Owners[0] == &other.Owners[0] && p.Spec == other.Spec
	if !same && o.c.ByWorkload {
		a, b := o.c.View.Top(p.PodInfo), o.c.View.Top(other.PodInfo)
		same = a.Kind == b.Kind && a.Name == b.Name
	} else if !same {
		same = sharesOwner(p, other) && slices.Equal(p.Spec.Images, other.Spec.Images)
	}
	return same && o.s.considers(other)
}

func sharesOwner(p, other *cluster.Pod) bool {
	return slices.ContainsFunc(p.Owners, func(a cluster.Owner) bool {
		return slices.ContainsFunc(other.Owners, func(b cluster.Owner) bool { return a.Kind == b.Kind && a.Name == b.Name })
	})
}

// Moved implements Opinion.
func (o *replicaOpinion) Moved(p *cluster.Pod, to *cluster.Node) {
	if counts := o.counts[p.Namespace]; counts != nil {
		counts.add(p, p.Node, -1)
		counts.add(p, to, 1)
	}
}

// replicaCounts counts the pods of each group of a namespace on each node.
type replicaCounts struct {
	*replicaOpinion
	index  *replicaIndex
	groups []replicaCount // by group
}

type replicaCount struct {
	on map[int32]int32 // by node index
	// placed is how many are on the nodes that pods of the placement may run on.
	placement *cluster.Placement
	placed    int
}

func (o *replicaOpinion) count(namespace string) *replicaCounts {
	x := &replicaCounts{replicaOpinion: o, index: newReplicaIndex(o.c.View.Snapshot, o.c.ByWorkload)}
	pods := o.c.View.Pods
	first, _ := slices.BinarySearchFunc(pods, namespace, func(p *cluster.Pod, name string) int { return strings.Compare(p.Namespace, name) })
	for _, p := range pods[first:] {
		if p.Namespace != namespace {
			break
		}
		if !o.c.View.Gone(p) {
			x.add(p, p.Node, 1)
		}
	}
	for _, n := range o.c.Nodes {
		for _, p := range o.c.View.Arrivals(n) {
			if p.Namespace == namespace {
				x.add(p, n, 1)
			}
		}
	}
	return x
}

func (x *replicaCounts) add(p *cluster.Pod, n *cluster.Node, by int32) {
	if n == nil || !x.inCycle[n.Index] || !x.s.considers(p) {
		return
	}
	for _, id := range x.groupsOf(p) {
		g := &x.groups[id]
		g.on[int32(n.Index)] += by
		if g.placement != nil && isTarget(x.targets.allowed(g.placement), n) {
			g.placed += int(by)
		}
	}
}

func (x *replicaCounts) groupsOf(p *cluster.Pod) []int32 {
	ids := x.index.groupsOf(p)
	for len(x.groups) < len(x.index.keys) {
		x.groups = append(x.groups, replicaCount{on: map[int32]int32{}})
	}
	return ids
}

// on is how many replicas of p are on n, in the group that has most there.
func (x *replicaCounts) on(p *cluster.Pod, n *cluster.Node) int {
	most := 0
	for _, id := range x.groupsOf(p) {
		most = max(most, int(x.groups[id].on[int32(n.Index)]))
	}
	return most
}

// among is how many replicas of p are on targets, in the group that has fewest there.
func (x *replicaCounts) among(p *cluster.Pod, targets []*cluster.Node) int {
	fewest := -1
	for _, id := range x.groupsOf(p) {
		g := &x.groups[id]
		if g.placement != p.Spec.Placement {
			g.placement, g.placed = p.Spec.Placement, 0
			for index, count := range g.on {
				if isTarget(targets, x.c.View.Nodes[index]) {
					g.placed += int(count)
				}
			}
		}
		if fewest < 0 || g.placed < fewest {
			fewest = g.placed
		}
	}
	return fewest
}

func wouldBeDuplicate(n *cluster.Node, would, own, nodes int) plan.Reason {
	return plan.Reason{
		Code:    "WouldBeDuplicate",
		Message: fmt.Sprintf("node %s would run %d of its replicas, its own node runs %d, and there are %d nodes to run on", n.Name, would, own, nodes),
		Numbers: plan.Numbers{"onNode": float64(would), "onOwn": float64(own), "nodes": float64(nodes)},
	}
}
