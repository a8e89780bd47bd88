package snapfile

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// filler fills API objects with random values in every field.
func filler(seed int64) *randfill.Filler {
	names := []string{
		"a", "b", "app", "kubernetes.io/config.source", "evenkeel.dev/x", "descheduler.alpha.kubernetes.io/evict",
		corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion,
	}
	pick := func(c randfill.Continue) string { return names[c.Intn(len(names))] }
	return randfill.New().RandSource(rand.NewSource(seed)).NilChance(0.2).NumElements(0, 3).MaxDepth(20).Funcs(validConstraints(pick)...).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63n(1<<40), resource.DecimalSI)
		},
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(c.Int63n(1<<33), 0) },
		func(l *corev1.ResourceList, c randfill.Continue) {
			*l = corev1.ResourceList{}
			for _, name := range resourceNames() {
				if c.Bool() {
					(*l)[name] = *resource.NewMilliQuantity(c.Int63n(1<<40), resource.DecimalSI)
				}
			}
		},
		func(d *metav1.Duration, c randfill.Continue) { d.Duration = time.Duration(c.Int31()) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { *f = *metav1.NewFieldsV1("{}") },
		func(i *intstr.IntOrString, c randfill.Continue) { *i = intstr.FromInt32(c.Int31()) },
		func(m *map[string]string, c randfill.Continue) {
			*m = map[string]string{pick(c): pick(c), pick(c): pick(c)}
		},
		func(s *metav1.LabelSelector, c randfill.Continue) {
			s.MatchLabels = map[string]string{pick(c): "x"}
		},
		func(v *corev1.VolumeSource, c randfill.Continue) { // one of many, as the API demands
			switch c.Intn(5) {
			case 0:
				v.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: "Memory"}
			case 1:
				v.HostPath = &corev1.HostPathVolumeSource{Path: "/x"}
			case 2:
				v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pick(c)}
			case 3:
				v.Secret = &corev1.SecretVolumeSource{SecretName: "hidden-secret"}
			case 4:
				v.ConfigMap = &corev1.ConfigMapVolumeSource{}
			}
		},
	)
}

// validConstraints fill constraints as an API server takes them; the key of each is made by pick.
func validConstraints(pick func(randfill.Continue) string) []any {
	requirement := func(r *corev1.NodeSelectorRequirement, c randfill.Continue) {
		r.Key, r.Operator, r.Values = pick(c), corev1.NodeSelectorOpIn, []string{pick(c)}
	}
	effect := func(e *corev1.TaintEffect, c randfill.Continue) {
		*e = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}[c.Intn(3)]
	}
	return []any{
		requirement, effect,
		func(s *corev1.NodeSelector, c randfill.Continue) {
			s.NodeSelectorTerms = make([]corev1.NodeSelectorTerm, 1+c.Intn(2))
			for i := range s.NodeSelectorTerms {
				c.Fill(&s.NodeSelectorTerms[i])
			}
		},
		func(t *corev1.NodeSelectorTerm, c randfill.Continue) {
			c.Fill(&t.MatchExpressions)
			if c.Bool() {
				t.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{pick(c)}}}
			}
		},
		func(t *corev1.PreferredSchedulingTerm, c randfill.Continue) {
			t.Weight = 1 + c.Int31n(100)
			c.Fill(&t.Preference)
		},
		func(t *corev1.WeightedPodAffinityTerm, c randfill.Continue) {
			t.Weight = 1 + c.Int31n(100)
			c.Fill(&t.PodAffinityTerm)
		},
		func(t *corev1.PodAffinityTerm, c randfill.Continue) {
			c.FillNoCustom(t)
			t.TopologyKey = pick(c)
			if t.LabelSelector == nil {
				t.MatchLabelKeys, t.MismatchLabelKeys = nil, nil
			}
		},
		func(list *[]corev1.TopologySpreadConstraint, c randfill.Continue) {
			constraint := corev1.TopologySpreadConstraint{}
			c.FillNoCustom(&constraint)
			constraint.TopologyKey, constraint.WhenUnsatisfiable, constraint.MaxSkew = pick(c), corev1.DoNotSchedule, 1+c.Int31n(5)
			if constraint.MinDomains != nil {
				constraint.MinDomains = new(1 + c.Int31n(5))
			}
			if constraint.LabelSelector == nil {
				constraint.MatchLabelKeys = nil
			}
			soft := constraint
			soft.WhenUnsatisfiable, soft.MinDomains = corev1.ScheduleAnyway, nil
			*list = []corev1.TopologySpreadConstraint{constraint, soft}[:c.Intn(3)]
		},
		func(p *corev1.NodeInclusionPolicy, c randfill.Continue) {
			*p = []corev1.NodeInclusionPolicy{corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore}[c.Intn(2)]
		},
		func(t *corev1.Taint, c randfill.Continue) {
			c.FillNoCustom(t)
			t.Key = pick(c)
		},
		func(t *corev1.Toleration, c randfill.Continue) {
			c.FillNoCustom(t)
			t.Key = pick(c)
			if t.Operator = corev1.TolerationOpEqual; c.Bool() {
				t.Operator, t.Value = corev1.TolerationOpExists, ""
			}
		},
	}
}

