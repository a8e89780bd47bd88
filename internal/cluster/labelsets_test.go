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
		add := func(n int) {
			for range n {
				set := labels.Set{}
				for key := range 4 {
					if rng.IntN(3) > 0 {
						set[fmt.Sprint("k", key)] = fmt.Sprint("v", rng.IntN(1+key))
					}
				}
				x.Add(set, len(sets))
				sets = append(sets, set)
			}
		}
		for range 20 {
			add(rng.IntN(20))
			text := ""
			for range rng.IntN(4) {
				key := rng.IntN(4)
				text += fmt.Sprintf([]string{"k%d=v%d,", "k%d in (v%d),", "k%d!=v%d,", "k%[1]d,", "k%d in (v0,v%d),"}[rng.IntN(5)], key, rng.IntN(1+key))
			}
			selector, err := labels.Parse(cutLast(text))
			if err != nil {
				t.Fatal(text, err)
			}
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

func cutLast(s string) string { return s[:max(0, len(s)-1)] }
