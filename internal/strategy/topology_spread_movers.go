package strategy

import (
	"cmp"
	"container/heap"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// movers are the pods of a domain that may be moved, in the order in which they are to go. Among pods of equal standing it is first one that other
// constraints, too, would have moved: whose node has most pods by those.
type movers struct {
	list   []victim // the first to go first; pods of the standing at hand are in crowds when there are other constraints
	crowds crowds
	grown  int // how often crowds had grown, when they were last put in order
}

func (m *movers) empty() bool { return len(m.list) == 0 && len(m.crowds) == 0 }

// next takes out the next pod. Grown is how often a crowd may have grown so far; there are no other constraints if joint is false.
func (m *movers) next(joint bool, grown int) victim {
	if !joint {
		v := m.list[0]
		m.list = m.list[1:]
		return v
	}
	if len(m.crowds) == 0 {
		m.gather()
	}
	if m.grown != grown {
		for _, c := range m.crowds {
			c.size = crowding(&c.victims[0], c.victims[0].pod.Node)
		}
		heap.Init(&m.crowds)
		m.grown = grown
	}
	for {
		c := m.crowds[0]
		v := c.victims[0]
		if size := crowding(&v, v.pod.Node); size < c.size {
			c.size = size
			heap.Fix(&m.crowds, 0)
			continue
		}
		if len(c.victims) == 1 {
			heap.Pop(&m.crowds)
		} else {
			c.victims = c.victims[1:]
			heap.Fix(&m.crowds, 0)
		}
		return v
	}
}

// gather puts the pods of the next standing into crowds.
func (m *movers) gather() {
	type like struct {
		node   *cluster.Node
		others **spread
	}
	known := map[like]*crowd{}
	first := m.list[0].pod
	for len(m.list) > 0 && sameStanding(first, m.list[0].pod) {
		v := m.list[0]
		m.list = m.list[1:]
		key := like{node: v.pod.Node}
		if len(v.others) > 0 {
			key.others = &v.others[0]
		}
		c := known[key]
		if c == nil {
			c = &crowd{size: crowding(&v, v.pod.Node)}
			known[key] = c
			m.crowds = append(m.crowds, c)
		}
		c.victims = append(c.victims, v)
	}
	heap.Init(&m.crowds)
}

func sameStanding(a, b *cluster.Pod) bool {
	return hasNodePreference(a) == hasNodePreference(b) && priority(a) == priority(b)
}

// crowding adds up what the pod's other constraints count in the domains of a node.
func crowding(v *victim, n *cluster.Node) int32 {
	var sum int32
	for _, o := range v.others {
		if id := o.domains.countedIn(n); id != noDomain {
			sum += o.counts.count[id]
		}
	}
	return sum
}

// crowd is the pods of one standing on one node that have the same other constraints.
type crowd struct {
	victims []victim // the first to go first; never empty
	size    int32    // what the other constraints count; may be too high until it is looked at again
}

// crowds is a heap, the largest crowd on top.
type crowds []*crowd

func (h crowds) Len() int      { return len(h) }
func (h crowds) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Less implements heap.Interface.
func (h crowds) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].size, h[i].size), moveFirst(h[i].victims[0].pod, h[j].victims[0].pod)) < 0
}

// Push implements heap.Interface.
func (h *crowds) Push(c any) { *h = append(*h, c.(*crowd)) }

// Pop implements heap.Interface.
func (h *crowds) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
