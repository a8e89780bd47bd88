package simulate_test

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/simulate"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// landed carries out moves, each "pod" or "pod>booked node", and returns where the replacement of the pod starts.
func landed(t *testing.T, cluster, pod string, moves ...string) string {
	t.Helper()
	s := testkit.Snapshot(t, strings.Split(cluster, "\n"))
	var p plan.Plan
	for _, m := range moves {
		name, room, _ := strings.Cut(m, ">")
		p.Moves = append(p.Moves, plan.Move{Pod: plan.PodRef{Namespace: "a", Name: name, UID: s.Pod("a", name).UID}, Room: room})
	}
	if n := simulate.Apply(s, &p, true).Landed[s.Pod("a", pod)]; n != nil {
		return n.Name
	}
	return ""
}

// TestAReplacementStartsWhereTheFiltersLetIt: that its own node would be liked better keeps no pod pending when that one is full.
func TestAReplacementStartsWhereTheFiltersLetIt(t *testing.T) {
	const cluster = `node n1 cpu=1 labels=disk=ssd
node n2 cpu=2
pod a/x node=n1 owner=ReplicaSet/x cpu=1 prefer=100:disk=ssd
pod a/y node=n2 owner=ReplicaSet/y cpu=1`
	if n := landed(t, cluster, "x", "y>n1", "x"); n != "n2" {
		t.Errorf("the replacement starts on %q, expected n2", n)
	}
}

// TestBookedReplacementsAreMates: a replacement that starts where room was booked counts for those that come after it.
func TestBookedReplacementsAreMates(t *testing.T) {
	const cluster = `node n0 cordoned
node n1
node n2
pod a/other node=n2 owner=ReplicaSet/other cpu=2
pod a/x-1 node=n0 owner=ReplicaSet/x
pod a/x-2 node=n0 owner=ReplicaSet/x`
	if n := landed(t, cluster, "x-2", "x-1>n1", "x-2"); n != "n2" {
		t.Errorf("the replacement starts on %q, expected n2, where no other replica is", n)
	}
}
