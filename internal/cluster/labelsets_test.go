package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// TestLabelSetsAreFoundAsBySelectors: the things found are those that the selector matches, in order, also after others have come.
func TestLabelSetsAreFoundAsBySelectors(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var x cluster.LabelSets[int]
		var sets []labels.Set
		keys := 4 + int(seed%2)*40 // few are looked up one by one
		add := func(n int) {
			for range n {
				set := randomSet(rng, keys)
				x.Add(set, len(sets))
				sets = append(sets, set)
			}
		}
		for range 20 {
			add(rng.IntN(20))
			selector := randomSelector(t, rng, keys)
			var want []int
			for i, set := range sets {
				if selector.Matches(set) {
					want = append(want, i)
				}
			}
			if diff := cmp.Diff(want, x.Selected(selector)); diff != "" {
				t.Fatalf("seed %d: %s (-want +got):\n%s", seed, selector, diff)
			}
		}
		if got := x.Selected(labels.Nothing()); len(got) > 0 {
			t.Errorf("nothing selects %v", got)
		}
	}
}

// randomSet has values of most of the keys.
func randomSet(rng *rand.Rand, keys int) labels.Set {
	set := labels.Set{}
	for key := range keys {
		if rng.IntN(3) > 0 {
			set[fmt.Sprint("k", key)] = fmt.Sprint("v", rng.IntN(1+key%4))
		}
	}
	return set
}

func randomSelector(t *testing.T, rng *rand.Rand, keys int) labels.Selector {
	t.Helper()
	text := ""
	for range rng.IntN(4) {
		key := rng.IntN(keys)
		text += fmt.Sprintf([]string{"k%d=v%d,", "k%d in (v%d),", "k%d!=v%d,", "k%[1]d,", "k%d in (v0,v%d),"}[rng.IntN(5)], key, rng.IntN(1+key%4))
	}
	selector, err := labels.Parse(cutLast(text))
	if err != nil {
		t.Fatal(text, err)
	}
	return selector
}

func cutLast(s string) string { return s[:max(0, len(s)-1)] }
