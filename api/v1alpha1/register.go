package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The API group and its version.
const (
	Group   = "evenkeel.dev"
	Version = "v1alpha1"
)

// The resources, as URLs name them.
const (
	PacePolicies = "pacepolicies"
	NodePaces    = "nodepaces"
)

// GroupVersion is the group and version of these types.
func GroupVersion() schema.GroupVersion { return schema.GroupVersion{Group: Group, Version: Version} }

// AddToScheme makes a scheme know these types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(), &PacePolicy{}, &PacePolicyList{}, &NodePace{}, &NodePaceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
