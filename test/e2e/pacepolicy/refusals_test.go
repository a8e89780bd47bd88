package pacepolicy

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/pacepolicy"
	"evenkeel.dev/evenkeel/test/harness"
)

// installCRDs applies the CRDs as a user does and waits until they are served.
func installCRDs(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	cluster.Kubectl(t, "apply", "-k", "deploy/kustomize/crds")
	cluster.Kubectl(t, "wait", "--for=condition=Established", "--timeout=60s",
		"crd/pacepolicies.evenkeel.dev", "crd/nodepaces.evenkeel.dev")
}

// TestKubectlRefusesBadPoliciesInWordsThatHelp applies every spec of testdata/refusals.txt with kubectl's own
// validation off, so that the words are the API server's, which hold for every client.
func TestKubectlRefusesBadPoliciesInWordsThatHelp(t *testing.T) {
	cluster := harness.ControlPlane(t)
	installCRDs(t, cluster)
	datadriven.RunTest(t, "testdata/refusals.txt", func(t *testing.T, d *datadriven.TestData) string {
		validate := "--validate=ignore"
		if d.HasArg("strict") {
			validate = "--validate=strict"
		}
		manifest := "apiVersion: evenkeel.dev/v1alpha1\nkind: PacePolicy\nmetadata: {name: x}\nspec:\n" + indent(d.Input)
		_, err := cluster.TryKubectl(t, cluster.Kubeconfig, manifest, "apply", "--dry-run=server", validate, "-f", "-")
		if err == nil {
			checkAgentAccepts(t, d.Input)
			return "accepted\n"
		}
		return words(err.Error())
	})
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}

// words is what kubectl says, without the exit status and its own preamble.
func words(said string) string {
	for _, preamble := range []string{"The PacePolicy \"x\" is invalid: ", "The PacePolicy \"x\" is invalid:"} {
		if _, rest, found := strings.Cut(said, preamble); found {
			said = rest
			break
		}
	}
	said = strings.TrimPrefix(said, "exit status 1: ")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	slices.Sort(lines) // the API server's order is not always the same
	return strings.Join(lines, "\n") + "\n"
}

// checkAgentAccepts holds the agent's own rules against the API server's: it must never refuse what that accepted.
func checkAgentAccepts(t *testing.T, text string) {
	t.Helper()
	var spec v1alpha1.PacePolicySpec
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		t.Errorf("an accepted spec cannot be decoded: %v", err)
	}
	if err := pacepolicy.Check(spec); err != nil {
		t.Errorf("an agent would refuse what the API server accepted: %v", err)
	}
	if _, err := pacepolicy.Selector(spec.NodeSelector); err != nil {
		t.Errorf("an agent could not read a selector that the API server accepted: %v", err)
	}
}
