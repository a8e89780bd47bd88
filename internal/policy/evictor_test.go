package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/policy"
)

// TestNoSelectorSelectsEverything, nor does an empty one leave anything out; one
// with a mistake, which validation refuses, selects nothing.
func TestNoSelectorSelectsEverything(t *testing.T) {
	web := labels.Set{"app": "web"}
	match := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	other := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	wrong := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Within"}}}
	for _, c := range []struct {
		name string
		args policy.EvictorArgs
		want bool
	}{
		{"none", policy.EvictorArgs{}, true},
		{"empty", policy.EvictorArgs{LabelSelector: &metav1.LabelSelector{}, NamespaceLabelSelector: &metav1.LabelSelector{}}, true},
		{"match", policy.EvictorArgs{LabelSelector: match, NamespaceLabelSelector: match, NodeSelector: "app in (web)"}, true},
		{"other", policy.EvictorArgs{LabelSelector: other, NamespaceLabelSelector: other, NodeSelector: "app!=web"}, false},
		{"wrong", policy.EvictorArgs{LabelSelector: wrong, NamespaceLabelSelector: wrong, NodeSelector: "a=b=c"}, false},
	} {
		for selector, s := range map[string]labels.Selector{
			"pods":       c.args.PodSelector(),
			"namespaces": c.args.NamespaceSelector(),
			"nodes":      c.args.FitNodeSelector(),
		} {
			if got := s.Matches(web); got != c.want {
				t.Errorf("%s: %s match: %v, want %v", c.name, selector, got, c.want)
			}
		}
	}
}
