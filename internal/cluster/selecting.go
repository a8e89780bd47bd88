package cluster

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Label is a label and its value; Any stands for every value of the key.
type Label struct {
	Key, Value string
	Any        bool
}

// anchors lists, for each requirement that lets only certain labels pass, what a set has to have one of: what selectors and label sets are brought together by
// where matching each with each would take too long. ok is false for a selector that selects nothing.
func anchors(s labels.Selector) (list [][]Label, ok bool) {
	requirements, ok := s.Requirements()
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			values := r.ValuesUnsorted()
			one := make([]Label, len(values))
			for j, value := range values {
				one[j] = Label{Key: r.Key(), Value: value}
			}
			list = append(list, one)
		case selection.Exists:
			list = append(list, []Label{{Key: r.Key(), Any: true}})
		}
	}
	return list, ok
}

// SelectorKey is equal for selectors that say the same. (Their strings are not enough: both what selects everything and what
// selects nothing have none.)
func SelectorKey(s labels.Selector) string {
	if _, selectable := s.Requirements(); !selectable {
		return "-"
	}
	return s.String()
}

// Selecting holds things that select pods of some namespaces by their labels, and finds those that select given ones without asking each. The
// zero value is empty.
type Selecting[T any] struct {
	lists map[selectingKey][]selecting[T]
	n     int
	kinds [2][2]bool // of the keys that there are: in one namespace or in many, of one value or of any
}

// selectingKey is where things are looked for: a namespace, none for those that select in many, and a label that they demand, none for those that demand none.
type selectingKey struct {
	namespace string
	label     Label
}

type selecting[T any] struct {
	seq      int
	in       *NamespaceSet // nil: that of the key
	selector labels.Selector
	thing    T
}

// Add takes in a thing that selects pods of a namespace.
func (x *Selecting[T]) Add(namespace string, s labels.Selector, thing T) {
	x.add(namespace, nil, s, thing)
}

// AddIn takes in a thing that selects pods of several namespaces.
func (x *Selecting[T]) AddIn(in *NamespaceSet, s labels.Selector, thing T) {
	if names, few := in.few(); few {
		for _, name := range names {
			x.add(name, nil, s, thing)
		}
		return
	}
	x.add("", in, s, thing)
}

func (x *Selecting[T]) add(namespace string, in *NamespaceSet, s labels.Selector, thing T) {
	if x.lists == nil {
		x.lists = map[selectingKey][]selecting[T]{}
	}
	demands, ok := anchors(s)
	if !ok {
		return
	}
	at, least := []Label{{}}, len(x.lists[selectingKey{namespace: namespace}])
	for i, one := range demands {
		size := len(one) - 1
		for _, label := range one {
			size += len(x.lists[selectingKey{namespace, label}])
		}
		if i == 0 || size < least {
			at, least = one, size
		}
	}
	x.n++
	for _, label := range at {
		key := selectingKey{namespace, label}
		x.lists[key] = append(x.lists[key], selecting[T]{x.n, in, s, thing})
		x.kinds[truth(in != nil)][truth(label.Any)] = true
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Of lists the things that select the labels in that namespace, in the order they were added.
func (x *Selecting[T]) Of(namespace string, set map[string]string) []T {
	if x.n == 0 {
		return nil
	}
	var found []selecting[T]
	for many, kinds := range x.kinds {
		if !kinds[0] && !kinds[1] {
			continue
		}
		in := namespace
		if many == 1 {
			in = ""
		}
		look := func(l Label) {
			for _, s := range x.lists[selectingKey{in, l}] {
				if (s.in == nil || s.in.Has(namespace)) && s.selector.Matches(labels.Set(set)) {
					found = append(found, s)
				}
			}
		}
		look(Label{})
		for key, value := range set {
			look(Label{Key: key, Value: value})
			if kinds[1] {
				look(Label{Key: key, Any: true})
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b selecting[T]) int { return cmp.Compare(a.seq, b.seq) })
	out := make([]T, len(found))
	for i := range found {
		out[i] = found[i].thing
	}
	return out
}
