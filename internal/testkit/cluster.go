package testkit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// Now is when every cluster of this package is looked at.
func Now() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// Builder collects a cluster.
type Builder struct {
	conv  *cluster.Converter
	parts cluster.Parts
}

// NewBuilder starts with no objects.
func NewBuilder() *Builder {
	conv := cluster.NewConverter()
	return &Builder{conv: conv, parts: cluster.Parts{Resources: conv.Resources}}
}

// Snapshot assembles what was collected.
func (b *Builder) Snapshot() (*cluster.Snapshot, error) { return b.parts.Snapshot(Now()) }

// Node adds a node.
func (b *Builder) Node(n *corev1.Node) { b.parts.Nodes = append(b.parts.Nodes, b.conv.Node(n)) }

// Pod adds a pod.
func (b *Builder) Pod(p *corev1.Pod) { b.parts.Pods = append(b.parts.Pods, b.conv.Pod(p)) }

// Lines adds objects in short form, one a line; # starts a comment:
//
//	node n1 cpu=4 mem=8Gi pods=110 labels=zone=a,disk=ssd taint=key=value:NoSchedule cordoned notready res/nvidia.com/gpu=2
//	pod shop/web-{1..3} node=n1 owner=ReplicaSet/web image=web:1,proxy:1 cpu=100m mem=64Mi prio=100 labels=app=web …
//	namespace shop labels=team=a
//	priorityclass high 1000
//	pdb shop/web select=app=web allowed=1 healthy=3 desired=2 stale alwaysallow
//	pvc shop/data class=fast
//	replicaset shop/web-1 owner=Deployment/web
//	nodemetrics n1 cpu=3 mem=1Gi
//	podmetrics shop/web-1 cpu=300m mem=64Mi
//	query n1 0.8
//	nodepace n1 limit=3 starting=1 waiting=2
//
// A pod is running and ready, an hour old, of one container app:1, unless words say otherwise; see podWord.
func (b *Builder) Lines(text string) error {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, " #")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := b.line(words); err != nil {
			return fmt.Errorf("line %d: %q: %w", i+1, line, err)
		}
	}
	return nil
}

func (b *Builder) line(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("expected a kind and a name")
	}
	kind, name, words := words[0], words[1], words[2:]
	switch kind {
	case "node":
		return b.nodeLine(name, words)
	case "pod":
		return b.podLine(name, words)
	case "namespace":
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, w := range words {
			if v, ok := strings.CutPrefix(w, "labels="); ok {
				ns.Labels = pairs(v)
			}
		}
		b.parts.Namespaces = append(b.parts.Namespaces, b.conv.Namespace(ns))
	case "priorityclass":
		value, err := strconv.ParseInt(words[0], 10, 32)
		b.parts.PriorityClasses = append(b.parts.PriorityClasses, &cluster.PriorityClass{Name: name, Value: int32(value)})
		return err
	case "pdb":
		return b.pdbLine(name, words)
	case "pvc":
		ns, claim, _ := strings.Cut(name, "/")
		pvc := &cluster.Claim{Namespace: ns, Name: claim}
		for _, w := range words {
			if v, ok := strings.CutPrefix(w, "class="); ok {
				pvc.StorageClass = &v
			}
		}
		b.parts.Claims = append(b.parts.Claims, pvc)
	case "replicaset": // replicaset shop/web-1 owner=Deployment/web
		return b.replicaSetLine(name, words)
	case "nodemetrics":
		return b.usage(&b.parts.Usage.Nodes, name, words)
	case "podmetrics":
		return b.usage(&b.parts.Usage.Pods, name, words)
	case "query":
		value, err := strconv.ParseFloat(words[0], 64)
		if b.parts.Usage.Queries == nil {
			b.parts.Usage.Queries = map[string]cluster.Answer{cluster.AnyQuery: {Nodes: map[string]float64{}}}
		}
		b.parts.Usage.Queries[cluster.AnyQuery].Nodes[name] = value
		return err
	case "nodepace":
		return b.startsLine(name, words)
	default:
		return fmt.Errorf("unknown kind %q", kind)
	}
	return nil
}

func (b *Builder) startsLine(name string, words []string) error {
	var s cluster.Starts
	if _, err := fmt.Sscanf(strings.Join(words, " "), "limit=%d starting=%d waiting=%d", &s.Limit, &s.Starting, &s.Waiting); err != nil {
		return err
	}
	if b.parts.Starts == nil {
		b.parts.Starts = map[string]cluster.Starts{}
	}
	b.parts.Starts[name] = s
	return nil
}

func (b *Builder) usage(into *map[string]cluster.Amounts, name string, words []string) error {
	list := corev1.ResourceList{}
	for _, w := range words {
		if err := setResource(list, w); err != nil {
			return err
		}
	}
	if *into == nil {
		*into = map[string]cluster.Amounts{}
	}
	(*into)[name] = b.conv.Resources.Amounts(list)
	return nil
}

