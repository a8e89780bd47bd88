package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/test/harness"
)

// fewRuns is within how many runs, five minutes apart in a real cluster, the everyday workloads must be even again.
const fewRuns = 6

func TestReplicasAreEvenAgainAfterANodeWasLostAndReplaced(t *testing.T) {
	w := newWorld(t)
	w.nodes(t, "4", "one", "two", "three")
	w.everyday(t)
	w.loseNode(t, "three")
	w.nodes(t, "4", "four")
	w.awaitDaemons(t)
	w.mustBeUneven(t)

	moved, _ := w.settle(t, fewRuns) // while the dead node is still in the list of nodes
	w.checkEven(t)
	w.checkMoves(t, moved)

	w.Kubectl(t, "delete", "node", "three")
	w.rest(t, 2)
	w.checkEven(t)
}

func TestReplicasAreEvenAfterANodeJoinedAFullCluster(t *testing.T) {
	w := newWorld(t)
	w.nodes(t, "1", "one", "two") // room for 20 pods of 100m, which is what there is
	w.everyday(t)
	w.nodes(t, "1", "three")
	w.awaitDaemons(t)
	w.mustBeUneven(t)

	moved, _ := w.settle(t, fewRuns)
	w.checkEven(t)
	w.checkMoves(t, moved)
	w.rest(t, 2)
}

func TestARunOnAnEvenClusterMovesNothing(t *testing.T) {
	w := newWorld(t)
	w.nodes(t, "4", "one", "two", "three")
	w.everyday(t)
	w.checkEven(t)
	w.rest(t, 2)
	w.rest(t, 1, "--compat=descheduler")
}

// loseNode silences a node's kubelet and waits until the replicas that were there have started elsewhere.
func (w *world) loseNode(t *testing.T, name string) {
	t.Helper()
	w.LoseNode(t, name)
	for _, l := range w.workloads {
		harness.Await(t, 2*time.Minute, fmt.Sprintf("no replica of %s on the lost node", l.name), func(context.Context) error {
			if counts := harness.PerNode(w.Pods(t, l.namespace, "app="+l.name)); counts[name] > 0 {
				return fmt.Errorf("pods per node: %v", counts)
			}
			return nil
		})
	}
	w.awaitReady(t)
}

// checkMoves checks the moves of several runs: every workload had some, no run moved more than one pod or a quarter of a workload, and a
// DaemonSet's pods were left alone.
func (w *world) checkMoves(t *testing.T, runs []*plan.Plan) {
	t.Helper()
	for _, l := range w.workloads {
		total := 0
		for _, p := range runs {
			n := movesOf(p, l)
			if n > max(1, l.replicas/4) {
				t.Errorf("a run moved %d of %d replicas of %s", n, l.replicas, l.name)
			}
			total += n
		}
		if total == 0 {
			t.Errorf("no run moved a pod of %s", l.name)
		}
	}
	for _, p := range runs {
		for _, m := range p.Moves {
			if m.Owner == nil || m.Owner.Kind == "DaemonSet" || m.Strategy != "RemoveDuplicates" || m.Reason.Message == "" {
				t.Errorf("unexpected move: %+v", m)
			}
		}
	}
	t.Logf("even; runs that moved something: %d", len(runs))
}
