package strategy

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