func (b *Builder) nodeLine(name string, words []string) error {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{corev1.LabelHostname: name}}}
	ready := corev1.ConditionTrue
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "labels":
			for k, v := range pairs(value) {
				n.Labels[k] = v
			}
		case "taint":
			spec, effect, _ := strings.Cut(value, ":")
			k, v, _ := strings.Cut(spec, "=")
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: k, Value: v, Effect: corev1.TaintEffect(effect)})
		case "cordoned":
			n.Spec.Unschedulable = true
		case "notready":
			ready = corev1.ConditionFalse
		default:
			if err := setResource(capacity, w); err != nil {
				return err
			}
		}
	}
	n.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
	}
	b.Node(n)
	return nil
}

func (b *Builder) pdbLine(name string, words []string) error {
	ns, pdb, _ := strings.Cut(name, "/")
	o := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pdb, Generation: 1}}
	o.Status.ObservedGeneration = 1
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		number, _ := strconv.ParseInt(value, 10, 32)
		switch key {
		case "select":
			o.Spec.Selector = &metav1.LabelSelector{MatchLabels: pairs(value)}
		case "allowed":
			o.Status.DisruptionsAllowed = int32(number)
		case "healthy":
			o.Status.CurrentHealthy = int32(number)
		case "desired":
			o.Status.DesiredHealthy = int32(number)
		case "stale":
			o.Generation = 2
		case "alwaysallow":
			always := policyv1.AlwaysAllow
			o.Spec.UnhealthyPodEvictionPolicy = &always
		default:
			return fmt.Errorf("unknown word %q", w)
		}
	}
	b.parts.Budgets = append(b.parts.Budgets, b.conv.Budget(o))
	b.parts.Has.Budgets = true
	return nil
}

func (b *Builder) replicaSetLine(name string, words []string) error {
	ns, rs, _ := strings.Cut(name, "/")
	o := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: rs, UID: types.UID(ns + "/ReplicaSet/" + rs)}}
	for _, w := range words {
		owner, ok := strings.CutPrefix(w, "owner=")
		if !ok {
			return fmt.Errorf("unknown word %q", w)
		}
		kind, owning, _ := strings.Cut(owner, "/")
		controller := true
		o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{Kind: kind, Name: owning, UID: types.UID(ns + "/" + owner), Controller: &controller})
	}
	b.parts.Workloads = append(b.parts.Workloads, b.conv.ReplicaSet(o))
	b.parts.Has.Workloads = true
	return nil
}

// Objects adds Kubernetes objects in YAML: Node and Pod, and what else Builder knows in full form.
func (b *Builder) Objects(text string) error {
	for _, doc := range strings.Split(text, "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
			return err
		}
		switch kind.Kind {
		case "Node":
			n := &corev1.Node{}
			if err := yaml.UnmarshalStrict([]byte(doc), n); err != nil {
				return err
			}
			b.Node(n)
		case "Pod":
			p := &corev1.Pod{}
			if err := yaml.UnmarshalStrict([]byte(doc), p); err != nil {
				return err
			}
			b.Pod(p)
		case "PersistentVolume":
			v := &corev1.PersistentVolume{}
			if err := yaml.UnmarshalStrict([]byte(doc), v); err != nil {
				return err
			}
			b.parts.Volumes = append(b.parts.Volumes, b.conv.Volume(v))
		case "PersistentVolumeClaim":
			c := &corev1.PersistentVolumeClaim{}
			if err := yaml.UnmarshalStrict([]byte(doc), c); err != nil {
				return err
			}
			b.parts.Claims = append(b.parts.Claims, b.conv.Claim(c))
		default:
			return fmt.Errorf("kind %q is not known here", kind.Kind)
		}
	}
	return nil
}

// pairs reads "a=b,c=d".
func pairs(s string) map[string]string {
	m := map[string]string{}
	for _, pair := range strings.Split(s, ",") {
		if k, v, _ := strings.Cut(pair, "="); k != "" {
			m[k] = v
		}
	}
	return m
}

// setResource reads "cpu=100m", "mem=1Gi", "pods=10" or "res/NAME=2".
func setResource(list corev1.ResourceList, word string) error {
	key, value, _ := strings.Cut(word, "=")
	q, err := resource.ParseQuantity(value)
	if err != nil {
		return fmt.Errorf("word %q: %w", word, err)
	}
	switch key {
	case "cpu":
		list[corev1.ResourceCPU] = q
	case "mem":
		list[corev1.ResourceMemory] = q
	case "pods":
		list[corev1.ResourcePods] = q
	default:
		name, ok := strings.CutPrefix(key, "res/")
		if !ok {
			return fmt.Errorf("unknown word %q", word)
		}
		list[corev1.ResourceName(name)] = q
	}
	return nil
}
