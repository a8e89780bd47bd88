package fit

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestRoomIsFoundWhereThereIsSome: in places that change, as asking each of them would; also among those of some groups, and among those that have changed.
func TestRoomIsFoundWhereThereIsSome(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		const kinds, groups = 3, 4
		places := make([][]int64, rng.IntN(200))
		random := func() []int64 {
			a, b := rng.Int64N(100), rng.Int64N(100)
			if rng.IntN(2) == 0 {
				b = 100 - a
			}
			return []int64{a, b, rng.Int64N(5) - 2}
		}
		for i := range places {
			places[i] = random()
		}
		room := func(i int) []int64 { return places[i] }
		layout := NewLayout(len(places), kinds, room)
		group := func(i int) int32 { return int32(i*7%groups) - 1 }
		grouped := seed%2 == 0
		if grouped {
			layout = newLayout(len(places), kinds, room, group)
		}
		banned := rng.IntN(3)
		rooms := NewRooms(layout, func(i int) []int64 {
			if i%3 == banned {
				return nil
			}
			return places[i]
		})
		since, changed := 0, map[int]bool{}
		for range 200 {
			if len(places) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(places))
				places[i], changed[i] = random(), true
				rooms.Change(i)
			}
			if rng.IntN(10) == 0 {
				since = rooms.Now()
				clear(changed)
			}
			shut := rng.Int32N(groups) - 1
			s := Search{Wants: []Want{{Kind: 0, Amount: rng.Int64N(110)}, {Kind: 1, Amount: rng.Int64N(110)}}}
			s.OK = func(i int) bool {
				return i%3 != banned && places[i][0] >= s.Wants[0].Amount && places[i][1] >= s.Wants[1].Amount && (s.Open == nil || group(i) != shut)
			}
			if grouped && rng.IntN(2) == 0 {
				s.Open = func(g int32) bool { return g != shut }
			}
			if rng.IntN(2) == 0 {
				s.Since = since
			}
			want := false
			for i := range places {
				want = want || s.OK(i) && (s.Since == 0 || changed[i])
			}
			if got := rooms.Find(&s); want && got < 0 || got >= 0 && !s.OK(got) || s.Ended() {
				t.Fatalf("seed %d, %d places: found %d, there is one: %v", seed, len(places), got, want)
			}
		}
	}
}

// TestSearchesInVainTakeTheLogarithmOrEnd: where places fall short of two kinds of room, a search takes no more than is free; where they may fall short of more, what
// it takes beyond that is counted, and when the effort is used up it takes no more than is free.
func TestSearchesInVainTakeTheLogarithmOrEnd(t *testing.T) {
	const places, most = 4000, 1_000_000
	for kinds := 2; kinds <= 5; kinds++ {
		t.Run(fmt.Sprint(kinds), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(kinds), 7))
			table := make([][]int64, places)
			for i := range table {
				table[i] = make([]int64, kinds)
				for kind := range table[i] {
					table[i][kind] = rng.Int64N(most)
				}
				table[i][1] = most - table[i][0]
			}
			room := func(i int) []int64 { return table[i] }
			rooms := NewRooms(NewLayout(places, kinds, room), room)
			effort := NewEffort(0)
			effort.Grant(10 * places)
			for range 2000 {
				cpu := rng.Int64N(most)
				asked := 0
				before, over := effort.Spent(), effort.Over()
				s := Search{Wants: []Want{{0, cpu + 1}, {1, most - cpu}}, Effort: effort, OK: func(i int) bool {
					asked++
					return table[i][0] > cpu && table[i][1] >= most-cpu
				}}
				if at := rooms.Find(&s); at >= 0 {
					t.Fatalf("found place %d, which has no room", at)
				}
				free, beyond := freeLooks*bits.Len(places), effort.Spent()-before
				switch {
				case asked > free+beyond:
					t.Fatalf("%d places were asked, %d are free and %d were counted", asked, free, beyond)
				case kinds == 2 && (beyond > 0 || s.Ended()):
					t.Fatalf("%d looks beyond the %d that are free", beyond, free)
				case over && beyond > 0:
					t.Fatalf("went on by %d looks after the effort was used up", beyond)
				}
			}
			if over := effort.Over(); over != (kinds > 2) {
				t.Errorf("used up: %v, after %d looks", over, effort.Spent())
			}
		})
	}
}
