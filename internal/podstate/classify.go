package podstate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/pace"
)

const (
	// PaceAnnotation with the value PaceSkip keeps a pod out of the queue. Any other value has no meaning.
	PaceAnnotation = "evenkeel.dev/pace"
	// PaceSkip is that value.
	PaceSkip = "skip"

	nodeCriticalClass = "system-node-critical"
	// nodeCritical is the value of that class, which nothing else may exceed.
	nodeCritical = 2000001000
)

// Classify says how a pod is treated. The namespace and UID are those that the network plugin is called with; pod is
// what the API shows under that namespace and name, or nil. A static pod has another UID in the API, where a mirror
// stands for it; any other pod of another UID is a predecessor or successor, and the class unknown.
func (r Rules) Classify(namespace, uid string, pod *corev1.Pod) pace.Info {
	if slices.Contains(r.ExcludeNamespaces, namespace) {
		return pace.Info{Class: pace.ClassUngated, Why: "excluded namespace"}
	}
	if pod == nil || !Is(pod, uid) {
		return pace.Info{Class: pace.ClassUnknown}
	}
	info := pace.Info{Class: pace.ClassOrdinary}
	if pod.Spec.Priority != nil {
		info.Priority = *pod.Spec.Priority
	}
	if pod.Annotations[PaceAnnotation] == PaceSkip {
		info.Class, info.Why = pace.ClassUngated, "annotation "+PaceAnnotation
	} else if why := urgent(pod); why != "" {
		info.Class, info.Why = pace.ClassUrgent, why
	}
	return info
}

// Is reports whether the pod is the one that the network plugin knows by this UID. The kubelet calls it with the UID of
// a static pod's manifest, which the mirror pod has as an annotation.
func Is(pod *corev1.Pod, uid string) bool {
	return string(pod.UID) == uid || pod.Annotations[corev1.MirrorPodAnnotationKey] == uid && uid != ""
}

// urgent says why a pod never waits, or nothing.
func urgent(pod *corev1.Pod) string {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	ownedByDaemonSet := slices.ContainsFunc(pod.OwnerReferences, ownerIsDaemonSet)
	switch {
	case mirror:
		return "static pod"
	case HostNetwork(pod):
		return "host network"
	case ownedByDaemonSet:
		return "DaemonSet"
	case pod.Spec.PriorityClassName == nodeCriticalClass, pod.Spec.Priority != nil && *pod.Spec.Priority >= nodeCritical:
		return "node-critical"
	}
	return ""
}

// HostNetwork reports whether a pod uses the node's own network, so that no network plugin is called for it.
func HostNetwork(pod *corev1.Pod) bool { return pod.Spec.HostNetwork || hostProcess(pod) }

func hostProcess(pod *corev1.Pod) bool {
	c := pod.Spec.SecurityContext
	return c != nil && c.WindowsOptions != nil && c.WindowsOptions.HostProcess != nil && *c.WindowsOptions.HostProcess
}

func ownerIsDaemonSet(ref metav1.OwnerReference) bool {
	return ref.Kind == "DaemonSet" && strings.HasPrefix(ref.APIVersion, "apps/")
}
