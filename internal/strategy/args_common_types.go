package strategy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Namespaces names the namespaces a strategy works in (Include) or stays out
// of (Exclude). At most one of the lists may have entries; none means all.
type Namespaces struct {
	// Include lists the only namespaces to work in; empty means all.
	Include []string `json:"include,omitempty"`
	// Exclude lists the namespaces to stay out of. Not together with Include.
	Exclude []string `json:"exclude,omitempty"`
}

// OwnerKinds selects pods by the kinds of their owners: pods with at least one
// owner of an included kind, or pods with none of an excluded kind. At most one
// of the lists may have entries.
type OwnerKinds struct {
	// Include passes pods with at least one owner of these kinds.
	Include []string `json:"include,omitempty"`
	// Exclude passes pods with no owner of these kinds. Not together with Include.
	Exclude []string `json:"exclude,omitempty"`
}

func validateNamespaces(path *field.Path, n *Namespaces) field.ErrorList {
	if n == nil || len(n.Include) == 0 || len(n.Exclude) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "only one of include and exclude can be set")}
}

// validateEvictableNamespaces holds the node utilization strategies to exclude:
// which pods may leave a node must not change what the node's usage is.
func validateEvictableNamespaces(path *field.Path, n *Namespaces) field.ErrorList {
	if n == nil || len(n.Include) == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("include"), "only exclude is supported here")}
}

func validateLabelSelector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	if s == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

// validateOneOf reports every value that is not allowed, once for each place.
func validateOneOf[T ~string](path *field.Path, values, allowed []T) field.ErrorList {
	var errs field.ErrorList
	for i, v := range values {
		if !slices.Contains(allowed, v) {
			errs = append(errs, field.NotSupported(path.Index(i), v, allowed))
		}
	}
	return errs
}

// sortedKeys makes the order of problems independent of map iteration.
func sortedKeys[K ~string, V any](m map[K]V) []K {
	return sets.List(sets.KeySet(m))
}
