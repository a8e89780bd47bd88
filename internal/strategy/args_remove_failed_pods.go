package strategy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultMinPodLifetimeSeconds leaves a failed pod alone for an hour, so that
// somebody can look at it.
const defaultMinPodLifetimeSeconds = 3600

// RemoveFailedPodsArgs are the arguments of RemoveFailedPods.
type RemoveFailedPodsArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// ExcludeOwnerKinds leaves out pods that have an owner of one of these kinds.
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds,omitempty"`
	// MinPodLifetimeSeconds leaves out pods created less long ago. Default 3600.
	MinPodLifetimeSeconds *uint `json:"minPodLifetimeSeconds,omitempty"`
	// Reasons limits the strategy to these reasons of the pod's status, or for
	// which a container is waiting or terminated; without entries any will do.
	Reasons []string `json:"reasons,omitempty"`
	// ExitCodes limits the strategy to pods with a container terminated with one
	// of these codes; without entries any will do.
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// IncludingInitContainers makes Reasons and ExitCodes look at init containers.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
}

// SetDefaults implements Args.
func (a *RemoveFailedPodsArgs) SetDefaults() {
	if a.MinPodLifetimeSeconds == nil {
		seconds := uint(defaultMinPodLifetimeSeconds)
		a.MinPodLifetimeSeconds = &seconds
	}
}

// Validate implements Args.
func (a *RemoveFailedPodsArgs) Validate(path *field.Path) field.ErrorList {
	return append(
		validateNamespaces(path.Child("namespaces"), a.Namespaces),
		validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
}
