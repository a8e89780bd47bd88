package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RemovePodsHavingTooManyRestartsArgs are the arguments of
// RemovePodsHavingTooManyRestarts.
type RemovePodsHavingTooManyRestartsArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// PodRestartThreshold is the sum of its containers' restarts from which on a
	// pod is evicted. Required, at least 1.
	PodRestartThreshold int32 `json:"podRestartThreshold,omitempty"`
	// IncludingInitContainers adds the restarts of init containers, sidecars
	// among them.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
	// States limits the strategy to pods in phase Running or with a container
	// waiting in CrashLoopBackOff; without entries any state will do.
	States []string `json:"states,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemovePodsHavingTooManyRestartsArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemovePodsHavingTooManyRestartsArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateNamespaces(path.Child("namespaces"), a.Namespaces)
	errs = append(errs, validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
	if a.PodRestartThreshold < 1 {
		errs = append(errs, field.Invalid(path.Child("podRestartThreshold"), a.PodRestartThreshold, "must be at least 1"))
	}
	return append(errs, validateOneOf(path.Child("states"), a.States, []string{"CrashLoopBackOff", "Running"})...)
}
