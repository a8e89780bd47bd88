package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/strategy"
)

// oldDocument is a policy of version descheduler/v1alpha1, which the descheduler
// read until v0.30. Its strategies shared one set of parameters and one set of
// switches for what may be evicted.
type oldDocument struct {
	APIVersion                     string                 `json:"apiVersion"`
	Kind                           string                 `json:"kind"`
	NodeSelector                   *string                `json:"nodeSelector"`
	EvictFailedBarePods            bool                   `json:"evictFailedBarePods"`
	EvictLocalStoragePods          bool                   `json:"evictLocalStoragePods"`
	EvictSystemCriticalPods        bool                   `json:"evictSystemCriticalPods"`
	IgnorePvcPods                  bool                   `json:"ignorePvcPods"`
	MaxNoOfPodsToEvictPerNode      *uint                  `json:"maxNoOfPodsToEvictPerNode"`
	MaxNoOfPodsToEvictPerNamespace *uint                  `json:"maxNoOfPodsToEvictPerNamespace"`
	Strategies                     map[string]oldStrategy `json:"strategies"`
}

type oldStrategy struct {
	Enabled bool      `json:"enabled"`
	Weight  int       `json:"weight"` // never had an effect
	Params  oldParams `json:"params"`
}

// oldParams are the parameters of all strategies; each reads its own.
type oldParams struct {
	NodeResourceUtilizationThresholds oldUtilization        `json:"nodeResourceUtilizationThresholds"`
	NodeAffinityType                  []string              `json:"nodeAffinityType"`
	PodsHavingTooManyRestarts         oldRestarts           `json:"podsHavingTooManyRestarts"`
	PodLifeTime                       oldLifeTime           `json:"podLifeTime"`
	RemoveDuplicates                  oldDuplicates         `json:"removeDuplicates"`
	FailedPods                        oldFailedPods         `json:"failedPods"`
	IncludeSoftConstraints            bool                  `json:"includeSoftConstraints"`
	Namespaces                        *strategy.Namespaces  `json:"namespaces"`
	ThresholdPriority                 *int32                `json:"thresholdPriority"`
	ThresholdPriorityClassName        string                `json:"thresholdPriorityClassName"`
	LabelSelector                     *metav1.LabelSelector `json:"labelSelector"`
	NodeFit                           bool                  `json:"nodeFit"`
	IncludePreferNoSchedule           bool                  `json:"includePreferNoSchedule"`
	ExcludedTaints                    []string              `json:"excludedTaints"`
}

type oldUtilization struct {
	UseDeviationThresholds bool                `json:"useDeviationThresholds"`
	Thresholds             strategy.Thresholds `json:"thresholds"`
	TargetThresholds       strategy.Thresholds `json:"targetThresholds"`
	NumberOfNodes          int                 `json:"numberOfNodes"`
}

type oldRestarts struct {
	PodRestartThreshold     int32 `json:"podRestartThreshold"`
	IncludingInitContainers bool  `json:"includingInitContainers"`
}

type oldLifeTime struct {
	MaxPodLifeTimeSeconds *uint    `json:"maxPodLifeTimeSeconds"`
	States                []string `json:"states"`
	PodStatusPhases       []string `json:"podStatusPhases"`
}

type oldDuplicates struct {
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds"`
}

type oldFailedPods struct {
	ExcludeOwnerKinds       []string `json:"excludeOwnerKinds"`
	MinPodLifetimeSeconds   *uint    `json:"minPodLifetimeSeconds"`
	Reasons                 []string `json:"reasons"`
	IncludingInitContainers bool     `json:"includingInitContainers"`
}

// oldParamsOf returns the names of the parameters that a strategy of v1alpha1
// reads, besides those that say what may be evicted.
func oldParamsOf(name string) []string {
	switch name {
	case "HighNodeUtilization", "LowNodeUtilization":
		return []string{"nodeResourceUtilizationThresholds", "namespaces"}
	case "PodLifeTime":
		return []string{"podLifeTime", "namespaces", "labelSelector"}
	case "RemoveDuplicates":
		return []string{"removeDuplicates", "namespaces"}
	case "RemoveFailedPods":
		return []string{"failedPods", "namespaces", "labelSelector"}
	case "RemovePodsHavingTooManyRestarts":
		return []string{"podsHavingTooManyRestarts", "namespaces", "labelSelector"}
	case "RemovePodsViolatingInterPodAntiAffinity":
		return []string{"namespaces", "labelSelector"}
	case "RemovePodsViolatingNodeAffinity":
		return []string{"nodeAffinityType", "namespaces", "labelSelector"}
	case "RemovePodsViolatingNodeTaints":
		return []string{"includePreferNoSchedule", "excludedTaints", "namespaces", "labelSelector"}
	case "RemovePodsViolatingTopologySpreadConstraint":
		return []string{"includeSoftConstraints", "namespaces", "labelSelector"}
	}
	return nil
}
