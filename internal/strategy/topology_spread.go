package strategy

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// RemovePodsViolatingTopologySpreadConstraintArgs are the arguments of
// RemovePodsViolatingTopologySpreadConstraint.
type RemovePodsViolatingTopologySpreadConstraintArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits which pods are counted and evicted; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// Constraints are the kinds of constraints to look at: DoNotSchedule (the
	// default) and ScheduleAnyway.
	Constraints []corev1.UnsatisfiableConstraintAction `json:"constraints,omitempty"`
	// TopologyBalanceNodeFit evicts only pods that fit a node of a domain with
	// fewer pods than the average. Default true.
	TopologyBalanceNodeFit *bool `json:"topologyBalanceNodeFit,omitempty"`
}

// SetDefaults implements Args.
func (a *RemovePodsViolatingTopologySpreadConstraintArgs) SetDefaults() {
	if len(a.Constraints) == 0 {
		a.Constraints = []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule}
	}
	if a.TopologyBalanceNodeFit == nil {
		fit := true
		a.TopologyBalanceNodeFit = &fit
	}
}

// Validate implements Args.
func (a *RemovePodsViolatingTopologySpreadConstraintArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateNamespaces(path.Child("namespaces"), a.Namespaces)
	errs = append(errs, validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
	return append(errs, validateOneOf(path.Child("constraints"), a.Constraints,
		[]corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway})...)
}

// topologySpread moves pods out of topology domains that hold more of them than a topology spread constraint of theirs allows
// (RemovePodsViolatingTopologySpreadConstraint).
//
// The peer counts evictable pods only, and takes each constraint by itself: see likeThePeer. By default the pods are counted
// as the scheduler does, constraint after constraint, each seeing the moves made for those before; a pod moves only to a domain in
// which the scheduler would let it start and where none of its other constraints would be worse off; and for all constraints of a
// namespace together not more pods are proposed than the peer would evict.
type topologySpread struct {
	filter  Filter
	kinds   map[corev1.UnsatisfiableConstraintAction]bool
	nodeFit bool
}

func newTopologySpread(a *RemovePodsViolatingTopologySpreadConstraintArgs) (*topologySpread, error) {
	f, err := NewFilter(a.Namespaces, a.LabelSelector)
	s := &topologySpread{filter: f, kinds: map[corev1.UnsatisfiableConstraintAction]bool{}, nodeFit: a.TopologyBalanceNodeFit == nil || *a.TopologyBalanceNodeFit}
	for _, kind := range a.Constraints {
		s.kinds[kind] = true
	}
	return s, err
}

// Run implements Strategy.
func (s *topologySpread) Run(c *Cycle) error {
	x := newSpreader(c, s)
	var victims []victim
	for _, ns := range x.namespaces() {
		spreads := x.collect(ns)
		for _, sp := range spreads {
			if sp.listed {
				sp.victims = x.likeThePeer(sp)
				victims = append(victims, sp.victims...)
			}
		}
		if !c.Compat && x.evenOut(spreads) == plan.ThisCycle {
			return nil
		}
	}
	if c.Compat {
		tryVictims(c, victims)
	}
	return nil
}

// Spared implements Sparing.
func (s *topologySpread) Spared(_ *Cycle, p *cluster.Pod) plan.Reason {
	switch {
	case p.Terminal():
		return spared("Ended", "it has ended, and does not count")
	case p.Deleting:
		return spared("Leaving", "it is being deleted, and does not count")
	case !s.filter.Selects(p):
		return filteredOut()
	case !slices.ContainsFunc(p.Spec.TopologySpread, func(c cluster.SpreadConstraint) bool { return s.kinds[c.WhenUnsatisfiable] }):
		return spared("NoConstraint", "it carries no spread constraint that the strategy looks at")
	}
	return spared("SpreadKept", "for its spread constraints no pod has to leave its domain, or others were chosen")
}

// victim is a pod that is to be moved for a constraint.
type victim struct {
	pod    *cluster.Pod
	group  *podGroup
	why    plan.Reason
	others []*spread // by default: the pod's other constraints, counted
	ended  bool      // by default: not all nodes were looked at, because the effort was used up
}

