package fit

import (
	"evenkeel.dev/evenkeel/internal/cluster"
)

// topology numbers the values that the nodes have for one label key.
type topology struct {
	key    string
	domain []int32 // by node index; -1: the node lacks the key
	values []string
	sizes  []int32 // by domain: how many nodes it has
	shared bool    // some domain has several nodes
}

func (s *Scheduler) topology(key string) *topology {
	if t := s.topologies[key]; t != nil {
		return t
	}
	t := &topology{key: key, domain: make([]int32, len(s.view.Nodes))}
	ids := map[string]int32{}
	for i, n := range s.view.Nodes {
		value, ok := n.Labels[key]
		if !ok {
			t.domain[i] = -1
			continue
		}
		id, known := ids[value]
		if !known {
			id = int32(len(t.values))
			ids[value] = id
			t.values, t.sizes = append(t.values, value), append(t.sizes, 0)
		}
		t.sizes[id]++
		t.shared = t.shared || t.sizes[id] > 1
		t.domain[i] = id
	}
	s.topologies[key] = t
	return t
}

// inclusion is which nodes a spread constraint counts: those that its inclusion policies let pass for a placement.
type inclusion struct {
	nodes   []bool               // by node index
	domains map[*topology][]bool // by domain: does one of the nodes belong to it?
}

type inclusionKey struct {
	placement                  *cluster.Placement
	honorAffinity, honorTaints bool
}

// included returns the inclusion of a constraint for a placement. It is never nil: where every node counts it says so of each.
func (s *Scheduler) included(pl *cluster.Placement, c *cluster.SpreadConstraint) *inclusion {
	key := inclusionKey{honorAffinity: c.HonorNodeAffinity && (pl.Required != nil || len(pl.NodeSelector) > 0), honorTaints: c.HonorNodeTaints}
	if key.honorAffinity || key.honorTaints {
		key.placement = pl
	}
	if in := s.inclusions[key]; in != nil {
		return in
	}
	in := &inclusion{nodes: make([]bool, len(s.view.Nodes)), domains: map[*topology][]bool{}}
	for i, n := range s.view.Nodes {
		in.nodes[i] = !key.honorAffinity || pl.Selects(n.NodeInfo)
		if in.nodes[i] && key.honorTaints {
			_, found := Untolerated(n.Taints, pl.Tolerations, HardTaint)
			in.nodes[i] = !found
		}
	}
	s.inclusions[key] = in
	return in
}

// of tells which domains have a node that counts.
func (in *inclusion) of(t *topology) []bool {
	if d := in.domains[t]; d != nil {
		return d
	}
	d := make([]bool, len(t.values))
	for i, id := range t.domain {
		if id >= 0 && in.nodes[i] {
			d[id] = true
		}
	}
	in.domains[t] = d
	return d
}
