package herd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespace of the herd's pods.
const namespace = "herd"

const containerName = "app"

// podState is what a kubelet would tell the API server about a pod.
type podState struct {
	phase    Phase // Waiting: nothing has happened yet; Starting, BackOff or Ready
	started  time.Time
	ready    time.Time
	restarts int
}

// identity of a pod of the herd.
type identity struct{ name, uid string }

// object is the pod as the API server would have it. Its one container has a startup probe, so that it has started
// when it is ready.
func (id identity) object(s podState) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: id.name, Namespace: namespace, UID: types.UID(id.uid)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: containerName, Image: "herd", StartupProbe: &corev1.Probe{PeriodSeconds: 1},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if s.phase == Waiting {
		return p
	}
	isReady := s.phase == Ready
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, true, s.started),
		condition(corev1.PodReady, isReady, s.ready),
	}
	c := corev1.ContainerStatus{
		Name: containerName, Image: "herd", Ready: isReady, Started: &isReady, RestartCount: int32(s.restarts),
		ContainerID: fmt.Sprintf("herd://%s-%d", id.uid, s.restarts),
	}
	if s.phase == BackOff {
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	} else {
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(s.started)}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{c}
	return p
}

func condition(kind corev1.PodConditionType, is bool, at time.Time) corev1.PodCondition {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse}
	if is {
		c.Status, c.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(at)
	}
	return c
}

// write puts the pod's file into the folder, whole or not at all.
func (id identity) write(folder string, s podState) error {
	text, err := json.Marshal(id.object(s))
	if err != nil {
		return err
	}
	path := filepath.Join(folder, id.name+".json")
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return err
	}
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		// Windows replaces no file that somebody has open, such as the agent.
		if err := os.Rename(path+".new", path); err == nil || time.Since(start) > time.Second {
			return err
		}
	}
}
