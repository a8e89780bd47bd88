package fit

import (
	"cmp"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// crowd finds the running pods of the snapshot by namespaces and labels, and the pods on a node that a term selects, without asking about every
// pod. The zero value is ready for use.
type crowd struct {
	arrivals map[int][]*cluster.Node // where replacements are expected, by the number of the group of their labels; nil until it is asked for
	terms    map[termIn]map[int32][]*cluster.Pod
	equal    map[string]map[int32][]*cluster.Pod // the same by what terms say, for terms of different specs
}

// termIn is a term of a pod in a namespace.
type termIn struct {
	term      *cluster.Term
	namespace string
}

// arrivalsOf lists the nodes on which replacements of the group's pods are expected.
func (x *crowd) arrivalsOf(view *cluster.View, g *cluster.Group) []*cluster.Node {
	if x.arrivals == nil {
		x.arrivals = map[int][]*cluster.Node{}
		for _, n := range view.Nodes {
			for _, p := range view.Arrivals(n) {
				x.arrived(view, p, n)
			}
		}
	}
	return x.arrivals[g.Number]
}

// arrived takes in a replacement of p that is expected on n. Before that is first needed there is nothing to do: it is then taken from the view as it is.
func (x *crowd) arrived(view *cluster.View, p *cluster.Pod, n *cluster.Node) {
	if x.arrivals != nil {
		g := view.Groups().Of(p)
		x.arrivals[g.Number] = append(x.arrivals[g.Number], n)
	}
}

// on lists the pods on n that a term of a pod in namespace own selects, by the rules of [TermSelects], by namespace and name; those that have
// left the view are among them.
func (x *crowd) on(view *cluster.View, t *cluster.Term, own string, n *cluster.Node) []*cluster.Pod {
	key := termIn{t, own}
	byNode, ok := x.terms[key]
	if !ok {
		byNode = x.find(view, t, own)
		if x.terms == nil {
			x.terms = map[termIn]map[int32][]*cluster.Pod{}
		}
		x.terms[key] = byNode
	}
	return byNode[int32(n.Index)]
}

func (x *crowd) find(view *cluster.View, t *cluster.Term, own string) map[int32][]*cluster.Pod {
	namespaces := []string{own}
	if len(t.Namespaces) > 0 {
		namespaces = slices.Compact(slices.Sorted(slices.Values(t.Namespaces)))
	}
	key := cluster.SelectorKey(t.Selector) + "\n" + strings.Join(namespaces, ",")
	if byNode, ok := x.equal[key]; ok {
		return byNode
	}
	byNode := map[int32][]*cluster.Pod{}
	for _, g := range view.Groups().Selected(cluster.InNamespaces(namespaces...), t.Selector) {
		for _, p := range g.Pods {
			byNode[int32(p.Node.Index)] = append(byNode[int32(p.Node.Index)], p)
		}
	}
	for _, list := range byNode {
		slices.SortFunc(list, func(a, b *cluster.Pod) int { return cmp.Compare(a.Index, b.Index) })
	}
	if x.equal == nil {
		x.equal = map[string]map[int32][]*cluster.Pod{}
	}
	x.equal[key] = byNode
	return byNode
}
