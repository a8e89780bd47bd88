package fit_test

import (
	"math/rand/v2"
	"testing"

	"evenkeel.dev/evenkeel/internal/fit"
)

// TestRoomIsFoundWhereThereIsSome: in places that change, as asking each of them would.
func TestRoomIsFoundWhereThereIsSome(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		const kinds = 3
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
		layout := fit.NewLayout(len(places), kinds, func(i int) []int64 { return places[i] })
		banned := rng.IntN(3)
		rooms := fit.NewRooms(layout, func(i int) []int64 {
			if i%3 == banned {
				return nil
			}
			return places[i]
		})
		for range 200 {
			if len(places) > 0 && rng.IntN(3) == 0 {
				i := rng.IntN(len(places))
				places[i] = random()
				rooms.Change(i)
			}
			wants := []fit.Want{{Kind: 0, Amount: rng.Int64N(110)}, {Kind: 1, Amount: rng.Int64N(110)}}
			ok := func(i int) bool {
				return i%3 != banned && places[i][0] >= wants[0].Amount && places[i][1] >= wants[1].Amount
			}
			want := false
			for i := range places {
				want = want || ok(i)
			}
			if got := rooms.Find(wants, ok); (got >= 0) != want || got >= 0 && !ok(got) {
				t.Fatalf("seed %d, %d places: found %d, there is one: %v", seed, len(places), got, want)
			}
		}
	}
}
