package cluster

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Namespace is a namespace and its labels.
type Namespace struct {
	Name   string
	Labels map[string]string
}

// PriorityClass is a scheduling.k8s.io PriorityClass.
type PriorityClass struct {
	Name  string
	Value int32
}

// Budget is a PodDisruptionBudget as the eviction API reads it.
type Budget struct {
	Namespace          string
	Name               string
	Selector           labels.Selector
	AlwaysAllow        bool // unhealthyPodEvictionPolicy: AlwaysAllow
	Stale              bool // status is of an older generation than the spec
	DisruptionsAllowed int32
	CurrentHealthy     int32
	DesiredHealthy     int32
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Namespace    string
	Name         string
	StorageClass *string // nil when the claim names none
	Volume       string  // empty while unbound
}

// Volume is a PersistentVolume.
type Volume struct {
	Name string
	// Nodes is the volume's required node affinity, nil when it can be used anywhere.
	Nodes *corev1.NodeSelector
	// Zones are the zones and regions that the volume's labels name, by the keys of the labels; see [ZoneLabels].
	Zones map[string][]string
}

// ZoneLabels are the keys of the labels that name the zone or region of a node, and those of a volume, by the names of today and of before.
func ZoneLabels() []string {
	return []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion}
}

// Reaches reports whether the zones and regions of the volume let it be used on n, by the rules of the scheduler's VolumeZone: a node without any of the labels will do;
// any other has to have each of the volume's, or instead of an old one that of today, with one of its values.
func (v *Volume) Reaches(n *NodeInfo) bool {
	if len(v.Zones) == 0 || !slices.ContainsFunc(ZoneLabels(), func(key string) bool { _, ok := n.Labels[key]; return ok }) {
		return true
	}
	for key, values := range v.Zones {
		value, ok := n.Labels[key]
		if !ok {
			value, ok = n.Labels[zoneLabelOfToday(key)]
		}
		if !ok || !slices.Contains(values, value) {
			return false
		}
	}
	return true
}

func zoneLabelOfToday(key string) string {
	switch key {
	case corev1.LabelFailureDomainBetaZone:
		return corev1.LabelTopologyZone
	case corev1.LabelFailureDomainBetaRegion:
		return corev1.LabelTopologyRegion
	}
	return key
}

// zonesOf reads the labels of a volume. A value is a name, or several with two underscores between; one with an empty name in it is left out, as by the scheduler.
func zonesOf(set map[string]string) map[string][]string {
	var zones map[string][]string
	for _, key := range ZoneLabels() {
		value, ok := set[key]
		if !ok {
			continue
		}
		names := strings.Split(value, "__")
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
		if slices.Contains(names, "") {
			continue
		}
		if zones == nil {
			zones = map[string][]string{}
		}
		zones[key] = names
	}
	return zones
}

// StorageClass is a storage.k8s.io StorageClass.
type StorageClass struct {
	Name string
	// WaitForConsumer: an unbound claim is bound where its first pod lands.
	WaitForConsumer bool
}

// Workload is an object that owns pods, or owns what owns them.
type Workload struct {
	Kind      string
	Namespace string
	Name      string
	UID       string
	Replicas  int32  // wanted; 1 where the kind has no such number
	Owner     *Owner // its controller, e.g. the Deployment of a ReplicaSet
}

// Usage is what was measured rather than requested.
type Usage struct {
	// Nodes and Pods hold measurements of the Kubernetes metrics API: by node name and by "namespace/name".
	Nodes map[string]Amounts
	Pods  map[string]Amounts
	// Queries hold the answers to Prometheus queries, by the query's text.
	Queries map[string]Answer
	// Problems say what could not be measured: source or node, and why.
	Problems []string
}

// AnyQuery is the text of a query that nobody told: its answer is the answer to every query.
const AnyQuery = ""

// Answer is the answer to a Prometheus query.
type Answer struct {
	// Nodes holds one value in [0, 1] for each node that was measured.
	Nodes map[string]float64
	// Failed says why there is no answer; empty when there is one.
	Failed string
}

