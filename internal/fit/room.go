package fit

import (
	"fmt"
	"math/bits"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// pool sums up the nodes of a checker's list, or of a part of it, for pods that meet the same obstacles there but for room, so that where nodes with room
// are rare or there are none, pods need no look at each node. It is made when nodes were first looked at in vain for long.
type pool struct {
	tally          // of what keeps the pods off the nodes, room aside
	rooms   *Rooms // of the nodes that nothing keeps the pods off, by position in the list
	seen    int    // of the view's changes
	beyond  int    // what searches took beyond what they should have
	nowhere map[*cluster.Spec]nowhere
}

// nowhere is when it was found out, not at once, that there was no room for pods with the requests of a spec other than perhaps on one node.
type nowhere struct {
	since int
	but   *cluster.Node
}

// poolKey is what pods have in common that share a pool.
type poolKey struct {
	placement *cluster.Placement
	apart     string // their required anti-affinity, in words; empty if it is not looked at
	part      any    // the part of the list; nil stands for all of it
}

// Part is some of a checker's nodes. Of must be comparable, and different for different parts. The zero value is all of them.
type Part struct {
	Of  any
	Has func(*cluster.Node) bool
	by  *topology // groups the nodes; it is then in Of, too
}

func (part *Part) has(n *cluster.Node) bool { return part.Has == nil || part.Has(n) }

// layout lays out the nodes by what they have left, in groups of the domains of a topology if that is not nil. It is from after the view had seen so many changes.
func (c *Checker) layout(by *topology, after int) *Layout {
	l := c.laid[by]
	if l == nil || l.changes < after {
		var group func(place int) int32
		if by != nil {
			group = func(place int) int32 { return by.domain[c.nodes[place].Index] }
		}
		l = newLayout(len(c.nodes), c.view.Resources.Len(), func(place int) []int64 { return c.levels(c.nodes[place]) }, group)
		l.changes = len(c.view.Changed())
		c.laid[by] = l
	}
	return l
}

// levels is how many of the requests that there are, pods of one spec having the same, n has enough left for, by resource: what tells nodes apart.
func (c *Checker) levels(n *cluster.Node) []int64 {
	if c.amounts == nil {
		c.amounts = make([][]int64, c.view.Resources.Len())
		specs := map[*cluster.Spec]bool{}
		for _, p := range c.view.Pods {
			if specs[p.Spec] {
				continue
			}
			specs[p.Spec] = true
			for _, id := range p.Spec.Requested {
				c.amounts[id] = append(c.amounts[id], p.Spec.Requests.Get(id))
			}
		}
		for id := range c.amounts {
			slices.Sort(c.amounts[id])
		}
	}
	left := c.left(n)
	for id, amount := range left {
		at, _ := slices.BinarySearch(c.amounts[id], amount+1)
		left[id] = int64(at)
	}
	return left
}

// left is what n has left of every resource, good until the next call.
func (c *Checker) left(n *cluster.Node) []int64 {
	if c.scratch == nil {
		c.scratch = make([]int64, c.view.Resources.Len())
	}
	used := c.view.Used(n)
	for i := range c.scratch {
		id := cluster.ResourceID(i)
		c.scratch[i] = n.Allocatable.Get(id) - used.Get(id)
	}
	return c.scratch
}

// pool returns the pool for pods like p, up to date; apart, made by apartness, and part may be empty.
func (c *Checker) pool(p *cluster.Pod, apart string, part Part) *pool {
	key, changed := poolKey{p.Spec.Placement, apart, part.Of}, c.view.Changed()
	x, after := c.pools[key], len(changed)-4*len(c.nodes)
	switch {
	case x != nil && x.beyond > len(c.nodes)*bits.Len(uint(len(c.nodes))) && x.rooms.changes < len(changed):
		x, after = nil, x.rooms.changes+1 // the nodes are not where they were; to lay them out anew takes no longer than this has
	case x != nil && len(changed)-x.seen > len(c.nodes):
		x = nil
	}
	if x == nil {
		x = c.newPool(p, c.layout(part.by, after), apart != "", part)
		c.pools[key] = x
	} else {
		for _, index := range changed[x.seen:] {
			if n := c.view.Nodes[index]; c.place[index] >= 0 && part.has(n) {
				x.set(n.Index, c.codeOf(p, n, apart != ""))
				x.rooms.Change(int(c.place[index]))
			}
		}
	}
	x.seen = len(changed)
	return x
}

func (c *Checker) newPool(p *cluster.Pod, layout *Layout, apart bool, part Part) *pool {
	if len(c.pools)*2*layout.leaves*layout.kinds > maxPooled {
		clear(c.pools)
	}
	x := &pool{tally: newTally(len(c.view.Nodes)), nowhere: map[*cluster.Spec]nowhere{}}
	for _, n := range c.nodes {
		if part.has(n) {
			x.set(n.Index, c.codeOf(p, n, apart))
		}
	}
	x.rooms = NewRooms(layout, func(place int) []int64 {
		if n := c.nodes[place]; x.codes[n.Index] == 0 && n.Allocatable.Get(cluster.Pods) > c.view.Used(n).Get(cluster.Pods) {
			return c.left(n)
		}
		return nil
	})
	return x
}

// codeOf is what keeps pods like p off n, room aside.
func (c *Checker) codeOf(p *cluster.Pod, n *cluster.Node, apart bool) string {
	switch {
	case !c.allowed(c.placement(p), p, n):
		return ban(p, n)
	case apart && c.selectedOn(p, n, "") != nil:
		return CodeRepelled
	}
	return ""
}

// roomy finds a node other than the pod's own that has room, of those that nothing else keeps the pods of the pool off; all is false when it had to end early.
// What it took more than a moment to find out that there is none for holds, for pods with the same requests, until nodes change: then those are looked at.
func (c *Checker) roomy(p *cluster.Pod, x *pool) (n *cluster.Node, all bool) {
	was, known := x.nowhere[p.Spec]
	if known && c.takes(p, x, was.but) {
		return was.but, true
	}
	s := &c.asked
	*s = Search{Wants: s.Wants, Since: was.since, OK: func(place int) bool { return c.takes(p, x, c.nodes[place]) }}
	n = c.find(p, x, s)
	if n == nil && !s.Ended() && (known || s.beyond > 0) {
		x.nowhere[p.Spec] = nowhere{x.rooms.Now(), p.Node}
	}
	return n, !s.Ended()
}

// takes reports whether n, nil standing for none, is another node than the pod's own that has room, of those that nothing else keeps the pods of the pool off.
func (c *Checker) takes(p *cluster.Pod, x *pool, n *cluster.Node) bool {
	return n != nil && n != p.Node && x.codes[n.Index] == 0 && c.HasRoom(p, n)
}

// find looks for a node with room for p.
func (c *Checker) find(p *cluster.Pod, x *pool, s *Search) *cluster.Node {
	s.Wants, s.Effort = append(s.Wants[:0], Want{int(cluster.Pods), 1}), c.effort // all that count have that
	for _, id := range p.Spec.Requested {
		s.Wants = append(s.Wants, Want{int(id), p.Spec.Requests.Get(id)})
	}
	at := x.rooms.Find(s)
	x.beyond += s.beyond
	if at < 0 {
		return nil
	}
	return c.nodes[at]
}

// apartness puts the pod's required anti-affinity, by the rules of [TermSelects], into words.
func (c *Checker) apartness(p *cluster.Pod) string {
	if len(p.Spec.AntiAffinity) == 0 {
		return ""
	}
	key := carrier{p.Spec, p.Namespace}
	words, known := c.apart[key]
	if !known {
		words = p.Namespace
		for i := range p.Spec.AntiAffinity {
			t := &p.Spec.AntiAffinity[i]
			words += fmt.Sprintf("\n%s %q %s", t.TopologyKey, t.Namespaces, cluster.SelectorKey(t.Selector))
		}
		c.apart[key] = words
	}
	return words
}

// namesakes are the nodes of the pods that have the pod's name in the namespaces that its required anti-affinity names: the peer takes them for the pod itself, so
// that what holds for pods like it may not hold for the pod there.
func (c *Checker) namesakes(p *cluster.Pod) []*cluster.Node {
	var nodes []*cluster.Node
	for i := range p.Spec.AntiAffinity {
		for _, ns := range p.Spec.AntiAffinity[i].Namespaces {
			if other := c.view.Pod(ns, p.Name); other != nil && other.Node != nil && c.place[other.Node.Index] >= 0 && !slices.Contains(nodes, other.Node) {
				nodes = append(nodes, other.Node)
			}
		}
	}
	return nodes
}

// WhyNowhere sums up why p fits on no node other than its own.
func (c *Checker) WhyNowhere(p *cluster.Pod) plan.Reason {
	if c.GaveUp(p) {
		return c.effort.End()
	}
	return c.noRoom(p, c.apartness(p))
}

// noRoom is WhyNowhere with the anti-affinity that is to be looked at.
func (c *Checker) noRoom(p *cluster.Pod, apart string) plan.Reason {
	x := c.pool(p, apart, Part{})
	counts := x.countsBesides(p.Node)
	if apart != "" {
		for _, n := range c.namesakes(p) {
			if n != p.Node {
				counts[x.names[x.codes[n.Index]]]--
				counts[c.obstacle(p, n).code]++
			}
		}
	}
	counts[CodeNoRoom] += counts[""]
	delete(counts, "")
	return fitsNowhere(counts)
}

// ban is the code of the rule by which the pod's placement does not allow n.
func ban(p *cluster.Pod, n *cluster.Node) string {
	switch {
	case n.Unschedulable:
		return CodeCordoned
	case !p.Spec.Placement.Selects(n.NodeInfo):
		return CodeNotSelected
	default:
		return CodeTainted
	}
}
