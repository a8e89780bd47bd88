package snapfile

import (
	"encoding/json"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// kind is how the objects of one type are read and redacted.
type kind struct {
	// read converts an object and adds it to the parts.
	read func(b *builder, raw []byte) (*header, *fieldError)
	// redact leaves only the fields that are read.
	redact func(raw []byte) ([]byte, *fieldError)
}

const (
	clusterWide = false
	namespaced  = true
)

// object is any of the wire types.
type object[T any] interface {
	*T
	head() *header
}

// of makes a kind of a wire type and of what is done with one.
func of[T any, P object[T]](namespaced bool, add func(*builder, P) *fieldError) kind {
	decoded := func(raw []byte) (P, *fieldError) {
		o, problem := decode[T](raw)
		if problem != nil {
			return nil, problem
		}
		m := &P(o).head().Metadata
		if m.Name == "" {
			return nil, &fieldError{path: "metadata.name", err: errors.New("missing; expected the object's name")}
		}
		if namespaced && m.Namespace == "" {
			m.Namespace = metav1.NamespaceDefault
		}
		return o, nil
	}
	return kind{
		read: func(b *builder, raw []byte) (*header, *fieldError) {
			o, problem := decoded(raw)
			if problem != nil {
				return nil, problem
			}
			return o.head(), add(b, o)
		},
		redact: func(raw []byte) ([]byte, *fieldError) {
			o, problem := decoded(raw)
			if problem != nil {
				return nil, problem
			}
			scrub(o)
			out, err := json.Marshal(o)
			if err != nil {
				return nil, &fieldError{err: err}
			}
			return out, nil
		},
	}
}

// simple is of for kinds that convert without an error.
func simple[T any, P object[T]](namespaced bool, add func(*builder, P)) kind {
	return of(namespaced, func(b *builder, o P) *fieldError {
		add(b, o)
		return nil
	})
}

// kinds is every kind that is used, in the one version that is read.
func kinds() map[typeName]kind {
	return map[typeName]kind{
		{"v1", "Node"}:                            of(clusterWide, (*builder).addNode),
		{"v1", "Pod"}:                             of(namespaced, (*builder).addPod),
		{"v1", "Namespace"}:                       simple(clusterWide, (*builder).addNamespace),
		{"v1", "PersistentVolumeClaim"}:           simple(namespaced, (*builder).addClaim),
		{"v1", "PersistentVolume"}:                of(clusterWide, (*builder).addVolume),
		{"v1", "ReplicationController"}:           simple(namespaced, (*builder).addReplicationController),
		{"scheduling.k8s.io/v1", "PriorityClass"}: simple(clusterWide, (*builder).addPriorityClass),
		{"policy/v1", "PodDisruptionBudget"}:      of(namespaced, (*builder).addBudget),
		{"storage.k8s.io/v1", "StorageClass"}:     simple(clusterWide, (*builder).addStorageClass),
		{"apps/v1", "ReplicaSet"}:                 simple(namespaced, (*builder).addReplicaSet),
		{"apps/v1", "Deployment"}:                 simple(namespaced, (*builder).addDeployment),
		{"apps/v1", "StatefulSet"}:                simple(namespaced, (*builder).addStatefulSet),
		{"apps/v1", "DaemonSet"}:                  simple(namespaced, (*builder).addDaemonSet),
		{"batch/v1", "Job"}:                       simple(namespaced, (*builder).addJob),
		{"metrics.k8s.io/v1beta1", "NodeMetrics"}: of(clusterWide, (*builder).addNodeMetrics),
		{"metrics.k8s.io/v1beta1", "PodMetrics"}:  of(namespaced, (*builder).addPodMetrics),
		{"evenkeel.dev/v1alpha1", "NodePace"}:     of(clusterWide, (*builder).addNodePace),
	}
}

// api is the metadata as the API has it.
func (m *meta) api() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: types.UID(m.UID), Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
		Labels: m.Labels, Annotations: m.Annotations, OwnerReferences: m.OwnerReferences,
	}
}

func (b *builder) addNamespace(o *namespace) {
	b.parts.Namespaces = append(b.parts.Namespaces, b.conv.Namespace(&corev1.Namespace{ObjectMeta: o.Metadata.api()}))
}