// Answer returns the answer to a Prometheus query; ok is false when that query was not asked.
func (u *Usage) Answer(query string) (a Answer, ok bool) {
	if a, ok = u.Queries[query]; !ok {
		a, ok = u.Queries[AnyQuery]
	}
	return a, ok
}

// Budget converts an API object. A selector that can't be parsed selects nothing.
func (c *Converter) Budget(b *policyv1.PodDisruptionBudget) *Budget {
	out := &Budget{
		Namespace: c.str(b.Namespace), Name: b.Name, Selector: selector(b.Spec.Selector),
		Stale:              b.Status.ObservedGeneration < b.Generation,
		DisruptionsAllowed: b.Status.DisruptionsAllowed,
		CurrentHealthy:     b.Status.CurrentHealthy, DesiredHealthy: b.Status.DesiredHealthy,
	}
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		out.AlwaysAllow = true
	}
	return out
}

// Namespace converts an API object.
func (c *Converter) Namespace(n *corev1.Namespace) *Namespace {
	return &Namespace{Name: c.str(n.Name), Labels: c.labels(n.Labels)}
}

// PriorityClass converts an API object.
func (c *Converter) PriorityClass(p *schedulingv1.PriorityClass) *PriorityClass {
	return &PriorityClass{Name: p.Name, Value: p.Value}
}

// Claim converts an API object.
func (c *Converter) Claim(p *corev1.PersistentVolumeClaim) *Claim {
	return &Claim{Namespace: c.str(p.Namespace), Name: p.Name, StorageClass: p.Spec.StorageClassName, Volume: p.Spec.VolumeName}
}

// Volume converts an API object.
func (c *Converter) Volume(p *corev1.PersistentVolume) *Volume {
	v := &Volume{Name: p.Name, Zones: zonesOf(p.Labels)}
	if p.Spec.NodeAffinity != nil {
		v.Nodes = p.Spec.NodeAffinity.Required
	}
	return v
}

// StorageClass converts an API object.
func (c *Converter) StorageClass(s *storagev1.StorageClass) *StorageClass {
	mode := s.VolumeBindingMode
	return &StorageClass{Name: s.Name, WaitForConsumer: mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer}
}

// ReplicaSet converts an API object.
func (c *Converter) ReplicaSet(o *appsv1.ReplicaSet) *Workload {
	return c.workload("ReplicaSet", &o.ObjectMeta, o.Spec.Replicas)
}

// Deployment converts an API object.
func (c *Converter) Deployment(o *appsv1.Deployment) *Workload {
	return c.workload("Deployment", &o.ObjectMeta, o.Spec.Replicas)
}

// StatefulSet converts an API object.
func (c *Converter) StatefulSet(o *appsv1.StatefulSet) *Workload {
	return c.workload("StatefulSet", &o.ObjectMeta, o.Spec.Replicas)
}

// DaemonSet converts an API object.
func (c *Converter) DaemonSet(o *appsv1.DaemonSet) *Workload {
	return c.workload("DaemonSet", &o.ObjectMeta, nil)
}

// ReplicationController converts an API object.
func (c *Converter) ReplicationController(o *corev1.ReplicationController) *Workload {
	return c.workload("ReplicationController", &o.ObjectMeta, o.Spec.Replicas)
}

// Job converts an API object.
func (c *Converter) Job(o *batchv1.Job) *Workload {
	return c.workload("Job", &o.ObjectMeta, o.Spec.Parallelism)
}

func (c *Converter) workload(kind string, m *metav1.ObjectMeta, replicas *int32) *Workload {
	w := &Workload{Kind: kind, Namespace: c.str(m.Namespace), Name: m.Name, UID: string(m.UID), Replicas: 1}
	if replicas != nil {
		w.Replicas = *replicas
	}
	owners := c.owners(m.OwnerReferences)
	for i := range owners {
		if owners[i].Controller {
			w.Owner = &owners[i]
		}
	}
	return w
}

// Age is how long before now the pod was created; zero when the time is not known or lies ahead.
func (p *PodInfo) Age(now time.Time) time.Duration {
	if p.Created.IsZero() || p.Created.After(now) {
		return 0
	}
	return now.Sub(p.Created)
}
