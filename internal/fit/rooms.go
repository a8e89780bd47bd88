package fit

import (
	"math"
	"math/bits"
)

// Rooms finds a place that has enough room of every kind without asking each. Of n places that are as they were laid out, it looks in vain at about log n where
// they fall short of one or two kinds, and of three or more, d, at n^(1-2/d) at worst: a branch is looked at in vain only if some of its places fall short of one
// kind and others of another. It has to be told of every change.
type Rooms struct {
	*Layout
	room    func(place int) []int64 // nil for a place that does not count
	most    []int64                 // by branch and kind: no place below has more
	touched []int32                 // by branch: the last change below it
	now     int32                   // changes so far, and one
}

// Want is an amount of a kind of room.
type Want struct {
	Kind   int
	Amount int64
}

// NewRooms makes one of the places of a layout; room, which may give nil for a place that is never to be found, is asked again when a place has changed.
func NewRooms(l *Layout, room func(place int) []int64) *Rooms {
	r := &Rooms{Layout: l, room: room, most: make([]int64, 2*l.leaves*l.kinds), touched: make([]int32, 2*l.leaves), now: 1}
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
	r.now++
	leaf := int(r.at[place]) / leafSize
	r.fill(leaf)
	r.touched[r.leaves+leaf] = r.now
	for branch, changed := (r.leaves+leaf)/2, true; branch > 0; branch /= 2 {
		r.touched[branch] = r.now
		changed = changed && r.join(branch)
	}
}

// Now stands for the changes so far; see [Search].
func (r *Rooms) Now() int { return int(r.now) }

// Most is the most that any place has, by kind. It must not be changed.
func (r *Rooms) Most() []int64 { return r.below(1) }

// Search is what is looked for in rooms.
type Search struct {
	Wants []Want
	// Since leaves out the places that have not changed since [Rooms.Now] was that, if it is not zero.
	Since int
	// Open, when it is set, is asked about groups before the places of one are looked at; those that are not open are left out.
	Open func(group int32) bool
	// OK takes a place. It is asked about places of leaves that may have enough.
	OK func(place int) bool
	// Effort is spent on what is looked at beyond the logarithm of the places' number; when it is used up, the search ends.
	Effort *Effort

	free   int
	beyond int // what it was
	ended  bool
}

// freeLooks is how many branches and places are looked at without being counted, in terms of the logarithm of the number of places: enough for two branches at each
// halving, which is what it takes where places fall short of two kinds at most, and the places of two leaves.
const freeLooks = 4

// Find returns a place that the search is about, or -1.
func (r *Rooms) Find(s *Search) int {
	s.free, s.beyond, s.ended = freeLooks*bits.Len(uint(len(r.order))), 0, false
	return r.find(s, 1, s.Open == nil || r.group == nil)
}

// Ended reports whether the last search ended because the effort was used up.
func (s *Search) Ended() bool { return s.ended }

// look counts a look at a branch or a place, and reports whether there may be one.
func (s *Search) look() bool {
	if s.ended {
		return false
	}
	if s.free > 0 {
		s.free--
		return true
	}
	if s.ended = s.Effort.Over(); s.ended {
		return false
	}
	s.beyond++
	s.Effort.Spend(1)
	return true
}

// find looks below a branch; asked tells that its group has been asked about.
func (r *Rooms) find(s *Search, branch int, asked bool) int {
	if s.Since > 0 && int(r.touched[branch]) <= s.Since || !s.look() {
		return -1
	}
	most := r.below(branch)
	for _, w := range s.Wants {
		if most[w.Kind] < w.Amount {
			return -1
		}
	}
	if !asked && r.group[branch] != mixedGroup {
		if !s.Open(r.group[branch]) {
			return -1
		}
		asked = true
	}
	if leaf := branch - r.leaves; leaf >= 0 {
		for _, place := range r.places(leaf) {
			if !s.look() {
				return -1
			}
			if s.OK(int(place)) {
				return int(place)
			}
		}
		return -1
	}
	if place := r.find(s, 2*branch+1, asked); place >= 0 { // those with more
		return place
	}
	return r.find(s, 2*branch, asked)
}

func (r *Rooms) below(branch int) []int64 { return r.most[branch*r.kinds : (branch+1)*r.kinds] }

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
