package strategy

import (
	"cmp"
	"slices"
	"sort"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
)

// noDomain is the domain of a node that lacks the topology key.
const noDomain = -1

// topologyKeys numbers the domains of topology keys: the values that the nodes of a cycle have for them.
type topologyKeys struct {
	c    *Cycle
	keys map[string]*topologyKey
}

// topologyKey is one key.
type topologyKey struct {
	of     []int32  // by node index: the domain's number, or noDomain
	values []string // by domain
}

func newTopologyKeys(c *Cycle) *topologyKeys {
	return &topologyKeys{c: c, keys: map[string]*topologyKey{}}
}

// key returns the numbering for a key, in the order of the nodes' names.
func (t *topologyKeys) key(name string) *topologyKey {
	if k := t.keys[name]; k != nil {
		return k
	}
	k := &topologyKey{of: make([]int32, len(t.c.View.Nodes))}
	for i := range k.of {
		k.of[i] = noDomain
	}
	ids := map[string]int32{}
	for _, n := range t.c.Nodes {
		value, ok := n.Labels[name]
		if !ok {
			continue
		}
		id, known := ids[value]
		if !known {
			id = int32(len(k.values))
			ids[value] = id
			k.values = append(k.values, value)
		}
		k.of[n.Index] = id
	}
	t.keys[name] = k
	return k
}

// inclusion says which nodes a spread constraint counts: those that the pods with this placement select, those whose hard taints
// they tolerate, or, without a placement, all of them.
type inclusion struct {
	key       string
	placement *cluster.Placement // nil when no policy looks at it
	affinity  bool
	taints    bool
}

func inclusionOf(c *cluster.SpreadConstraint, pl *cluster.Placement) inclusion {
	in := inclusion{key: c.TopologyKey, affinity: c.HonorNodeAffinity && (len(pl.NodeSelector) > 0 || pl.Required != nil), taints: c.HonorNodeTaints}
	if in.affinity || in.taints {
		in.placement = pl
	}
	return in
}

func (in *inclusion) includes(n *cluster.Node) bool {
	if in.affinity && !in.placement.Selects(n.NodeInfo) {
		return false
	}
	if in.taints {
		if _, found := fit.Untolerated(n.Taints, in.placement.Tolerations, fit.HardTaint); found {
			return false
		}
	}
	return true
}

// domains are the topology domains that a constraint counts.
type domains struct {
	*topologyKey
	eligible []bool            // by node index
	nodes    [][]*cluster.Node // by domain: the eligible nodes, twice over, so that they can be gone through from any of them on
	present  []int32           // the domains that have eligible nodes
	next     []int32           // by domain: where to go on looking for a node
	single   bool              // no domain has more than one node
}

func newDomains(c *Cycle, key *topologyKey, in inclusion) *domains {
	d := &domains{
		topologyKey: key, eligible: make([]bool, len(c.View.Nodes)),
		nodes: make([][]*cluster.Node, len(key.values)), next: make([]int32, len(key.values)),
	}
	sizes := make([]int, len(key.values))
	for _, n := range c.Nodes {
		if id := key.of[n.Index]; id != noDomain && in.includes(n) {
			d.eligible[n.Index] = true
			sizes[id]++
		}
	}
	total := 0
	d.single = true
	for id, size := range sizes {
		d.single = d.single && size <= 1
		if size > 0 {
			d.present = append(d.present, int32(id))
			total += 2 * size
		}
	}
	all := make([]*cluster.Node, total)
	for id, size := range sizes {
		d.nodes[id], all = all[:0:2*size], all[2*size:]
	}
	for range 2 {
		for _, n := range c.Nodes {
			if d.eligible[n.Index] {
				id := key.of[n.Index]
				d.nodes[id] = append(d.nodes[id], n)
			}
		}
	}
	return d
}

// from lists the nodes of a domain, each once, beginning where the last booking left off.
func (d *domains) from(id int32) []*cluster.Node {
	size := int32(len(d.nodes[id]) / 2)
	at := d.next[id] % max(size, 1)
	return d.nodes[id][at : at+size]
}

// begin begins the next look in the domain of n at n, one of its eligible nodes.
func (d *domains) begin(n *cluster.Node) {
	id := d.of[n.Index]
	at, _ := slices.BinarySearchFunc(d.nodes[id][:len(d.nodes[id])/2], n, func(a, b *cluster.Node) int { return cmp.Compare(a.Index, b.Index) })
	d.next[id] = int32(at)
}

// part is a domain, to look for a node with room in it.
func (d *domains) part(id int32) fit.Part {
	return fit.Part{Of: domainOf{d, id}, Has: func(n *cluster.Node) bool { return d.countedIn(n) == id }}
}

// domainOf stands for a domain.
type domainOf struct {
	*domains
	id int32
}

// skip begins the next look so many nodes further on.
func (d *domains) skip(id int32, nodes int) {
	d.next[id] = (d.next[id] + int32(nodes)) % max(int32(len(d.nodes[id])/2), 1)
}

// domainCounts counts the pods of each domain and keeps the domains in order.
type domainCounts struct {
	count []int32 // by domain
	order []int32 // the domains that have eligible nodes, those with the fewest pods first
	at    []int32 // by domain: its place in order
}

func newDomainCounts(d *domains) *domainCounts {
	n := len(d.values)
	all := make([]int32, 2*n+len(d.present))
	c := &domainCounts{count: all[:n:n], at: all[n : 2*n : 2*n], order: all[2*n:]}
	copy(c.order, d.present)
	return c
}

// sort puts the domains in order after counts were written to directly, when order still is that of their numbers. Of many domains most have no pod.
func (c *domainCounts) sort() {
	var some []int32
	empty := c.order[:0]
	for _, id := range c.order {
		if c.count[id] == 0 {
			empty = append(empty, id)
		} else {
			some = append(some, id)
		}
	}
	slices.SortFunc(some, func(a, b int32) int { return cmp.Or(cmp.Compare(c.count[a], c.count[b]), cmp.Compare(a, b)) })
	copy(c.order[len(empty):], some)
	for i, id := range c.order {
		c.at[id] = int32(i)
	}
}

// fewest is the smallest count of any domain.
func (c *domainCounts) fewest() int32 {
	if len(c.order) == 0 {
		return 0
	}
	return c.count[c.order[0]]
}

// up counts one pod more. The domain changes places with the last of those that had as many.
func (c *domainCounts) up(id int32) {
	n := c.count[id]
	end := sort.Search(len(c.order), func(i int) bool { return c.count[c.order[i]] > n })
	c.swap(c.at[id], int32(end-1))
	c.count[id]++
}

// down counts one pod less. The domain changes places with the first of those that had as many.
func (c *domainCounts) down(id int32) {
	n := c.count[id]
	begin := sort.Search(len(c.order), func(i int) bool { return c.count[c.order[i]] >= n })
	c.swap(c.at[id], int32(begin))
	c.count[id]--
}

func (c *domainCounts) swap(i, j int32) {
	c.order[i], c.order[j] = c.order[j], c.order[i]
	c.at[c.order[i]], c.at[c.order[j]] = i, j
}

// countedIn is the domain that a pod on n counts in, or noDomain.
func (d *domains) countedIn(n *cluster.Node) int32 {
	if !d.eligible[n.Index] {
		return noDomain
	}
	return d.of[n.Index]
}
