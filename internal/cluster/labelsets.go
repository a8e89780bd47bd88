package cluster

import "k8s.io/apimachinery/pkg/labels"

// LabelSets holds things by their labels, and finds those that a selector selects without asking about each: with many workloads in a namespace a
// selector would otherwise be matched against every label set there is. The zero value is empty.
type LabelSets[T any] struct {
	sets   []labels.Set
	things []T
	having map[string]map[string][]int32 // for the label keys that selectors asked for: the positions in sets, by value
}

// Add takes in a thing with such labels.
func (x *LabelSets[T]) Add(set map[string]string, thing T) {
	for key, byValue := range x.having {
		if value, ok := set[key]; ok {
			byValue[value] = append(byValue[value], int32(len(x.sets)))
		}
	}
	x.sets, x.things = append(x.sets, set), append(x.things, thing)
}

// All are the things, in the order they were added. The list must not be changed.
func (x *LabelSets[T]) All() []T { return x.things }

// Selected lists the things that the selector selects, in the order they were added.
func (x *LabelSets[T]) Selected(s labels.Selector) []T {
	exact, ok := ExactLabels(s)
	if !ok {
		return nil
	}
	var out []T
	if len(exact) == 0 {
		for i, set := range x.sets {
			if s.Matches(set) {
				out = append(out, x.things[i])
			}
		}
		return out
	}
	lists := make([][]int32, len(exact))
	fewest, sum := 0, 0
	for i, label := range exact {
		lists[i] = x.with(label)
		sum += len(lists[i])
		if len(lists[i]) < len(lists[fewest]) {
			fewest = i
		}
	}
	found := lists[fewest]
	requirements, _ := s.Requirements()
	matched := len(exact) == len(requirements) && sum <= 4*len(exact)*len(found)
	if matched { // to go through the lists takes less than to look up the labels
		for i, list := range lists {
			if i != fewest {
				found = inBoth(found, list)
			}
		}
	}
	for _, i := range found {
		if matched || s.Matches(x.sets[i]) {
			out = append(out, x.things[i])
		}
	}
	return out
}

// with lists the positions of the sets that have a label.
func (x *LabelSets[T]) with(l Label) []int32 {
	byValue, ok := x.having[l.Key]
	if !ok {
		byValue = map[string][]int32{}
		for i, set := range x.sets {
			if value, ok := set[l.Key]; ok {
				byValue[value] = append(byValue[value], int32(i))
			}
		}
		if x.having == nil {
			x.having = map[string]map[string][]int32{}
		}
		x.having[l.Key] = byValue
	}
	return byValue[l.Value]
}

// inBoth lists the numbers that are in both of two lists, each in order.
func inBoth(a, b []int32) []int32 {
	out := make([]int32, 0, min(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			out = append(out, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return out
}
