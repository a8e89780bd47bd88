package testkit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
)

// RandomCluster is a small cluster with a bit of everything.
func RandomCluster(rng *rand.Rand) []string {
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

// RandomBalance is a cluster with constraints that cross: zones and hosts, minDomains, anti-affinity between workloads, measurements.
func RandomBalance(rng *rand.Rand) []string {
	var lines []string
	nodes := 3 + rng.IntN(7)
	for i := range nodes {
		lines = append(lines, fmt.Sprintf("node n%d cpu=%d mem=%dGi pods=%d labels=zone=z%d,disk=%s%s", i, 2+rng.IntN(5), 4+rng.IntN(12), 8+rng.IntN(20), i%3, pick(rng, "ssd", "hdd"),
			pick(rng, "", "", "", " taint=own=x:NoSchedule", " cordoned")))
		lines = append(lines, fmt.Sprintf("nodemetrics n%d cpu=%dm mem=1Gi", i, rng.IntN(4000)))
	}
	for w := range 2 + rng.IntN(6) {
		app := fmt.Sprintf("app=w%d", w)
		words := fmt.Sprintf(" owner=ReplicaSet/w%d labels=%s cpu=%dm mem=%dMi", w, app, rng.IntN(900), rng.IntN(1200)) +
			pick(rng, "", "", " spread=zone:1:"+app, " spread=zone:1:"+app+":minDomains=4", " spread=zone:2:"+app+":nodeTaintsPolicy=Honor", " spread=zone:1:"+app+":nodeAffinityPolicy=Ignore") +
			pick(rng, "", "", " spread=kubernetes.io/hostname:1:"+app, " spread=kubernetes.io/hostname:1:"+app+":ScheduleAnyway") +
			pick(rng, "", "", "", " anti=kubernetes.io/hostname:"+app, " anti=zone:app=w0", " anti=kubernetes.io/hostname:app=w1") +
			pick(rng, "", "", " select=disk=ssd", " tolerate=own")
		for r := range rng.IntN(14) {
			lines = append(lines, fmt.Sprintf("pod a/w%d-%d node=n%d", w, r, rng.IntN(1+rng.IntN(nodes)))+words+pick(rng, "", "", "", " prio=5", " prio=2000000000", " deleting", " notready", " mirror"))
			if rng.IntN(5) > 0 {
				lines = append(lines, fmt.Sprintf("podmetrics a/w%d-%d cpu=%dm mem=64Mi", w, r, rng.IntN(800)))
			}
		}
	}
	return lines
}

// Snapshot builds the cluster that the lines describe; see [Builder.Lines].
func Snapshot(t *testing.T, lines []string) *cluster.Snapshot {
	t.Helper()
	b := NewBuilder()
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

// Plan runs one cycle.
func Plan(t *testing.T, s *cluster.Snapshot, p *policy.Policy, compat bool) *plan.Plan {
	t.Helper()
	out, err := engine.Plan(s, p, engine.Options{Compat: compat})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// JSON is a plan as it is written.
func JSON(t *testing.T, p *plan.Plan) string {
	t.Helper()
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
