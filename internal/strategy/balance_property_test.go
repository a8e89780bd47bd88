package strategy_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
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
		lines := randomBalance(rng)
		for i, text := range balancePolicies() {
			t.Run(fmt.Sprintf("%d/%d", seed, i), func(t *testing.T) {
				p, err := testkit.ParsePolicy(text)
				if err != nil {
					t.Fatal(err)
				}
				s := snapshotOf(t, lines)
				ours, peers := planOf(t, s, p, false), planOf(t, s, p, true)
				if len(ours.Moves) > len(peers.Moves) {
					t.Errorf("%d moves, the peer makes %d\n%s", len(ours.Moves), len(peers.Moves), asJSON(t, ours))
				}
				shuffled := append([]string(nil), lines...)
				rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				other := snapshotOf(t, shuffled)
				for compat, want := range map[bool]*plan.Plan{false: ours, true: peers} {
					if diff := cmp.Diff(asJSON(t, want), asJSON(t, planOf(t, other, p, compat))); diff != "" {
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

func comesToRest(t *testing.T, s *cluster.Snapshot, p *policy.Policy) {
	t.Helper()
	for range 60 {
		out := planOf(t, s, p, false)
		if len(out.Moves) == 0 {
			return
		}
		next, err := simulate.Apply(s, out, true).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	t.Errorf("still moving: %s", asJSON(t, planOf(t, s, p, false)))
}

// randomBalance is a cluster with constraints that cross: zones and hosts, minDomains, anti-affinity between workloads, measurements.
func randomBalance(rng *rand.Rand) []string {
	any := func(choices ...string) string { return choices[rng.IntN(len(choices))] }
	var lines []string
	nodes := 3 + rng.IntN(7)
	for i := range nodes {
		lines = append(lines, fmt.Sprintf("node n%d cpu=%d mem=%dGi pods=%d labels=zone=z%d,disk=%s%s", i, 2+rng.IntN(5), 4+rng.IntN(12), 8+rng.IntN(20), i%3, any("ssd", "hdd"),
			any("", "", "", " taint=own=x:NoSchedule", " cordoned")))
		lines = append(lines, fmt.Sprintf("nodemetrics n%d cpu=%dm mem=1Gi", i, rng.IntN(4000)))
	}
	for w := range 2 + rng.IntN(6) {
		app := fmt.Sprintf("app=w%d", w)
		words := fmt.Sprintf(" owner=ReplicaSet/w%d labels=%s cpu=%dm mem=%dMi", w, app, rng.IntN(900), rng.IntN(1200)) +
			any("", "", " spread=zone:1:"+app, " spread=zone:1:"+app+":minDomains=4", " spread=zone:2:"+app+":nodeTaintsPolicy=Honor", " spread=zone:1:"+app+":nodeAffinityPolicy=Ignore") +
			any("", "", " spread=kubernetes.io/hostname:1:"+app, " spread=kubernetes.io/hostname:1:"+app+":ScheduleAnyway") +
			any("", "", "", " anti=kubernetes.io/hostname:"+app, " anti=zone:app=w0", " anti=kubernetes.io/hostname:app=w1") +
			any("", "", " select=disk=ssd", " tolerate=own")
		for r := range rng.IntN(14) {
			lines = append(lines, fmt.Sprintf("pod a/w%d-%d node=n%d", w, r, rng.IntN(1+rng.IntN(nodes)))+words+any("", "", "", " prio=5", " prio=2000000000", " deleting", " notready", " mirror"))
			if rng.IntN(5) > 0 {
				lines = append(lines, fmt.Sprintf("podmetrics a/w%d-%d cpu=%dm mem=64Mi", w, r, rng.IntN(800)))
			}
		}
	}
	return lines
}

func snapshotOf(t *testing.T, lines []string) *cluster.Snapshot {
	t.Helper()
	b := testkit.NewBuilder()
	for _, line := range lines {
		if err := b.Lines(line); err != nil {
			t.Fatal(err)
		}
	}
	s, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func planOf(t *testing.T, s *cluster.Snapshot, p *policy.Policy, compat bool) *plan.Plan {
	t.Helper()
	out, err := engine.Plan(s, p, engine.Options{Compat: compat})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func asJSON(t *testing.T, p *plan.Plan) string {
	t.Helper()
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
