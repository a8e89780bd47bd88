package harness_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestPodsBecomeReadyWhenTheTestSays(t *testing.T) {
	cluster := harness.ControlPlane(t)
	cluster.FakeNode(t, "ready-a", nil)
	cluster.FakeNode(t, "ready-b", nil)
	namespace := cluster.Namespace(t)

	cluster.Deployment(t, namespace, "web", 4, nil)
	perNode := harness.PerNode(cluster.AwaitReady(t, namespace, "app=web", 4))
	if perNode["ready-a"] != 2 || perNode["ready-b"] != 2 {
		t.Errorf("the real scheduler spread 4 replicas as %v, want 2 and 2", perNode)
	}

	cluster.Deployment(t, namespace, "held", 1, annotate(harness.ReadyAnnotation, harness.Hold))
	harness.Await(t, time.Minute, "the held pod runs", func(context.Context) error {
		for _, pod := range cluster.Pods(t, namespace, "app=held") {
			if pod.Status.Phase == corev1.PodRunning {
				return nil
			}
		}
		return errors.New("not running")
	})
	held := cluster.Pods(t, namespace, "app=held")[0]
	if harness.IsReady(&held) {
		t.Error("the held pod is Ready")
	}
	cluster.Release(t, namespace, held.Name)
	cluster.AwaitReady(t, namespace, "app=held", 1)

	started := time.Now()
	cluster.Deployment(t, namespace, "slow", 1, annotate(harness.ReadyAfterAnnotation, "3s"))
	cluster.AwaitReady(t, namespace, "app=slow", 1)
	if took := time.Since(started); took < 3*time.Second {
		t.Errorf("a pod with ready-after 3s was Ready after %v", took)
	}
}

func annotate(key, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{key: value}
	}
}

func TestTokenActsAsItsServiceAccountOnly(t *testing.T) {
	cluster := harness.ControlPlane(t)
	namespace := cluster.Namespace(t)
	kubeconfig := cluster.KubeconfigFor(t, namespace, "default")
	who, err := cluster.TryKubectl(t, kubeconfig, "", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	if want := "system:serviceaccount:" + namespace + ":default"; err != nil || who != want {
		t.Errorf("whoami: got %q, %v; want %q", who, err, want)
	}
	if _, err := cluster.TryKubectl(t, kubeconfig, "", "get", "nodes"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("listing nodes without a role: got %v, want Forbidden", err)
	}
}

func TestLostNodeIsTaintedAndComesBack(t *testing.T) {
	cluster := harness.ControlPlane(t)
	cluster.FakeNode(t, "stays", nil) // a zone without any Ready node gets no evictions
	cluster.FakeNode(t, "away", nil)
	cluster.LoseNode(t, "away")
	harness.Await(t, time.Minute, "taint of the lost node", func(ctx context.Context) error {
		node, err := cluster.Client.CoreV1().Nodes().Get(ctx, "away", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute {
				return nil
			}
		}
		return fmt.Errorf("taints: %v", node.Spec.Taints)
	})
	cluster.RecoverNode(t, "away")
}

func TestOwnControlPlaneTakesExtraFlags(t *testing.T) {
	cluster := harness.Start(t, harness.Options{APIServer: []string{"--default-not-ready-toleration-seconds=7"}, NodeLease: 20 * time.Second})
	cluster.FakeNode(t, "n1", nil)
	namespace := cluster.Namespace(t)
	cluster.Deployment(t, namespace, "web", 1, nil)
	for _, toleration := range cluster.AwaitReady(t, namespace, "", 1)[0].Spec.Tolerations {
		if toleration.Key == corev1.TaintNodeNotReady && *toleration.TolerationSeconds == 7 {
			return
		}
	}
	t.Error("the API server did not get its extra flag")
}

func TestDeletedNodeTakesItsPodsAlong(t *testing.T) {
	cluster := harness.ControlPlane(t)
	cluster.FakeNode(t, "gone-a", nil)
	cluster.FakeNode(t, "gone-b", nil)
	namespace := cluster.Namespace(t)
	cluster.Deployment(t, namespace, "web", 4, nil)
	cluster.AwaitReady(t, namespace, "", 4)
	cluster.DeleteNode(t, "gone-a")
	harness.Await(t, time.Minute, "all replicas on the other node", func(context.Context) error {
		pods := cluster.Pods(t, namespace, "")
		if perNode := harness.PerNode(pods); len(pods) != 4 || perNode["gone-b"] != 4 {
			return fmt.Errorf("pods per node: %v", perNode)
		}
		return nil
	})
}

// TestNodeGetsNoLeaseOfAnEarlierOne is about a lease that the garbage collector has not come to yet.
func TestNodeGetsNoLeaseOfAnEarlierOne(t *testing.T) {
	cluster := harness.ControlPlane(t)
	leases := cluster.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	left, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "again"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node := cluster.FakeNode(t, "again", nil)
	lease, err := leases.Get(t.Context(), "again", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if lease.UID == left.UID || len(lease.OwnerReferences) != 1 || lease.OwnerReferences[0].UID != node.UID {
		t.Errorf("the node %s has the lease %s, which belongs to %v", node.UID, lease.UID, lease.OwnerReferences)
	}
}

// TestNothingOutlivesAKilledTest runs this test binary as a child that starts
// a control plane, kills the child, and sees the components go.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	const marker = "HARNESS_TEST_CHILD"
	if os.Getenv(marker) != "" {
		cluster := harness.ControlPlane(t)
		fmt.Printf("state in %s\n", cluster.Dir)
		select {}
	}
	harness.Component(t, "controlplane")
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), marker+"=1")
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	if _, err := fmt.Fscanf(output, "state in %s\n", &dir); err != nil {
		t.Fatalf("the child did not start its control plane: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	harness.Await(t, 30*time.Second, "components and state are gone", func(context.Context) error {
		if _, err := os.Stat(dir); err == nil {
			return errors.New("state is still there")
		}
		if found, err := exec.Command("pgrep", "-f", dir).Output(); err == nil {
			return fmt.Errorf("processes still run: %s", found)
		}
		return nil
	})
}

func TestListingNodesAsAdministrator(t *testing.T) {
	cluster := harness.ControlPlane(t)
	if _, err := cluster.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := cluster.Kubectl(t, "get", "--raw", "/readyz"); got != "ok" {
		t.Errorf("readyz: got %q", got)
	}
}
