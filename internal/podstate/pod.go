package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Gone reports whether a pod has ended for good, waiting or not, and how: nil is a pod that the API no longer has, uid
// the one that the network plugin was called with.
func Gone(pod *corev1.Pod, uid string) (detail string, gone bool) {
	switch {
	case pod == nil || pod.DeletionTimestamp != nil:
		return "deleted", true
	case !Is(pod, uid):
		return "replaced by another pod of its name", true
	case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
		return "", false
	case pod.Status.Reason != "":
		return string(pod.Status.Phase) + ": " + pod.Status.Reason, true
	}
	return string(pod.Status.Phase), true
}

// Starting reports whether a pod has a sandbox from this boot and has not started, and since when: whether an agent
// that has restarted must count it.
func (r Rules) Starting(pod *corev1.Pod, boot, now time.Time) (since time.Time, ok bool) {
	m := Recover(string(pod.UID), boot)
	if r.Judge(m, pod, now).Release {
		return time.Time{}, false
	}
	return Sandboxed(pod, boot)
}

// Sandboxed reports whether a pod has got a sandbox since a time, not before the node's boot, and when: by its
// condition, or at the latest when the first of its containers started.
func Sandboxed(pod *corev1.Pod, since time.Time) (at time.Time, ok bool) {
	m := Recover(string(pod.UID), since)
	if at, ok = m.newCondition(pod, corev1.PodReadyToStartContainers); ok {
		return at, true
	}
	for _, status := range allStatuses(pod) {
		if started := startedAt(status); m.newContainer(status) && (at.IsZero() || started.Before(at)) {
			at = started
		}
	}
	return at, !at.IsZero()
}

// lasting is the containers that must have started: the regular ones and the sidecars.
func lasting(pod *corev1.Pod) []corev1.Container {
	sidecars := slices.DeleteFunc(slices.Clone(pod.Spec.InitContainers), func(c corev1.Container) bool { return !sidecar(c) })
	return append(sidecars, pod.Spec.Containers...)
}

// sidecar reports whether an init container goes on running.
func sidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// probed reports whether anything stands behind the pod's Ready.
func probed(pod *corev1.Pod) bool {
	return readinessProbed(pod) || slices.ContainsFunc(lasting(pod), func(c corev1.Container) bool {
		return c.StartupProbe != nil
	})
}

func readinessProbed(pod *corev1.Pod) bool {
	return len(pod.Spec.ReadinessGates) > 0 || slices.ContainsFunc(lasting(pod), func(c corev1.Container) bool {
		return c.ReadinessProbe != nil
	})
}

func statusOf(statuses []corev1.ContainerStatus, name string) (corev1.ContainerStatus, bool) {
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return corev1.ContainerStatus{}, false
	}
	return statuses[i], true
}
