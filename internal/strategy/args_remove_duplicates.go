package strategy

import "k8s.io/apimachinery/pkg/util/validation/field"

// RemoveDuplicatesArgs are the arguments of RemoveDuplicates.
type RemoveDuplicatesArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// ExcludeOwnerKinds leaves out pods that have an owner of one of these kinds.
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemoveDuplicatesArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemoveDuplicatesArgs) Validate(path *field.Path) field.ErrorList {
	return validateNamespaces(path.Child("namespaces"), a.Namespaces)
}
