package snapfile

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	errNoTerm     = errors.New("empty; expected at least one term")
	errNoValues   = errors.New("empty; expected at least one value")
	errValues     = errors.New("expected none: this operator looks at the key alone")
	errOneValue   = errors.New("expected exactly one value")
	errFieldKey   = errors.New("expected metadata.name, the only field of a node that can be selected")
	errNoValue    = errors.New("expected none: the operator Exists tolerates any")
	errExists     = errors.New("expected Exists where there is no key")
	errNoNumber   = errors.New("expected a whole number, which is what this operator compares; the term matches no node")
	errTaintNoKey = errors.New("empty; expected the key of a taint")
)

func checkNodeAffinity(a *corev1.NodeAffinity) *fieldError {
	if s := a.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
		if problem := checkNodeSelector(s); problem != nil {
			return problem.under(required)
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		t := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		problem := checkNodeTerm(&t.Preference).under(".preference")
		if problem == nil {
			problem = checkWeight(t.Weight)
		}
		if problem != nil {
			return problem.under(preferred + index(i))
		}
	}
	return nil
}

func checkNodeSelector(s *corev1.NodeSelector) *fieldError {
	if len(s.NodeSelectorTerms) == 0 {
		return &fieldError{path: ".nodeSelectorTerms", err: errNoTerm}
	}
	for i := range s.NodeSelectorTerms {
		if problem := checkNodeTerm(&s.NodeSelectorTerms[i]); problem != nil {
			return problem.under(".nodeSelectorTerms" + index(i))
		}
	}
	return nil
}

func checkNodeTerm(t *corev1.NodeSelectorTerm) *fieldError {
	for i := range t.MatchExpressions {
		if problem := checkNodeRequirement(&t.MatchExpressions[i]); problem != nil {
			return problem.under(".matchExpressions" + index(i))
		}
	}
	for i := range t.MatchFields {
		r := &t.MatchFields[i]
		problem := oneOf(".operator", r.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		switch {
		case problem != nil:
		case len(r.Values) != 1:
			problem = &fieldError{path: ".values", err: errOneValue}
		case r.Key != metav1.ObjectNameField:
			problem = &fieldError{path: ".key", value: fmt.Sprintf("%q", r.Key), err: errFieldKey}
		}
		if problem != nil {
			return problem.under(".matchFields" + index(i))
		}
	}
	return nil
}

func checkNodeRequirement(r *corev1.NodeSelectorRequirement) *fieldError {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return &fieldError{path: ".values", err: errNoValues}
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return &fieldError{path: ".values", err: errValues}
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			return &fieldError{path: ".values", err: errOneValue}
		}
	default:
		return oneOf(".operator", r.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)
	}
	return checkLabelKey(".key", r.Key)
}

// oddNodeAffinity finds what an API server takes and a scheduler can't use: Gt and Lt with a word.
func oddNodeAffinity(a *corev1.Affinity) *fieldError {
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	if s := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
		for i := range s.NodeSelectorTerms {
			if problem := oddNodeTerm(&s.NodeSelectorTerms[i]); problem != nil {
				return problem.under(required + ".nodeSelectorTerms" + index(i))
			}
		}
	}
	for i := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if problem := oddNodeTerm(&a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference); problem != nil {
			return problem.under(preferred + index(i) + ".preference")
		}
	}
	return nil
}

func oddNodeTerm(t *corev1.NodeSelectorTerm) *fieldError {
	for i := range t.MatchExpressions {
		r := &t.MatchExpressions[i]
		if r.Operator != corev1.NodeSelectorOpGt && r.Operator != corev1.NodeSelectorOpLt {
			continue
		}
		if _, err := strconv.ParseInt(r.Values[0], 10, 64); err != nil {
			return &fieldError{path: ".matchExpressions" + index(i) + ".values[0]", value: fmt.Sprintf("%q", r.Values[0]), err: errNoNumber}
		}
	}
	return nil
}

func checkTolerations(tolerations []corev1.Toleration) *fieldError {
	for i := range tolerations {
		if problem := checkToleration(&tolerations[i]); problem != nil {
			return problem.under(index(i))
		}
	}
	return nil
}

func checkToleration(t *corev1.Toleration) *fieldError {
	switch {
	case t.Key == "" && t.Operator != corev1.TolerationOpExists:
		return &fieldError{path: ".operator", value: fmt.Sprintf("%q", t.Operator), err: errExists}
	case t.Operator == corev1.TolerationOpExists && t.Value != "":
		return &fieldError{path: ".value", value: fmt.Sprintf("%q", t.Value), err: errNoValue}
	}
	if t.Operator != "" {
		if problem := oneOf(".operator", t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt); problem != nil {
			return problem
		}
	}
	if t.Effect == "" {
		return nil
	}
	return checkEffect(t.Effect)
}

func checkTaints(taints []corev1.Taint) *fieldError {
	for i := range taints {
		if taints[i].Key == "" {
			return &fieldError{path: index(i) + ".key", err: errTaintNoKey}
		}
		if problem := checkEffect(taints[i].Effect); problem != nil {
			return problem.under(index(i))
		}
	}
	return nil
}

func checkEffect(effect corev1.TaintEffect) *fieldError {
	return oneOf(".effect", effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}
