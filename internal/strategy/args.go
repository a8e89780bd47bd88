package strategy

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Args is what one strategy can be told in a policy file. Every argument type
// is a plain struct whose JSON names are those of DeschedulerPolicy
// descheduler/v1alpha2.
type Args interface {
	// SetDefaults fills in what the file left out. It is idempotent.
	SetDefaults()
	// Validate returns every problem of defaulted arguments, each with its
	// path below path; nil means that the strategy can run with them.
	Validate(path *field.Path) field.ErrorList
}

// Point is the place in a cycle at which a strategy runs.
type Point string

// The two points. All profiles' Deschedule plugins run before any profile's
// Balance plugins.
const (
	// Deschedule is for strategies that judge each pod by itself.
	Deschedule Point = "deschedule"
	// Balance is for strategies that judge pods in relation to each other.
	Balance Point = "balance"
)

// Plugin describes a strategy to whoever reads policies.
type Plugin struct {
	// Name is the name in policy files, such as "RemoveDuplicates".
	Name string
	// Point is the only extension point the plugin can be enabled at.
	Point Point
	// NewArgs returns a new, empty argument value: a pointer to a struct.
	NewArgs func() Args
}

// Plugins returns every strategy there is, in alphabetical order.
func Plugins() []Plugin {
	return []Plugin{
		{"HighNodeUtilization", Balance, func() Args { return &HighNodeUtilizationArgs{} }},
		{"LowNodeUtilization", Balance, func() Args { return &LowNodeUtilizationArgs{} }},
		{"PodLifeTime", Deschedule, func() Args { return &PodLifeTimeArgs{} }},
		{"RemoveDuplicates", Balance, func() Args { return &RemoveDuplicatesArgs{} }},
		{"RemoveFailedPods", Deschedule, func() Args { return &RemoveFailedPodsArgs{} }},
		{"RemovePodsHavingTooManyRestarts", Deschedule, func() Args { return &RemovePodsHavingTooManyRestartsArgs{} }},
		{"RemovePodsViolatingInterPodAntiAffinity", Deschedule, func() Args { return &RemovePodsViolatingInterPodAntiAffinityArgs{} }},
		{"RemovePodsViolatingNodeAffinity", Deschedule, func() Args { return &RemovePodsViolatingNodeAffinityArgs{} }},
		{"RemovePodsViolatingNodeTaints", Deschedule, func() Args { return &RemovePodsViolatingNodeTaintsArgs{} }},
		{"RemovePodsViolatingTopologySpreadConstraint", Balance, func() Args { return &RemovePodsViolatingTopologySpreadConstraintArgs{} }},
	}
}

// LookupPlugin finds a strategy by its exact name.
func LookupPlugin(name string) (Plugin, bool) {
	for _, p := range Plugins() {
		if p.Name == name {
			return p, true
		}
	}
	return Plugin{}, false
}
