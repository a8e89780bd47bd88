package strategy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/simulate"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// balancePolicies are strategies that weigh pods and nodes against each other, with arguments.
func balancePolicies() []string {
	return []string{
		"LowNodeUtilization\n  thresholds: {cpu: 30, memory: 40}\n  targetThresholds: {cpu: 55, memory: 60}\n",
		"LowNodeUtilization\n  thresholds: {cpu: 10, pods: 5}\n  targetThresholds: {cpu: 10, pods: 5}\n  useDeviationThresholds: true\n",
		"LowNodeUtilization\n  thresholds: {cpu: 30}\n  targetThresholds: {cpu: 55}\n  metricsUtilization: {source: KubernetesMetrics}\n",
		"HighNodeUtilization\n  thresholds: {cpu: 40, memory: 40}\n",
		"RemovePodsViolatingTopologySpreadConstraint\n  constraints: [DoNotSchedule, ScheduleAnyway]\n",
		"RemovePodsViolatingTopologySpreadConstraint\n  topologyBalanceNodeFit: false\n",
		"RemovePodsViolatingInterPodAntiAffinity\n",
	}
}

// TestBalanceIsGentle tries on random clusters, for each of the strategies that balance: the order of the input decides nothing; by default
// no more pods move than with the peer; and cycle after cycle, replacements starting where room was booked, it comes to rest.
func TestBalanceIsGentle(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 99))
		lines := testkit.RandomBalance(rng)
		for i, text := range balancePolicies() {
			t.Run(fmt.Sprintf("%d/%d", seed, i), func(t *testing.T) {
				p, err := testkit.ParsePolicy(text)
				if err != nil {
					t.Fatal(err)
				}
				s := testkit.Snapshot(t, lines)
				ours, peers := testkit.Plan(t, s, p, false), testkit.Plan(t, s, p, true)
				if len(ours.Moves) > len(peers.Moves) {
					t.Errorf("%d moves, the peer makes %d\n%s", len(ours.Moves), len(peers.Moves), testkit.JSON(t, ours))
				}
				shuffled := append([]string(nil), lines...)
				rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				other := testkit.Snapshot(t, shuffled)
				for compat, want := range map[bool]*plan.Plan{false: ours, true: peers} {
					if diff := cmp.Diff(testkit.JSON(t, want), testkit.JSON(t, testkit.Plan(t, other, p, compat))); diff != "" {
						t.Errorf("compat %v: the order of the input matters:\n%s", compat, diff)
					}
				}
				if s.Usage.Nodes == nil || i != 2 { // measurements do not follow the moves
					comesToRest(t, s, p)
				}
			})
		}
	}
}

// TestPairsOfStrategiesComeToRest tries the same clusters with strategies together, which object to each other's moves.
func TestPairsOfStrategiesComeToRest(t *testing.T) {
	for seed := range uint64(60) {
		lines := testkit.RandomBalance(rand.New(rand.NewPCG(seed, 99)))
		for i, a := range balancePolicies() {
			for _, b := range append([]string{"RemoveDuplicates\n", "RemovePodsViolatingNodeTaints\n  includePreferNoSchedule: true\n"}, balancePolicies()[i+1:]...) {
				p, err := testkit.ParsePolicy(a + b)
				if name, _, _ := strings.Cut(a, "\n"); err != nil || strings.HasPrefix(b, name) || strings.Contains(a+b, "KubernetesMetrics") {
					continue // one strategy twice is an error; measurements do not follow the moves
				}
				t.Run(fmt.Sprintf("%d/%s+%s", seed, a, b), func(t *testing.T) { comesToRest(t, testkit.Snapshot(t, lines), p) })
			}
		}
	}
}

func comesToRest(t *testing.T, s *cluster.Snapshot, p *policy.Policy) {
	t.Helper()
	for range 12 {
		out := testkit.Plan(t, s, p, false)
		if len(out.Moves) == 0 {
			return
		}
		next, err := simulate.Apply(s, out, true).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	t.Errorf("still moving: %s", testkit.JSON(t, testkit.Plan(t, s, p, false)))
}
