package strategy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// RemoveDuplicatesArgs are the arguments of RemoveDuplicates.
type RemoveDuplicatesArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// ExcludeOwnerKinds leaves out pods that have an owner of one of these kinds.
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemoveDuplicatesArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemoveDuplicatesArgs) Validate(path *field.Path) field.ErrorList {
	return validateNamespaces(path.Child("namespaces"), a.Namespaces)
}

// removeDuplicates spreads the replicas of an owner: pods of one namespace with the same owner and the same
// images are replicas of each other, and no node should run more of them than an even spread over the nodes they may run
// on would give it.
//
// The peer's rule: a node may keep ceil(replicas / nodes) of them, counting only evictable replicas. Ours, by default, counts every replica, and
// also evens a spread such as 2/2/0, which the peer's rule leaves alone: with r replicas on n nodes, r mod n nodes keep
// floor(r/n)+1 and the others floor(r/n).
type removeDuplicates struct {
	filter       Filter
	excludeKinds map[string]bool
}

func newRemoveDuplicates(a *RemoveDuplicatesArgs) (*removeDuplicates, error) {
	f, err := NewFilter(a.Namespaces, nil)
	return &removeDuplicates{filter: f, excludeKinds: set(a.ExcludeOwnerKinds)}, err
}

// replicas are the pods of one group.
type replicas struct {
	key    replicaKey
	images string
	whole  bool            // a workload across its ReplicaSets
	nodes  []*nodeReplicas // in node order
}

// nodeReplicas are the pods of one group on one node.
type nodeReplicas struct {
	node    *cluster.Node
	whole   bool           // the group is a workload as a whole
	movable []*cluster.Pod // that the filters let pass, the one to be kept longest first
	stuck   []*cluster.Pod // the others
}

// count is how many replicas the node is held to have: by default all of them, for the peer one more than its duplicates.
func (n *nodeReplicas) count(compat bool) int {
	if compat {
		return min(len(n.movable), len(n.duplicates())+1)
	}
	return len(n.movable) + len(n.stuck)
}

// duplicates are the movable pods less one that always stays. Where pods of the group differ in their further owners, one of each kind stays.
func (n *nodeReplicas) duplicates() []*cluster.Pod {
	if n.whole || !slices.ContainsFunc(n.movable, func(p *cluster.Pod) bool { return len(p.Owners) > 1 }) {
		return n.movable[min(1, len(n.movable)):]
	}
	kept := map[string]bool{}
	var rest []*cluster.Pod
	for _, p := range n.movable {
		if owners := ownersKey(p.Owners); kept[owners] {
			rest = append(rest, p)
		} else {
			kept[owners] = true
		}
	}
	return rest
}

// ownersKey is equal for lists that name the same owners.
func ownersKey(owners []cluster.Owner) string {
	names := make([]string, len(owners))
	for i := range owners {
		names[i] = owners[i].Kind + "/" + owners[i].Name
	}
	slices.Sort(names)
	return strings.Join(names, ",")
}

// Run implements Strategy.
func (s *removeDuplicates) Run(c *Cycle) error {
	targets, coming := newTargetNodes(c), newComing(c.View)
	for _, g := range s.groups(c) {
		if s.spread(c, g, targets, coming) == plan.ThisCycle {
			return nil
		}
	}
	return nil
}

// Spared implements Sparing.
func (s *removeDuplicates) Spared(_ *Cycle, p *cluster.Pod) plan.Reason {
	switch {
	case len(p.Owners) == 0:
		return spared("NoOwner", "nothing owns it, so it has no duplicates")
	case p.Terminal():
		return spared("Ended", "it has ended, and does not count as a replica")
	case !s.filter.Selects(p):
		return filteredOut()
	case s.excluded(p):
		return wrongOwner()
	}
	return spared("NotRepeated", "no node has two replicas of its owner with the same images, or others were chosen")
}

// groups finds the groups that have more than one pod on some node, in order of their keys. Most groups of a large cluster have not, so
// a first pass only counts, and pods are looked at more closely where it matters.
func (s *removeDuplicates) groups(c *Cycle) []*replicas {
	x := newReplicaIndex(c.View.Snapshot, c.ByWorkload)
	x.byPod = make([][]int32, len(c.View.Pods))
	for _, n := range c.Nodes {
		for p := range c.View.PodsOn(n) {
			if s.considers(p) {
				x.count(n, p)
			}
		}
	}
	var groups []*replicas
	for _, n := range c.Nodes {
		for p := range c.View.PodsOn(n) {
			for _, id := range x.byPod[p.Index] {
				g := x.repeated[id]
				if g == nil {
					continue
				}
				if len(g.nodes) == 0 {
					groups = append(groups, g)
				}
				g.add(n, p, c.Evictable(p) && c.PreEviction(p))
			}
		}
	}
	slices.SortFunc(groups, func(a, b *replicas) int {
		return cmp.Or(strings.Compare(a.key.namespace, b.key.namespace), strings.Compare(a.key.kind, b.key.kind),
			strings.Compare(a.key.name, b.key.name), strings.Compare(a.images, b.images))
	})
	return groups
}

func (s *removeDuplicates) considers(p *cluster.Pod) bool {
	return len(p.Owners) > 0 && !p.Terminal() && s.filter.Selects(p) && !s.excluded(p)
}

