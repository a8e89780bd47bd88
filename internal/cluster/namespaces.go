package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// NamespaceSet is the namespaces in which a term looks for pods.
type NamespaceSet struct {
	all   bool
	names []string // sorted; nil for all
}

// InNamespaces is the set of these namespaces.
func InNamespaces(names ...string) *NamespaceSet {
	return &NamespaceSet{names: slices.Compact(slices.Sorted(slices.Values(names)))}
}

// Has reports whether a namespace is one of them.
func (n *NamespaceSet) Has(name string) bool {
	if n.all {
		return true
	}
	_, found := slices.BinarySearch(n.names, name)
	return found
}

// Names lists them, sorted; nil when the set is that of all there are. The list must not be changed.
func (n *NamespaceSet) Names() []string { return n.names }

// fewNamespaces is up to how many namespaces are gone through one by one.
const fewNamespaces = 8

// few returns the names, if they are few.
func (n *NamespaceSet) few() (names []string, few bool) {
	return n.names, !n.all && len(n.names) <= fewNamespaces
}

// NamespaceSets resolves the namespaces of terms, as the scheduler does: those named and those selected, or else the pod's own. Sets that are spelled alike are one pointer. It is
// for one goroutine.
type NamespaceSets struct {
	of    map[*Term]*NamespaceSet // of terms that name or select some
	equal map[string]*NamespaceSet
	known *LabelSets[string] // the names of all; nil until it is asked for
	from  *Snapshot
}

// NewNamespaceSets makes sets of the namespaces of a snapshot. Of a namespace that is known by its pods only, nothing is known but its name, which is a label of it, too.
func NewNamespaceSets(s *Snapshot) *NamespaceSets {
	return &NamespaceSets{of: map[*Term]*NamespaceSet{}, equal: map[string]*NamespaceSet{}, from: s}
}

// Of resolves a term of a pod in namespace own.
func (x *NamespaceSets) Of(t *Term, own string) *NamespaceSet {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return x.One(own)
	}
	set := x.of[t]
	if set == nil {
		set = x.resolve(t)
		x.of[t] = set
	}
	return set
}

// Both is the set of the namespaces that are in both.
func (x *NamespaceSets) Both(a, b *NamespaceSet) *NamespaceSet {
	switch {
	case a.all:
		return b
	case b.all:
		return a
	}
	return x.Named(slices.DeleteFunc(slices.Clone(a.names), func(name string) bool { return !b.Has(name) })...)
}

// One is the set of one namespace.
func (x *NamespaceSets) One(name string) *NamespaceSet {
	set := x.equal[name]
	if set == nil {
		set = InNamespaces(name)
		x.equal[name] = set
	}
	return set
}

// Named is the set of these namespaces.
func (x *NamespaceSets) Named(names ...string) *NamespaceSet {
	set := InNamespaces(names...)
	return x.spelled(strings.Join(set.names, ","), func() *NamespaceSet { return set })
}

func (x *NamespaceSets) spelled(how string, build func() *NamespaceSet) *NamespaceSet {
	set := x.equal[how]
	if set == nil {
		set = build()
		x.equal[how] = set
	}
	return set
}

func (x *NamespaceSets) resolve(t *Term) *NamespaceSet {
	switch {
	case t.NamespaceSelector == nil:
		return x.Named(t.Namespaces...)
	case t.NamespaceSelector.Empty():
		return x.spelled("\n", func() *NamespaceSet { return &NamespaceSet{all: true} })
	}
	named := slices.Sorted(slices.Values(t.Namespaces))
	return x.spelled(strings.Join(named, ",")+"\n"+SelectorKey(t.NamespaceSelector), func() *NamespaceSet {
		return InNamespaces(append(x.selected(t.NamespaceSelector), named...)...)
	})
}

func (x *NamespaceSets) selected(s labels.Selector) []string {
	if x.known == nil {
		x.known = &LabelSets[string]{}
		for _, name := range sortedKeys(x.from.Namespaces) {
			x.known.Add(x.from.Namespaces[name].Labels, name)
		}
		last := ""
		for _, p := range x.from.Pods { // by namespace
			if p.Namespace != last && x.from.Namespaces[p.Namespace] == nil {
				x.known.Add(map[string]string{corev1.LabelMetadataName: p.Namespace}, p.Namespace)
			}
			last = p.Namespace
		}
	}
	return x.known.Selected(s)
}
