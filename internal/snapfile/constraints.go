package snapfile

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// What an API server asks of constraints, as its validation has it (k8s.io/kubernetes/pkg/apis/core/validation).
var (
	errTopologyKey = errors.New("empty; expected the key of a node label")
	errMaxSkew     = errors.New("expected at least 1")
	errMinDomains  = errors.New("expected at least 1, and that whenUnsatisfiable is DoNotSchedule")
	errWeight      = errors.New("expected a number from 1 to 100")
	errTwice       = errors.New("another constraint has the same topologyKey and whenUnsatisfiable")
	errNoSelector  = errors.New("needs labelSelector")
)

const (
	required  = ".requiredDuringSchedulingIgnoredDuringExecution"
	preferred = ".preferredDuringSchedulingIgnoredDuringExecution"
)

// checkConstraints refuses affinity and spread constraints and tolerations that no API server would have taken: they would silently select
// nothing, or keep a pod off every node.
func checkConstraints(in *podSpec) *fieldError {
	if problem := checkSpread(in.TopologySpreadConstraints); problem != nil {
		return problem.under(".topologySpreadConstraints")
	}
	if problem := checkTolerations(in.Tolerations); problem != nil {
		return problem.under(".tolerations")
	}
	if in.Affinity == nil {
		return nil
	}
	if a := in.Affinity.NodeAffinity; a != nil {
		if problem := checkNodeAffinity(a); problem != nil {
			return problem.under(".affinity.nodeAffinity")
		}
	}
	if a := in.Affinity.PodAffinity; a != nil {
		if problem := checkTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution); problem != nil {
			return problem.under(".affinity.podAffinity")
		}
	}
	if a := in.Affinity.PodAntiAffinity; a != nil {
		if problem := checkTerms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution); problem != nil {
			return problem.under(".affinity.podAntiAffinity")
		}
	}
	return nil
}

func checkSpread(constraints []corev1.TopologySpreadConstraint) *fieldError {
	for i := range constraints {
		c := &constraints[i]
		problem := checkSpreadConstraint(c)
		if problem == nil && slices.ContainsFunc(constraints[:i], func(o corev1.TopologySpreadConstraint) bool {
			return o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == c.WhenUnsatisfiable
		}) {
			problem = &fieldError{value: fmt.Sprintf("{%s, %s}", c.TopologyKey, c.WhenUnsatisfiable), err: errTwice}
		}
		if problem != nil {
			return problem.under(index(i))
		}
	}
	return nil
}

func checkSpreadConstraint(c *corev1.TopologySpreadConstraint) *fieldError {
	if c.MaxSkew < 1 {
		return &fieldError{path: ".maxSkew", value: fmt.Sprint(c.MaxSkew), err: errMaxSkew}
	}
	if problem := oneOf(".whenUnsatisfiable", c.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway); problem != nil {
		return problem
	}
	if d := c.MinDomains; d != nil && (*d < 1 || c.WhenUnsatisfiable != corev1.DoNotSchedule) {
		return &fieldError{path: ".minDomains", value: fmt.Sprint(*d), err: errMinDomains}
	}
	for _, p := range []struct {
		path   string
		policy *corev1.NodeInclusionPolicy
	}{{".nodeAffinityPolicy", c.NodeAffinityPolicy}, {".nodeTaintsPolicy", c.NodeTaintsPolicy}} {
		if p.policy != nil {
			if problem := oneOf(p.path, *p.policy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore); problem != nil {
				return problem
			}
		}
	}
	if len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil {
		return &fieldError{path: ".matchLabelKeys", err: errNoSelector}
	}
	return checkTerm(&corev1.PodAffinityTerm{TopologyKey: c.TopologyKey, LabelSelector: c.LabelSelector})
}

func checkTerms(needed []corev1.PodAffinityTerm, wanted []corev1.WeightedPodAffinityTerm) *fieldError {
	for i := range needed {
		if problem := checkTerm(&needed[i]); problem != nil {
			return problem.under(required + index(i))
		}
	}
	for i := range wanted {
		problem := checkTerm(&wanted[i].PodAffinityTerm).under(".podAffinityTerm")
		if problem == nil {
			problem = checkWeight(wanted[i].Weight)
		}
		if problem != nil {
			return problem.under(preferred + index(i))
		}
	}
	return nil
}

func checkTerm(t *corev1.PodAffinityTerm) *fieldError {
	if t.TopologyKey == "" {
		return &fieldError{path: ".topologyKey", err: errTopologyKey}
	}
	if problem := checkLabelKey(".topologyKey", t.TopologyKey); problem != nil {
		return problem
	}
	for _, s := range []struct {
		path     string
		selector *metav1.LabelSelector
	}{{".labelSelector", t.LabelSelector}, {".namespaceSelector", t.NamespaceSelector}} {
		if _, err := metav1.LabelSelectorAsSelector(s.selector); err != nil {
			return &fieldError{path: s.path, err: err}
		}
	}
	switch {
	case t.LabelSelector != nil:
	case len(t.MatchLabelKeys) > 0:
		return &fieldError{path: ".matchLabelKeys", err: errNoSelector}
	case len(t.MismatchLabelKeys) > 0:
		return &fieldError{path: ".mismatchLabelKeys", err: errNoSelector}
	}
	return nil
}

func checkWeight(weight int32) *fieldError {
	if weight < 1 || weight > 100 {
		return &fieldError{path: ".weight", value: fmt.Sprint(weight), err: errWeight}
	}
	return nil
}

func checkLabelKey(path, name string) *fieldError {
	if faults := validation.IsQualifiedName(name); len(faults) > 0 {
		return &fieldError{path: path, value: fmt.Sprintf("%q", name), err: errors.New("expected the key of a label: " + faults[0])}
	}
	return nil
}

// oneOf refuses a value that is none of those that there are.
func oneOf[T ~string](path string, value T, known ...T) *fieldError {
	if slices.Contains(known, value) {
		return nil
	}
	text := "expected "
	for i, k := range known {
		switch {
		case i > 0 && i == len(known)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += string(k)
	}
	return &fieldError{path: path, value: fmt.Sprintf("%q", value), err: errors.New(text)}
}
