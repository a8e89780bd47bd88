package harness

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Image is on every Node. It burns CPU time and waits before it is ready; see
// test/node/programs/app.
const Image = "test.local/app:1"

// Work is what a pod does before it is ready.
type Work struct {
	CPU   time.Duration // CPU time to burn
	Delay time.Duration // time to wait after that
	Fail  bool          // then exit with code 1
}

// PodSpec is that of a pod on this node which is ready when its work is done
// (checked every second).
func (n *Node) PodSpec(work Work) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:                      n.Name,
		TerminationGracePeriodSeconds: new(int64),
		Containers: []corev1.Container{{
			Name: "main", Image: Image, ImagePullPolicy: corev1.PullNever,
			Args: []string{fmt.Sprintf("-burn=%v", work.CPU), fmt.Sprintf("-delay=%v", work.Delay), fmt.Sprintf("-fail=%v", work.Fail)},
			ReadinessProbe: &corev1.Probe{
				PeriodSeconds: 1, TimeoutSeconds: 5,
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}},
			},
		}},
	}
}

// RunPods creates count pods named name-0, name-1, … on the node, with the
// label app=name, without waiting for them. change may be nil.
func (n *Node) RunPods(t testing.TB, namespace, name string, count int, work Work, change func(*corev1.Pod)) {
	t.Helper()
	for i := range count {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Namespace: namespace, Labels: map[string]string{"app": name}},
			Spec:       n.PodSpec(work),
		}
		if change != nil {
			change(pod)
		}
		if _, err := n.cluster.Client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatalf("creating pod %s/%s: %v", namespace, pod.Name, err)
		}
	}
}
