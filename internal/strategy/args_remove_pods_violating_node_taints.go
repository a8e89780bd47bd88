package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RemovePodsViolatingNodeTaintsArgs are the arguments of
// RemovePodsViolatingNodeTaints. A taint is written "key" (any value) or
// "key=value".
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
