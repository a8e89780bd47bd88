package strategy

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// podGroups holds the running pods of the cycle's nodes by namespace and labels, so that a selector is matched once for all replicas
// of a workload, and only against label sets that may match. Namespaces are indexed when they are first asked for.
type podGroups struct {
	view        *cluster.View
	filter      *Filter
	inCycle     []bool // by node index
	keep        func(*cluster.Pod) bool
	byNamespace map[string]*namespaceGroups
}

// namespaceGroups are the groups of one namespace, in the order of their first pods.
type namespaceGroups struct {
	filter   *Filter
	groups   cluster.LabelSets[*podGroup]
	byLabels map[uintptr]*podGroup // equal label sets are one map, see cluster.Converter
}

// podGroup is the pods of a namespace that have the same labels.
type podGroup struct {
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
	ns := &namespaceGroups{filter: g.filter, byLabels: map[uintptr]*podGroup{}}
	g.byNamespace[name] = ns
	pods := g.view.Pods
	first, _ := slices.BinarySearchFunc(pods, name, func(p *cluster.Pod, name string) int { return strings.Compare(p.Namespace, name) })
	for _, p := range pods[first:] {
		if p.Namespace != name {
			break
		}
		if p.Node == nil || !g.inCycle[p.Node.Index] || p.Terminal() || g.view.Gone(p) || !g.keep(p) {
			continue
		}
		group := ns.of(p)
		group.pods = append(group.pods, p)
	}
	return ns
}

// of returns the group that the pod is in, or would be.
func (ns *namespaceGroups) of(p *cluster.Pod) *podGroup {
	id := reflect.ValueOf(p.Labels).Pointer()
	group := ns.byLabels[id]
	if group == nil {
		group = &podGroup{selected: ns.filter.Selects(p)}
		ns.byLabels[id] = group
		ns.groups.Add(p.Labels, group)
	}
	return group
}

// matching lists the groups that the selector selects.
func (ns *namespaceGroups) matching(selector labels.Selector) []*podGroup {
	return ns.groups.Selected(selector)
}
