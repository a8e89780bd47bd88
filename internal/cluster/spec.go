package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Spec is what the replicas of a workload have in common and decisions read.
// Equal specs are one Spec: pointers may be compared, and used as map keys.
type Spec struct {
	Placement *Placement
	// Requests is what the pod takes from a node: containers, init containers and overhead as the scheduler adds them up,
	// and one pod.
	Requests Amounts
	// Requested are the resources that the pod has a request for, be it zero, ordered by name.
	Requested         []ResourceID
	Images            []string // of the regular containers, sorted
	HostPorts         []HostPort
	Priority          *int32
	PriorityClass     string
	SchedulerName     string
	HostNetwork       bool
	LocalStorage      bool // a hostPath or emptyDir volume
	ResourceClaims    bool
	AntiAffinity      []Term // required
	Affinity          []Term // required
	PreferredAnti     []WeightedTerm
	PreferredAffinity []WeightedTerm
	TopologySpread    []SpreadConstraint
}

// Placement is the part of a spec that decides, alone, which nodes are allowed:
// tolerations, node selector and node affinity. Equal placements are one Placement.
type Placement struct {
	Tolerations  []corev1.Toleration
	NodeSelector map[string]string
	// Required is spec.affinity.nodeAffinity.requiredDuringScheduling…, nil when absent.
	Required *corev1.NodeSelector
	// Preferred is spec.affinity.nodeAffinity.preferredDuringScheduling….
	Preferred []corev1.PreferredSchedulingTerm

	only      string // the one node that Required names, if it does
	required  nodeaffinity.RequiredNodeAffinity
	preferred *nodeaffinity.PreferredSchedulingTerms
}

// Weight is the sum of the weights of the preferred terms that n matches, 0 when there are none.
func (p *Placement) Weight(n *NodeInfo) int64 {
	if p.preferred == nil {
		return 0
	}
	return p.preferred.Score(n.object)
}

// Selects reports whether the node selector and the required node affinity allow n.
// A term that can't be parsed allows nothing, as in the scheduler.
func (p *Placement) Selects(n *NodeInfo) bool {
	if len(p.NodeSelector) == 0 && p.Required == nil {
		return true
	}
	if p.only != "" && n.Name != p.only {
		return false
	}
	ok, err := p.required.Match(n.object)
	return ok && err == nil
}

// HostPort is a port that a pod wants on its node.
type HostPort struct {
	IP       string
	Protocol corev1.Protocol
	Port     int32
}

// Term is a required pod affinity or anti-affinity term.
type Term struct {
	TopologyKey string
	Selector    labels.Selector
	// Namespaces are those the term names; when it names none and has no NamespaceSelector, it means the pod's own.
	Namespaces        []string
	NamespaceSelector labels.Selector // nil when absent; an empty one selects every namespace
}

// WeightedTerm is a preferred term.
type WeightedTerm struct {
	Term
	Weight int32 // 1 to 100
}

// SpreadConstraint is a topology spread constraint with its selector parsed.
type SpreadConstraint struct {
	MaxSkew           int32
	TopologyKey       string
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction
	Selector          labels.Selector // without MatchLabelKeys
	MatchLabelKeys    []string
	MinDomains        int32 // 0 when absent
	HonorNodeAffinity bool  // nodeAffinityPolicy, Honor by default
	HonorNodeTaints   bool  // nodeTaintsPolicy, Ignore by default
}

// trimmed is the part of a pod's spec that Spec is made from: the key under which it is shared.
// Images are kept; names, commands, environment and probes are not.
func trimmed(p *corev1.Pod) corev1.PodSpec {
	in := &p.Spec
	out := corev1.PodSpec{
		NodeSelector: in.NodeSelector, Affinity: in.Affinity, Tolerations: in.Tolerations, TopologySpreadConstraints: in.TopologySpreadConstraints,
		Priority: in.Priority, PriorityClassName: in.PriorityClassName, SchedulerName: in.SchedulerName, HostNetwork: in.HostNetwork,
		Overhead: in.Overhead, Resources: in.Resources,
	}
	if len(in.ResourceClaims) > 0 {
		out.ResourceClaims = []corev1.PodResourceClaim{{}}
	}
	for i := range in.Volumes {
		if in.Volumes[i].HostPath != nil || in.Volumes[i].EmptyDir != nil {
			out.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			break
		}
	}
	out.Containers = trimmedContainers(in.Containers)
	out.InitContainers = trimmedContainers(in.InitContainers)
	return out
}

func trimmedContainers(in []corev1.Container) []corev1.Container {
	if len(in) == 0 {
		return nil
	}
	out := make([]corev1.Container, len(in))
	for i := range in {
		out[i].Image = in[i].Image
		out[i].Resources.Requests = in[i].Resources.Requests
		out[i].RestartPolicy = in[i].RestartPolicy
		for _, port := range in[i].Ports {
			if port.HostPort > 0 {
				out[i].Ports = append(out[i].Ports, corev1.ContainerPort{HostPort: port.HostPort, HostIP: port.HostIP, Protocol: port.Protocol})
			}
		}
	}
	return out
}

