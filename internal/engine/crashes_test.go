package engine_test

import (
	"sync"
	"testing"

	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/testkit"
)

// TestOddReplicasAreNoCrash: reported of the descheduler, issue 369: RemoveDuplicates crashed. Pods that are odd in what it goes by: no owner, no containers, no labels, the same
// owner twice, an owner that is not there, no node, a node that is not there, ended, being deleted.
func TestOddReplicasAreNoCrash(t *testing.T) {
	b := testkit.NewBuilder()
	for _, line := range []string{
		"node n1", "node n2", "node n3 cordoned", "node n4 notready",
		"pod a/bare-1 node=n1", "pod a/bare-2 node=n1",
		"pod a/twice-1 node=n1 owner=ReplicaSet/x owner=ReplicaSet/x", "pod a/twice-2 node=n1 owner=ReplicaSet/x owner=ReplicaSet/x", "pod a/twice-3 node=n1 owner=ReplicaSet/x owner=Other/x",
		"pod a/pending-1 owner=ReplicaSet/x phase=Pending", "pod a/lost-1 node=gone owner=ReplicaSet/x", "pod a/lost-2 node=gone owner=ReplicaSet/x",
		"pod a/ended-1 node=n1 owner=ReplicaSet/x phase=Failed", "pod a/ended-2 node=n1 owner=ReplicaSet/x phase=Succeeded", "pod a/leaving node=n1 owner=ReplicaSet/x deleting",
		"pod a/dark-1 node=n4 owner=ReplicaSet/x", "pod a/dark-2 node=n4 owner=ReplicaSet/x", "pod a/still-1 node=n3 owner=ReplicaSet/x", "pod a/still-2 node=n3 owner=ReplicaSet/x",
	} {
		if err := b.Lines(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Objects(`apiVersion: v1
kind: Pod
metadata: {namespace: a, name: empty-1, uid: e1, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: e, uid: e}]}
spec: {nodeName: n1}
---
apiVersion: v1
kind: Pod
metadata: {namespace: a, name: empty-2, uid: e2, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: e, uid: e}]}
spec: {nodeName: n1}
---
apiVersion: v1
kind: Pod
metadata: {namespace: a, name: nameless-1, uid: e3, ownerReferences: [{}]}
spec: {nodeName: n1}
---
apiVersion: v1
kind: Pod
metadata: {namespace: a, name: nameless-2, uid: e4, ownerReferences: [{}]}
spec: {nodeName: n1}
`); err != nil {
		t.Fatal(err)
	}
	s, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, compat := range []bool{false, true} {
		for _, extras := range []engine.Extras{{}, {WorkloadReplicas: true, PendingPods: true, NotReadyNodes: true}} {
			out, err := engine.Plan(s, parse(t, "RemoveDuplicates\n"), engine.Options{Compat: compat, Extras: extras})
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Moves) == 0 {
				t.Errorf("compat %v, %+v: none of the replicas that share n1 moves", compat, extras)
			}
		}
	}
}

// TestCyclesDoNotMeet: cycles share nothing but what they read, so that any number of them run side by side, time and again, from one snapshot and one policy.
func TestCyclesDoNotMeet(t *testing.T) {
	var lines []string
	for _, word := range []string{"1", "2", "3", "4"} {
		lines = append(lines, "node n"+word, "pod a/x-"+word+" node=n1 owner=ReplicaSet/x cpu=1 labels=app=x spread=kubernetes.io/hostname:1:app=x")
	}
	s, p := testkit.Snapshot(t, lines), together(t, sortedStrategies())
	want := testkit.JSON(t, testkit.Plan(t, s, p, false))
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			for range 20 {
				out, err := engine.Plan(s, p, engine.Options{})
				if err != nil {
					t.Error(err)
				} else if got := testkit.JSON(t, out); got != want {
					t.Errorf("got another plan:\n%s", got)
				}
			}
		})
	}
	done.Wait()
}
