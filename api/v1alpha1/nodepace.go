package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodePace is what the agent of one node reports. It has the node's name, belongs to the Node and goes with it. The
// agent writes it when something changes, at most once in five seconds; times are of when things began, so that nothing
// has to be written while they merely go on.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=nodepaces,singular=nodepace
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Limit",type=integer,JSONPath=`.status.limit`
// +kubebuilder:printcolumn:name="Starting",type=integer,JSONPath=`.status.starting`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.waiting`
// +kubebuilder:printcolumn:name="Longest wait",type=date,JSONPath=`.status.waitingSince`
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.status.policy`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Limited by",type=string,JSONPath=`.status.limitedBy`,priority=1
// +kubebuilder:printcolumn:name="Limit changed",type=date,JSONPath=`.status.limitChange.time`,priority=1
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.status.agent`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodePace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Status is what the agent last reported.
	// +optional
	Status NodePaceStatus `json:"status,omitzero"`
}

// NodePaceList is a list of reports.
//
// +kubebuilder:object:root=true
type NodePaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePace `json:"items"`
}

// NodePaceStatus is what an agent reports.
type NodePaceStatus struct {
	// Limit is how many pods may be starting at once now.
	Limit int32 `json:"limit"`
	// LimitedBy is what sets the limit: maxConcurrent, adaptive or pressure.
	// +optional
	LimitedBy string `json:"limitedBy,omitempty"`
	// LimitChange is the last change of the limit since the agent started.
	// +optional
	LimitChange *LimitChange `json:"limitChange,omitempty"`
	// Starting is how many pods hold a slot, with or without the agent's leave.
	Starting int32 `json:"starting"`
	// Waiting is how many pods wait for one.
	Waiting int32 `json:"waiting"`
	// WaitingSince is when the pod that has waited longest began to; absent while none waits.
	// +optional
	WaitingSince *metav1.Time `json:"waitingSince,omitempty"`
	// Policy is the PacePolicy that holds on the node; empty where the agent's file holds alone.
	// +optional
	Policy string `json:"policy,omitempty"`
	// PolicyGeneration is the generation of it that is in force.
	// +optional
	PolicyGeneration int64 `json:"policyGeneration,omitempty"`
	// Executable is the installed stand-in; absent for an agent that installs nothing.
	// +optional
	Executable *Executable `json:"executable,omitempty"`
	// Agent is the agent's version.
	// +optional
	Agent string `json:"agent,omitempty"`
	// Conditions are Ready, PolicyApplied and those that make up Ready: Installed, Tested, Listening and PodsKnown.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// LimitChange is one change of the limit.
type LimitChange struct {
	// Time is when the agent saw it, to five seconds.
	Time metav1.Time `json:"time"`
	// From is the limit before.
	From int32 `json:"from"`
	// To is the limit after.
	To int32 `json:"to"`
	// Reason is why, in words.
	Reason string `json:"reason"`
}

// Executable is an installed file.
type Executable struct {
	// Path on the node.
	Path string `json:"path"`
	// SHA256 of its content, in hexadecimal digits.
	SHA256 string `json:"sha256"`
}

// The conditions of a NodePace.
const (
	// ConditionReady is True once pods can be bound to the node without a stampede.
	ConditionReady = "Ready"
	// ConditionInstalled is True while the stand-in is in place.
	ConditionInstalled = "Installed"
	// ConditionTested is True once the stand-in, called by the plugin's path, reached its original and the agent.
	ConditionTested = "Tested"
	// ConditionListening is True while the agent listens on its socket.
	ConditionListening = "Listening"
	// ConditionPodsKnown is True once every pod of the node is known to the agent.
	ConditionPodsKnown = "PodsKnown"
	// ConditionPolicyApplied is True while what the API says, a PacePolicy or that there is none for this node, is in
	// force, and False with the reason while the agent goes by its file or an older policy instead.
	ConditionPolicyApplied = "PolicyApplied"
)