// tryVictims proposes the peer's victims, each once.
func tryVictims(c *Cycle, victims []victim) {
	seen, full := map[*cluster.Pod]bool{}, map[*cluster.Node]bool{}
	for _, v := range victims {
		if seen[v.pod] || full[v.pod.Node] {
			continue
		}
		seen[v.pod] = true
		switch verdict := c.Try(v.pod, Why{Reason: v.why}); {
		case verdict.Accepted:
		case verdict.Stop == plan.ThisNode:
			full[v.pod.Node] = true
		case verdict.Stop == plan.ThisCycle:
			return
		}
	}
}

// spreadRule is a constraint as it is written in specs. Equal constraints are one rule.
type spreadRule struct {
	*cluster.SpreadConstraint
	in inclusion
}

// hard reports whether the scheduler enforces the rule.
func (r *spreadRule) hard() bool { return r.WhenUnsatisfiable == corev1.DoNotSchedule }

type ruleKey struct {
	in                       inclusion
	maxSkew, minDomains      int32
	when                     corev1.UnsatisfiableConstraintAction
	selector, matchLabelKeys string
}

// spread is a rule applied to the pods of a namespace, with one set of values for its matchLabelKeys.
type spread struct {
	rule     *spreadRule
	values   string
	selector labels.Selector
	domains  *domains
	groups   []*podGroup   // that the selector selects
	listed   bool          // the policy asks for rules of this kind
	victims  []victim      // the peer's
	counts   *domainCounts // nil until they are needed
}

type spreadKey struct {
	rule   *spreadRule
	values string
}

// carrier is what pods with the same spread constraints have in common.
type carrier struct {
	group *podGroup
	spec  *cluster.Spec
}

// spreader is the state of one run.
type spreader struct {
	c       *Cycle
	s       *topologySpread
	groups  *podGroups
	keys    *topologyKeys
	domains map[inclusion]*domains
	rules   map[ruleKey]*spreadRule
	bySpec  map[*cluster.Spec][]*spreadRule
	fit     *fit.Checker
	arrived map[string][]arrival   // by namespace: replacements that earlier strategies' moves let expect
	full    map[*cluster.Node]bool // no further pod of them may be moved

	// Of the namespace at hand:
	carried map[carrier][]*spread
	follow  map[*podGroup][]*spread // the spreads that have counts and count pods of the group

	peer   peerScratch
	nodes  []*cluster.Node
	ranked []rankedNode
}

type arrival struct {
	pod  *cluster.Pod
	node *cluster.Node
}

func newSpreader(c *Cycle, s *topologySpread) *spreader {
	x := &spreader{
		c: c, s: s, keys: newTopologyKeys(c), domains: map[inclusion]*domains{}, rules: map[ruleKey]*spreadRule{},
		bySpec: map[*cluster.Spec][]*spreadRule{}, fit: fit.NewChecker(c.View, c.Nodes), arrived: map[string][]arrival{},
		full: map[*cluster.Node]bool{},
	}
	x.fit.Limit(c.Effort)
	// Neither the peer nor the scheduler counts pods that are being deleted.
	x.groups = newPodGroups(c, &s.filter, func(p *cluster.Pod) bool { return !p.Deleting })
	for _, n := range c.Nodes {
		for _, p := range c.View.Arrivals(n) {
			x.arrived[p.Namespace] = append(x.arrived[p.Namespace], arrival{p, n})
		}
	}
	return x
}

// namespaces lists those that have pods with constraints, in order.
func (x *spreader) namespaces() []string {
	var list []string
	for _, p := range x.c.View.Pods {
		if len(p.Spec.TopologySpread) > 0 && p.Node != nil && (len(list) == 0 || list[len(list)-1] != p.Namespace) {
			list = append(list, p.Namespace)
		}
	}
	return list
}

