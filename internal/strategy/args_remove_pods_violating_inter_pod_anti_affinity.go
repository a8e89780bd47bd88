package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RemovePodsViolatingInterPodAntiAffinityArgs are the arguments of
// RemovePodsViolatingInterPodAntiAffinity. Both limit either side of the
// comparison: a pod left out is neither evicted nor a reason to evict.
type RemovePodsViolatingInterPodAntiAffinityArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemovePodsViolatingInterPodAntiAffinityArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemovePodsViolatingInterPodAntiAffinityArgs) Validate(path *field.Path) field.ErrorList {
	return append(
		validateNamespaces(path.Child("namespaces"), a.Namespaces),
		validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
}
