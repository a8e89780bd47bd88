package admission_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/test/harness"
)

// TestTheAgentTakesItsTaintAwayWhenItIsReady runs the real agent, with the token of a pod on its node and the rights of the manifests, confined.
func TestTheAgentTakesItsTaintAwayWhenItIsReady(t *testing.T) {
	cluster := harness.Start(t, harness.Options{}) // of its own, for the CRDs
	cluster.Kubectl(t, "apply", "-k", "deploy/kustomize/crds")
	policy(t, cluster)
	cluster.Kubectl(t, "apply", "-f", "deploy/kustomize/agent-windows/rbac.yaml", "-n", "kube-system")
	const host = "win-agent"
	if registered := register(t, cluster, windowsNode(host)); ours(registered) != 1 {
		t.Fatalf("taints of the new node: %v, want ours once", registered.Spec.Taints)
	}
	pod := pendingPod(t, cluster, host)

	_, bound := agent(t, cluster, "kube-system", "evenkeel-agent-windows", host)
	runAgent(t, host, kubeconfigOf(t, bound))
	awaitRunning(t, cluster, pod)
	harness.Await(t, time.Minute, "its NodePace, confined as it is", func(context.Context) error {
		out, err := cluster.TryKubectl(t, cluster.Kubeconfig, "", "get", "nodepace", host, "-o", "jsonpath={.status.limit}")
		if err == nil && strings.TrimSpace(out) == "" {
			return fmt.Errorf("no status yet")
		}
		return err
	})

	// Somebody puts it on again: it goes again, and the other taint stays.
	other := corev1.Taint{Key: "other", Effect: corev1.TaintEffectPreferNoSchedule}
	found := node(t, cluster, host)
	found.Spec.Taints = append(found.Spec.Taints, other, corev1.Taint{Key: admission.DefaultKey, Effect: corev1.TaintEffectNoSchedule})
	_, err := cluster.Client.CoreV1().Nodes().Update(t.Context(), found, metav1.UpdateOptions{})
	must(t, err)
	harness.Await(t, time.Minute, "the taint is gone again", func(context.Context) error {
		now := node(t, cluster, host)
		if ours(now) != 0 {
			return fmt.Errorf("the node has %v", now.Spec.Taints)
		}
		for _, taint := range now.Spec.Taints {
			if taint.Key == other.Key {
				return nil
			}
		}
		t.Fatalf("the other taint is gone, too: %v", now.Spec.Taints)
		return nil
	})
}

// TestAnAgentWithoutPermissionSaysSoAndGoesOn: its token is bound to no pod, so the confining policy refuses it for ever.
func TestAnAgentWithoutPermissionSaysSoAndGoesOn(t *testing.T) {
	cluster := harness.ControlPlane(t)
	policy(t, cluster)
	cluster.Kubectl(t, "apply", "-f", "deploy/kustomize/agent-windows/rbac.yaml", "-n", "kube-system")
	const host = "win-refused"
	register(t, cluster, windowsNode(host))
	p := runAgent(t, host, cluster.KubeconfigFor(t, "kube-system", "evenkeel-agent-windows"))
	harness.Await(t, 2*time.Minute, "the refusal is told", func(context.Context) error {
		if said := p.log.String(); !strings.Contains(said, "remove the bootstrap taint") {
			return fmt.Errorf("the agent said:\n%s", said)
		}
		return nil
	})
	select {
	case err := <-p.ended:
		t.Fatalf("the agent ended: %v", err)
	default:
	}
	if found := node(t, cluster, host); ours(found) != 1 {
		t.Errorf("taints %v, want ours still", found.Spec.Taints)
	}
}

// runAgent runs the real agent for a node; it installs nothing here.
func runAgent(t *testing.T, host, kubeconfig string) *process {
	t.Helper()
	dir, err := os.MkdirTemp("", "ek") // short: it holds a unix socket
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	config := filepath.Join(dir, "config.yaml")
	must(t, os.WriteFile(config, []byte("install: {enabled: false}\n"), 0o600))
	return run(t, harness.Command(t, "evenkeel-agent"), "run", "--config", config, "--node-name", host, "--kubeconfig", kubeconfig,
		"--socket", filepath.Join(dir, "run", "agent.sock"), "--listen", "none")
}

// kubeconfigOf writes a connection to a file.
func kubeconfigOf(t *testing.T, c *rest.Config) string {
	t.Helper()
	k := clientcmdapi.NewConfig()
	k.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile}
	k.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: c.BearerToken}
	k.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	k.CurrentContext = "x"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*k, file))
	return file
}