// collect finds the constraints of a namespace's pods that may be moved, in the order of the pods.
func (x *spreader) collect(namespace string) []*spread {
	x.carried, x.follow = map[carrier][]*spread{}, map[*podGroup][]*spread{}
	ns := x.groups.namespace(namespace)
	for _, a := range x.arrived[namespace] {
		group := ns.group(a.pod)
		group.arrivals = append(group.arrivals, a.node)
	}
	var list []*spread
	byKey := map[spreadKey]*spread{}
	for _, group := range ns.list {
		if !group.selected {
			continue
		}
		for _, p := range group.pods {
			if len(p.Spec.TopologySpread) == 0 {
				continue
			}
			as := carrier{group, p.Spec}
			if _, known := x.carried[as]; known || !x.c.Evictable(p) {
				continue
			}
			carried := []*spread{}
			for _, rule := range x.rulesOf(p.Spec) {
				key := spreadKey{rule, valuesOf(rule.MatchLabelKeys, p.Labels)}
				sp := byKey[key]
				if sp == nil {
					sp = x.newSpread(ns, key, p)
					byKey[key] = sp
					list = append(list, sp)
				}
				carried = append(carried, sp)
			}
			x.carried[as] = carried
		}
	}
	return list
}

func (x *spreader) newSpread(ns *namespaceGroups, key spreadKey, p *cluster.Pod) *spread {
	sp := &spread{
		rule: key.rule, values: key.values, selector: fit.SelectorOf(key.rule.SpreadConstraint, p.PodInfo), listed: x.s.kinds[key.rule.WhenUnsatisfiable],
	}
	sp.groups = ns.of.matching(cluster.InNamespaces(ns.name), sp.selector)
	if sp.domains = x.domains[key.rule.in]; sp.domains == nil {
		sp.domains = newDomains(x.c, x.keys.key(key.rule.in.key), key.rule.in)
		x.domains[key.rule.in] = sp.domains
	}
	return sp
}

// rulesOf lists the constraints of a spec that matter: those of the kinds that the policy asks for and, by default, those that
// the scheduler enforces.
func (x *spreader) rulesOf(spec *cluster.Spec) []*spreadRule {
	if rules, ok := x.bySpec[spec]; ok {
		return rules
	}
	var rules []*spreadRule
	for i := range spec.TopologySpread {
		c := &spec.TopologySpread[i]
		if !x.s.kinds[c.WhenUnsatisfiable] && (x.c.Compat || c.WhenUnsatisfiable != corev1.DoNotSchedule) {
			continue
		}
		key := ruleKey{
			in: inclusionOf(c, spec.Placement), maxSkew: c.MaxSkew, minDomains: c.MinDomains, when: c.WhenUnsatisfiable,
			selector: cluster.SelectorKey(c.Selector), matchLabelKeys: strings.Join(c.MatchLabelKeys, ","),
		}
		rule := x.rules[key]
		if rule == nil {
			rule = &spreadRule{SpreadConstraint: c, in: key.in}
			x.rules[key] = rule
		}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	x.bySpec[spec] = rules
	return rules
}

// valuesOf is the values of the keys, and which of them are missing, in one string.
func valuesOf(keys []string, set map[string]string) string {
	if len(keys) == 0 {
		return ""
	}
	var b strings.Builder
	for _, key := range keys {
		if value, ok := set[key]; ok {
			b.WriteString(value)
			b.WriteByte(1)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// hasNodePreference reports whether the pod says where it wants to run; such pods are moved last.
func hasNodePreference(p *cluster.Pod) bool {
	pl := p.Spec.Placement
	return len(pl.NodeSelector) > 0 || pl.Required != nil || len(pl.Preferred) > 0
}

// moveFirst orders the pods of a domain by default: those without a node selector or affinity first, then by priority, lowest first; of
// equals the one that is named last, as the peer does.
func moveFirst(a, b *cluster.Pod) int {
	return cmp.Or(
		cmp.Compare(truth(hasNodePreference(a)), truth(hasNodePreference(b))),
		cmp.Compare(priority(a), priority(b)),
		cmp.Compare(prefersToStay(a), prefersToStay(b)),
		cmp.Compare(truth(a.Ready), truth(b.Ready)),
		cmp.Compare(b.Index, a.Index),
	)
}
