package fit

import (
	"cmp"
	"math"
	"slices"
)

// leafSize is how many places the leaves of a layout have.
const leafSize = 8

// Layout orders places so that those with about as much room are neighbours: the leaves of a k-d tree, at the branches of which places are halved by
// their groups and then, within a group, by the kind of room in which they differ most.
type Layout struct {
	order   []int32 // places
	at      []int32 // by place: its position in order
	leaves  int     // a power of two; leaf i has the places from i*leafSize on
	kinds   int     // of room
	group   []int32 // by branch (1 is the root, the leaves come last): the group of all places below it, or mixedGroup; nil where there are no groups
	changes int     // that the view had seen, for those of a checker
}

// mixedGroup stands for the groups of places of more than one.
const mixedGroup = -2

// NewLayout lays out so many places by the room they have: a number for each of the kinds of room. How much places differ in a kind is a share of how much all do.
func NewLayout(places, kinds int, room func(place int) []int64) *Layout {
	l, h := begin(places, kinds, room)
	for kind := range h.span {
		low, high := h.bounds(l.order, kind)
		h.span[kind] = max(1, float64(high)-float64(low))
	}
	l.lay(h)
	return l
}

// newLayout lays out places by group, a number from -1 on, if there are groups, and by numbers for each kind of room that are of one measure.
func newLayout(places, kinds int, room func(place int) []int64, group func(place int) int32) *Layout {
	l, h := begin(places, kinds, room)
	for kind := range h.span {
		h.span[kind] = 1
	}
	h.group = group
	l.lay(h)
	if group != nil {
		l.groups(group)
	}
	return l
}

// halving is a layout in the making.
type halving struct {
	kinds int
	table []int64 // by place and kind
	span  []float64
	group func(place int) int32
}

func begin(places, kinds int, room func(place int) []int64) (*Layout, *halving) {
	l := &Layout{order: make([]int32, places), at: make([]int32, places), leaves: 1, kinds: kinds}
	for l.leaves*leafSize < places {
		l.leaves *= 2
	}
	h := &halving{kinds: kinds, table: make([]int64, places*kinds), span: make([]float64, kinds)}
	for i := range l.order {
		l.order[i] = int32(i)
		copy(h.table[i*kinds:(i+1)*kinds], room(i))
	}
	return l, h
}

func (l *Layout) lay(h *halving) {
	h.halve(l.order, l.leaves)
	for i, place := range l.order {
		l.at[place] = int32(i)
	}
}

// halve puts places, which so many leaves are for, in order.
func (h *halving) halve(places []int32, leaves int) {
	if len(places) < 2 || len(places) <= leafSize && h.group == nil {
		return
	}
	by := h.measure(places)
	if by == nil {
		return // they are all the same
	}
	slices.SortFunc(places, func(a, b int32) int { return cmp.Or(cmp.Compare(by(a), by(b)), cmp.Compare(a, b)) })
	if len(places) <= leafSize {
		return
	}
	half := min(leaves/2*leafSize, len(places))
	h.halve(places[:half], leaves/2)
	h.halve(places[half:], leaves/2)
}

// measure is what places are to be halved by, nil if they do not differ.
func (h *halving) measure(places []int32) func(place int32) int64 {
	if h.group != nil {
		by := func(place int32) int64 { return int64(h.group(int(place))) }
		if slices.ContainsFunc(places, func(place int32) bool { return by(place) != by(places[0]) }) {
			return by
		}
	}
	widest, most := 0, 0.0
	for kind := range h.kinds {
		low, high := h.bounds(places, kind)
		if width := (float64(high) - float64(low)) / h.span[kind]; width > most {
			widest, most = kind, width
		}
	}
	if most == 0 {
		return nil
	}
	return func(place int32) int64 { return h.table[int(place)*h.kinds+widest] }
}

// bounds are the least and the most of a kind that places have.
func (h *halving) bounds(places []int32, kind int) (low, high int64) {
	low, high = math.MaxInt64, math.MinInt64
	for _, place := range places {
		v := h.table[int(place)*h.kinds+kind]
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// groups finds out which branches are of one group.
func (l *Layout) groups(group func(place int) int32) {
	l.group = make([]int32, 2*l.leaves)
	for leaf := range l.leaves {
		places := l.places(leaf)
		g := int32(mixedGroup)
		if len(places) > 0 && group(int(places[0])) == group(int(places[len(places)-1])) {
			g = group(int(places[0]))
		}
		l.group[l.leaves+leaf] = g
	}
	for branch := l.leaves - 1; branch > 0; branch-- {
		l.group[branch] = mixedGroup
		if g := l.group[2*branch]; g == l.group[2*branch+1] {
			l.group[branch] = g
		}
	}
}

func (l *Layout) places(leaf int) []int32 {
	return l.order[min(leaf*leafSize, len(l.order)):min((leaf+1)*leafSize, len(l.order))]
}
