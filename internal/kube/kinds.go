package kube

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// Kind is a kind of API object that snapshots are made from.
type Kind struct {
	Group    string // empty: core
	Resource string // e.g. "pods"
	Required bool

	client func(kubernetes.Interface) rest.Interface
}

// String is "pods" or "deployments.apps".
func (k Kind) String() string {
	if k.Group == "" {
		return k.Resource
	}
	return k.Resource + "." + k.Group
}

// Kinds are all kinds that are read, the largest first, so that it is not what one waits for at the end.
func Kinds() []Kind {
	core := func(c kubernetes.Interface) rest.Interface { return c.CoreV1().RESTClient() }
	apps := func(c kubernetes.Interface) rest.Interface { return c.AppsV1().RESTClient() }
	batch := func(c kubernetes.Interface) rest.Interface { return c.BatchV1().RESTClient() }
	policy := func(c kubernetes.Interface) rest.Interface { return c.PolicyV1().RESTClient() }
	scheduling := func(c kubernetes.Interface) rest.Interface { return c.SchedulingV1().RESTClient() }
	storage := func(c kubernetes.Interface) rest.Interface { return c.StorageV1().RESTClient() }
	return []Kind{
		{Resource: "pods", Required: true, client: core},
		{Resource: "nodes", Required: true, client: core},
		{Group: "apps", Resource: "replicasets", client: apps},
		{Group: "batch", Resource: "jobs", client: batch},
		{Resource: "persistentvolumeclaims", client: core},
		{Resource: "persistentvolumes", client: core},
		{Group: "apps", Resource: "deployments", client: apps},
		{Group: "apps", Resource: "statefulsets", client: apps},
		{Group: "apps", Resource: "daemonsets", client: apps},
		{Resource: "replicationcontrollers", client: core},
		{Group: "policy", Resource: "poddisruptionbudgets", client: policy},
		{Resource: "namespaces", client: core},
		{Group: "scheduling.k8s.io", Resource: "priorityclasses", client: scheduling},
		{Group: "storage.k8s.io", Resource: "storageclasses", client: storage},
	}
}

func (k Kind) list(ctx context.Context, c kubernetes.Interface, opts metav1.ListOptions) (runtime.Object, error) {
	return k.client(c).Get().Resource(k.Resource).VersionedParams(&opts, scheme.ParameterCodec).Do(ctx).Get()
}

func (k Kind) watch(ctx context.Context, c kubernetes.Interface, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return k.client(c).Get().Resource(k.Resource).VersionedParams(&opts, scheme.ParameterCodec).Watch(ctx)
}

// compact converts an API object to what a snapshot keeps of it; nil when that is nothing.
func compact(c *cluster.Converter, obj runtime.Object) any {
	switch o := obj.(type) {
	case *corev1.Pod:
		return c.Pod(o)
	case *corev1.Node:
		return c.Node(o)
	case *corev1.Namespace:
		return c.Namespace(o)
	case *corev1.PersistentVolumeClaim:
		return c.Claim(o)
	case *corev1.PersistentVolume:
		return c.Volume(o)
	case *policyv1.PodDisruptionBudget:
		return c.Budget(o)
	case *schedulingv1.PriorityClass:
		return c.PriorityClass(o)
	case *storagev1.StorageClass:
		return c.StorageClass(o)
	default:
		return workload(c, obj)
	}
}

func workload(c *cluster.Converter, obj runtime.Object) any {
	switch o := obj.(type) {
	case *appsv1.ReplicaSet:
		if o.Spec.Replicas != nil && *o.Spec.Replicas == 0 && o.Status.Replicas == 0 {
			return nil // an old revision of a Deployment: it owns no pod, and there are ten of them for each Deployment
		}
		return c.ReplicaSet(o)
	case *appsv1.Deployment:
		return c.Deployment(o)
	case *appsv1.StatefulSet:
		return c.StatefulSet(o)
	case *appsv1.DaemonSet:
		return c.DaemonSet(o)
	case *corev1.ReplicationController:
		return c.ReplicationController(o)
	case *batchv1.Job:
		return c.Job(o)
	default:
		return nil
	}
}

// add puts what compact returned among the parts of a snapshot.
func add(parts *cluster.Parts, v any) {
	switch v := v.(type) {
	case *cluster.PodInfo:
		parts.Pods = append(parts.Pods, v)
	case *cluster.NodeInfo:
		parts.Nodes = append(parts.Nodes, v)
	case *cluster.Namespace:
		parts.Namespaces = append(parts.Namespaces, v)
	case *cluster.Claim:
		parts.Claims = append(parts.Claims, v)
	case *cluster.Volume:
		parts.Volumes = append(parts.Volumes, v)
	case *cluster.Workload:
		parts.Workloads = append(parts.Workloads, v)
	case *cluster.Budget:
		parts.Budgets = append(parts.Budgets, v)
	case *cluster.PriorityClass:
		parts.PriorityClasses = append(parts.PriorityClasses, v)
	case *cluster.StorageClass:
		parts.StorageClasses = append(parts.StorageClasses, v)
	}
}

// has says which kinds were looked at, given those that could not be.
func has(missing []Kind) cluster.Has {
	looked := func(resources ...string) bool {
		return !slices.ContainsFunc(missing, func(k Kind) bool { return slices.Contains(resources, k.Resource) })
	}
	return cluster.Has{
		Namespaces:      looked("namespaces"),
		PriorityClasses: looked("priorityclasses"),
		Budgets:         looked("poddisruptionbudgets"),
		Claims:          looked("persistentvolumeclaims"),
		Volumes:         looked("persistentvolumes", "storageclasses"),
		Workloads:       looked("replicasets", "deployments", "statefulsets", "daemonsets", "replicationcontrollers", "jobs"),
	}
}