func (b *builder) addPriorityClass(o *priorityClass) {
	b.parts.PriorityClasses = append(b.parts.PriorityClasses,
		b.conv.PriorityClass(&schedulingv1.PriorityClass{ObjectMeta: o.Metadata.api(), Value: o.Value}))
}

// addBudget refuses a selector that can't be parsed: the budget would silently protect nothing.
func (b *builder) addBudget(o *budget) *fieldError {
	if _, err := metav1.LabelSelectorAsSelector(o.Spec.Selector); err != nil {
		return &fieldError{path: "spec.selector", err: err}
	}
	b.parts.Budgets = append(b.parts.Budgets, b.conv.Budget(&policyv1.PodDisruptionBudget{
		ObjectMeta: o.Metadata.api(),
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: o.Spec.Selector, UnhealthyPodEvictionPolicy: o.Spec.UnhealthyPodEvictionPolicy,
		},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: o.Status.ObservedGeneration, DisruptionsAllowed: o.Status.DisruptionsAllowed,
			CurrentHealthy: o.Status.CurrentHealthy, DesiredHealthy: o.Status.DesiredHealthy,
		},
	}))
	return nil
}

func (b *builder) addClaim(o *claim) {
	b.parts.Claims = append(b.parts.Claims, b.conv.Claim(&corev1.PersistentVolumeClaim{
		ObjectMeta: o.Metadata.api(),
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: o.Spec.StorageClassName, VolumeName: o.Spec.VolumeName},
	}))
}

func (b *builder) addVolume(o *persistentVolume) *fieldError {
	if a := o.Spec.NodeAffinity; a != nil && a.Required != nil {
		if problem := checkNodeSelector(a.Required); problem != nil {
			return problem.under("spec.nodeAffinity.required")
		}
	}
	b.parts.Volumes = append(b.parts.Volumes, b.conv.Volume(&corev1.PersistentVolume{
		ObjectMeta: o.Metadata.api(), Spec: corev1.PersistentVolumeSpec{NodeAffinity: o.Spec.NodeAffinity},
	}))
	return nil
}

func (b *builder) addStorageClass(o *storageClass) {
	b.parts.StorageClasses = append(b.parts.StorageClasses,
		b.conv.StorageClass(&storagev1.StorageClass{ObjectMeta: o.Metadata.api(), VolumeBindingMode: o.VolumeBindingMode}))
}

func (b *builder) addWorkload(w *cluster.Workload) { b.parts.Workloads = append(b.parts.Workloads, w) }

func (b *builder) addReplicationController(o *workload) {
	b.addWorkload(b.conv.ReplicationController(&corev1.ReplicationController{
		ObjectMeta: o.Metadata.api(), Spec: corev1.ReplicationControllerSpec{Replicas: o.Spec.Replicas},
	}))
}

func (b *builder) addReplicaSet(o *workload) {
	b.addWorkload(b.conv.ReplicaSet(&appsv1.ReplicaSet{ObjectMeta: o.Metadata.api(), Spec: appsv1.ReplicaSetSpec{Replicas: o.Spec.Replicas}}))
}

func (b *builder) addDeployment(o *workload) {
	b.addWorkload(b.conv.Deployment(&appsv1.Deployment{ObjectMeta: o.Metadata.api(), Spec: appsv1.DeploymentSpec{Replicas: o.Spec.Replicas}}))
}

func (b *builder) addStatefulSet(o *workload) {
	b.addWorkload(b.conv.StatefulSet(&appsv1.StatefulSet{ObjectMeta: o.Metadata.api(), Spec: appsv1.StatefulSetSpec{Replicas: o.Spec.Replicas}}))
}

func (b *builder) addDaemonSet(o *workload) {
	b.addWorkload(b.conv.DaemonSet(&appsv1.DaemonSet{ObjectMeta: o.Metadata.api()}))
}

func (b *builder) addJob(o *workload) {
	b.addWorkload(b.conv.Job(&batchv1.Job{ObjectMeta: o.Metadata.api(), Spec: batchv1.JobSpec{Parallelism: o.Spec.Parallelism}}))
}
