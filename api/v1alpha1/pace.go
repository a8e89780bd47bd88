package v1alpha1

// Duration is a length of time in numbers with the units ms, s, m and h: "90s", "1h30m".
//
// +kubebuilder:validation:MaxLength=32
type Duration string

// Pace is how many pods start at once and in which order.
//
// +kubebuilder:validation:XValidation:rule="[has(self.attempt) ? self.attempt : '60s', has(self.runtimeBudget) ? self.runtimeBudget : '240s'].exists(d, !d.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$')) || duration(has(self.attempt) ? self.attempt : '60s') + duration(has(self.attempt) ? self.attempt : '60s') <= duration(has(self.runtimeBudget) ? self.runtimeBudget : '240s')",message="want an attempt of at most half of runtimeBudget (unset: attempt 60s, runtimeBudget 240s)"
type Pace struct {
	// Limits say how many pods may be starting at once. Limits given here replace those of the file as a whole.
	// +optional
	Limits *Limits `json:"limits,omitempty"`
	// Attempt is how long one connection waits before it is told to try again later. 1s to 120s and at most half of
	// runtimeBudget; default 60s.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('120s')",message="want a duration of 1s to 120s, such as 60s"
	// +optional
	Attempt Duration `json:"attempt,omitempty"`
	// RuntimeBudget is what the container runtime is given for one sandbox: twice the kubelet's runtimeRequestTimeout.
	// 10s to 1h; default 240s.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('1h')",message="want a duration of 10s to 1h, such as 240s"
	// +optional
	RuntimeBudget Duration `json:"runtimeBudget,omitempty"`
	// MaxWait is the wait, over all attempts, after which a pod goes to the head of the queue. 10s to 24h; default 9m.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="want a duration of 10s to 24h, such as 9m"
	// +optional
	MaxWait Duration `json:"maxWait,omitempty"`
	// SlotTimeout ends every slot, whatever the pod does. 10s to 1h; default 5m.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('10s') && duration(self) <= duration('1h')",message="want a duration of 10s to 1h, such as 5m"
	// +optional
	SlotTimeout Duration `json:"slotTimeout,omitempty"`
	// Ageing is the extra wait that makes up for one step of priority. 1s to 24h; default 2m.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="want a duration of 1s to 24h, such as 2m"
	// +optional
	Ageing Duration `json:"ageing,omitempty"`
	// RefusalsPerSecond caps how many attempts are told to try again later in a second. 1 to 1000; default 5.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	RefusalsPerSecond int32 `json:"refusalsPerSecond,omitempty"`
}

// Limits are combined: a pod starts when all of them allow it.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxConcurrent) && has(self.maxConcurrentPerCore))",message="want maxConcurrent or maxConcurrentPerCore, not both"
type Limits struct {
	// MaxConcurrent is how many pods may be starting at once. 1 to 1000. Without it and maxConcurrentPerCore: one per
	// core, at least 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	MaxConcurrent int32 `json:"maxConcurrent,omitempty"`
	// PerCore gives maxConcurrent as a number per core, rounded up. 0.01 to 64; not together with maxConcurrent.
	// +kubebuilder:validation:Minimum=0.01
	// +kubebuilder:validation:Maximum=64
	// +optional
	PerCore float64 `json:"maxConcurrentPerCore,omitempty"`
	// Rate spaces starts in time; without it there is no rate limit.
	// +optional
	Rate *Rate `json:"rate,omitempty"`
	// Pressure lowers the limit to one while the node is short of something; without it that is off.
	// +optional
	Pressure *Pressure `json:"pressure,omitempty"`
	// Adaptive moves the limit with the node's health, from maxConcurrent or maxConcurrentPerCore on; without it that is
	// off.
	// +optional
	Adaptive *Adaptive `json:"adaptive,omitempty"`
}

// Rate lets one pod start in every Every, and up to Burst at once after a pause.
type Rate struct {
	// Every is the time between two starts. 1ms to 1h; required.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1ms') && duration(self) <= duration('1h')",message="want a duration of 1ms to 1h, such as 500ms"
	// +required
	Every Duration `json:"every"`
	// Burst is how many starts may be saved up. 1 to 1000; default 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Burst int32 `json:"burst,omitempty"`
}

// Pressure holds thresholds in percent; a zero one is not looked at. While a sample is above any of them one pod starts
// at a time.
type Pressure struct {
	// CPU in percent. 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	CPU float64 `json:"cpu,omitempty"`
	// Memory in percent. 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Memory float64 `json:"memory,omitempty"`
	// IO in percent. 0 to 100.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	IO float64 `json:"io,omitempty"`
}

// Adaptive moves the limit between 1 and Max with the node's health.
type Adaptive struct {
	// Max is the highest limit it may reach. 1 to 1000; default four times the limit it begins at.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Max int32 `json:"max,omitempty"`
	// SlowFactor is how many times its usual best duration the plugin may take. 1.1 to 100; default 3.
	// +kubebuilder:validation:Minimum=1.1
	// +kubebuilder:validation:Maximum=100
	// +optional
	SlowFactor float64 `json:"slowFactor,omitempty"`
	// SlowFloor is a duration that is never called slow. 1ms to 10m; default 2s.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1ms') && duration(self) <= duration('10m')",message="want a duration of 1ms to 10m, such as 2s"
	// +optional
	SlowFloor Duration `json:"slowFloor,omitempty"`
}

// Pods says which pods are held, and when one that starts gives its slot back.
type Pods struct {
	// StartedWhen is what counts as started: Started, the kubelet's word (running, and the startup probe, if any, has
	// succeeded); Running; or Ready, for pods with a readiness probe or gate. Default Started.
	// +kubebuilder:validation:Enum=Started;Running;Ready
	// +optional
	StartedWhen string `json:"startedWhen,omitempty"`
	// Settle is how long containers whose start nothing probes must have been running. 1ms to 10m; default 5s.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1ms') && duration(self) <= duration('10m')",message="want a duration of 1ms to 10m, such as 5s"
	// +optional
	Settle Duration `json:"settle,omitempty"`
	// PullTimeout is how long a pod may be creating its next container before it is taken to be pulling an image and
	// gives its slot up. 1s to 1h; default 60s.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="want a duration of 1s to 1h, such as 60s"
	// +optional
	PullTimeout Duration `json:"pullTimeout,omitempty"`
	// InitTimeout is how long init containers may run, together, before the pod gives its slot up. 1s to 1h; default 60s.
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,6})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="want a duration of 1s to 1h, such as 60s"
	// +optional
	InitTimeout Duration `json:"initTimeout,omitempty"`
	// ExcludeNamespaces are those whose pods are never held. A list given here replaces that of the file, and [] excludes
	// none; default kube-system.
	// +kubebuilder:validation:MaxItems=256
	// +listType=set
	// +optional
	ExcludeNamespaces []Namespace `json:"excludeNamespaces,omitzero"`
}

// Namespace is the name of a namespace.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="want the name of a namespace"
type Namespace string
