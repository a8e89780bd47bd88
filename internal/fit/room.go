package fit

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// pool sums up the nodes of a checker's list, or of a part of it, for pods that meet the same obstacles there but for room, so that where nodes with room
// are rare or there are none, pods need no look at each node. It is made when nodes were first looked at in vain for long.
type pool struct {
	tally        // of what keeps the pods off the nodes, room aside
	rooms *Rooms // of the nodes that nothing keeps the pods off, by position in the list
	seen  int    // of the view's changes
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
}

func (part *Part) has(n *cluster.Node) bool { return part.Has == nil || part.Has(n) }

// layout lays out the nodes by what they have left. After many changes they are laid out anew.
func (c *Checker) layout() *Layout {
	if changes := len(c.view.Changed()); c.laid == nil || changes-c.laidAt > 4*len(c.nodes) {
		c.laidAt = changes
		if c.scratch == nil {
			c.scratch = make([]int64, c.view.Resources.Len())
		}
		c.laid = NewLayout(len(c.nodes), len(c.scratch), func(place int) []int64 { return c.left(c.nodes[place]) })
	}
	return c.laid
}

// left is what n has left of every resource, good until the next call.
func (c *Checker) left(n *cluster.Node) []int64 {
	used := c.view.Used(n)
	for i := range c.scratch {
		id := cluster.ResourceID(i)
		c.scratch[i] = n.Allocatable.Get(id) - used.Get(id)
	}
	return c.scratch
}

// pool returns the pool for pods like p, up to date; apart, made by apartness, and part may be empty.
func (c *Checker) pool(p *cluster.Pod, apart string, part Part) *pool {
	key, layout, changed := poolKey{p.Spec.Placement, apart, part.Of}, c.layout(), c.view.Changed()
	x := c.pools[key]
	switch {
	case x == nil || x.rooms.Layout != layout || len(changed)-x.seen > len(c.nodes):
		x = c.newPool(p, layout, apart != "", part)
		c.pools[key] = x
	default:
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
	x := &pool{tally: newTally(len(c.view.Nodes))}
	for _, n := range c.nodes {
		if part.has(n) {
			x.set(n.Index, c.codeOf(p, n, apart))
		}
	}
	x.rooms = NewRooms(layout, func(place int) []int64 {
		if n := c.nodes[place]; x.codes[n.Index] == 0 {
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

// roomy finds a node other than the pod's own that has room, of those that nothing else keeps the pods of the pool off, and that ok takes; nil ok takes each.
func (c *Checker) roomy(p *cluster.Pod, x *pool, ok func(*cluster.Pod, *cluster.Node) bool) *cluster.Node {
	c.wants = append(c.wants[:0], Want{int(cluster.Pods), 1})
	for _, id := range p.Spec.Requested {
		c.wants = append(c.wants, Want{int(id), p.Spec.Requests.Get(id)})
	}
	at := x.rooms.Find(c.wants, func(place int) bool {
		n := c.nodes[place]
		return n != p.Node && x.codes[n.Index] == 0 && c.HasRoom(p, n) && (ok == nil || ok(p, n))
	})
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
