package fit

import (
	"slices"
	"strings"

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

// inclusion is which nodes a spread constraint counts: those that its inclusion policies let pass for a placement, and that have the topology keys of
// all hard constraints of the pod.
type inclusion struct {
	nodes   []bool               // by node index
	domains map[*topology][]bool // by domain: does one of the nodes belong to it?
}

type inclusionKey struct {
	placement                  *cluster.Placement
	honorAffinity, honorTaints bool
	keys                       string // of the other hard constraints
}

// included returns the inclusion of a hard constraint of a spec. It is never nil: where every node counts it says so of each.
func (s *Scheduler) included(spec *cluster.Spec, c *cluster.SpreadConstraint) *inclusion {
	pl, others := spec.Placement, otherKeys(spec, c)
	key := inclusionKey{keys: strings.Join(others, "\n"), honorAffinity: c.HonorNodeAffinity && (pl.Required != nil || len(pl.NodeSelector) > 0), honorTaints: c.HonorNodeTaints}
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
		for _, k := range others {
			in.nodes[i] = in.nodes[i] && s.topology(k).domain[i] >= 0
		}
	}
	s.inclusions[key] = in
	return in
}

// otherKeys are the topology keys of the other hard constraints of a spec, in order.
func otherKeys(spec *cluster.Spec, c *cluster.SpreadConstraint) []string {
	var keys []string
	for i := range spec.TopologySpread {
		if other := &spec.TopologySpread[i]; hard(other) && other.TopologyKey != c.TopologyKey {
			keys = append(keys, other.TopologyKey)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
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
