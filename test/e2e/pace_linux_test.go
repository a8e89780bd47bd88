package e2e_test

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/engine"
)

// TestANodeThatJoinsIsSentWhatItStartsAtATime: a run sends the new node no more pods than its agent says it can begin to start. The next runs send the others.
func TestANodeThatJoinsIsSentWhatItStartsAtATime(t *testing.T) {
	w := newWorld(t)
	w.install(t, "crds")
	w.Kubectl(t, "wait", "--for=condition=Established", "--timeout=60s", "crd/nodepaces.evenkeel.dev")
	w.nodes(t, "4", "one", "two")
	w.everyday(t)
	w.nodes(t, "4", "three")
	w.awaitDaemons(t)
	w.mustBeUneven(t)
	w.KubectlInput(t, `{"apiVersion":"evenkeel.dev/v1alpha1","kind":"NodePace","metadata":{"name":"three"}}`, "apply", "-f", "-")
	report := func(status string) {
		w.Kubectl(t, "patch", "nodepace", "three", "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
	}

	report(`{"limit":2,"starting":0,"waiting":0}`)
	first := w.cycle(t)
	if len(first.Moves) != 2 {
		t.Errorf("a run moved %d pods to a node that starts 2 at a time", len(first.Moves))
	}
	held := 0
	for _, r := range first.Refusals {
		if r.Gate == engine.GatePace {
			held++
		}
	}
	if held == 0 {
		t.Errorf("no pod waits for the node: %+v", first.Refusals)
	}

	moved, _ := w.settle(t, 2*fewRuns)
	for _, p := range moved {
		if len(p.Moves) > 2 {
			t.Errorf("a run moved %d pods to a node that starts 2 at a time", len(p.Moves))
		}
	}
	w.checkEven(t)
}
