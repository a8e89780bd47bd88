package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/test/harness"
)

func TestPlansFromTheClusterAndFromSnapshotsOfItAreWhatARunThenDoes(t *testing.T) {
	w := newWorld(t)
	w.nodes(t, "4", "one")
	w.start(t, "api", 4, nil)
	w.everyday(t)
	w.budget(t, "api", 4, 0)
	w.nodes(t, "4", "two", "three")
	w.awaitDaemons(t)

	dir := t.TempDir()
	policy, plain, redacted := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "plain.json"), filepath.Join(dir, "redacted.json.gz")
	if err := os.WriteFile(policy, []byte(w.appliedPolicy(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig := "--kubeconfig=" + w.KubeconfigFor(t, "kube-system", "descheduler-sa")
	w.command(t, "snapshot", kubeconfig, "-o", plain)
	w.command(t, "snapshot", kubeconfig, "-o", redacted, "--redact")
	plans := map[string]*plan.Plan{
		"live":              w.plan(t, kubeconfig, "--policy-config-file="+policy),
		"snapshot":          w.plan(t, "--snapshot="+plain, "--policy-config-file="+policy),
		"redacted snapshot": w.plan(t, "--snapshot="+redacted, "--policy-config-file="+policy),
	}

	did := w.cycle(t)
	if len(did.Moves) < 4 || len(refusalsOf(did, w.workloads[0], "budget")) == 0 {
		t.Errorf("the run moved %d pods and recorded %d refusals: too few to compare", len(did.Moves), len(did.Refusals))
	}
	for source, p := range plans {
		if d := did.TakenAt.Sub(p.TakenAt).Abs(); d > 10*time.Minute {
			t.Errorf("%s: taken %v away from the run", source, d)
		}
		p.TakenAt = did.TakenAt
		p.Summary.Notes = did.Summary.Notes // a snapshot has a remark on the metrics API, which this cluster lacks and the policy does not need
		if diff := cmp.Diff(did, p); diff != "" {
			t.Errorf("%s: the run and the plan (-did +planned):\n%s", source, diff)
		}
	}
}

// appliedPolicy is the policy in the ConfigMap.
func (w *world) appliedPolicy(t *testing.T) string {
	t.Helper()
	configMap, err := w.Client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "descheduler-policy-configmap", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return configMap.Data["policy.yaml"]
}

// command runs the program under its own name and returns its output.
func (w *world) command(t *testing.T, args ...string) string {
	t.Helper()
	r := runCommand(t, exec.Command(harness.Command(t, "evenkeel"), args...))
	if r.code != 0 {
		t.Fatalf("evenkeel %v: exit code %d\n%s", args, r.code, r.complain)
	}
	return r.output
}

func (w *world) plan(t *testing.T, args ...string) *plan.Plan {
	t.Helper()
	return decodePlan(t, w.command(t, append([]string{"plan", "--output=json"}, args...)...))
}
