package strategy

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// usedResource is a resource that node usage is looked at in.
type usedResource struct {
	name corev1.ResourceName
	id   cluster.ResourceID // -1 when no object of the cluster knows the resource
	// low and high are the thresholds in percent; they count only when hasThreshold.
	low, high    float64
	hasThreshold bool

	lowName, highName string // of the thresholds, among the numbers of a reason
}

// usedResources are those with a threshold and, unless usage comes from a query, cpu, memory and pods, in order of name.
type usedResources []usedResource

func newUsedResources(table *cluster.Resources, low, high Thresholds, query bool) usedResources {
	names := sortedKeys(low)
	if !query {
		names = append(names, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods)
	}
	slices.Sort(names)
	var out usedResources
	for _, name := range slices.Compact(names) {
		r := usedResource{name: name, id: -1, high: 100, lowName: "low:" + string(name), highName: "high:" + string(name)}
		if id, ok := table.Lookup(name); ok {
			r.id = id
		}
		if v, ok := low[name]; ok {
			r.low, r.hasThreshold = v, true
		}
		if v, ok := high[name]; ok {
			r.high = v
		}
		out = append(out, r)
	}
	return out
}

// nodeUsage is what a node has and what of it is used: a number for each of the used resources, in their order.
type nodeUsage struct {
	node     *cluster.Node
	use      []int64
	capacity []int64
	ceiling  []int64 // capacity up to the high threshold, all of it where there is no threshold
	place    int     // of a target among the targets, the emptiest first
	quota    int     // by default: how many pods the peer would move off the node, and so the most that we do
}

// percent is how much of the capacity is used; 0 of a resource that the node does not have.
func (u *nodeUsage) percent(i int) float64 {
	if u.capacity[i] <= 0 {
		return 0
	}
	return float64(u.use[i]) / float64(u.capacity[i]) * 100
}

// aboveCeiling reports whether the node uses more than its ceiling of any resource.
func (u *nodeUsage) aboveCeiling() bool {
	for i := range u.use {
		if u.use[i] > u.ceiling[i] {
			return true
		}
	}
	return false
}

// takes reports whether the node stays within its ceiling with so much more.
func (u *nodeUsage) takes(more []int64) bool {
	for i, v := range more {
		if v > 0 && u.use[i]+v > u.ceiling[i] {
			return false
		}
	}
	return true
}

// raw is the peer's measure of how used a node is: millicores, bytes, pods and devices in one sum.
func (u *nodeUsage) raw() int64 {
	var sum int64
	for _, v := range u.use {
		sum += v
	}
	return sum
}

// below reports whether the node uses no more than the low threshold of every resource that has one.
func (rs usedResources) below(u *nodeUsage) bool {
	for i := range rs {
		if rs[i].hasThreshold && rs[i].low < u.percent(i) {
			return false
		}
	}
	return true
}

// above reports whether the node uses more than the high threshold of any resource that has one.
func (rs usedResources) above(u *nodeUsage) bool {
	for i := range rs {
		if rs[i].hasThreshold && rs[i].high < u.percent(i) {
			return true
		}
	}
	return false
}

// excess is by how many percentage points the node is over the high threshold where it is most so, and on the whole.
func (rs usedResources) excess(u *nodeUsage) (most, sum float64) {
	for i := range rs {
		if over := u.percent(i) - rs[i].high; rs[i].hasThreshold && over > 0 {
			most, sum = max(most, over), sum+over
		}
	}
	return most, sum
}

// fill is the node's highest percentage of the resources that have a threshold.
func (rs usedResources) fill(u *nodeUsage) float64 {
	var most float64
	for i := range rs {
		if rs[i].hasThreshold {
			most = max(most, u.percent(i))
		}
	}
	return most
}

// around makes the thresholds percentage points below and above the average of the nodes that have the resource.
func (rs usedResources) around(nodes []*nodeUsage) {
	for i := range rs {
		sum, having := 0.0, 0
		for _, u := range nodes {
			if u.capacity[i] > 0 {
				sum += u.percent(i)
				having++
			}
		}
		average := 0.0
		if having > 0 {
			average = sum / float64(having)
		}
		if rs[i].hasThreshold {
			rs[i].low = min(max(average-rs[i].low, 0), 100)
			rs[i].high = min(max(average+rs[i].high, 0), 100)
		}
	}
}

// setCeilings sets the ceilings by the high thresholds.
func (rs usedResources) setCeilings(nodes []*nodeUsage) {
	for _, u := range nodes {
		for i := range rs {
			u.ceiling[i] = u.capacity[i]
			if rs[i].hasThreshold {
				u.ceiling[i] = int64(rs[i].high * 0.01 * float64(u.capacity[i]))
			}
		}
	}
}

// sortByRaw orders nodes as the peer does, most used first; see docs/parity.md.
func sortByRaw(nodes []*nodeUsage) {
	slices.SortStableFunc(nodes, func(a, b *nodeUsage) int { return cmp.Compare(b.raw(), a.raw()) })
}

// sortByRawAscending is the peer's order for draining, least used first.
func sortByRawAscending(nodes []*nodeUsage) {
	slices.SortStableFunc(nodes, func(a, b *nodeUsage) int { return cmp.Compare(a.raw(), b.raw()) })
}

// sortByExcess orders nodes by how far they are over the high thresholds, furthest first.
func (rs usedResources) sortByExcess(nodes []*nodeUsage) {
	slices.SortFunc(nodes, func(a, b *nodeUsage) int {
		mostA, sumA := rs.excess(a)
		mostB, sumB := rs.excess(b)
		return cmp.Or(cmp.Compare(mostB, mostA), cmp.Compare(sumB, sumA), strings.Compare(a.node.Name, b.node.Name))
	})
}

// sortByFill orders nodes by how full they are, emptiest first.
func (rs usedResources) sortByFill(nodes []*nodeUsage) {
	slices.SortFunc(nodes, func(a, b *nodeUsage) int {
		return cmp.Or(cmp.Compare(rs.fill(a), rs.fill(b)), strings.Compare(a.node.Name, b.node.Name))
	})
}
