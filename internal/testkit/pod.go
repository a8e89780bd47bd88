package testkit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podLine adds a pod, or several: shop/web-{1..3}.
func (b *Builder) podLine(name string, words []string) error {
	head, rest, isRange := strings.Cut(name, "{")
	if !isRange {
		return b.onePod(name, words)
	}
	span, tail, _ := strings.Cut(rest, "}")
	from, to, _ := strings.Cut(span, "..")
	first, err := strconv.Atoi(from)
	if err != nil {
		return err
	}
	last, err := strconv.Atoi(to)
	if err != nil {
		return err
	}
	for i := first; i <= last; i++ {
		if err := b.onePod(head+strconv.Itoa(i)+tail, words); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) onePod(name string, words []string) error {
	ns, pod, ok := strings.Cut(name, "/")
	if !ok {
		return fmt.Errorf("pod %q: expected namespace/name", name)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: pod, UID: types.UID(name), CreationTimestamp: metav1.NewTime(Now().Add(-time.Hour)),
			Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	started := metav1.NewTime(Now().Add(-time.Hour))
	p.Status.StartTime = &started
	for _, w := range words {
		if err := podWord(p, w); err != nil {
			return err
		}
	}
	b.Pod(p)
	return nil
}

// podWord applies one word of a pod line:
//
//	node=n1  owner=Kind/name (repeatable)  image=a,b  cpu=1 mem=1Gi res/x=1  prio=10  labels=a=b  ann=key=value
//	phase=Failed  reason=Evicted  notready  deleting  age=90m (created)  started=30m (ago; "never")  restarts=5
//	waiting=CrashLoopBackOff  exit=Error:1  init:… (the same three for an init container)
//	emptydir  pvc=claim  claim (a resource claim)  mirror  static
//	select=a=b (node selector)  need=key=value|other (required node affinity)  prefer=10:key=value
//	tolerate=key[=value][:Effect]  anti=topologyKey:a=b[:ns+ns]  antipref=weight:topologyKey:a=b  near=topologyKey:a=b
//	spread=topologyKey:maxSkew:a=b[:ScheduleAnyway][:minDomains=2][:nodeTaintsPolicy=Honor]  hostport=80
func podWord(p *corev1.Pod, word string) error {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "node":
		p.Spec.NodeName = value
	case "owner":
		kind, name, _ := strings.Cut(value, "/")
		controller := len(p.OwnerReferences) == 0
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{
			APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(p.Namespace + "/" + value), Controller: &controller,
		})
	case "image":
		container := p.Spec.Containers[0]
		p.Spec.Containers = nil
		for i, image := range strings.Split(value, ",") {
			c := container
			if i > 0 {
				c = corev1.Container{}
			}
			c.Name, c.Image = fmt.Sprintf("c%d", i), image
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	case "prio":
		n, err := strconv.ParseInt(value, 10, 32)
		prio := int32(n)
		p.Spec.Priority = &prio
		return err
	case "labels":
		p.Labels = pairs(value)
	case "ann":
		k, v, _ := strings.Cut(value, "=")
		p.Annotations[k] = v
	case "mirror":
		p.Annotations["kubernetes.io/config.mirror"] = "x"
	case "static":
		p.Annotations["kubernetes.io/config.source"] = "file"
	case "emptydir":
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	case "pvc":
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: value, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: value},
		}})
	case "claim":
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "claim"}}
	case "hostport":
		n, err := strconv.ParseInt(value, 10, 32)
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{HostPort: int32(n), Protocol: corev1.ProtocolTCP})
		return err
	case "select", "need", "prefer", "tolerate", "anti", "antipref", "near", "spread":
		return placementWord(p, key, value)
	case "phase", "reason", "notready", "deleting", "age", "started", "restarts", "waiting", "exit",
		"init:restarts", "init:waiting", "init:exit":
		return statusWord(p, key, value)
	default:
		return setResource(p.Spec.Containers[0].Resources.Requests, word)
	}
	return nil
}

func statusWord(p *corev1.Pod, key, value string) error {
	kind, isInit := strings.CutPrefix(key, "init:")
	status := func() *corev1.ContainerStatus {
		list := &p.Status.ContainerStatuses
		if isInit {
			list = &p.Status.InitContainerStatuses
		}
		if len(*list) == 0 {
			*list = append(*list, corev1.ContainerStatus{Name: "app"})
		}
		return &(*list)[0]
	}
	switch kind {
	case "phase":
		p.Status.Phase = corev1.PodPhase(value)
		if value != string(corev1.PodRunning) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		}
	case "reason":
		p.Status.Reason = value
	case "notready":
		p.Status.Conditions[0].Status = corev1.ConditionFalse
	case "deleting":
		now := metav1.NewTime(Now())
		p.DeletionTimestamp = &now
	case "age", "started":
		if value == "never" {
			p.Status.StartTime = nil
			return nil
		}
		d, err := time.ParseDuration(value)
		at := metav1.NewTime(Now().Add(-d))
		if kind == "age" {
			p.CreationTimestamp = at
		} else {
			p.Status.StartTime = &at
		}
		return err
	case "restarts":
		n, err := strconv.ParseInt(value, 10, 32)
		status().RestartCount = int32(n)
		return err
	case "waiting":
		status().State.Waiting = &corev1.ContainerStateWaiting{Reason: value}
	case "exit":
		reason, code, _ := strings.Cut(value, ":")
		n, err := strconv.ParseInt("0"+code, 10, 32)
		status().State.Terminated = &corev1.ContainerStateTerminated{Reason: reason, ExitCode: int32(n)}
		return err
	}
	return nil
}

