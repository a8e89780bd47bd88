package scale

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/internal/kube/stub"
	"evenkeel.dev/evenkeel/internal/testkit/gen"
)

// Cluster returns the objects of a generated cluster for a stub API server, by resource.
func Cluster(c gen.Config) map[string]stub.Objects {
	lists := map[string]stub.Slice{}
	owners := map[types.UID]bool{}
	for o := range c.Objects() {
		switch o := o.(type) {
		case *corev1.Pod:
			lists["pods"] = append(lists["pods"], o)
			for _, owner := range o.OwnerReferences {
				if !owners[owner.UID] && owner.Kind == "ReplicaSet" {
					owners[owner.UID] = true
					lists["replicasets"] = append(lists["replicasets"], replicaSet(o.Namespace, owner))
				}
			}
		case *corev1.Node:
			lists["nodes"] = append(lists["nodes"], o)
		case *corev1.Namespace:
			lists["namespaces"] = append(lists["namespaces"], o)
		default:
			lists["poddisruptionbudgets"] = append(lists["poddisruptionbudgets"], o)
		}
	}
	objects := map[string]stub.Objects{"pods": fatPods(lists["pods"])}
	delete(lists, "pods")
	for resource, list := range lists {
		objects[resource] = list
	}
	return objects
}

func replicaSet(namespace string, owner metav1.OwnerReference) runtime.Object {
	one := int32(1)
	deployment, _, _ := strings.Cut(owner.Name, "-7c9f8b6d5")
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: owner.Name, UID: owner.UID, ResourceVersion: "1",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment, UID: "deployment-" + owner.UID, Controller: new(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &one},
	}
}

// fatPods are pods that grow to their real size, about 7 kB, when they are sent.
type fatPods stub.Slice

// Len implements stub.Objects.
func (f fatPods) Len() int { return len(f) }

// At implements stub.Objects.
func (f fatPods) At(i int) runtime.Object {
	pod := f[i].(*corev1.Pod).DeepCopy()
	pod.ResourceVersion = fmt.Sprint(i + 1)
	if len(pod.UID) < 30 {
		pod.UID = types.UID(fmt.Sprintf("%08x-1111-4222-8333-%012x", i, i))
	}
	pod.Annotations = map[string]string{
		"kubectl.kubernetes.io/restartedAt": "2026-11-01T00:00:00Z", "prometheus.io/scrape": "true", "prometheus.io/port": "8080",
		"cni.projectcalico.org/containerID": strings.Repeat("0123456789abcdef", 4), "cni.projectcalico.org/podIP": "10.12.13.14/32",
	}
	for _, manager := range []string{"kube-controller-manager", "kube-scheduler", "kubelet"} {
		pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{` + strings.Repeat(`"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{}}},`, 12) + `"f:phase":{}}}`),
		})
	}
	for c := range pod.Spec.Containers {
		container := &pod.Spec.Containers[c]
		for e := range 20 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", e), Value: strings.Repeat("value", 8)})
		}
		container.Command = []string{"/bin/app", "--listen=:8080", "--config=/etc/app/config.yaml"}
		container.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}, {Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Ready: true, Image: container.Image, ImageID: "registry.example/app@sha256:" + strings.Repeat("0123456789abcdef", 4),
			ContainerID: "containerd://" + strings.Repeat("fedcba9876543210", 4), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: pod.CreationTimestamp}},
		})
	}
	at := pod.CreationTimestamp
	pod.Status.Conditions = nil
	for _, c := range []corev1.PodConditionType{"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: at, LastProbeTime: metav1.Time{}})
	}
	pod.Status.StartTime, pod.Status.HostIP, pod.Status.PodIP = &at, "10.0.0.1", "10.12.13.14"
	return pod
}
