package fit

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// crowd finds the running pods of the snapshot by namespace and labels, and the pods on a node that a term selects, without asking about every
// pod. The zero value is ready for use.
type crowd struct {
	groups      map[labelsKey]*likePods // nil until it is asked for
	byNamespace map[string]*cluster.LabelSets[*likePods]
	terms       map[termIn]map[int32][]*cluster.Pod
	equal       map[string]map[int32][]*cluster.Pod // the same by what terms say, for terms of different specs
}

// termIn is a term of a pod in a namespace.
type termIn struct {
	term      *cluster.Term
	namespace string
}

// likePods are the pods of a namespace with the same labels.
type likePods struct {
	pods     []*cluster.Pod
	arrivals []*cluster.Node // where replacements of pods with these labels are expected
}

// selected lists the groups of the namespace that the selector selects.
func (x *crowd) selected(view *cluster.View, namespace string, selector labels.Selector) []*likePods {
	if x.groups == nil {
		x.group(view)
	}
	if sets := x.byNamespace[namespace]; sets != nil {
		return sets.Selected(selector)
	}
	return nil
}

func (x *crowd) group(view *cluster.View) {
	x.groups, x.byNamespace = map[labelsKey]*likePods{}, map[string]*cluster.LabelSets[*likePods]{}
	for _, p := range view.Pods {
		if p.Node != nil && !p.Terminal() {
			g := x.of(p)
			g.pods = append(g.pods, p)
		}
	}
	for _, n := range view.Nodes {
		for _, p := range view.Arrivals(n) {
			x.arrived(p, n)
		}
	}
}

// arrived takes in a replacement of p that is expected on n. Before the crowd is first needed there is nothing to do: it is then taken from
// the view as it is.
func (x *crowd) arrived(p *cluster.Pod, n *cluster.Node) {
	if x.groups != nil {
		g := x.of(p)
		g.arrivals = append(g.arrivals, n)
	}
}

func (x *crowd) of(p *cluster.Pod) *likePods {
	key := labelsKey{p.Namespace, labelsID(p.Labels)}
	g := x.groups[key]
	if g == nil {
		g = &likePods{}
		x.groups[key] = g
		sets := x.byNamespace[p.Namespace]
		if sets == nil {
			sets = &cluster.LabelSets[*likePods]{}
			x.byNamespace[p.Namespace] = sets
		}
		sets.Add(p.Labels, g)
	}
	return g
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
		namespaces = slices.Clone(t.Namespaces)
		slices.Sort(namespaces)
		namespaces = slices.Compact(namespaces)
	}
	key := cluster.SelectorKey(t.Selector) + "\n" + strings.Join(namespaces, ",")
	if byNode, ok := x.equal[key]; ok {
		return byNode
	}
	byNode := map[int32][]*cluster.Pod{}
	for _, ns := range namespaces {
		for _, g := range x.selected(view, ns, t.Selector) {
			for _, p := range g.pods {
				byNode[int32(p.Node.Index)] = append(byNode[int32(p.Node.Index)], p)
			}
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
