// Package v1alpha1 is the first version of the API group evenkeel.dev: PacePolicy, which says how many pods may start
// at once on which nodes, and NodePace, in which the agent of each node reports.
//
// The field names, units and ranges of a PacePolicy's pace and pods are those of the sections with the same names in
// the agent's configuration file, so either can be copied to the other. The CRD manifests in deploy/kustomize/crds and
// the DeepCopy methods are generated from these types; 'go generate' in this folder makes them anew, and a test fails
// when they are out of step.
//
// +kubebuilder:object:generate=true
// +groupName=evenkeel.dev
package v1alpha1

//go:generate go tool -modfile=../../tools/controller-gen/go.mod controller-gen object crd:allowDangerousTypes=true,maxDescLen=400 paths=. output:crd:dir=../../deploy/kustomize/crds