func placementWord(p *corev1.Pod, key, value string) error {
	if p.Spec.Affinity == nil && key != "select" && key != "tolerate" && key != "spread" {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	parts := strings.Split(value, ":")
	switch key {
	case "select":
		p.Spec.NodeSelector = pairs(value)
	case "need":
		k, v, _ := strings.Cut(value, "=")
		node := nodeAffinity(p)
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: k, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(v, "|")}},
		}}}
	case "prefer":
		weight, err := strconv.ParseInt(parts[0], 10, 32)
		k, v, _ := strings.Cut(parts[1], "=")
		node := nodeAffinity(p)
		node.PreferredDuringSchedulingIgnoredDuringExecution = append(node.PreferredDuringSchedulingIgnoredDuringExecution, corev1.PreferredSchedulingTerm{
			Weight: int32(weight), Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: k, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(v, "|")},
			}},
		})
		return err
	case "tolerate":
		k, v, hasValue := strings.Cut(parts[0], "=")
		t := corev1.Toleration{Key: k, Operator: corev1.TolerationOpExists}
		if hasValue {
			t.Operator, t.Value = corev1.TolerationOpEqual, v
		}
		if len(parts) > 1 {
			t.Effect = corev1.TaintEffect(parts[1])
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	case "anti":
		anti := podAntiAffinity(p)
		anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, affinityTerm(parts))
	case "antipref":
		weight, err := strconv.ParseInt(parts[0], 10, 32)
		anti := podAntiAffinity(p)
		anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.WeightedPodAffinityTerm{Weight: int32(weight), PodAffinityTerm: affinityTerm(parts[1:])})
		return err
	case "near":
		if p.Spec.Affinity.PodAffinity == nil {
			p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{}
		}
		near := &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		*near = append(*near, affinityTerm(parts))
	case "spread":
		return spreadWord(p, parts)
	}
	return nil
}

func nodeAffinity(p *corev1.Pod) *corev1.NodeAffinity {
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	return p.Spec.Affinity.NodeAffinity
}

func podAntiAffinity(p *corev1.Pod) *corev1.PodAntiAffinity {
	if p.Spec.Affinity.PodAntiAffinity == nil {
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	return p.Spec.Affinity.PodAntiAffinity
}

func affinityTerm(parts []string) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: parts[0], LabelSelector: labelSelector(parts[1])}
	switch {
	case len(parts) < 3:
	case parts[2] == "*":
		t.NamespaceSelector = &metav1.LabelSelector{}
	case strings.Contains(parts[2], "="):
		t.NamespaceSelector = labelSelector(parts[2])
	default:
		t.Namespaces = strings.Split(parts[2], "+")
	}
	return t
}

// labelSelector reads a=b for a value, a=b|c for one of several, and a for any.
func labelSelector(text string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	for _, part := range strings.Split(text, ",") {
		key, value, has := strings.Cut(part, "=")
		switch values := strings.Split(value, "|"); {
		case !has:
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists})
		case len(values) > 1:
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values})
		default:
			if s.MatchLabels == nil {
				s.MatchLabels = map[string]string{}
			}
			s.MatchLabels[key] = value
		}
	}
	return s
}

func spreadWord(p *corev1.Pod, parts []string) error {
	if len(parts) < 3 {
		return fmt.Errorf("spread: expected topologyKey:maxSkew:a=b")
	}
	skew, err := strconv.ParseInt(parts[1], 10, 32)
	c := corev1.TopologySpreadConstraint{
		TopologyKey: parts[0], MaxSkew: int32(skew), WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: labelSelector(parts[2]),
	}
	for _, part := range parts[3:] {
		k, v, _ := strings.Cut(part, "=")
		policy := corev1.NodeInclusionPolicy(v)
		switch k {
		case "minDomains":
			n, _ := strconv.ParseInt(v, 10, 32)
			domains := int32(n)
			c.MinDomains = &domains
		case "nodeTaintsPolicy":
			c.NodeTaintsPolicy = &policy
		case "nodeAffinityPolicy":
			c.NodeAffinityPolicy = &policy
		case "matchLabelKeys":
			c.MatchLabelKeys = strings.Split(v, "+")
		default:
			c.WhenUnsatisfiable = corev1.UnsatisfiableConstraintAction(part)
		}
	}
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
	return err
}
