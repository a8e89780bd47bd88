package fit

import (
	"math"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// pool sums up the nodes of a checker's list for one placement, so that pods for which there is no room anywhere need no look at each
// node. It is made when the first pod of the placement has been to all of them in vain.
type pool struct {
	banned map[string]int // how many nodes the placement does not allow, by the code that says why
	open   int            // how many it allows
	// most is an upper bound of what any of the nodes that it allows has free: by the resource that the node is shortest of, then by resource.
	most [][]most
	seen int // of the view's changes
}

// most is the largest amount that one node has, and the largest that any other has.
type most struct {
	first, second int64
	at            int // node index
}

func (m *most) raise(n *cluster.Node, amount int64) {
	switch {
	case m.at == n.Index:
		m.first = max(m.first, amount)
	case amount > m.first:
		m.first, m.second, m.at = amount, m.first, n.Index
	default:
		m.second = max(m.second, amount)
	}
}

// besides is the largest amount that a node other than own has.
func (m *most) besides(own *cluster.Node) int64 {
	if own != nil && m.at == own.Index {
		return m.second
	}
	return m.first
}

// pool returns the pool of p's placement, up to date.
func (c *Checker) pool(p *cluster.Pod) *pool {
	pl := c.placement(p)
	if pl.pool == nil {
		pl.pool = c.newPool(pl, p)
	}
	changed := c.view.Changed()
	for _, index := range changed[pl.pool.seen:] {
		if n := c.view.Nodes[index]; c.inList[index] && c.allowed(pl, p, n) {
			c.raise(pl.pool, n)
		}
	}
	pl.pool.seen = len(changed)
	return pl.pool
}

func (c *Checker) newPool(pl *placement, p *cluster.Pod) *pool {
	size := c.view.Resources.Len()
	pool := &pool{banned: map[string]int{}, most: make([][]most, size), seen: len(c.view.Changed())}
	all := make([]most, size*size)
	for i := range all {
		all[i] = most{math.MinInt64, math.MinInt64, -1}
	}
	for i := range pool.most {
		pool.most[i], all = all[:size], all[size:]
	}
	for _, n := range c.nodes {
		if c.allowed(pl, p, n) {
			pool.open++
			c.raise(pool, n)
		} else {
			pool.banned[ban(p, n)]++
		}
	}
	return pool
}

// raise makes the bounds hold for what n has free now.
func (c *Checker) raise(pool *pool, n *cluster.Node) {
	used, scarcest, least := c.view.Used(n), 0, math.Inf(1)
	for id, has := range n.Allocatable {
		if has > 0 {
			if share := float64(has-used.Get(cluster.ResourceID(id))) / float64(has); share < least {
				scarcest, least = id, share
			}
		}
	}
	for id := range pool.most[scarcest] {
		id := cluster.ResourceID(id)
		pool.most[scarcest][id].raise(n, n.Allocatable.Get(id)-used.Get(id))
	}
}

// hopeless reports whether no other node can have room for p; false leaves it open.
func (c *Checker) hopeless(p *cluster.Pod) bool {
	pool := c.pool(p)
	for _, bounds := range pool.most {
		if roomFor(p, bounds) {
			return false
		}
	}
	return true
}

func roomFor(p *cluster.Pod, bounds []most) bool {
	for _, id := range p.Spec.Requested {
		if p.Spec.Requests.Get(id) > bounds[id].besides(p.Node) {
			return false
		}
	}
	return bounds[cluster.Pods].besides(p.Node) >= 1
}

// noRoom sums up why p, which only placement and room matter to, fits on no other node.
func (c *Checker) noRoom(p *cluster.Pod) plan.Reason {
	pool := c.pool(p)
	counts := map[string]int{CodeNoRoom: pool.open}
	for code, n := range pool.banned {
		counts[code] = n
	}
	if n := p.Node; n != nil && c.inList[n.Index] {
		if c.allowed(c.placement(p), p, n) {
			counts[CodeNoRoom]--
		} else {
			counts[ban(p, n)]--
		}
	}
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
