package strategy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// podGroups holds the running pods of the cycle's nodes by namespace and labels: the part of the snapshot's groups that a strategy counts. Namespaces are looked at when
// they are first asked for.
type podGroups struct {
	view        *cluster.View
	filter      *Filter
	inCycle     []bool // by node index
	keep        func(*cluster.Pod) bool
	byNamespace map[string]*namespaceGroups
	known       []*podGroup // by the number of the snapshot's group: nil when it has no pod that counts, or was not looked at
}

// namespaceGroups are the groups of one namespace.
type namespaceGroups struct {
	of   *podGroups
	name string
	list []*podGroup // in the order of their first pods
}

// podGroup is the pods of a namespace that have the same labels.
type podGroup struct {
	place    int            // in the list of the namespace
	pods     []*cluster.Pod // by name
	selected bool           // the strategy is to look at them
	// arrivals are the nodes on which replacements of pods with these labels are expected.
	arrivals []*cluster.Node
}

// newPodGroups indexes the pods that keep wants; filter says which of them the strategy is to look at. Terminal pods, and those that have been chosen to move, are left out.
func newPodGroups(c *Cycle, filter *Filter, keep func(*cluster.Pod) bool) *podGroups {
	g := &podGroups{view: c.View, filter: filter, inCycle: make([]bool, len(c.View.Nodes)), keep: keep, byNamespace: map[string]*namespaceGroups{}}
	for _, n := range c.Nodes {
		g.inCycle[n.Index] = true
	}
	return g
}

// namespace returns the groups of a namespace.
func (g *podGroups) namespace(name string) *namespaceGroups {
	if ns := g.byNamespace[name]; ns != nil {
		return ns
	}
	if g.known == nil {
		g.known = make([]*podGroup, g.view.Groups().Len())
	}
	ns := &namespaceGroups{of: g, name: name}
	g.byNamespace[name] = ns
	groups, size := g.view.Groups().In(name), 0
	for _, group := range groups {
		size += len(group.Pods)
	}
	pods := make([]*cluster.Pod, 0, size)
	for _, group := range groups {
		first := len(pods)
		for _, p := range group.Pods {
			if g.inCycle[p.Node.Index] && !g.view.Gone(p) && g.keep(p) {
				pods = append(pods, p)
			}
		}
		if len(pods) > first {
			ns.add(group, &podGroup{selected: g.filter.Selects(pods[first]), pods: pods[first:len(pods):len(pods)]})
		}
	}
	slices.SortFunc(ns.list, func(a, b *podGroup) int { return cmp.Compare(a.pods[0].Index, b.pods[0].Index) })
	for i, group := range ns.list {
		group.place = i
	}
	return ns
}

func (ns *namespaceGroups) add(group *cluster.Group, mine *podGroup) {
	mine.place = len(ns.list)
	ns.list = append(ns.list, mine)
	ns.of.known[group.Number] = mine
}

// group returns the group that the pod is in, or would be.
func (ns *namespaceGroups) group(p *cluster.Pod) *podGroup {
	group := ns.of.view.Groups().Of(p)
	if ns.of.known[group.Number] == nil {
		ns.add(group, &podGroup{selected: ns.of.filter.Selects(p)})
	}
	return ns.of.known[group.Number]
}

// matching lists the groups in some namespaces that the selector selects, by namespace.
func (g *podGroups) matching(in *cluster.NamespaceSet, selector labels.Selector) []*podGroup {
	var list []*podGroup
	namespace, first := "", 0
	sort := func() {
		slices.SortFunc(list[first:], func(a, b *podGroup) int { return cmp.Compare(a.place, b.place) })
		first = len(list)
	}
	for _, group := range g.view.Groups().Selected(in, selector) {
		if group.Namespace != namespace {
			sort()
			namespace = group.Namespace
			g.namespace(namespace) // the groups are known from then on
		}
		if mine := g.known[group.Number]; mine != nil {
			list = append(list, mine)
		}
	}
	sort()
	return list
}
