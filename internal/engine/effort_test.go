package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// TestSearchesThatEndEarlyAreInThePlan: pods that not every node was looked at for stay with a reason of their own, and the summary says so.
func TestSearchesThatEndEarlyAreInThePlan(t *testing.T) {
	hard := testkit.HardClusters()
	i := slices.IndexFunc(hard, func(h testkit.HardCluster) bool {
		return h.Name == "measured pods, the targets full by what their pods request"
	})
	for _, compat := range []bool{false, true} {
		s, p, err := hard[i].Build(200)
		if err != nil {
			t.Fatal(err)
		}
		out, err := engine.Plan(s, p, engine.Options{Compat: compat})
		if err != nil {
			t.Fatal(err)
		}
		ended := 0
		for _, r := range out.Refusals {
			if r.Reason.Code == fit.CodeSearchEnded {
				ended++
			}
		}
		noted := slices.ContainsFunc(out.Summary.Notes, func(note string) bool { return strings.Contains(note, "ended early") })
		if want := !compat; (ended > 0) != want || noted != want {
			t.Errorf("compat %v: %d searches ended early, noted: %v", compat, ended, noted)
		}
	}
}

// TestNothingTakesTheRoomOfPodsNotKnownWhereTheyStart: where the searches for pods that wait end early, what would need room on another node is held back, and that
// is said. Where they do not, moves are made.
func TestNothingTakesTheRoomOfPodsNotKnownWhereTheyStart(t *testing.T) {
	for _, waiting := range []int{10, 20_000} {
		const nodes = 400
		b := testkit.NewBuilder()
		line := func(format string, args ...any) {
			if err := b.Lines(fmt.Sprintf(format, args...)); err != nil {
				t.Fatal(err)
			}
		}
		line("node leave taint=a=b:NoSchedule")
		line("pod ns/needs-room node=leave owner=ReplicaSet/w cpu=10m")
		for i := range nodes {
			line("node n%d cpu=4000 pods=3000", i)
			if i > 0 {
				line("pod ns/d%d node=n%d hostport=80", i, i)
			}
		}
		line("pod ns/z node=n0 owner=DaemonSet/d hostport=80")
		for i := range waiting {
			line("pod ns/p%d owner=ReplicaSet/p%d cpu=%dm phase=Pending hostport=80", i, i, 10+i)
		}
		s, err := b.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		p, err := testkit.ParsePolicy("RemovePodsViolatingNodeTaints\n")
		if err != nil {
			t.Fatal(err)
		}
		out, err := engine.Plan(s, p, engine.Options{Extras: engine.Extras{PendingPods: true}})
		if err != nil {
			t.Fatal(err)
		}
		held := slices.ContainsFunc(out.Refusals, func(r plan.Refusal) bool { return r.Pod.Name == "needs-room" && r.Reason.Code == "PendingPods" })
		noted := slices.ContainsFunc(out.Summary.Notes, func(note string) bool { return strings.Contains(note, "pods that wait") })
		moved := slices.ContainsFunc(out.Moves, func(m plan.Move) bool { return m.Pod.Name == "needs-room" })
		if many := waiting > 1000; held != many || noted != many || moved == many {
			t.Errorf("%d pods wait: held back %v, noted %v, moved %v", waiting, held, noted, moved)
		}
	}
}
