package fit

import (
	"cmp"
	"math"
	"slices"
)

// leafSize is how many places the leaves of a layout have.
const leafSize = 8

// Layout orders places so that those with about as much room are neighbours: the leaves of a k-d tree, at each branch of which the places are
// halved by what they differ in most.
type Layout struct {
	order  []int32 // places
	at     []int32 // by place: its position in order
	leaves int     // a power of two; leaf i has the places from i*leafSize on
	kinds  int     // of room
}

// NewLayout lays out so many places by the room they have: a number for each of the kinds of room.
func NewLayout(places, kinds int, room func(place int) []int64) *Layout {
	l := &Layout{order: make([]int32, places), at: make([]int32, places), leaves: 1, kinds: kinds}
	for l.leaves*leafSize < places {
		l.leaves *= 2
	}
	table := make([]int64, places*kinds)
	for i := range l.order {
		l.order[i] = int32(i)
		copy(table[i*kinds:(i+1)*kinds], room(i))
	}
	l.halve(table, l.order, l.leaves)
	for i, place := range l.order {
		l.at[place] = int32(i)
	}
	return l
}

// halve puts places, which so many leaves are for, in order.
func (l *Layout) halve(table []int64, places []int32, leaves int) {
	if len(places) <= leafSize {
		return
	}
	kind := l.widest(table, places)
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(table[int(a)*l.kinds+kind], table[int(b)*l.kinds+kind]), cmp.Compare(a, b))
	})
	half := min(leaves/2*leafSize, len(places))
	l.halve(table, places[:half], leaves/2)
	l.halve(table, places[half:], leaves/2)
}

// widest is the kind of room in which places differ most, as a share of the most that one of them has.
func (l *Layout) widest(table []int64, places []int32) int {
	widest, most := 0, -1.0
	for kind := range l.kinds {
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for _, place := range places {
			v := table[int(place)*l.kinds+kind]
			low, high = min(low, v), max(high, v)
		}
		if share := (float64(high) - float64(low)) / max(1, math.Abs(float64(high)), math.Abs(float64(low))); share > most {
			widest, most = kind, share
		}
	}
	return widest
}

// Rooms finds a place that has enough room of every kind without asking each: where room is of two kinds, and places are as they were laid out, it
// looks at about as many places as the logarithm of their number. It has to be told of every change.
type Rooms struct {
	*Layout
	room func(place int) []int64 // nil for a place that does not count
	most []int64                 // by branch (1 is the root, the leaves come last) and kind: no place below has more
}

// Want is an amount of a kind of room.
type Want struct {
	Kind   int
	Amount int64
}

// NewRooms makes one of the places of a layout; room, which may give nil for a place that is never to be found, is asked again when a place has changed.
func NewRooms(l *Layout, room func(place int) []int64) *Rooms {
	r := &Rooms{Layout: l, room: room, most: make([]int64, 2*l.leaves*l.kinds)}
	r.Refill()
	return r
}

// Refill asks about every place again.
func (r *Rooms) Refill() {
	for leaf := range r.leaves {
		r.fill(leaf)
	}
	for branch := r.leaves - 1; branch > 0; branch-- {
		r.join(branch)
	}
}

// Change is told that the room of a place has changed.
func (r *Rooms) Change(place int) {
	leaf := int(r.at[place]) / leafSize
	r.fill(leaf)
	for branch := (r.leaves + leaf) / 2; branch > 0 && r.join(branch); branch /= 2 {
	}
}

// Find returns a place that ok takes, or -1; ok is asked about places of leaves that may have enough.
func (r *Rooms) Find(wants []Want, ok func(place int) bool) int {
	return r.find(1, wants, ok)
}

// Most is the most that any place has, by kind. It must not be changed.
func (r *Rooms) Most() []int64 { return r.below(1) }

func (r *Rooms) find(branch int, wants []Want, ok func(place int) bool) int {
	most := r.below(branch)
	for _, w := range wants {
		if most[w.Kind] < w.Amount {
			return -1
		}
	}
	if leaf := branch - r.leaves; leaf >= 0 {
		for _, place := range r.places(leaf) {
			if ok(int(place)) {
				return int(place)
			}
		}
		return -1
	}
	if place := r.find(2*branch+1, wants, ok); place >= 0 { // those with more
		return place
	}
	return r.find(2*branch, wants, ok)
}

func (r *Rooms) below(branch int) []int64 { return r.most[branch*r.kinds : (branch+1)*r.kinds] }

func (r *Rooms) places(leaf int) []int32 {
	return r.order[min(leaf*leafSize, len(r.order)):min((leaf+1)*leafSize, len(r.order))]
}

func (r *Rooms) fill(leaf int) {
	most := r.below(r.leaves + leaf)
	for kind := range most {
		most[kind] = math.MinInt64
	}
	for _, place := range r.places(leaf) {
		for kind, v := range r.room(int(place)) {
			most[kind] = max(most[kind], v)
		}
	}
}

// join makes a branch what its two are, and reports whether that changed anything.
func (r *Rooms) join(branch int) bool {
	most, left, right := r.below(branch), r.below(2*branch), r.below(2*branch+1)
	changed := false
	for kind := range most {
		if v := max(left[kind], right[kind]); v != most[kind] {
			most[kind], changed = v, true
		}
	}
	return changed
}
