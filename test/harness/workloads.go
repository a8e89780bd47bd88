package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace makes a namespace with a name of its own, which goes with the
// test, and returns its name.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	created, err := c.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		err := c.Client.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), created.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %s: %v", created.Name, err)
		}
	})
	c.awaitServiceAccount(t, created.Name, "default")
	return created.Name
}

// Deployment makes a Deployment with one container and the label app=name,
// and returns it at once: AwaitReady waits for its pods. change may be nil.
func (c *Cluster) Deployment(t testing.TB, namespace, name string, replicas int32, change func(*appsv1.Deployment)) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.invalid/app:1"}}},
			},
		},
	}
	if change != nil {
		change(deployment)
	}
	created, err := c.Client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating deployment %s/%s: %v", namespace, name, err)
	}
	t.Cleanup(func() {
		background := metav1.DeletePropagationBackground
		err := c.Client.AppsV1().Deployments(namespace).Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting deployment %s/%s: %v", namespace, name, err)
		}
	})
	return created
}

// Pods lists the pods with the labels that are not on their way out, in the
// order of their names. selector may be "".
func (c *Cluster) Pods(t testing.TB, namespace, selector string) []corev1.Pod {
	t.Helper()
	list, err := c.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatalf("listing the pods of %q: %v", namespace, err)
	}
	pods := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	slices.SortFunc(pods, func(a, b corev1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return pods
}

// AwaitReady waits until exactly n pods with the labels exist and all are
// Ready, terminating ones not counted, and returns them.
func (c *Cluster) AwaitReady(t testing.TB, namespace, selector string, n int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	Await(t, 2*time.Minute, fmt.Sprintf("%d ready pods %q in %q", n, selector, namespace), func(context.Context) error {
		pods = c.Pods(t, namespace, selector)
		var waiting []string
		for i := range pods {
			if pod := &pods[i]; !IsReady(pod) {
				waiting = append(waiting, fmt.Sprintf("%s on node %q is %s, conditions %v", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.Conditions))
			}
		}
		if len(waiting) > 0 || len(pods) != n {
			return fmt.Errorf("%d ready of %d: %s", len(pods)-len(waiting), len(pods), strings.Join(waiting, "; "))
		}
		return nil
	})
	return pods
}

// IsReady says whether the pod's Ready condition is true.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// PerNode counts pods by node; pods that have none count under "".
func PerNode(pods []corev1.Pod) map[string]int {
	counts := map[string]int{}
	for _, pod := range pods {
		counts[pod.Spec.NodeName]++
	}
	return counts
}
