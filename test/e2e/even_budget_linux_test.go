package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/test/harness"
)

func TestExactlyWhatABudgetAllowsMovesInEachRun(t *testing.T) {
	w := newWorld(t)
	w.nodes(t, "4", "one")
	w.start(t, "web", 8, nil)
	w.start(t, "api", 4, nil)
	w.budget(t, "web", 7, 1)
	w.budget(t, "api", 4, 0)
	w.nodes(t, "4", "two")
	web, api := w.workloads[0], w.workloads[1]

	// Four of web are to go, the share for one run is two, and the budget allows one; two of api are to go, and none may.
	for run := range 4 {
		p := w.cycle(t) // which also compares the pods evicted with the plan, by UID
		if n := movesOf(p, web); n != 1 {
			t.Errorf("run %d moved %d pods of web, the budget allows 1", run, n)
		}
		if len(p.Moves) != 1 {
			t.Errorf("run %d moved %d pods", run, len(p.Moves))
		}
		if run < 3 {
			checkBudgetRefusal(t, p, web, 1)
		}
		checkBudgetRefusal(t, p, api, 0)
		w.awaitBudget(t, "web", 1)
	}
	w.rest(t, 1)

	w.Kubectl(t, "patch", "pdb", "api", "-n", w.namespace, "-p", `{"spec":{"minAvailable":3}}`)
	w.awaitBudget(t, "api", 1)
	if p := w.cycle(t); movesOf(p, api) != 1 || len(p.Moves) != 1 {
		t.Errorf("with the budget relaxed to one a run moved %d pods of api and %d in all", movesOf(p, api), len(p.Moves))
	}
}

// checkBudgetRefusal checks that the plan says of a pod of the workload that its budget was in the way, with the number it had allowed.
func checkBudgetRefusal(t *testing.T, p *plan.Plan, l workload, allowed float64) {
	t.Helper()
	list := refusalsOf(p, l, "budget")
	if len(list) == 0 {
		t.Errorf("no refusal of the budget is on record for %s: %+v", l.name, p.Refusals)
		return
	}
	for _, r := range list {
		if r.Reason.Code != "BudgetSpent" || r.Reason.Numbers["allowed"] != allowed || !strings.Contains(r.Reason.Message, "PodDisruptionBudget "+l.name) {
			t.Errorf("the refusal of the budget is %+v", r)
		}
	}
}

// budget makes a PodDisruptionBudget for the workload and waits until it allows so many disruptions.
func (w *world) budget(t *testing.T, name string, minAvailable int, allowed int32) {
	t.Helper()
	w.apply(t, fmt.Sprintf(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %s, namespace: %s}
spec: {minAvailable: %d, selector: {matchLabels: {app: %[1]s}}}
`, name, w.namespace, minAvailable))
	w.awaitBudget(t, name, allowed)
}

func (w *world) awaitBudget(t *testing.T, name string, allowed int32) {
	t.Helper()
	harness.Await(t, 2*time.Minute, fmt.Sprintf("%d disruptions allowed by budget %s", allowed, name), func(ctx context.Context) error {
		b, err := w.Client.PolicyV1().PodDisruptionBudgets(w.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if b.Status.DisruptionsAllowed != allowed || b.Status.ObservedGeneration != b.Generation {
			return fmt.Errorf("%d are, as of generation %d of %d", b.Status.DisruptionsAllowed, b.Status.ObservedGeneration, b.Generation)
		}
		return nil
	})
}