func (s *removeDuplicates) excluded(p *cluster.Pod) bool {
	if len(s.excludeKinds) == 0 {
		return false
	}
	for i := range p.Owners {
		if s.excludeKinds[p.Owners[i].Kind] {
			return true
		}
	}
	return false
}

func (g *replicas) add(n *cluster.Node, p *cluster.Pod, movable bool) {
	if len(g.nodes) == 0 || g.nodes[len(g.nodes)-1].node != n {
		g.nodes = append(g.nodes, &nodeReplicas{node: n, whole: g.whole})
	}
	on := g.nodes[len(g.nodes)-1]
	if movable {
		on.movable = append(on.movable, p)
	} else {
		on.stuck = append(on.stuck, p)
	}
}

// spread proposes the moves of one group.
func (s *removeDuplicates) spread(c *Cycle, g *replicas, targets *targetNodes, coming *coming) plan.Scope {
	total := 0
	for _, on := range g.nodes {
		slices.SortStableFunc(on.movable, keepFirst)
		total += len(on.movable)
		if !c.Compat {
			total += len(on.stuck)
		}
	}
	nodes := targets.of(g)
	if len(nodes) < 2 {
		s.tell(c, g, func() plan.Reason { return tooFewTargets(len(nodes)) })
		return plan.ThisPod
	}
	quota := quotas(c.Compat, g, nodes, total)
	below := func(n *cluster.Node) bool { return g.on(n, c.Compat)+coming.of(g.key, n) < quota.of(n) }
	for i, on := range g.nodes {
		count, keep := on.count(c.Compat), quota.ofHolder(i)
		if count <= keep {
			s.tellNode(c, on, func() plan.Reason { return evenEnough(count, keep, total, len(nodes)) })
			continue
		}
		why := Why{Reason: duplicate(count, keep, total, len(nodes)), Targets: nodes, Better: below, Alike: g}
		switch propose(c, on, count-keep, why) {
		case plan.ThisCycle:
			return plan.ThisCycle
		case plan.ThisNode, plan.ThisNamespace, plan.ThisPod:
		}
	}
	return plan.ThisPod
}

// on is how many pods of the group n has.
func (g *replicas) on(n *cluster.Node, compat bool) int {
	if i, ok := g.index(n); ok {
		return g.nodes[i].count(compat)
	}
	return 0
}

func (g *replicas) index(n *cluster.Node) (int, bool) {
	return slices.BinarySearchFunc(g.nodes, n.Index, func(on *nodeReplicas, index int) int { return on.node.Index - index })
}

// propose offers the surplus pods of one node: of its duplicates, those to be kept shortest. Pods that the filters hold back are
// offered only where the surplus can't be met without them, so that the refusal is on record.
func propose(c *Cycle, on *nodeReplicas, surplus int, why Why) plan.Scope {
	last := on.duplicates()
	if surplus < len(last) {
		last = last[len(last)-surplus:]
	}
	for _, p := range slices.Backward(last) {
		if v := c.Try(p, why); !v.Accepted && v.Stop >= plan.ThisNode {
			return v.Stop
		}
	}
	for _, p := range on.stuck[:min(len(on.stuck), surplus-len(last))] {
		c.Try(p, why)
	}
	return plan.ThisPod
}

// keepFirst orders the replicas of a node: those of higher priority, ready ones and older ones are kept longer.
func keepFirst(a, b *cluster.Pod) int {
	return cmp.Or(
		-cmp.Compare(priority(a), priority(b)),
		-cmp.Compare(truth(a.Ready), truth(b.Ready)),
		a.Created.Compare(b.Created),
		strings.Compare(a.Name, b.Name),
	)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *removeDuplicates) tell(c *Cycle, g *replicas, reason func() plan.Reason) {
	for _, on := range g.nodes {
		s.tellNode(c, on, reason)
	}
}

func (s *removeDuplicates) tellNode(c *Cycle, on *nodeReplicas, reason func() plan.Reason) {
	for _, list := range [][]*cluster.Pod{on.movable, on.stuck} {
		for _, p := range list {
			c.Tell(p, reason)
		}
	}
}

func duplicate(count, keep, total, nodes int) plan.Reason {
	return plan.Reason{
		Code:    "Duplicate",
		Message: fmt.Sprintf("%d of %d replicas are on this node; its share, with %d nodes to run on, is %d", count, total, nodes, keep),
		Numbers: plan.Numbers{"onNode": float64(count), "share": float64(keep), "replicas": float64(total), "nodes": float64(nodes)},
	}
}

func evenEnough(count, keep, total, nodes int) plan.Reason {
	return plan.Reason{
		Code:    "EvenEnough",
		Message: fmt.Sprintf("%d of %d replicas are on this node; it may keep %d, with %d nodes to run on", count, total, keep, nodes),
		Numbers: plan.Numbers{"onNode": float64(count), "share": float64(keep), "replicas": float64(total), "nodes": float64(nodes)},
	}
}

func tooFewTargets(nodes int) plan.Reason {
	return plan.Reason{
		Code:    "NowhereToSpread",
		Message: "fewer than two nodes may run the replicas that share a node",
		Numbers: plan.Numbers{"nodes": float64(nodes)},
	}
}
