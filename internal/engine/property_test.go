package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/simulate"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// rounds is how many random clusters each property is tried on.
const rounds = 150

// TestShuffledInputGivesTheSameBytes: neither the order of the objects nor map iteration decides anything.
func TestShuffledInputGivesTheSameBytes(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		p := randomPolicy(t, rng)
		for _, compat := range []bool{false, true} {
			first := marshal(t, makePlan(t, build(t, lines), p, compat))
			rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			again := marshal(t, makePlan(t, build(t, lines), p, compat))
			if diff := cmp.Diff(first, again); diff != "" {
				t.Fatalf("compat %v: the plan depends on the order of the input:\n%s", compat, diff)
			}
		}
	})
}

// TestNothingProtectedMoves: whatever a strategy asks for, pods that the filters protect stay, limits hold, and no pod moves twice.
func TestNothingProtectedMoves(t *testing.T) {
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		s := build(t, lines)
		p := randomPolicy(t, rng)
		for _, compat := range []bool{false, true} {
			out := makePlan(t, s, p, compat)
			perNode, perNamespace, seen := map[string]uint{}, map[string]uint{}, map[string]bool{}
			for _, m := range out.Moves {
				pod := s.Pod(m.Pod.Namespace, m.Pod.Name)
				if pod.Deleting || pod.OwnedBy("DaemonSet") || len(pod.Owners) == 0 || pod.Annotations[cluster.AnnotationMirror] != "" {
					t.Errorf("compat %v: %s is protected and moves: %s", compat, m.Pod, m.Reason.Message)
				}
				if seen[m.Pod.UID] {
					t.Errorf("compat %v: %s moves twice", compat, m.Pod)
				}
				if m.Reason.Code == "" || m.Reason.Message == "" {
					t.Errorf("compat %v: %s moves without a reason", compat, m.Pod)
				}
				seen[m.Pod.UID] = true
				perNode[m.Node]++
				perNamespace[m.Pod.Namespace]++
			}
			checkLimit(t, "cycle", uint(len(out.Moves)), p.MaxNoOfPodsToEvictTotal)
			for node, n := range perNode {
				checkLimit(t, node, n, p.MaxNoOfPodsToEvictPerNode)
			}
			for ns, n := range perNamespace {
				checkLimit(t, ns, n, p.MaxNoOfPodsToEvictPerNamespace)
			}
			for _, r := range out.Refusals {
				if r.Gate == "" || r.Reason.Code == "" || r.Reason.Message == "" {
					t.Errorf("compat %v: a refusal without a reason: %+v", compat, r)
				}
			}
		}
	})
}

func checkLimit(t *testing.T, what string, have uint, limit *uint) {
	t.Helper()
	if limit != nil && have > *limit {
		t.Errorf("%s: %d moves, the limit is %d", what, have, *limit)
	}
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
			ours, peers := makePlan(t, build(t, lines), p, false), makePlan(t, build(t, lines), p, true)
			if len(ours.Moves) > len(peers.Moves) {
				t.Errorf("%s: %d moves, the peer makes %d\n%s\n%s\n%s", name, len(ours.Moves), len(peers.Moves), strings.Join(lines, "\n"), marshal(t, ours), marshal(t, peers))
			}
		}
	})
}

// TestBalanceComesToRest: carrying out plans, replacements starting where room was booked for them, leads to a cluster that is left alone.
func TestBalanceComesToRest(t *testing.T) {
	const cycles = 40
	forRandomClusters(t, func(t *testing.T, rng *rand.Rand, lines []string) {
		for _, name := range []string{"RemoveDuplicates", "LowNodeUtilization", "HighNodeUtilization", "RemovePodsViolatingTopologySpreadConstraint"} {
			s := build(t, lines)
			p := parse(t, name+"\n  "+randomArgs(name)+"\n")
			for i := 0; ; i++ {
				out := makePlan(t, s, p, false)
				if len(out.Moves) == 0 {
					break
				}
				if i == cycles {
					t.Fatalf("%s: still moving after %d cycles: %s\n%s", name, cycles, marshal(t, out), lines)
				}
				next, err := simulate.Apply(s, out, true).Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				s = next
			}
		}
	})
}

func forRandomClusters(t *testing.T, check func(*testing.T, *rand.Rand, []string)) {
	t.Helper()
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			check(t, rng, randomCluster(rng))
		})
	}
}

// randomCluster is a small cluster with a bit of everything.
func randomCluster(rng *rand.Rand) []string {
	var lines []string
	nodes := 2 + rng.IntN(6)
	for i := range nodes {
		line := fmt.Sprintf("node n%d cpu=%d labels=zone=z%d,disk=%s", i, 2+rng.IntN(6), i%3, pick(rng, "ssd", "hdd"))
		line += pick(rng, "", "", "", "", " taint=dedicated=x:NoSchedule", " taint=rather=x:PreferNoSchedule", " cordoned", " notready") +
			pick(rng, "", " res/example.com/a=2 res/example.com/b=1")
		lines = append(lines, line)
	}
	for w := range 1 + rng.IntN(8) {
		ns, name := pick(rng, "a", "b"), fmt.Sprintf("w%d", w)
		words := fmt.Sprintf(" owner=%s/%s labels=app=%s cpu=%dm mem=%dMi", pick(rng, "ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet"), name, name,
			50*(1+rng.IntN(20)), 64*(1+rng.IntN(20)))
		words += pick(rng, "", "", "", " prio=10", " prio=2000000000") + pick(rng, "", "", " emptydir") + pick(rng, "", "", "", " res/example.com/b=2 res/example.com/a=1") + pick(rng, "", "", " tolerate=dedicated") +
			pick(rng, "", "", "", " need=disk=ssd", " prefer=5:disk=ssd") +
			pick(rng, "", "", "", " spread=zone:1:app="+name, " spread=kubernetes.io/hostname:1:app="+name+":ScheduleAnyway") +
			pick(rng, "", "", "", "", " anti=kubernetes.io/hostname:app="+name)
		if rng.IntN(4) == 0 {
			lines = append(lines, fmt.Sprintf("pdb %s/%s select=app=%s allowed=%d healthy=4 desired=3", ns, name, name, rng.IntN(3)))
		}
		for r := range rng.IntN(9) {
			line := fmt.Sprintf("pod %s/%s-%d node=n%d", ns, name, r, rng.IntN(nodes)) + words +
				pick(rng, "", "", "", "", "", "", " notready", " deleting", " phase=Failed", " restarts=20", " age=300h", " mirror")
			lines = append(lines, line)
		}
	}
	return lines
}

func pick(rng *rand.Rand, choices ...string) string { return choices[rng.IntN(len(choices))] }

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
	for _, name := range slices.Sorted(maps.Keys(testkit.Strategies())) {
		text += name + "\n  " + randomArgs(name) + "\n"
	}
	text += "limits\n"
	for _, field := range []string{"maxNoOfPodsToEvictTotal", "maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace"} {
		if rng.IntN(3) == 0 {
			text += fmt.Sprintf("  %s: %d\n", field, rng.IntN(5))
		}
	}
	return parse(t, text)
}

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := testkit.ParsePolicy(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func build(t *testing.T, lines []string) *cluster.Snapshot {
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

func makePlan(t *testing.T, s *cluster.Snapshot, p *policy.Policy, compat bool) *plan.Plan {
	t.Helper()
	out, err := engine.Plan(s, p, engine.Options{Compat: compat})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func marshal(t *testing.T, p *plan.Plan) string {
	t.Helper()
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
