package engine_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestNeverMoreThanThePeer: by default a strategy moves no more than the peer's would. Evening replicas is the stated exception, and so
// are, for the two that look at node utilization, nodes with taints: the peer takes some for obstacles that are none.
func TestNeverMoreThanThePeer(t *testing.T) {
	taints := regexp.MustCompile(` taint=\S+`)
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		for name := range testkit.Strategies() {
			if name == "RemoveDuplicates" {
				continue
			}
			lines := lines
			if strings.HasSuffix(name, "NodeUtilization") {
				lines = strings.Split(taints.ReplaceAllString(strings.Join(lines, "\n"), ""), "\n")
			}
			p := parse(t, name+"\n  "+randomArgs(name)+"\nevictor\n  nodeFit: "+fmt.Sprint(rng.IntN(2) == 0)+"\n")
			ours, peers := testkit.Plan(t, testkit.Snapshot(t, lines), p, false), testkit.Plan(t, testkit.Snapshot(t, lines), p, true)
			if len(ours.Moves) > len(peers.Moves) {
				t.Errorf("%s: %d moves, the peer makes %d\n%s\n%s\n%s", name, len(ours.Moves), len(peers.Moves), strings.Join(lines, "\n"), testkit.JSON(t, ours), testkit.JSON(t, peers))
			}
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
