package e2e_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

const kubeSystem = "kube-system"

// TestAppliedCronJobEvensOutReplicasAfterANodeIsReplaced is the product's
// everyday work, as a user sets it up: kubectl apply -k, then the CronJob's own
// command with its own ConfigMap and its own account's token. A node is lost,
// its pods crowd onto the others, another takes its place.
func TestAppliedCronJobEvensOutReplicasAfterANodeIsReplaced(t *testing.T) {
	c := harness.Start(t, harness.Options{})
	for _, name := range []string{"one", "two", "three"} {
		c.FakeNode(t, name, nil)
	}
	c.Kubectl(t, "apply", "-k", "deploy/kustomize/cronjob")
	namespace := c.Namespace(t)
	claim(t, c, namespace)
	workloads := []struct {
		namespace, name string
		replicas        int32
		change          func(*appsv1.Deployment)
	}{
		{namespace, "plain", 6, nil},
		{namespace, "scratch", 3, withVolume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})},
		{namespace, "claim", 3, withVolume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}})},
		{kubeSystem, "critical", 3, func(d *appsv1.Deployment) { d.Spec.Template.Spec.PriorityClassName = "system-cluster-critical" }},
	}
	for _, w := range workloads {
		c.Deployment(t, w.namespace, w.name, w.replicas, w.change)
	}
	ready := func() {
		t.Helper()
		for _, w := range workloads {
			c.AwaitReady(t, w.namespace, "app="+w.name, int(w.replicas))
		}
	}
	uneven := func() string {
		var text []string
		for _, w := range workloads {
			perNode := harness.PerNode(c.Pods(t, w.namespace, "app="+w.name))
			most, least := 0, int(w.replicas)
			for _, node := range []string{"one", "two", "four"} {
				most, least = max(most, perNode[node]), min(least, perNode[node])
			}
			if most-least > 1 {
				text = append(text, fmt.Sprintf("%s %v", w.name, perNode))
			}
		}
		return strings.Join(text, ", ")
	}
	ready()
	c.DeleteNode(t, "three")
	ready()
	c.FakeNode(t, "four", nil)
	if uneven() == "" {
		t.Fatal("the replicas are even before the first run: the test shows nothing")
	}

	const runs = 6
	for run := 1; uneven() != ""; run++ {
		if run > runs {
			t.Fatalf("after %d runs: %s", runs, uneven())
		}
		runCronJob(t, c)
		ready()
	}

	before := uids(c.Pods(t, "", ""))
	runCronJob(t, c)
	if after := uids(c.Pods(t, "", "")); after != before {
		t.Errorf("a run on an even cluster changed pods\nbefore %s\nafter  %s", before, after)
	}
}

// runCronJob runs the applied CronJob's container once, to its end.
func runCronJob(t *testing.T, c *harness.Cluster) {
	t.Helper()
	cronJob, err := c.Client.BatchV1().CronJobs(kubeSystem).Get(t.Context(), "descheduler-cronjob", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	command := c.Pod(t, kubeSystem, cronJob.Spec.JobTemplate.Spec.Template.Spec, image(t))
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("the CronJob's container: %v\n%s", err, output)
	}
	if strings.Contains(string(output), "forbidden") {
		t.Errorf("the account lacks a right\n%s", output)
	}
}

// image is what the Dockerfile puts into the image.
func image(t *testing.T) map[string]string {
	t.Helper()
	program := harness.Command(t, "evenkeel")
	return map[string]string{"/bin/evenkeel": program, "/bin/descheduler": program}
}

func uids(pods []corev1.Pod) string {
	var text strings.Builder
	for _, pod := range pods {
		if pod.Labels["app"] != "descheduler" { // the CronJob's own, as the real controller manager makes them
			fmt.Fprintf(&text, "%s=%s ", pod.Name, pod.UID)
		}
	}
	return text.String()
}

func withVolume(source corev1.VolumeSource) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		spec := &d.Spec.Template.Spec
		spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
}

// claim makes a volume and a claim named shared that is bound to it.
func claim(t *testing.T, c *harness.Cluster, namespace string) {
	t.Helper()
	c.KubectlInput(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: shared}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], hostPath: {path: /data}, claimRef: {namespace: %[1]s, name: shared}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared, namespace: %[1]s}
spec: {storageClassName: "", accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
`, namespace), "apply", "-f", "-")
	harness.Await(t, time.Minute, "the claim is bound", func(ctx context.Context) error {
		found, err := c.Client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "shared", metav1.GetOptions{})
		if err == nil && found.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("phase %s", found.Status.Phase)
		}
		return err
	})
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
