package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestABadPolicyFailsTheRunAndEvictsNothing(t *testing.T) {
	w := newWorld(t)
	w.pile(t, "web", 4)
	before := w.uids(t)
	for _, c := range []struct{ name, policy, says string }{
		{"text that is no YAML", "profiles: [", "policy.yaml"},
		{"another kind", "apiVersion: v1\nkind: Pod\n", "Pod"},
		{
			"an argument that does not exist",
			everydayWith("- name: RemoveDuplicates\n    args: {excludeOwners: [Job]}", "RemoveDuplicates"), "excludeOwners",
		},
		{"a strategy that does not exist", everydayWith("- name: RemoveDuplicates", "RemoveDuplicates, RemoveTriplicates"), "RemoveTriplicates"},
		{
			"a priority class that does not exist",
			everydayWith("- name: DefaultEvictor\n    args: {priorityThreshold: {name: no-such-class}}\n  - name: RemoveDuplicates", "RemoveDuplicates"), "no-such-class",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.setPolicy(t, c.policy)
			w.mustFail(t, c.says)
		})
	}
	t.Run("no file", func(t *testing.T) {
		w.Kubectl(t, "patch", "configmap", "descheduler-policy-configmap", "-n", "kube-system", "--type=json", "-p", `[{"op":"remove","path":"/data/policy.yaml"}]`)
		w.mustFail(t, "/policy-dir/policy.yaml")
	})
	if diff := cmp.Diff(before, w.uids(t)); diff != "" {
		t.Errorf("pods before and after (-before +after):\n%s", diff)
	}

	w.Kubectl(t, "apply", "-k", "deploy/kustomize/base") // brings the everyday policy back
	if p := w.cycle(t); len(p.Moves) != 1 {
		t.Errorf("with a good policy a run moved %d pods, want 1", len(p.Moves))
	}
}

func TestWithoutItsRoleTheRunFailsAndEvictsNothing(t *testing.T) {
	w := newWorld(t)
	w.pile(t, "web", 4)
	before := w.uids(t)
	w.Kubectl(t, "delete", "clusterrolebinding", "descheduler-cluster-role-binding")
	w.mustFail(t, "descheduler-sa")
	if diff := cmp.Diff(before, w.uids(t)); diff != "" {
		t.Errorf("pods before and after (-before +after):\n%s", diff)
	}

	w.Kubectl(t, "apply", "-k", "deploy/kustomize/base")
	if p := w.cycle(t); len(p.Moves) != 1 {
		t.Errorf("with its role back a run moved %d pods, want 1", len(p.Moves))
	}
}

// mustFail runs the job with the CronJob's own arguments, and checks that it fails and says why.
func (w *world) mustFail(t *testing.T, says string) {
	t.Helper()
	r := w.cronJob(t).run(t)
	if r.code != 1 {
		t.Errorf("exit code %d, want 1", r.code)
	}
	if !strings.Contains(r.complain, says) {
		t.Errorf("it does not say %q:\n%s", says, r.complain)
	}
}

// everydayWith is a policy with one entry of pluginConfig and the balance strategies.
func everydayWith(config, strategies string) string {
	return "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: even-out\n  pluginConfig:\n  " + config +
		"\n  plugins: {balance: {enabled: [" + strategies + "]}}\n"
}
