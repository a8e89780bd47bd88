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
