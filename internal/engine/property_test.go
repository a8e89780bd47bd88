package engine_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// rounds is how many random clusters each property is tried on.
const rounds = 150

// TestShuffledInputGivesTheSameBytes: neither the order of the objects nor map iteration decides anything.
func TestShuffledInputGivesTheSameBytes(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		p := randomPolicy(t, rng)
		for _, compat := range []bool{false, true} {
			first := testkit.JSON(t, testkit.Plan(t, testkit.Snapshot(t, lines), p, compat))
			rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			again := testkit.JSON(t, testkit.Plan(t, testkit.Snapshot(t, lines), p, compat))
			if diff := cmp.Diff(first, again); diff != "" {
				t.Fatalf("compat %v: the plan depends on the order of the input:\n%s", compat, diff)
			}
		}
	})
}

// TestNeverMoreThanThePeer: by default no more pods move than with the peer, whatever strategies are enabled, and whatever limits there are; and where that holds pods
// back, as many move. Evening replicas is the
// stated exception, and so are, for the two strategies that look at node utilization, nodes with taints: the peer takes some for obstacles that are none.
func TestNeverMoreThanThePeer(t *testing.T) {
	var held atomic.Int32
	t.Cleanup(func() {
		if held.Load() == 0 {
			t.Error("in no cluster was it the peer's number of moves that held pods back")
		}
	})
	for i, names := range combinations(sortedStrategies()) {
		t.Run(strings.Join(names, "+"), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(9, uint64(i)))
			forSeeds(t, restRounds, func(t *testing.T, lines []string) {
				if rng.IntN(2) == 0 {
					lines = ownOwners(lines)
				}
				if slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "NodeUtilization") }) {
					lines = withoutTaints(lines)
				}
				text := policyOf(names) + fmt.Sprintf("evictor\n  nodeFit: %v\n", rng.IntN(2) == 0)
				if rng.IntN(3) == 0 {
					text += randomLimits(rng)
				}
				p, s := parse(t, text), testkit.Snapshot(t, lines)
				ours, peers := testkit.Plan(t, s, p, false), testkit.Plan(t, s, p, true)
				a, b, isHeld := bounded(ours), bounded(peers), heldByThePeer(ours)
				if a > b || isHeld && a < b {
					t.Errorf("%d moves, the peer makes %d\n%s%s\n%s\n%s", a, b, text, strings.Join(lines, "\n"), testkit.JSON(t, ours), testkit.JSON(t, peers))
				}
				if isHeld {
					held.Add(1)
				}
			})
		})
	}
}

// bounded is how many moves there are of the strategies of which there are never to be more than the peer's.
func bounded(p *plan.Plan) int {
	count := len(p.Moves)
	for i := range p.Moves {
		if p.Moves[i].Strategy == "RemoveDuplicates" {
			count--
		}
	}
	return count
}

// heldByThePeer reports whether more would have moved, were it not more than the peer moves.
func heldByThePeer(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Refusals, func(r plan.Refusal) bool { return r.Reason.Code == "PeersLimit" })
}

// withoutTaints takes away what the peer and we look at differently.
func withoutTaints(lines []string) []string {
	return strings.Split(regexp.MustCompile(` taint=\S+`).ReplaceAllString(strings.Join(lines, "\n"), ""), "\n")
}

// TestAPlanAddsUp: each pod moves once, the moves are numbered, and the summary counts what is there.
func TestAPlanAddsUp(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		out := testkit.Plan(t, testkit.Snapshot(t, lines), randomPolicy(t, rng), false)
		pods := map[plan.PodRef]bool{}
		for i, m := range out.Moves {
			if m.Seq != i+1 || pods[m.Pod] || m.Room == m.Node {
				t.Errorf("move %d is %+v", i+1, m)
			}
			pods[m.Pod] = true
		}
		sum := plan.Summary{}
		for _, c := range out.Summary.ByStrategy {
			sum.Moves, sum.Refusals = sum.Moves+c.Moves, sum.Refusals+c.Refusals
		}
		gates := 0
		for _, g := range out.Summary.ByGate {
			gates += g.Refusals
		}
		if s := out.Summary; s.Moves != len(out.Moves) || s.Refusals != len(out.Refusals) || sum.Moves != s.Moves || sum.Refusals != s.Refusals || gates != s.Refusals {
			t.Errorf("%d moves and %d refusals, summed up as %+v", len(out.Moves), len(out.Refusals), s)
		}
	})
}

func forRandomClusters(t *testing.T, check func(*testing.T, *rand.Rand, []string)) {
	t.Helper()
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			check(t, rng, testkit.RandomCluster(rng))
		})
	}
}

func randomArgs(name string) string {
	return map[string]string{
		"HighNodeUtilization":                         "thresholds: {cpu: 40, memory: 40}",
		"LowNodeUtilization":                          "{thresholds: {cpu: 30, memory: 30}, targetThresholds: {cpu: 50, memory: 50}}",
		"PodLifeTime":                                 "maxPodLifeTimeSeconds: 604800",
		"RemovePodsHavingTooManyRestarts":             "podRestartThreshold: 10",
		"RemovePodsViolatingNodeAffinity":             "nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution]",
		"RemovePodsViolatingTopologySpreadConstraint": "constraints: [DoNotSchedule, ScheduleAnyway]",
	}[name]
}

// randomPolicy enables everything, with random limits.
func randomPolicy(t *testing.T, rng *rand.Rand) *policy.Policy {
	text := "evictor\n  nodeFit: " + fmt.Sprint(rng.IntN(2) == 0) + "\n"
	for _, name := range sortedStrategies() {
		text += name + "\n  " + randomArgs(name) + "\n"
	}
	return parse(t, text+randomLimits(rng))
}

// randomLimits sets some of the limits of a cycle.
func randomLimits(rng *rand.Rand) string {
	text := "limits\n"
	for _, field := range []string{"maxNoOfPodsToEvictTotal", "maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace"} {
		if rng.IntN(3) == 0 {
			text += fmt.Sprintf("  %s: %d\n", field, rng.IntN(5))
		}
	}
	return text
}

func pick(rng *rand.Rand, choices ...string) string { return choices[rng.IntN(len(choices))] }

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := testkit.ParsePolicy(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}
