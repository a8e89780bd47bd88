package fit

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// likely finds, among the label sets of a namespace, those that a selector may select, without asking about each: in
// a namespace with many workloads a selector would otherwise be matched against every label set there is. The zero value is ready for use.
type likely struct {
	byValue map[likelyKey]map[string][]*likePods
}

type likelyKey struct{ namespace, label string }

// of narrows all, the label sets of the namespace, down by a requirement of the selector for one value of a label, if there is
// such. What is left has still to be matched.
func (l *likely) of(namespace string, all []*likePods, selector labels.Selector) []*likePods {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil
	}
	for i := range requirements {
		r := &requirements[i]
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			if values := r.ValuesUnsorted(); len(values) == 1 {
				return l.having(likelyKey{namespace, r.Key()}, all)[values[0]]
			}
		}
	}
	return all
}

func (l *likely) having(key likelyKey, all []*likePods) map[string][]*likePods {
	if byValue, ok := l.byValue[key]; ok {
		return byValue
	}
	byValue := map[string][]*likePods{}
	for _, g := range all {
		if value, ok := g.labels[key.label]; ok {
			byValue[value] = append(byValue[value], g)
		}
	}
	if l.byValue == nil {
		l.byValue = map[likelyKey]map[string][]*likePods{}
	}
	l.byValue[key] = byValue
	return byValue
}
