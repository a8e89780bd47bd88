package strategy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// RemovePodsViolatingNodeTaintsArgs are the arguments of
// RemovePodsViolatingNodeTaints. A taint is written "key" (any value) or
// "key=value"; a taint without value has the first form only.
type RemovePodsViolatingNodeTaintsArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// IncludePreferNoSchedule looks at PreferNoSchedule taints as well as
	// NoSchedule ones.
	IncludePreferNoSchedule bool `json:"includePreferNoSchedule,omitempty"`
	// ExcludedTaints are ignored. They exclude IncludedTaints.
	ExcludedTaints []string `json:"excludedTaints,omitempty"`
	// IncludedTaints are the only ones looked at; nil means every taint, and a
	// list without entries means none.
	IncludedTaints *[]string `json:"includedTaints,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemovePodsViolatingNodeTaintsArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemovePodsViolatingNodeTaintsArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateNamespaces(path.Child("namespaces"), a.Namespaces)
	errs = append(errs, validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
	if len(a.ExcludedTaints) > 0 && a.IncludedTaints != nil && len(*a.IncludedTaints) > 0 {
		errs = append(errs, field.Forbidden(path.Child("excludedTaints"),
			"only one of excludedTaints and includedTaints can be set"))
	}
	return errs
}

// nodeTaints moves pods that do not tolerate a NoSchedule taint of their node, e.g. one that was set after they had started.
// NoExecute taints are the business of the taint manager. A cordoned node has a NoSchedule taint, so cordoning drains it.
type nodeTaints struct {
	filter  Filter
	effects []corev1.TaintEffect
	include *[]string
	exclude []string
}

func newNodeTaints(a *RemovePodsViolatingNodeTaintsArgs) (*nodeTaints, error) {
	f, err := NewFilter(a.Namespaces, a.LabelSelector)
	s := &nodeTaints{filter: f, include: a.IncludedTaints, exclude: a.ExcludedTaints, effects: []corev1.TaintEffect{corev1.TaintEffectNoSchedule}}
	if a.IncludePreferNoSchedule {
		s.effects = append(s.effects, corev1.TaintEffectPreferNoSchedule)
	}
	return s, err
}

// PodByPod implements PodByPod.
func (*nodeTaints) PodByPod() {}

// Run implements Strategy.
func (s *nodeTaints) Run(c *Cycle) error {
	for _, n := range c.Nodes {
		if len(n.Taints) == 0 {
			continue
		}
		why := func(p *cluster.Pod) Why { return s.why(c, p, n) }
		want := c.telling(func(p *cluster.Pod) bool { return s.wants(p, n) }, func(p *cluster.Pod) plan.Reason { return s.spared(p, n) })
		pods := c.candidates(n, want, why)
		if c.tryAll(pods, why) == plan.ThisCycle {
			return nil
		}
	}
	return nil
}

// Spared implements Sparing.
func (s *nodeTaints) Spared(_ *Cycle, p *cluster.Pod) plan.Reason {
	if len(p.Node.Taints) == 0 {
		return spared("NoTaint", "its node has no taints")
	}
	return s.spared(p, p.Node)
}

func (s *nodeTaints) wants(p *cluster.Pod, n *cluster.Node) bool {
	return !p.Terminal() && s.filter.Selects(p) && s.violates(p, n)
}

// spared says why p may stay on n.
func (s *nodeTaints) spared(p *cluster.Pod, n *cluster.Node) plan.Reason {
	untolerated, left := fit.Untolerated(n.Taints, p.Spec.Placement.Tolerations, func(*corev1.Taint) bool { return true })
	switch {
	case p.Terminal():
		return spared("Ended", "it has ended, so no taint is broken")
	case !s.filter.Selects(p):
		return filteredOut()
	case left:
		return spared("TaintLeftOut", "it does not tolerate the taint %s of its node, which the strategy does not look at", untolerated.ToString())
	default:
		return spared("TaintsTolerated", "it tolerates the taints of its node")
	}
}

func (s *nodeTaints) violates(p *cluster.Pod, n *cluster.Node) bool {
	_, found := fit.Untolerated(n.Taints, p.Spec.Placement.Tolerations, s.considers)
	return found
}

// considers reports whether the policy is about this taint: named by its key or, if it has a value, by key=value. A list of included
// taints that is there and empty includes none.
func (s *nodeTaints) considers(t *corev1.Taint) bool {
	named := func(list []string) bool {
		return slices.Contains(list, t.Key) || t.Value != "" && slices.Contains(list, t.Key+"="+t.Value)
	}
	return slices.Contains(s.effects, t.Effect) && !named(s.exclude) && (s.include == nil || named(*s.include))
}

// why is the case for moving p off n: to a node without such a taint, be it a soft one. A hard one the pod leaves in any case.
func (s *nodeTaints) why(c *Cycle, p *cluster.Pod, n *cluster.Node) Why {
	why := Why{Reason: s.reason(p, n)}
	if len(s.effects) > 1 {
		why.Targets, why.Better = c.View.Nodes, func(to *cluster.Node) bool { return !s.violates(p, to) }
	}
	_, why.Forced = fit.Untolerated(n.Taints, p.Spec.Placement.Tolerations, fit.HardTaint)
	return why
}

// taintOpinion is that of RemovePodsViolatingNodeTaints: no pod is to start on a node it would be moved off.
type taintOpinion struct {
	c *Cycle
	s *nodeTaints
}

// Opinion implements Opinionated. Only soft taints take one: hard ones keep pods away by themselves.
func (s *nodeTaints) Opinion(c *Cycle) Opinion {
	if len(s.effects) == 1 {
		return nil
	}
	return taintOpinion{c, s}
}

// Against implements Opinion.
func (o taintOpinion) Against(p *cluster.Pod, n *cluster.Node) func() plan.Reason {
	if !o.s.violates(p, n) || !o.s.filter.Selects(p) || p.Node != nil && o.s.violates(p, p.Node) || !o.c.Evictable(p) {
		return nil
	}
	return func() plan.Reason {
		t, _ := fit.Untolerated(n.Taints, p.Spec.Placement.Tolerations, o.s.considers)
		return plan.Reason{Code: "WouldViolateTaint", Message: fmt.Sprintf("node %s has the taint %s, which it does not tolerate", n.Name, t.ToString())}
	}
}

// Moved implements Opinion.
func (taintOpinion) Moved(*cluster.Pod, *cluster.Node) {}

func (s *nodeTaints) reason(p *cluster.Pod, n *cluster.Node) plan.Reason {
	t, _ := fit.Untolerated(n.Taints, p.Spec.Placement.Tolerations, s.considers)
	return plan.Reason{Code: "TaintViolated", Message: fmt.Sprintf("it does not tolerate the taint %s of its node", t.ToString())}
}
