package fit

import (
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// likely finds, among the label sets of a namespace, those that a selector may select, without asking about each: in
// a namespace with many workloads a selector would otherwise be matched against every label set there is. The zero value is ready for use.
type likely struct {
	byValue map[likelyKey]map[string][]*likePods
}

type likelyKey struct{ namespace, label string }

// of narrows all, the label sets of the namespace, down by the requirements of the selector for one value of a label, if there are
// such. What is left has still to be matched.
func (l *likely) of(namespace string, all []*likePods, selector labels.Selector) []*likePods {
	exact, ok := cluster.ExactLabels(selector)
	if !ok {
		return nil
	}
	fewest := all
	for _, label := range exact {
		if having := l.having(likelyKey{namespace, label.Key}, all)[label.Value]; len(having) < len(fewest) {
			fewest = having
		}
	}
	return fewest
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

// add takes in a label set that has come up since.
func (l *likely) add(namespace string, g *likePods) {
	for key, value := range g.labels {
		if byValue, ok := l.byValue[likelyKey{namespace, key}]; ok {
			byValue[value] = append(byValue[value], g)
		}
	}
}