func resourceNames() []corev1.ResourceName {
	return []corev1.ResourceName{"cpu", "memory", "example.com/a", "example.com/b"}
}

// converter is one that numbers the resources in a fixed order.
func converter() *cluster.Converter {
	c := cluster.NewConverter()
	for _, name := range resourceNames() {
		c.Resources.ID(name)
	}
	return c
}

// same fails the test when reading an object from a file gives anything else than converting the API object itself: then
// package cluster reads a field that the wire types leave out.
func same[T any](t *testing.T, name typeName, seed int64, typed func(*cluster.Converter, *T) any, got func(*builder) any) {
	t.Helper()
	var o T
	filler(seed).Fill(&o)
	m := any(&o).(metav1.Object)
	m.SetNamespace("shop") // an absent one is "default"
	m.SetName("x" + m.GetName())
	raw := marshal(t, name, &o)
	for _, redacted := range []bool{false, true} {
		if redacted {
			var problem *fieldError
			if raw, problem = kinds()[name].redact(raw); problem != nil {
				t.Fatalf("%+v", problem)
			}
		}
		b := newBuilder(converter())
		if _, problem := kinds()[name].read(b, raw); problem != nil {
			t.Fatalf("seed %d: %s: %v\n%s", seed, problem.path, problem.err, raw)
		}
		// The same object through the API type, from the bytes of all fields, so that both have the same precision.
		var api T
		if err := json.Unmarshal(marshal(t, name, &o), &api); err != nil {
			t.Fatal(err)
		}
		want := typed(converter(), &api)
		if diff := cmp.Diff(want, got(b), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Fatalf("seed %d, redacted %t: (-API type +file)\n%s", seed, redacted, diff)
		}
	}
}

func marshal(t *testing.T, name typeName, o any) []byte {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	m["apiVersion"], m["kind"] = name.apiVersion, name.kind
	if data, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadingAFileLosesNothingThatDecisionsRead(t *testing.T) {
	workload := func(b *builder) any { return b.parts.Workloads[0] }
	for seed := range int64(100) {
		same(t, typeName{"v1", "Pod"}, seed, func(c *cluster.Converter, o *corev1.Pod) any { return c.Pod(o) },
			func(b *builder) any { return b.parts.Pods[0] })
		same(t, typeName{"v1", "Node"}, seed, func(c *cluster.Converter, o *corev1.Node) any { return c.Node(o) },
			func(b *builder) any { return b.parts.Nodes[0] })
		same(t, typeName{"policy/v1", "PodDisruptionBudget"}, seed, func(c *cluster.Converter, o *policyv1.PodDisruptionBudget) any { return c.Budget(o) },
			func(b *builder) any { return b.parts.Budgets[0] })
		same(t, typeName{"v1", "PersistentVolumeClaim"}, seed, func(c *cluster.Converter, o *corev1.PersistentVolumeClaim) any { return c.Claim(o) },
			func(b *builder) any { return b.parts.Claims[0] })
		same(t, typeName{"v1", "PersistentVolume"}, seed, func(c *cluster.Converter, o *corev1.PersistentVolume) any { return c.Volume(o) },
			func(b *builder) any { return b.parts.Volumes[0] })
		same(t, typeName{"storage.k8s.io/v1", "StorageClass"}, seed, func(c *cluster.Converter, o *storagev1.StorageClass) any { return c.StorageClass(o) },
			func(b *builder) any { return b.parts.StorageClasses[0] })
		same(t, typeName{"v1", "Namespace"}, seed, func(c *cluster.Converter, o *corev1.Namespace) any { return c.Namespace(o) },
			func(b *builder) any { return b.parts.Namespaces[0] })
		same(t, typeName{"scheduling.k8s.io/v1", "PriorityClass"}, seed, func(c *cluster.Converter, o *schedulingv1.PriorityClass) any { return c.PriorityClass(o) },
			func(b *builder) any { return b.parts.PriorityClasses[0] })
		same(t, typeName{"apps/v1", "ReplicaSet"}, seed, func(c *cluster.Converter, o *appsv1.ReplicaSet) any { return c.ReplicaSet(o) }, workload)
		same(t, typeName{"apps/v1", "Deployment"}, seed, func(c *cluster.Converter, o *appsv1.Deployment) any { return c.Deployment(o) }, workload)
		same(t, typeName{"apps/v1", "StatefulSet"}, seed, func(c *cluster.Converter, o *appsv1.StatefulSet) any { return c.StatefulSet(o) }, workload)
		same(t, typeName{"apps/v1", "DaemonSet"}, seed, func(c *cluster.Converter, o *appsv1.DaemonSet) any { return c.DaemonSet(o) }, workload)
		same(t, typeName{"batch/v1", "Job"}, seed, func(c *cluster.Converter, o *batchv1.Job) any { return c.Job(o) }, workload)
		same(t, typeName{"v1", "ReplicationController"}, seed, func(c *cluster.Converter, o *corev1.ReplicationController) any {
			return c.ReplicationController(o)
		}, workload)
	}
}
