package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// LabelSets holds things by their labels, and finds those that a selector selects without asking about each: with many workloads in a namespace a
// selector would otherwise be matched against every label set there is. The zero value is empty.
type LabelSets[T any] struct {
	sets   []labels.Set
	things []T
	having map[string]*having // by label key, for those that selectors asked for
	whole  bool               // having is there for every key
}

// having is the positions of the sets that have a label key, in order.
type having struct {
	any     []int32
	byValue map[string][]int32
}

func (h *having) add(value string, at int32) {
	h.any = append(h.any, at)
	h.byValue[value] = append(h.byValue[value], at)
}

// fewKeys is how many keys are looked up by going through the sets for each. After that all keys of all sets are.
const fewKeys = 16

// Add takes in a thing with such labels.
func (x *LabelSets[T]) Add(set map[string]string, thing T) {
	at := int32(len(x.sets))
	if x.whole {
		x.index(set, at)
	} else {
		for key, h := range x.having {
			if value, ok := set[key]; ok {
				h.add(value, at)
			}
		}
	}
	x.sets, x.things = append(x.sets, set), append(x.things, thing)
}

// All are the things, in the order they were added. The list must not be changed.
func (x *LabelSets[T]) All() []T { return x.things }

// Selected lists the things that the selector selects, in the order they were added.
func (x *LabelSets[T]) Selected(s labels.Selector) []T {
	demands, ok := anchors(s)
	if !ok {
		return nil
	}
	var out []T
	if len(demands) == 0 {
		for i, set := range x.sets {
			if s.Matches(set) {
				out = append(out, x.things[i])
			}
		}
		return out
	}
	found, matched := x.candidates(s, demands)
	for _, i := range found {
		if matched || s.Matches(x.sets[i]) {
			out = append(out, x.things[i])
		}
	}
	return out
}

// candidates lists the positions of the sets that meet the demand which fewest meet; or, and then matched is true, of those that meet all there is to meet.
func (x *LabelSets[T]) candidates(s labels.Selector, demands [][]Label) (found []int32, matched bool) {
	lists := make([][]int32, len(demands)) // of demands for a single label
	fewest, least, sum, single := 0, -1, 0, 0
	for i, one := range demands {
		size := 0
		for _, label := range one {
			lists[i] = x.with(label)
			size += len(lists[i])
		}
		if len(one) == 1 {
			single++
		}
		sum += size
		if least < 0 || size < least {
			fewest, least = i, size
		}
	}
	requirements, _ := s.Requirements()
	if single < len(demands) || len(demands) < len(requirements) || sum > 4*len(demands)*least {
		return x.withOneOf(demands[fewest]), false
	}
	found = lists[fewest] // to go through the lists takes less than to look up the labels
	for i, list := range lists {
		if i != fewest {
			found = inBoth(found, list)
		}
	}
	return found, true
}

// with lists the positions of the sets that have a label.
func (x *LabelSets[T]) with(l Label) []int32 {
	h := x.having[l.Key]
	if h == nil && !x.whole {
		h = x.learn(l.Key)
	}
	switch {
	case h == nil:
		return nil
	case l.Any:
		return h.any
	}
	return h.byValue[l.Value]
}

// withOneOf lists the positions of the sets that have one of several labels with the same key.
func (x *LabelSets[T]) withOneOf(list []Label) []int32 {
	if len(list) == 1 {
		return x.with(list[0])
	}
	var found []int32
	for _, l := range list {
		found = append(found, x.with(l)...)
	}
	slices.Sort(found)
	return found
}

// learn looks up a key in all sets.
func (x *LabelSets[T]) learn(key string) *having {
	if x.having == nil {
		x.having = map[string]*having{}
	}
	if len(x.having) >= fewKeys {
		x.whole = true
		clear(x.having)
		for i, set := range x.sets {
			x.index(set, int32(i))
		}
		return x.having[key]
	}
	h := &having{byValue: map[string][]int32{}}
	x.having[key] = h
	for i, set := range x.sets {
		if value, ok := set[key]; ok {
			h.add(value, int32(i))
		}
	}
	return h
}

// index takes in all labels of a set.
func (x *LabelSets[T]) index(set labels.Set, at int32) {
	for key, value := range set {
		h := x.having[key]
		if h == nil {
			h = &having{byValue: map[string][]int32{}}
			x.having[key] = h
		}
		h.add(value, at)
	}
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
