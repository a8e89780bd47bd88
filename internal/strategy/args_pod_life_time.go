package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodLifeTimeArgs are the arguments of PodLifeTime. A pod is evicted when it
// passes every filter that is given; the values of one filter are alternatives.
// At least one of MaxPodLifeTimeSeconds, States, Conditions and ExitCodes is
// needed.
type PodLifeTimeArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// OwnerKinds limits the strategy by the kinds of a pod's owners.
	OwnerKinds *OwnerKinds `json:"ownerKinds,omitempty"`
	// MaxPodLifeTimeSeconds passes pods created longer ago than this.
	MaxPodLifeTimeSeconds *uint `json:"maxPodLifeTimeSeconds,omitempty"`
	// States passes pods by phase, status reason, or the reason a container is
	// waiting or terminated for. PodStates lists the values.
	States []string `json:"states,omitempty"`
	// Conditions passes pods by their status conditions.
	Conditions []PodConditionFilter `json:"conditions,omitempty"`
	// ExitCodes passes pods with a container terminated with one of these codes.
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// IncludingInitContainers makes States and ExitCodes look at init containers.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
	// IncludingEphemeralContainers makes States look at ephemeral containers.
	IncludingEphemeralContainers bool `json:"includingEphemeralContainers,omitempty"`
}

// PodConditionFilter matches a pod condition by every field that is set; at
// least one has to be.
type PodConditionFilter struct {
	// Type is the condition's type, such as "Ready".
	Type string `json:"type,omitempty"`
	// Status is the condition's status: "True", "False" or "Unknown".
	Status string `json:"status,omitempty"`
	// Reason is the condition's reason.
	Reason string `json:"reason,omitempty"`
	// MinTimeSinceLastTransitionSeconds asks that the condition has been as it
	// is for at least this long.
	MinTimeSinceLastTransitionSeconds *uint `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

// PodStates returns the values that PodLifeTimeArgs.States can hold: phases,
// reasons of a pod's status, and reasons for which a container is waiting or
// terminated.
func PodStates() []string {
	return []string{
		"Running", "Pending", "Succeeded", "Failed", "Unknown",
		"NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
		"PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff",
		"CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName",
		"OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
	}
}

// SetDefaults implements Args; nothing has a default.
func (*PodLifeTimeArgs) SetDefaults() {}

// Validate implements Args.
func (a *PodLifeTimeArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateNamespaces(path.Child("namespaces"), a.Namespaces)
	errs = append(errs, validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
	if o := a.OwnerKinds; o != nil && len(o.Include) > 0 && len(o.Exclude) > 0 {
		errs = append(errs, field.Forbidden(path.Child("ownerKinds"), "only one of include and exclude can be set"))
	}
	errs = append(errs, validateOneOf(path.Child("states"), a.States, PodStates())...)
	for i, c := range a.Conditions {
		if c == (PodConditionFilter{}) {
			errs = append(errs, field.Required(path.Child("conditions").Index(i),
				"set at least one of type, status, reason and minTimeSinceLastTransitionSeconds"))
		}
	}
	if a.MaxPodLifeTimeSeconds == nil && len(a.States) == 0 && len(a.Conditions) == 0 && len(a.ExitCodes) == 0 {
		errs = append(errs, field.Required(path,
			"set at least one of maxPodLifeTimeSeconds, states, conditions and exitCodes"))
	}
	return errs
}
