package gen

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

const (
	hash      = "7c9f8b6d5"
	zoneCount = 3
	taintKey  = "dedicated"
)

// generator makes the objects of one cluster, in one pass.
type generator struct {
	Config
	rng   *rand.Rand
	yield func(runtime.Object) bool

	pool  []int            // node indices, each as often as its share of the pods
	zones [zoneCount][]int // the same by zone
}

func (g *generator) namespaces() bool {
	for i := range g.Namespaces {
		name := namespaceName(i)
		if !g.yield(&corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/metadata.name": name}},
		}) {
			return false
		}
	}
	return true
}

func namespaceName(i int) string { return fmt.Sprintf("ns-%02d", i) }

func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

func (g *generator) nodes() bool {
	for i := range g.Nodes {
		share := 5
		switch i % 5 {
		case 0:
			share = 1 // nearly empty
		case 1:
			share = 9 // hot
		}
		for range share {
			g.pool = append(g.pool, i)
			g.zones[i%zoneCount] = append(g.zones[i%zoneCount], i)
		}
		if !g.yield(node(i)) {
			return false
		}
	}
	return true
}

func node(i int) *corev1.Node {
	name := nodeName(i)
	disk := "hdd"
	if i%2 == 0 {
		disk = "ssd"
	}
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("200Gi"),
	}
	n := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: "zone-" + string(rune('a'+i%zoneCount)),
			corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			corev1.LabelInstanceTypeStable: fmt.Sprintf("type-%d", i%5), "disk": disk,
		}},
		Status: corev1.NodeStatus{
			Capacity: amounts, Allocatable: amounts,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	if i%20 == 7 {
		n.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

// deployment is what the pods of one Deployment have in common.
type deployment struct {
	number    int
	name      string
	namespace string
	spread    bool
	skewed    bool
	anti      bool
	affinity  bool // to nodes with an SSD
	pod       corev1.Pod
}

func (g *generator) deployments() bool {
	replicas := []int{1, 2, 3, 3, 5, 5, 8, 10, 10, 20, 30, 50}
	if g.Nodes == 0 {
		return true
	}
	for made, number := 0, 0; made < g.Pods; number++ {
		n := min(replicas[g.rng.IntN(len(replicas))], g.Pods-made)
		d := g.deployment(number)
		if g.share(number, g.Budgets, 1) && !g.yield(budget(d, n)) {
			return false
		}
		used := map[int]bool{}
		for k := range n {
			if !g.yield(g.replica(d, k, g.place(d, k, used))) {
				return false
			}
		}
		made += n
	}
	return true
}

// share picks percent of all numbers, evenly; different offsets pick different ones as far as that goes.
func (g *generator) share(number, percent, offset int) bool {
	n := number + offset
	return (n+1)*percent/100 > n*percent/100
}

func (g *generator) deployment(number int) *deployment {
	cpu := []string{"100m", "250m", "500m", "1"}[g.rng.IntN(4)]
	memory := []string{"128Mi", "512Mi", "1Gi", "2Gi"}[g.rng.IntN(4)]
	d := &deployment{
		number: number, name: fmt.Sprintf("dep-%05d", number), namespace: namespaceName(g.rng.IntN(g.Namespaces)),
		// By the usual shares these are numbers 0, 5, … and 3, 23, …, so that no Deployment has two of the rules.
		spread: g.share(number, g.Spread, 4), anti: g.share(number, g.AntiAffinity, 16), affinity: number%20 == 9,
	}
	d.skewed = d.spread && (g.HostSpread || number%10 < 5)
	owner := d.name + "-" + hash
	controller := true
	d.pod = corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.namespace,
			Labels:    map[string]string{"app": d.name, "pod-template-hash": hash, "tier": fmt.Sprintf("t%d", number%4)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(d.namespace + "/" + owner), Controller: &controller,
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			container("main", "registry.example/"+d.name+":1", cpu, memory),
			container("sidecar", "registry.example/sidecar:1", "50m", "64Mi"),
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	g.constrain(d)
	return d
}

func container(name, image, cpu, memory string) corev1.Container {
	return corev1.Container{Name: name, Image: image, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}}
}

// constrain gives the pods of a Deployment their rules.
func (g *generator) constrain(d *deployment) {
	spec := &d.pod.Spec
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.name}}
	if d.number%2 == 0 {
		spec.Tolerations = []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists}}
	}
	if d.spread {
		keys := []string{corev1.LabelTopologyZone}
		if g.HostSpread {
			keys = append(keys, corev1.LabelHostname)
		}
		for _, key := range keys {
			spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
			})
		}
	}
	if d.anti {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: selector}},
		}}
	}
	if d.affinity {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}},
			}}},
		}}}
	}
}

// place chooses the node of the k-th replica, given those that the Deployment uses already.
func (g *generator) place(d *deployment, k int, used map[int]bool) int {
	pick := func() int { return g.pool[g.rng.IntN(len(g.pool))] }
	at := pick()
	if d.spread {
		zone := k % zoneCount
		if d.skewed && g.rng.Float64() < 0.6 {
			zone = 0
		}
		if zone := g.zones[zone]; len(zone) > 0 {
			at = zone[g.rng.IntN(len(zone))]
		}
	}
	if d.anti {
		if g.rng.Float64() < 0.9 {
			for tries := 0; used[at] && tries < 20; tries++ {
				at = pick()
			}
		} else if lowest, ok := least(used); ok {
			at = lowest
		}
	}
	if d.affinity && g.rng.Float64() < 0.95 {
		for at%2 != 0 {
			at = pick()
		}
	}
	used[at] = true
	return at
}

func least(set map[int]bool) (int, bool) {
	lowest, ok := 0, false
	for i := range set {
		if !ok || i < lowest {
			lowest, ok = i, true
		}
	}
	return lowest, ok
}

// replica is the k-th pod of a Deployment. What the pods have in common is shared between them.
func (g *generator) replica(d *deployment, k, at int) *corev1.Pod {
	hours := g.rng.IntN(144)
	if g.rng.Float64() < 0.1 {
		hours = 192
	}
	started := metav1.NewTime(Now().Add(-time.Duration(hours) * time.Hour))
	p := d.pod // shallow
	p.Name = fmt.Sprintf("%s-%s-%05d", d.name, hash, k)
	p.UID = types.UID(d.namespace + "/" + p.Name)
	p.CreationTimestamp = started
	p.Spec.NodeName = nodeName(at)
	p.Status.StartTime = &started
	return &p
}

func budget(d *deployment, replicas int) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: d.name, Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.name}}},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: int32(replicas), DesiredHealthy: int32(replicas - 1),
			ExpectedPods: int32(replicas),
		},
	}
}
