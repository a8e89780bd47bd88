package e2e_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

const kubeSystem = "kube-system"

// image is what the Dockerfile puts into the image.
func image(t *testing.T) map[string]string {
	t.Helper()
	program := harness.Command(t, "evenkeel")
	return map[string]string{"/bin/evenkeel": program, "/bin/descheduler": program}
}

// TestAppliedDeploymentServesAndLeadsWithItsOwnAccountOnly runs the
// Deployment's container with nothing but what its manifest gives it.
func TestAppliedDeploymentServesAndLeadsWithItsOwnAccountOnly(t *testing.T) {
	c := harness.Start(t, harness.Options{})
	c.FakeNode(t, "one", nil)
	c.FakeNode(t, "two", nil)
	c.Kubectl(t, "apply", "-k", "deploy/kustomize/deployment")
	deployment, err := c.Client.AppsV1().Deployments(kubeSystem).Get(t.Context(), "descheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	command := c.Pod(t, kubeSystem, deployment.Spec.Template.Spec, image(t))
	var log lockedBuffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("its log:\n%s", log.String())
		}
	})
	port := deployment.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	harness.Await(t, time.Minute, "the liveness probe passes", func(context.Context) error {
		return exec.Command("curl", "-kfsS", "-m", "2", url+"/healthz").Run()
	})
	harness.Await(t, time.Minute, "it holds the lease", func(ctx context.Context) error {
		lease, err := c.Client.CoordinationV1().Leases(kubeSystem).Get(ctx, "descheduler", metav1.GetOptions{})
		if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
			err = fmt.Errorf("nobody holds it")
		}
		return err
	})

	if output, err := exec.Command("curl", "-kfsS", "-m", "5", url+"/metrics").CombinedOutput(); err == nil {
		t.Errorf("metrics without a token: %.100s, want a refusal", output)
	}
	c.Kubectl(t, "create", "serviceaccount", "reader", "-n", kubeSystem)
	c.Kubectl(t, "create", "clusterrolebinding", "reader", "--clusterrole=descheduler-metrics-reader", "--serviceaccount=kube-system:reader")
	harness.Await(t, time.Minute, "the reader gets the metrics", func(context.Context) error {
		output, err := exec.Command("curl", "-kfsS", "-m", "5", "-H", "Authorization: Bearer "+c.Token(t, kubeSystem, "reader"), url+"/metrics").CombinedOutput()
		if err == nil && !strings.Contains(string(output), "descheduler_build_info") {
			err = fmt.Errorf("%.200s", output)
		}
		return err
	})
	if strings.Contains(log.String(), "forbidden") {
		t.Error("the account lacks a right")
	}
}
