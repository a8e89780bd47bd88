package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PacePolicy says how many pods may be starting at once on the nodes that it selects, and when a pod counts as started.
// Of the policies that select a node the one with the highest priority holds there, of equal ones the first by name.
// What it leaves out is as the agent's configuration file says.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=pacepolicies,singular=pacepolicy
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Limit",type=integer,JSONPath=`.spec.pace.limits.maxConcurrent`
// +kubebuilder:printcolumn:name="Per core",type=number,JSONPath=`.spec.pace.limits.maxConcurrentPerCore`
// +kubebuilder:printcolumn:name="Selected",type=integer,JSONPath=`.status.selectedNodes`,description="nodes that it selects"
// +kubebuilder:printcolumn:name="Holds on",type=integer,JSONPath=`.status.heldNodes`,description="nodes on which no other policy goes before it"
// +kubebuilder:printcolumn:name="Conflict",type=string,JSONPath=`.status.conditions[?(@.type=="Conflicting")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PacePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the operator wants.
	// +required
	Spec PacePolicySpec `json:"spec"`
	// Status is what 'evenkeel controller' found.
	// +optional
	Status PacePolicyStatus `json:"status,omitzero"`
}

// PacePolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type PacePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PacePolicy `json:"items"`
}

// PacePolicySpec is what the operator wants.
//
// +kubebuilder:validation:XValidation:rule="has(self.pace) || has(self.pods)",message="want pace or pods: this policy would change nothing"
type PacePolicySpec struct {
	// NodeSelector selects nodes by their labels; without it, or empty, it selects all.
	// +optional
	NodeSelector *NodeSelector `json:"nodeSelector,omitempty"`
	// Priority decides between policies that select the same node: the highest holds. -1000000 to 1000000; default 0.
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// Pace is how many pods start at once and in which order.
	// +optional
	Pace *Pace `json:"pace,omitempty"`
	// Pods says which pods are held, and when one that starts gives its slot back.
	// +optional
	Pods *Pods `json:"pods,omitempty"`
}

// NodeSelector selects the nodes that have all of MatchLabels and meet all of MatchExpressions.
type NodeSelector struct {
	// MatchLabels are labels and their values.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, !format.qualifiedName().validate(key).hasValue())",message="want label keys such as agentpool or kubernetes.io/os"
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// MatchExpressions are requirements.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	MatchExpressions []NodeRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="want a label value: at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
type LabelValue string

// NodeRequirement is what a node's labels must meet.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",message="want values with the operators In and NotIn, and none with Exists and DoesNotExist"
type NodeRequirement struct {
	// Key of the label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="want a label key such as agentpool or kubernetes.io/os"
	Key string `json:"key"`
	// Operator is In, NotIn, Exists or DoesNotExist.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// Values for In and NotIn.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// PacePolicyStatus is written by 'evenkeel controller' alone.
type PacePolicyStatus struct {
	// ObservedGeneration is the generation that the rest is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// SelectedNodes is how many nodes the policy selects.
	// +optional
	SelectedNodes int32 `json:"selectedNodes"`
	// HeldNodes is on how many of them it holds, because no other policy goes before it.
	// +optional
	HeldNodes int32 `json:"heldNodes"`
	// Conditions are MatchesNodes and Conflicting.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The conditions of a PacePolicy and their reasons.
const (
	// ConditionMatchesNodes is False while the policy selects no node.
	ConditionMatchesNodes = "MatchesNodes"
	ReasonNodesSelected   = "NodesSelected"
	ReasonNoNodeSelected  = "NoNodeSelected"
	// ConditionConflicting is True while the names of this policy and of another one of the same priority decide which
	// of them holds on a node.
	ConditionConflicting = "Conflicting"
	ReasonEqualPriority  = "EqualPriority"
	ReasonNoRival        = "NoRival"
)