// newSpec makes a Spec of a trimmed pod spec.
func (c *Converter) newSpec(in *corev1.PodSpec) *Spec {
	s := &Spec{
		Placement:      c.placement(in),
		Priority:       in.Priority,
		PriorityClass:  in.PriorityClassName,
		SchedulerName:  in.SchedulerName,
		HostNetwork:    in.HostNetwork,
		LocalStorage:   len(in.Volumes) > 0,
		ResourceClaims: len(in.ResourceClaims) > 0,
	}
	s.Requests, s.Requested = c.requests(in)
	for i := range in.Containers {
		s.Images = append(s.Images, in.Containers[i].Image)
	}
	slices.Sort(s.Images)
	for _, list := range [][]corev1.Container{in.Containers, in.InitContainers} {
		for i := range list {
			for _, port := range list[i].Ports {
				s.HostPorts = append(s.HostPorts, HostPort{IP: port.HostIP, Protocol: port.Protocol, Port: port.HostPort})
			}
		}
	}
	if a := in.Affinity; a != nil && a.PodAntiAffinity != nil {
		s.AntiAffinity = terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		for _, w := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			s.PreferredAnti = append(s.PreferredAnti, WeightedTerm{Term: term(&w.PodAffinityTerm), Weight: w.Weight})
		}
	}
	if a := in.Affinity; a != nil && a.PodAffinity != nil {
		s.Affinity = terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		for _, w := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			s.PreferredAffinity = append(s.PreferredAffinity, WeightedTerm{Term: term(&w.PodAffinityTerm), Weight: w.Weight})
		}
	}
	for i := range in.TopologySpreadConstraints {
		s.TopologySpread = append(s.TopologySpread, spreadConstraint(&in.TopologySpreadConstraints[i]))
	}
	return s
}

func (c *Converter) requests(in *corev1.PodSpec) (Amounts, []ResourceID) {
	list := resource.PodRequests(&corev1.Pod{Spec: *in}, resource.PodResourcesOptions{})
	ids := make([]ResourceID, 0, len(list))
	for name := range list {
		ids = append(ids, c.Resources.ID(name))
	}
	c.Resources.ByName(ids)
	a := c.Resources.Amounts(list).grown(int(Pods) + 1)
	a[Pods] = 1
	return a, ids
}

func (c *Converter) placement(in *corev1.PodSpec) *Placement {
	p := &Placement{Tolerations: in.Tolerations, NodeSelector: in.NodeSelector}
	var affinity *corev1.Affinity
	if in.Affinity != nil && in.Affinity.NodeAffinity != nil {
		p.Required = in.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		p.Preferred = in.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		affinity = &corev1.Affinity{NodeAffinity: in.Affinity.NodeAffinity}
	}
	return c.sharedPlacement(p, affinity)
}

// onlyNode is the node that a selector names by its field metadata.name, as the DaemonSet controller does for each of its pods; empty when it
// names none, or may let others pass.
func onlyNode(s *corev1.NodeSelector) string {
	name := ""
	for i := 0; s != nil && i < len(s.NodeSelectorTerms); i++ {
		fields := s.NodeSelectorTerms[i].MatchFields
		if len(fields) != 1 || fields[0].Key != metav1.ObjectNameField || fields[0].Operator != corev1.NodeSelectorOpIn || len(fields[0].Values) != 1 ||
			name != "" && name != fields[0].Values[0] {
			return ""
		}
		name = fields[0].Values[0]
	}
	return name
}

func terms(list []corev1.PodAffinityTerm) []Term {
	var out []Term
	for i := range list {
		out = append(out, term(&list[i]))
	}
	return out
}

func term(t *corev1.PodAffinityTerm) Term {
	out := Term{TopologyKey: t.TopologyKey, Selector: selector(t.LabelSelector), Namespaces: t.Namespaces}
	if t.NamespaceSelector != nil {
		out.NamespaceSelector = selector(t.NamespaceSelector)
	}
	return out
}

func spreadConstraint(t *corev1.TopologySpreadConstraint) SpreadConstraint {
	out := SpreadConstraint{
		MaxSkew: t.MaxSkew, TopologyKey: t.TopologyKey, WhenUnsatisfiable: t.WhenUnsatisfiable,
		Selector: selector(t.LabelSelector), MatchLabelKeys: t.MatchLabelKeys,
		HonorNodeAffinity: t.NodeAffinityPolicy == nil || *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor,
		HonorNodeTaints:   t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	if t.MinDomains != nil {
		out.MinDomains = *t.MinDomains
	}
	return out
}

// selector parses a label selector; absent and invalid ones match nothing, as in the scheduler.
func selector(s *metav1.LabelSelector) labels.Selector {
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return out
}
