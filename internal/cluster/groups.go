package cluster

import (
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
)

// Groups are the pods of a snapshot by namespace and labels, so that a selector is matched once for all replicas of a workload, and only against label sets that
// may match.
type Groups struct {
	pods []*Pod
	made sync.Once
	of   []*Group // by pod index
	all  []*Group // by number

	mu sync.Mutex // label sets learn which labels they are asked for
	in map[string]*LabelSets[*Group]
	// everywhere has the groups of all namespaces, in order; nil until it is asked for
	everywhere *LabelSets[*Group]
}

// Group is the pods of a namespace that have the same labels.
type Group struct {
	Number    int // from 0 on, within the snapshot, by namespace
	Namespace string
	Labels    map[string]string
	Pods      []*Pod // that are on nodes and not terminal, by name

	members int
}

// Groups returns the groups, which are made when they are first asked for.
func (s *Snapshot) Groups() *Groups {
	s.groups.made.Do(s.groups.gather)
	return s.groups
}

// gather goes through the pods by namespace and name, and so finds many next to others of their group.
func (g *Groups) gather() {
	g.of, g.in = make([]*Group, len(g.pods)), map[string]*LabelSets[*Group]{}
	var sets *LabelSets[*Group]
	var byLabels map[uintptr]*Group // equal label sets are one map, see Converter; should they not be, they are two groups
	var namespace string
	total := 0
	for i, p := range g.pods {
		if sets == nil || p.Namespace != namespace {
			namespace, sets, byLabels = p.Namespace, &LabelSets[*Group]{}, map[uintptr]*Group{}
			g.in[namespace] = sets
		}
		id := reflect.ValueOf(p.Labels).Pointer()
		group := byLabels[id]
		if group == nil {
			group = &Group{Number: len(g.all), Namespace: namespace, Labels: p.Labels}
			g.all = append(g.all, group)
			byLabels[id] = group
			sets.Add(p.Labels, group)
		}
		g.of[i] = group
		if p.Node != nil && !p.Terminal() {
			group.members++
			total++
		}
	}
	lists := make([]*Pod, total)
	for i, p := range g.pods {
		if p.Node == nil || p.Terminal() {
			continue
		}
		group := g.of[i]
		if group.Pods == nil {
			group.Pods, lists = lists[:0:group.members], lists[group.members:]
		}
		group.Pods = append(group.Pods, p)
	}
}

// Len is how many groups there are.
func (g *Groups) Len() int { return len(g.all) }

// Of is the group of a pod of the snapshot.
func (g *Groups) Of(p *Pod) *Group { return g.of[p.Index] }

// In lists the groups of a namespace, in the order of their first members. The list must not be changed.
func (g *Groups) In(namespace string) []*Group {
	if sets := g.in[namespace]; sets != nil {
		return sets.All()
	}
	return nil
}

// Selected lists the groups in some namespaces that the selector selects, in the same order, by namespace.
func (g *Groups) Selected(in *NamespaceSet, s labels.Selector) []*Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	if names, few := in.few(); few {
		var list []*Group
		for _, name := range names {
			if sets := g.in[name]; sets != nil {
				list = append(list, sets.Selected(s)...)
			}
		}
		return list
	}
	if g.everywhere == nil {
		g.everywhere = &LabelSets[*Group]{}
		for _, group := range g.all {
			g.everywhere.Add(group.Labels, group)
		}
	}
	list := g.everywhere.Selected(s)
	if !in.all {
		list = slices.DeleteFunc(list, func(group *Group) bool { return !in.Has(group.Namespace) })
	}
	return list
}
