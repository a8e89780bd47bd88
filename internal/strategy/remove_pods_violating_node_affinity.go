package strategy

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// The values of RemovePodsViolatingNodeAffinityArgs.NodeAffinityType.
const (
	// NodeAffinityRequired evicts pods from nodes their required terms forbid.
	NodeAffinityRequired = "requiredDuringSchedulingIgnoredDuringExecution"
	// NodeAffinityPreferred evicts pods for which a node of higher weight exists.
	NodeAffinityPreferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

// RemovePodsViolatingNodeAffinityArgs are the arguments of
// RemovePodsViolatingNodeAffinity.
type RemovePodsViolatingNodeAffinityArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// NodeAffinityType lists the kinds of terms to look at, in this order:
	// NodeAffinityRequired, NodeAffinityPreferred. At least one is needed. Other
	// values do nothing but are reported, so that files made for other versions
	// keep working.
	NodeAffinityType []string `json:"nodeAffinityType,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemovePodsViolatingNodeAffinityArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemovePodsViolatingNodeAffinityArgs) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(a.NodeAffinityType) == 0 {
		errs = append(errs, field.Required(path.Child("nodeAffinityType"),
			"list "+NodeAffinityRequired+", "+NodeAffinityPreferred+" or both"))
	}
	errs = append(errs, validateNamespaces(path.Child("namespaces"), a.Namespaces)...)
	return append(errs, validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
}

// nodeAffinity moves pods from nodes that their required node affinity no longer allows, and pods for which a node
// with more weight in their preferred node affinity exists.
//
// The peer moves a pod for a better node without asking whether it fits there, and does so again and again; by default the pod
// has to fit one of the better nodes.
type nodeAffinity struct {
	filter Filter
	types  []string
}

func newNodeAffinity(a *RemovePodsViolatingNodeAffinityArgs) (*nodeAffinity, error) {
	f, err := NewFilter(a.Namespaces, a.LabelSelector)
	return &nodeAffinity{filter: f, types: a.NodeAffinityType}, err
}

// PodByPod implements PodByPod.
func (*nodeAffinity) PodByPod() {}

// Run implements Strategy.
func (s *nodeAffinity) Run(c *Cycle) error {
	checker := fit.NewChecker(c.View, c.Nodes)
	checker.Limit(c.Effort)
	var unknown error
	for _, kind := range s.types {
		var violation func(*cluster.Pod) (Why, bool)
		switch kind {
		case NodeAffinityRequired:
			violation = requiredViolation
		case NodeAffinityPreferred:
			weights := bestNodes{nodes: c.Nodes, known: map[*cluster.Placement]weights{}}
			violation = weights.violation
		default:
			unknown = cmp.Or(unknown, fmt.Errorf("nodeAffinityType %q is not known", kind))
			continue
		}
		if s.run(c, checker, violation) == plan.ThisCycle {
			break
		}
	}
	return unknown
}

func (s *nodeAffinity) run(c *Cycle, checker *fit.Checker, violation func(*cluster.Pod) (Why, bool)) plan.Scope {
	why := func(p *cluster.Pod) Why { w, _ := violation(p); return w }
	for _, n := range c.Nodes {
		pods := c.candidates(n, func(p *cluster.Pod) bool {
			if p.Terminal() || !s.filter.Selects(p) {
				return false
			}
			if _, violated := violation(p); !violated {
				return false
			}
			// The pod must be able to run somewhere, be it where it is.
			if !checker.Fits(p, n) && checker.AnyOther(p) == nil {
				c.Refuse(p, "nodeaffinity", checker.WhyNowhere(p))
				return false
			}
			return true
		}, why)
		if c.tryAll(pods, why) == plan.ThisCycle {
			return plan.ThisCycle
		}
	}
	return plan.ThisPod
}

// Spared implements Sparing.
func (s *nodeAffinity) Spared(_ *Cycle, p *cluster.Pod) plan.Reason {
	pl := p.Spec.Placement
	required, preferred := slices.Contains(s.types, NodeAffinityRequired), slices.Contains(s.types, NodeAffinityPreferred)
	switch {
	case p.Terminal():
		return spared("Ended", "it has ended, so no affinity is broken")
	case !s.filter.Selects(p):
		return filteredOut()
	case !(required && pl.Required != nil) && !(preferred && len(pl.Preferred) > 0):
		return spared("NoAffinity", "it has no node affinity of a type that the strategy looks at")
	}
	return spared("AffinityKept", "its node keeps the node affinity that the strategy looks at")
}

// requiredViolation is about pods with required node affinity; a bare node selector is not enough, as with the peer.
func requiredViolation(p *cluster.Pod) (Why, bool) {
	if p.Spec.Placement.Required == nil || p.Spec.Placement.Selects(p.Node.NodeInfo) {
		return Why{}, false
	}
	return Why{Forced: true, Reason: plan.Reason{Code: "NodeAffinityViolated", Message: "its node does not match its required node affinity"}}, true
}

// bestNodes finds the weights of nodes, once for each placement.
type bestNodes struct {
	nodes []*cluster.Node
	known map[*cluster.Placement]weights
}

type weights struct {
	best   int64
	byNode map[*cluster.Node]int64
	better map[int64]*betterNodes // by the weight of the own node
}

// betterNodes are nodes with more weight than another.
type betterNodes struct{ nodes []*cluster.Node }

func (b *bestNodes) violation(p *cluster.Pod) (Why, bool) {
	pl := p.Spec.Placement
	if len(pl.Preferred) == 0 {
		return Why{}, false
	}
	w, ok := b.known[pl]
	if !ok {
		w = weights{byNode: make(map[*cluster.Node]int64, len(b.nodes)), better: map[int64]*betterNodes{}}
		for _, n := range b.nodes {
			w.byNode[n] = pl.Weight(n.NodeInfo)
			w.best = max(w.best, w.byNode[n])
		}
		b.known[pl] = w
	}
	own := w.byNode[p.Node]
	if own >= w.best {
		return Why{}, false
	}
	better := w.better[own]
	if better == nil {
		better = &betterNodes{}
		for _, n := range b.nodes {
			if w.byNode[n] > own {
				better.nodes = append(better.nodes, n)
			}
		}
		w.better[own] = better
	}
	return Why{Targets: better.nodes, Alike: better, Reason: plan.Reason{
		Code:    "BetterNode",
		Message: fmt.Sprintf("its node has weight %d in its preferred node affinity, another has %d", own, w.best),
		Numbers: plan.Numbers{"own": float64(own), "best": float64(w.best)},
	}}, true
}
