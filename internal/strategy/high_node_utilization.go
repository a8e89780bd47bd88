package strategy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// EvictionMode narrows down what HighNodeUtilization evicts.
type EvictionMode string

// OnlyThresholdingResources evicts only pods that request a resource that has
// a threshold.
const OnlyThresholdingResources EvictionMode = "OnlyThresholdingResources"

// HighNodeUtilizationArgs are the arguments of HighNodeUtilization.
type HighNodeUtilizationArgs struct {
	// Thresholds mark a node as under-used when its requests are at or below
	// every one of them. Required.
	Thresholds Thresholds `json:"thresholds,omitempty"`
	// NumberOfNodes is the number of under-used nodes up to which nothing is done.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// EvictionModes narrow down which pods may be evicted.
	EvictionModes []EvictionMode `json:"evictionModes,omitempty"`
	// EvictableNamespaces keeps pods of namespaces where they are: nothing can be
	// included here, only excluded.
	EvictableNamespaces *Namespaces `json:"evictableNamespaces,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*HighNodeUtilizationArgs) SetDefaults() {}

// Validate implements Args.
func (a *HighNodeUtilizationArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateEvictableNamespaces(path.Child("evictableNamespaces"), a.EvictableNamespaces)
	errs = append(errs, validateThresholds(path.Child("thresholds"), a.Thresholds)...)
	return append(errs, validateOneOf(path.Child("evictionModes"), a.EvictionModes,
		[]EvictionMode{OnlyThresholdingResources})...)
}

// highNodeUtilization empties nodes whose pods request no more than the thresholds of every resource, so that the
// scheduler can pack their pods on the other nodes and the empty ones can be removed. See [nodeBalance] for the choice of pods.
type highNodeUtilization struct {
	args     *HighNodeUtilizationArgs
	excluded map[string]bool
}

func newHighNodeUtilization(a *HighNodeUtilizationArgs) (*highNodeUtilization, error) {
	return &highNodeUtilization{args: a, excluded: excludedNamespaces(a.EvictableNamespaces)}, nil
}

// Run implements Strategy.
func (s *highNodeUtilization) Run(c *Cycle) error {
	rs := s.resources(c)
	meter := requests{c.View, rs}
	nodes, _, _ := measureNodes(c.Nodes, meter, rs)
	rs.setCeilings(nodes)
	var low, others []*nodeUsage
	for _, u := range nodes {
		switch {
		case rs.below(u):
			low = append(low, u)
		case !u.node.Unschedulable:
			others = append(others, u)
			fallthrough
		default:
			tellNode(c, u.node, func() plan.Reason { return rs.notUnder(u) })
		}
	}
	if c.DrainEmptiest && len(low) == len(nodes) && len(low) > max(1, s.args.NumberOfNodes) {
		low, others = emptiest(rs, low)
	}
	if message := s.nothingToDo(len(low), len(others), len(nodes)); message != "" {
		tellUsage(c, low, counts(message, len(low), len(others), len(nodes)))
		return nil
	}
	b := &nodeBalance{
		c: c, rs: rs, meter: meter, sources: low, targets: others, excluded: s.excluded, drain: true,
		selects: s.selector(c, rs), reason: rs.underUsed,
	}
	b.run(rs.sortByFill)
	return nil
}

// resources are those looked at; the nodes to pack on may be filled up.
func (s *highNodeUtilization) resources(c *Cycle) usedResources {
	rs := newUsedResources(c.View.Resources, s.args.Thresholds, nil, false)
	for i := range rs {
		rs[i].high = 100
	}
	return rs
}

// emptiest makes the node that is used least the one to empty, and the others those to pack on: what users want where all nodes are
// under-used, and the peer does nothing.
func emptiest(rs usedResources, all []*nodeUsage) (low, others []*nodeUsage) {
	rs.sortByFill(all)
	for _, u := range all[1:] {
		if !u.node.Unschedulable {
			others = append(others, u)
		}
	}
	return all[:1], others
}

func (s *highNodeUtilization) nothingToDo(low, others, nodes int) string {
	switch {
	case low == 0:
		return "no node is under-used"
	case low <= s.args.NumberOfNodes:
		return fmt.Sprintf("%d nodes are under-used, not more than numberOfNodes %d", low, s.args.NumberOfNodes)
	case low == nodes:
		return "all nodes are under-used, so there is none to pack pods on"
	case others == 0:
		return "no node above the thresholds can be scheduled on"
	}
	return ""
}

// selector is the extra condition on pods: with OnlyThresholdingResources, and by default also when no threshold is on cpu, memory or
// pods, a pod has to request one of the resources that have a threshold. (A node is not emptied of its devices by moving a
// pod that uses none.)
func (s *highNodeUtilization) selector(c *Cycle, rs usedResources) func(*cluster.Pod) bool {
	only := slices.Contains(s.args.EvictionModes, OnlyThresholdingResources)
	if !only && (c.Compat || hasBasicThreshold(s.args.Thresholds)) {
		return nil
	}
	answers := map[*cluster.Spec]bool{}
	return func(p *cluster.Pod) bool {
		ok, known := answers[p.Spec]
		if !known {
			ok = slices.ContainsFunc(rs, func(r usedResource) bool {
				return r.hasThreshold && r.id >= 0 && slices.Contains(p.Spec.Requested, r.id)
			})
			answers[p.Spec] = ok
		}
		return ok
	}
}

func hasBasicThreshold(t Thresholds) bool {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if _, ok := t[name]; ok {
			return true
		}
	}
	return false
}
