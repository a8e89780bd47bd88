package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	// values do nothing, so that files made for other versions keep working.
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
