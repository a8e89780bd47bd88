package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/simulate"
	"evenkeel.dev/evenkeel/internal/strategy"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// restRounds is how many random clusters every pair of strategies is brought to rest on.
const restRounds = 200

// TestStrategiesComeToRestTogether: whichever two strategies are enabled, or all of them, carrying out plans with replacements starting where room was booked
// leads to a cluster that is left alone, in as many cycles as it takes to move one replica of a workload at a time.
func TestStrategiesComeToRestTogether(t *testing.T) {
	for _, names := range combinations(sortedStrategies()) {
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			t.Parallel()
			p := together(t, names)
			for seed := range uint64(restRounds) {
				lines := testkit.RandomCluster(rand.New(rand.NewPCG(seed, 7)))
				if n := cyclesToRest(t, testkit.Snapshot(t, lines), p); n > 9 {
					t.Errorf("seed %d: moves in %d cycles\n%s", seed, n, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// TestSecondCycleProposesNothing: of pods that each have an owner of their own, and no budget, all that are to move do so in the first cycle, unless the peer would
// not move as many; that is rare. The strategies whose pods may start again anywhere are left out.
func TestSecondCycleProposesNothing(t *testing.T) {
	for _, names := range combinations(placing()) {
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			t.Parallel()
			p, held := together(t, names), 0
			forSeeds(t, 1000, func(t *testing.T, lines []string) {
				first, second := twoCycles(t, ownOwners(lines), p)
				switch {
				case len(second.Moves) == 0:
				case heldByThePeer(first):
					held++
				default:
					t.Errorf("the second cycle moves pods\n%s\nfirst: %s\nsecond: %s", strings.Join(lines, "\n"), testkit.JSON(t, first), testkit.JSON(t, second))
				}
			})
			if held > 10 {
				t.Errorf("in %d of 1,000 clusters pods wait for the second cycle, because the peer would move no more in the first; expected 10 at most", held)
			}
		})
	}
}

// TestOnlyWhatWasHeldBackMovesLater: a second cycle has nothing to move but what the first said it holds back for now, for the sake of a budget, of the workload's
// other replicas or of a limit, and what such moves make possible: its first move is one of those. So a cycle that holds nothing back is followed by one that moves nothing.
func TestOnlyWhatWasHeldBackMovesLater(t *testing.T) {
	for _, names := range combinations(placing()) {
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 2))
			forSeeds(t, restRounds, func(t *testing.T, lines []string) {
				p := together(t, names)
				if rng.IntN(3) == 0 {
					p = parse(t, policyOf(names)+randomLimits(rng))
				}
				first, second := twoCycles(t, lines, p)
				if len(second.Moves) == 0 {
					return
				}
				begin := &second.Moves[0]
				if !slices.ContainsFunc(first.Refusals, func(r plan.Refusal) bool { return holdsBack(&r, begin) }) {
					t.Errorf("the second cycle moves %s\n%s\nfirst: %s\nsecond: %s", begin.Pod, strings.Join(lines, "\n"), testkit.JSON(t, first), testkit.JSON(t, second))
				}
			})
		})
	}
}

// holdsBack reports whether a refusal held a later move back. One for a limit speaks for all that it is a limit of.
func holdsBack(r *plan.Refusal, m *plan.Move) bool {
	switch r.Reason.Code {
	case "CycleLimit", "PeersLimit":
		return true
	case "NodeLimit":
		return r.Node == m.Node
	case "NamespaceLimit":
		return r.Pod.Namespace == m.Pod.Namespace
	}
	return r.Pod == m.Pod && (r.Gate == engine.GateBudget || r.Gate == engine.GateGentle)
}

// placing are the strategies whose pods are to start elsewhere.
func placing() []string {
	return slices.DeleteFunc(sortedStrategies(), func(name string) bool {
		return name == "PodLifeTime" || name == "RemoveFailedPods" || name == "RemovePodsHavingTooManyRestarts"
	})
}

// forSeeds goes through so many random clusters.
func forSeeds(t *testing.T, many uint64, check func(*testing.T, []string)) {
	t.Helper()
	for seed := range many {
		check(t, testkit.RandomCluster(rand.New(rand.NewPCG(seed, 7))))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// twoCycles carries out a plan and makes another.
func twoCycles(t *testing.T, lines []string, p *policy.Policy) (first, second *plan.Plan) {
	t.Helper()
	s := testkit.Snapshot(t, lines)
	first = testkit.Plan(t, s, p, false)
	next, err := simulate.Apply(s, first, true).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return first, testkit.Plan(t, next, p, false)
}

// combinations are every name by itself, every two, and all of them.
func combinations(all []string) [][]string {
	list := [][]string{all}
	for i, a := range all {
		list = append(list, []string{a})
		for _, b := range all[i+1:] {
			list = append(list, []string{a, b})
		}
	}
	return list
}

func together(t *testing.T, names []string) *policy.Policy {
	t.Helper()
	return parse(t, policyOf(names))
}

func policyOf(names []string) string {
	var text strings.Builder
	for _, name := range names {
		args := randomArgs(name)
		if name == "RemovePodsViolatingNodeTaints" {
			args = "includePreferNoSchedule: true"
		}
		fmt.Fprintf(&text, "%s\n  %s\n", name, args)
	}
	return text.String()
}

// cyclesToRest carries out one plan after the other until one has no moves, and returns how many had some.
func cyclesToRest(t *testing.T, s *cluster.Snapshot, p *policy.Policy) int {
	t.Helper()
	for cycles := range 30 {
		out := testkit.Plan(t, s, p, false)
		if len(out.Moves) == 0 {
			return cycles
		}
		next, err := simulate.Apply(s, out, true).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	return 30
}

// ownOwners gives every pod an owner of its own and takes the budgets away.
func ownOwners(lines []string) []string {
	owner := regexp.MustCompile(`owner=(ReplicaSet|StatefulSet)/\S+`)
	var out []string
	for i, line := range lines {
		if !strings.HasPrefix(line, "pdb ") {
			out = append(out, owner.ReplaceAllString(line, fmt.Sprintf("owner=$1/o%d", i)))
		}
	}
	return out
}

// TestEveryStrategyIsTried: the table that the tests and benchmarks go by has every strategy there is.
func TestEveryStrategyIsTried(t *testing.T) {
	for _, p := range strategy.Plugins() {
		if _, ok := testkit.Strategies()[p.Name]; !ok {
			t.Errorf("%s is not in testkit.Strategies, so no property is tried on it", p.Name)
		}
	}
	if have, want := len(testkit.Strategies()), len(strategy.Plugins()); have != want {
		t.Errorf("testkit.Strategies has %d strategies, there are %d", have, want)
	}
}

// TestOneStrategyAsksNobody: objections are about other strategies; alone, each makes the moves that it made.
func TestOneStrategyAsksNobody(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, _ *rand.Rand, lines []string) {
		for _, names := range combinations(sortedStrategies())[1:] {
			if len(names) > 1 {
				continue
			}
			out := testkit.Plan(t, testkit.Snapshot(t, lines), together(t, names), false)
			for _, r := range out.Refusals {
				if r.Gate == engine.GateObjection {
					t.Errorf("%s: %s", names[0], r.Reason.Message)
				}
			}
		}
	})
}

func sortedStrategies() []string { return slices.Sorted(maps.Keys(testkit.Strategies())) }
