package strategy

import "k8s.io/apimachinery/pkg/util/validation/field"

// EvictionMode narrows down what HighNodeUtilization evicts.
type EvictionMode string

// OnlyThresholdingResources evicts only pods that request a resource that has
// a threshold.
const OnlyThresholdingResources EvictionMode = "OnlyThresholdingResources"

// HighNodeUtilizationArgs are the arguments of HighNodeUtilization.
type HighNodeUtilizationArgs struct {
	// Thresholds mark a node as under-used when its requests are at or below
	// every one of them. Required.
	Thresholds Thresholds `json:"thresholds,omitempty"`
	// NumberOfNodes is the number of under-used nodes up to which nothing is done.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// EvictionModes narrow down which pods may be evicted.
	EvictionModes []EvictionMode `json:"evictionModes,omitempty"`
	// EvictableNamespaces keeps pods of namespaces where they are: nothing can be
	// included here, only excluded.
	EvictableNamespaces *Namespaces `json:"evictableNamespaces,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*HighNodeUtilizationArgs) SetDefaults() {}

// Validate implements Args.
func (a *HighNodeUtilizationArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateEvictableNamespaces(path.Child("evictableNamespaces"), a.EvictableNamespaces)
	errs = append(errs, validateThresholds(path.Child("thresholds"), a.Thresholds)...)
	return append(errs, validateOneOf(path.Child("evictionModes"), a.EvictionModes,
		[]EvictionMode{OnlyThresholdingResources})...)
}
