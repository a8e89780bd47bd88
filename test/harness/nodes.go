package harness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What a test can say about a fake node or pod. The stages that act on it are
// in test/controlplane/stages.
const (
	// ReadyAnnotation on a pod: Hold lets it run without becoming Ready until
	// the annotation is taken away (Release does that), NeverStart leaves it
	// Pending on its node. On a node: Hold keeps it from becoming Ready, Lost
	// makes it Unknown.
	ReadyAnnotation = "test.evenkeel.dev/ready"
	Hold            = "hold"
	NeverStart      = "never-start"
	Lost            = "lost"
	// ReadyAfterAnnotation on a pod: a Go duration from being bound to Ready.
	ReadyAfterAnnotation = "test.evenkeel.dev/ready-after"
	// DeleteAfterAnnotation on a pod: a Go duration from being told to go to
	// being gone.
	DeleteAfterAnnotation = "test.evenkeel.dev/delete-after"

	fakeNode = "kwok.x-k8s.io/node"
)

// FakeNode adds a node whose pods become Ready without any process: 4 CPUs,
// 16 GiB and 110 pods unless change says otherwise. It returns when the node
// is Ready, and goes with the test. change may be nil.
func (c *Cluster) FakeNode(t testing.TB, name string, change func(*corev1.Node)) *corev1.Node {
	t.Helper()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("4"),
		corev1.ResourceMemory:           resource.MustParse("16Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{fakeNode: "fake"},
			Labels:      map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity.DeepCopy()},
	}
	if change != nil {
		change(node)
	}
	c.FreeNodeName(t, name)
	created, err := c.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating fake node %s: %v", name, err)
	}
	t.Cleanup(func() { c.DeleteNode(t, name) })
	if node.Annotations[ReadyAnnotation] == "" {
		c.AwaitNode(t, name, corev1.ConditionTrue)
	}
	return created
}

// FreeNodeName removes the lease that a node of the name has left. To be
// called before a test creates a fake node without FakeNode: the garbage
// collector may take its time to remove the lease, and if that happens in the
// life of the next node, kwok takes the node for somebody else's until it
// renews the lease, and never looks again at pods that were bound meanwhile.
func (c *Cluster) FreeNodeName(t testing.TB, name string) {
	t.Helper()
	leases := c.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	Await(t, time.Minute, "no lease of an earlier node "+name, func(ctx context.Context) error {
		switch err := leases.Delete(ctx, name, metav1.DeleteOptions{}); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it was there until now")
	})
}

// AwaitNode waits until the node's Ready condition has the status and, for a
// Ready node, until the taint of its first seconds is gone.
func (c *Cluster) AwaitNode(t testing.TB, name string, status corev1.ConditionStatus) {
	t.Helper()
	Await(t, 2*time.Minute, fmt.Sprintf("node %s Ready=%s", name, status), func(ctx context.Context) error {
		node, err := c.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, taint := range node.Spec.Taints {
			if status == corev1.ConditionTrue && taint.Key == corev1.TaintNodeNotReady {
				return fmt.Errorf("taint %s is still there", taint.Key)
			}
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == status {
				return nil
			}
		}
		return fmt.Errorf("conditions are %v", node.Status.Conditions)
	})
}

// DeleteNode removes a node and the pods that are bound to it at once, as when
// a machine is taken out of the cluster. A node that is gone already is fine.
func (c *Cluster) DeleteNode(t testing.TB, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := c.Client.CoreV1().Nodes().Delete(ctx, name, now); err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("deleting node %s: %v", name, err)
	}
	pods, err := c.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	if err != nil {
		t.Errorf("listing the pods of node %s: %v", name, err)
		return
	}
	for _, pod := range pods.Items {
		err := c.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, now)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting pod %s/%s: %v", pod.Namespace, pod.Name, err)
		}
	}
}

// LoseNode makes a fake node's Ready condition Unknown, as when its kubelet has
// been silent for the controller manager's grace period. It returns when that
// has happened.
func (c *Cluster) LoseNode(t testing.TB, name string) {
	t.Helper()
	c.patchAnnotation(t, "nodes", "", name, ReadyAnnotation, `"`+Lost+`"`)
	c.AwaitNode(t, name, corev1.ConditionUnknown)
}

// RecoverNode undoes LoseNode and lets a held node become Ready.
func (c *Cluster) RecoverNode(t testing.TB, name string) {
	t.Helper()
	c.patchAnnotation(t, "nodes", "", name, ReadyAnnotation, "null")
	c.AwaitNode(t, name, corev1.ConditionTrue)
}

// Release lets a pod that was held become Ready.
func (c *Cluster) Release(t testing.TB, namespace, pod string) {
	t.Helper()
	c.patchAnnotation(t, "pods", namespace, pod, ReadyAnnotation, "null")
}

// patchAnnotation sets an annotation to a JSON value.
func (c *Cluster) patchAnnotation(t testing.TB, resource, namespace, name, key, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
	request := c.Client.CoreV1().RESTClient().Patch(types.MergePatchType).Resource(resource).Name(name).Body([]byte(patch))
	if namespace != "" {
		request = request.Namespace(namespace)
	}
	if err := request.Do(t.Context()).Error(); err != nil {
		t.Fatalf("patching %s %s: %v", resource, name, err)
	}
}
