package admission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

// controller runs `evenkeel controller` with its manifests' rights.
func controller(t *testing.T, cluster *harness.Cluster, args ...string) *process {
	t.Helper()
	applyOverlay(t, cluster, "controller")
	kubeconfig := cluster.KubeconfigFor(t, "kube-system", "evenkeel-controller")
	return run(t, harness.Command(t, "evenkeel"), append([]string{"controller", "--kubeconfig=" + kubeconfig}, args...)...)
}

func TestBackstopFreesANodeWhoseAgentIsBroken(t *testing.T) {
	cluster := harness.ControlPlane(t)
	policy(t, cluster)
	first := controller(t, cluster, "--grace=5s")
	second := controller(t, cluster, "--grace=5s")
	const host = "win-stranded"
	sku := corev1.Taint{Key: "sku", Value: "gpu", Effect: corev1.TaintEffectPreferNoSchedule}
	if registered := register(t, cluster, windowsNode(host, sku)); ours(registered) != 1 {
		t.Fatalf("taints %v", registered.Spec.Taints)
	}
	harness.Await(t, time.Minute, "the taint is gone and another stays", func(ctx context.Context) error {
		found, err := cluster.Client.CoreV1().Nodes().Get(ctx, host, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ours(found) != 0 || !strings.Contains(fmt.Sprint(found.Spec.Taints), "gpu") {
			return fmt.Errorf("taints %v", found.Spec.Taints)
		}
		return nil
	})
	harness.Await(t, time.Minute, "one Event on the node", func(ctx context.Context) error {
		list, err := cluster.Client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "reason=BootstrapTaintExpired,involvedObject.name=" + host})
		if err == nil && len(list.Items) != 1 {
			err = fmt.Errorf("%d Events", len(list.Items))
		}
		return err
	})
	if !strings.Contains(cluster.Kubectl(t, "describe", "node", host), "BootstrapTaintExpired") {
		t.Error("kubectl describe node does not show the Event")
	}

	// The leader stops; the other takes over and frees the next node.
	leader, other := first, second
	if strings.Contains(second.log.String(), "msg=leading") {
		leader, other = second, first
	}
	if err := leader.terminate(); err != nil {
		t.Errorf("told to stop, it ended with %v", err)
	}
	harness.Await(t, time.Minute, "the other leads", func(context.Context) error {
		if !strings.Contains(other.log.String(), "msg=leading") {
			return errors.New("it waits")
		}
		return nil
	})
	register(t, cluster, windowsNode("win-next"))
	harness.Await(t, time.Minute, "the next node is freed", func(ctx context.Context) error {
		found, err := cluster.Client.CoreV1().Nodes().Get(ctx, "win-next", metav1.GetOptions{})
		if err == nil && ours(found) != 0 {
			err = fmt.Errorf("taints %v", found.Spec.Taints)
		}
		return err
	})
}
