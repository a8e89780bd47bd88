package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// EvictorName is the plugin that says which pods may be evicted at all. It is
// part of every profile.
const EvictorName = "DefaultEvictor"

// SystemCriticalPriority is the priority from which on a pod is critical to the
// system, and the highest priority threshold there can be.
const SystemCriticalPriority int32 = 2_000_000_000

// The values of EvictorArgs.NoEvictionPolicy: what the annotation
// descheduler.alpha.kubernetes.io/prefer-no-eviction of a pod means.
const (
	// NoEvictionPreferred evicts such pods last. It is what no value means.
	NoEvictionPreferred = "Preferred"
	// NoEvictionMandatory never evicts such pods.
	NoEvictionMandatory = "Mandatory"
)

// EvictorArgs are the arguments of DefaultEvictor.
type EvictorArgs struct {
	// NodeSelector is a label selector for the nodes that NodeFit considers.
	NodeSelector string `json:"nodeSelector,omitempty"`
	// LabelSelector limits evictions to pods that match.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// NamespaceLabelSelector limits evictions to pods of namespaces that match.
	NamespaceLabelSelector *metav1.LabelSelector `json:"namespaceLabelSelector,omitempty"`
	// PriorityThreshold is the priority from which on pods stay; by value or name.
	PriorityThreshold *PriorityThreshold `json:"priorityThreshold,omitempty"`
	// NodeFit evicts only pods that fit another node.
	NodeFit bool `json:"nodeFit,omitempty"`
	// MinReplicas leaves alone the pods of owners with fewer. 0 and 1 mean all.
	MinReplicas uint `json:"minReplicas,omitempty"`
	// MinPodAge leaves alone pods that started less long ago.
	MinPodAge *metav1.Duration `json:"minPodAge,omitempty"`
	// NoEvictionPolicy says what the annotation
	// descheduler.alpha.kubernetes.io/prefer-no-eviction does: NoEvictionPreferred
	// (pods that have it go last, also if empty) or NoEvictionMandatory (they stay).
	NoEvictionPolicy string `json:"noEvictionPolicy,omitempty"`
	// PodProtections switch protections on and off. They exclude the old switches.
	PodProtections PodProtections `json:"podProtections,omitzero"`

	// EvictLocalStoragePods is the old way to disable PodsWithLocalStorage.
	EvictLocalStoragePods bool `json:"evictLocalStoragePods,omitempty"`
	// EvictDaemonSetPods is the old way to disable DaemonSetPods.
	EvictDaemonSetPods bool `json:"evictDaemonSetPods,omitempty"`
	// EvictSystemCriticalPods is the old way to disable SystemCriticalPods.
	EvictSystemCriticalPods bool `json:"evictSystemCriticalPods,omitempty"`
	// IgnorePvcPods is the old way to enable PodsWithPVC.
	IgnorePvcPods bool `json:"ignorePvcPods,omitempty"`
	// IgnorePodsWithoutPDB is the old way to enable PodsWithoutPDB.
	IgnorePodsWithoutPDB bool `json:"ignorePodsWithoutPDB,omitempty"`
	// EvictFailedBarePods is the old way to disable FailedBarePods.
	EvictFailedBarePods bool `json:"evictFailedBarePods,omitempty"`
}

// PriorityThreshold is a priority, given as a number or as the name of a
// PriorityClass; not both.
type PriorityThreshold struct {
	// Value is at most SystemCriticalPriority, which is the default if there is
	// no name either.
	Value *int32 `json:"value,omitempty"`
	// Name has to be looked up by whoever has the cluster's priority classes.
	Name string `json:"name,omitempty"`
}

// SetDefaults sets the priority threshold if the file has none.
func (a *EvictorArgs) SetDefaults() {
	if a.PriorityThreshold == nil {
		a.PriorityThreshold = &PriorityThreshold{}
	}
	if a.PriorityThreshold.Value == nil && a.PriorityThreshold.Name == "" {
		critical := SystemCriticalPriority
		a.PriorityThreshold.Value = &critical
	}
}

// Validate returns every problem, with its path below path.
func (a *EvictorArgs) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := labels.Parse(a.NodeSelector); err != nil {
		errs = append(errs, field.Invalid(path.Child("nodeSelector"), a.NodeSelector, err.Error()))
	}
	errs = append(errs, validateSelector(path.Child("labelSelector"), a.LabelSelector)...)
	errs = append(errs, validateSelector(path.Child("namespaceLabelSelector"), a.NamespaceLabelSelector)...)
	errs = append(errs, a.PriorityThreshold.validate(path.Child("priorityThreshold"))...)
	if a.MinPodAge != nil && a.MinPodAge.Duration < 0 {
		errs = append(errs, field.Invalid(path.Child("minPodAge"), a.MinPodAge.Duration.String(), "must not be negative"))
	}
	switch a.NoEvictionPolicy {
	case "", NoEvictionPreferred, NoEvictionMandatory:
	default:
		errs = append(errs, field.NotSupported(path.Child("noEvictionPolicy"), a.NoEvictionPolicy,
			[]string{NoEvictionPreferred, NoEvictionMandatory}))
	}
	return append(errs, a.validateProtections(path)...)
}

func (t *PriorityThreshold) validate(path *field.Path) field.ErrorList {
	switch {
	case t == nil:
		return nil
	case t.Value != nil && t.Name != "":
		return field.ErrorList{field.Forbidden(path, "only one of a value and a name of a priority class can be set")}
	case t.Value != nil && *t.Value > SystemCriticalPriority:
		return field.ErrorList{field.Invalid(path.Child("value"), *t.Value, "must be at most 2000000000")}
	}
	return nil
}

func validateSelector(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	if s == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(s, metav1validation.LabelSelectorValidationOptions{}, path)
}

// PodSelector selects the pods that may be evicted.
func (a *EvictorArgs) PodSelector() labels.Selector { return selectorOf(a.LabelSelector) }

// NamespaceSelector selects the namespaces whose pods may be evicted.
func (a *EvictorArgs) NamespaceSelector() labels.Selector {
	return selectorOf(a.NamespaceLabelSelector)
}

// FitNodeSelector selects the nodes that node fit considers.
func (a *EvictorArgs) FitNodeSelector() labels.Selector {
	s, err := labels.Parse(a.NodeSelector)
	if err != nil {
		return labels.Nothing()
	}
	return s
}

// selectorOf takes no selector as everything. Validation has refused selectors
// with mistakes; should one come this far, nothing is selected.
func selectorOf(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return labels.Everything()
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
