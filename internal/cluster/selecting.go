package cluster

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Label is a label and its value.
type Label struct{ Key, Value string }

// ExactLabels lists the labels of which the selector lets only one value pass: what selectors and label sets are brought together by where
// matching each with each would take too long. ok is false for a selector that selects nothing.
func ExactLabels(s labels.Selector) (list []Label, ok bool) {
	requirements, ok := s.Requirements()
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				list = append(list, Label{r.Key(), values[0]})
			}
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

// Selecting holds things that select pods of a namespace by their labels, and finds those that select given ones without asking each. The
// zero value is empty.
type Selecting[T any] struct {
	lists map[selectingKey][]selecting[T]
	n     int
}

// selectingKey is an exact label; the empty one stands for the selectors of the namespace that demand none.
type selectingKey struct {
	namespace string
	label     Label
}

type selecting[T any] struct {
	seq      int
	selector labels.Selector
	thing    T
}

// Add takes in a thing that selects pods of a namespace.
func (x *Selecting[T]) Add(namespace string, s labels.Selector, thing T) {
	if x.lists == nil {
		x.lists = map[selectingKey][]selecting[T]{}
	}
	exact, ok := ExactLabels(s)
	if !ok {
		return
	}
	at := selectingKey{namespace: namespace}
	for i, label := range exact {
		if by := (selectingKey{namespace, label}); i == 0 || len(x.lists[by]) < len(x.lists[at]) {
			at = by
		}
	}
	x.n++
	x.lists[at] = append(x.lists[at], selecting[T]{x.n, s, thing})
}

// Of lists the things that select the labels in that namespace, in the order they were added.
func (x *Selecting[T]) Of(namespace string, set map[string]string) []T {
	if x.n == 0 {
		return nil
	}
	var found []selecting[T]
	look := func(l Label) {
		for _, s := range x.lists[selectingKey{namespace, l}] {
			if s.selector.Matches(labels.Set(set)) {
				found = append(found, s)
			}
		}
	}
	look(Label{})
	for key, value := range set {
		look(Label{key, value})
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
