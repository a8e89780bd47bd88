package pacepolicy

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Choice is what was decided for one node.
type Choice struct {
	// Policy holds on the node; nil if none selects it.
	Policy *v1alpha1.PacePolicy
	// Rivals select the node too and have the same priority; they lost by name. Sorted.
	Rivals []string
	// Unusable says which policies were left out because their selector cannot be read. The API server refuses such
	// selectors, but a CRD of another version may not.
	Unusable []error
}

// Choose decides which policy holds on a node with these labels. The order of the policies does not matter.
func Choose(policies []v1alpha1.PacePolicy, nodeLabels map[string]string) Choice {
	ranked, unusable := rank(policies)
	choice := Choice{Unusable: unusable}
	for _, r := range ranked {
		switch {
		case choice.Policy != nil && r.policy.Spec.Priority < choice.Policy.Spec.Priority:
			return choice
		case !r.selector.Matches(labels.Set(nodeLabels)):
		case choice.Policy == nil:
			choice.Policy = r.policy
		default:
			choice.Rivals = append(choice.Rivals, r.policy.Name)
		}
	}
	return choice
}

type ranked struct {
	policy   *v1alpha1.PacePolicy
	selector labels.Selector
}

// rank orders usable policies: those that go before others come first.
func rank(policies []v1alpha1.PacePolicy) ([]ranked, []error) {
	var list []ranked
	var unusable []error
	for i := range policies {
		p := &policies[i]
		selector, err := Selector(p.Spec.NodeSelector)
		if err != nil {
			unusable = append(unusable, fmt.Errorf("PacePolicy %s: spec.nodeSelector: %w", p.Name, err))
			continue
		}
		list = append(list, ranked{p, selector})
	}
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.policy.Spec.Priority, a.policy.Spec.Priority), cmp.Compare(a.policy.Name, b.policy.Name))
	})
	slices.SortFunc(unusable, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return list, unusable
}

// Selector compiles a node selector; nil selects every node.
func Selector(s *v1alpha1.NodeSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range s.MatchLabels {
		selector.MatchLabels[key] = string(value)
	}
	for _, r := range s.MatchExpressions {
		values := make([]string, len(r.Values))
		for i, v := range r.Values {
			values[i] = string(v)
		}
		selector.MatchExpressions = append(selector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: values})
	}
	return metav1.LabelSelectorAsSelector(selector)
}
