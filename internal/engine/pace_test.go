package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/simulate"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// TestNoNodeIsSentMorePodsThanItStarts: whatever strategies are enabled, a cycle books no more replacements on a node than its agent says it can begin to start;
// cycle after cycle the others follow, until none is held back but by nodes on which as many pods really are not up. What a gone agent last said holds none back for ever.
func TestNoNodeIsSentMorePodsThanItStarts(t *testing.T) {
	held := 0
	for _, names := range combinations(sortedStrategies()) {
		p := together(t, names)
		for seed := range uint64(100) {
			rng := rand.New(rand.NewPCG(seed, 11))
			lines := testkit.RandomCluster(rng)
			if rng.IntN(2) == 0 {
				lines = ownOwners(lines) // so that many move at once
			}
			s := testkit.Snapshot(t, withPaces(rng, lines))
			for cycles := 0; ; cycles++ {
				out := testkit.Plan(t, s, p, false)
				sent := map[string]int{}
				for i := range out.Moves {
					sent[out.Moves[i].Room]++
				}
				busy := false
				for name, starts := range s.Starts {
					free := starts.Limit - min(starts.Starting+starts.Waiting, notUp(s.Node(name)))
					busy = busy || free <= 0
					if sent[name] > max(0, free) {
						t.Errorf("%v, seed %d: %d replacements for %s, which can begin to start %d\n%s", names, seed, sent[name], name, free, testkit.JSON(t, out))
					}
				}
				pace := slices.ContainsFunc(out.Refusals, func(r plan.Refusal) bool { return r.Gate == engine.GatePace })
				if pace {
					held++
				}
				if len(out.Moves) == 0 {
					if pace && !busy {
						t.Errorf("%v, seed %d: nothing moves, and no node is busy\n%s", names, seed, testkit.JSON(t, out))
					}
					break
				}
				if cycles > 40 {
					t.Fatalf("%v, seed %d: still moving after %d cycles", names, seed, cycles)
				}
				next, err := simulate.Apply(s, out, true).Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				s = next
			}
		}
	}
	if held == 0 {
		t.Error("nothing was held back in any cluster")
	}
}

// withPaces gives some nodes an agent.
func withPaces(rng *rand.Rand, lines []string) []string {
	var paces []string
	for _, line := range lines {
		if words := strings.Fields(line); words[0] == "node" && rng.IntN(3) > 0 {
			paces = append(paces, fmt.Sprintf("nodepace %s limit=%d starting=%d waiting=%d", words[1], 1+rng.IntN(2), rng.IntN(3), rng.IntN(2)))
		}
	}
	return slices.Concat(lines, paces)
}

func notUp(n *cluster.Node) int {
	count := 0
	for _, p := range n.Pods {
		if !p.Ready && !p.Terminal() && !p.Deleting {
			count++
		}
	}
	return count
}
