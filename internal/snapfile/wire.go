package snapfile

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types below are the API types less every field that no decision reads. They are the one list of what is read from a file and of
// what a redacted file holds. That nothing is missing that package cluster reads is tested with random objects.

type meta struct {
	Name              string                  `json:"name,omitempty"`
	Namespace         string                  `json:"namespace,omitempty"`
	UID               string                  `json:"uid,omitempty"`
	Generation        int64                   `json:"generation,omitempty"`
	CreationTimestamp metav1.Time             `json:"creationTimestamp,omitzero"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string       `json:"labels,omitempty"`
	Annotations       map[string]string       `json:"annotations,omitempty"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

// header is what every object starts with.
type header struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Metadata   meta   `json:"metadata"`
}

func (h *header) head() *header { return h }

type pod struct {
	header
	Spec   podSpec   `json:"spec"`
	Status podStatus `json:"status"`
}

type podSpec struct {
	NodeName                      string                            `json:"nodeName,omitempty"`
	Containers                    []container                       `json:"containers,omitempty"`
	InitContainers                []container                       `json:"initContainers,omitempty"`
	Volumes                       []volume                          `json:"volumes,omitempty"`
	NodeSelector                  map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                      *corev1.Affinity                  `json:"affinity,omitempty"`
	Tolerations                   []corev1.Toleration               `json:"tolerations,omitempty"`
	TopologySpreadConstraints     []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	Priority                      *int32                            `json:"priority,omitempty"`
	PriorityClassName             string                            `json:"priorityClassName,omitempty"`
	SchedulerName                 string                            `json:"schedulerName,omitempty"`
	HostNetwork                   bool                              `json:"hostNetwork,omitempty"`
	Overhead                      quantities                        `json:"overhead,omitempty"`
	Resources                     *resources                        `json:"resources,omitempty"`
	ResourceClaims                []resourceClaim                   `json:"resourceClaims,omitempty"`
	TerminationGracePeriodSeconds *int64                            `json:"terminationGracePeriodSeconds,omitempty"`
}

type container struct {
	Name          string                         `json:"name,omitempty"`
	Image         string                         `json:"image,omitempty"`
	Resources     resources                      `json:"resources,omitzero"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy,omitempty"`
	Ports         []port                         `json:"ports,omitempty"`
}

type port struct {
	HostPort int32           `json:"hostPort,omitempty"`
	HostIP   string          `json:"hostIP,omitempty"`
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}

type resources struct {
	Requests quantities `json:"requests,omitempty"`
	Limits   quantities `json:"limits,omitempty"`
}

// IsZero tells encoding/json when to leave the field out.
func (r resources) IsZero() bool { return len(r.Requests) == 0 && len(r.Limits) == 0 }

type resourceClaim struct {
	Name string `json:"name,omitempty"`
}

type volume struct {
	HostPath              *struct{}    `json:"hostPath,omitempty"`
	EmptyDir              *struct{}    `json:"emptyDir,omitempty"`
	PersistentVolumeClaim *claimSource `json:"persistentVolumeClaim,omitempty"`
}

type claimSource struct {
	ClaimName string `json:"claimName"`
}

type podStatus struct {
	Phase                      corev1.PodPhase    `json:"phase,omitempty"`
	Reason                     string             `json:"reason,omitempty"`
	QOSClass                   corev1.PodQOSClass `json:"qosClass,omitempty"`
	StartTime                  *metav1.Time       `json:"startTime,omitempty"`
	Conditions                 []condition        `json:"conditions,omitempty"`
	ContainerStatuses          []containerStatus  `json:"containerStatuses,omitempty"`
	InitContainerStatuses      []containerStatus  `json:"initContainerStatuses,omitempty"`
	EphemeralContainerStatuses []containerStatus  `json:"ephemeralContainerStatuses,omitempty"`
}

// condition is a condition of a pod or of a node.
type condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	Reason             string      `json:"reason,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	LastHeartbeatTime  metav1.Time `json:"lastHeartbeatTime,omitzero"`
}

type containerStatus struct {
	RestartCount int32 `json:"restartCount"`
	State        state `json:"state"`
}

type state struct {
	Waiting    *waiting    `json:"waiting,omitempty"`
	Running    *running    `json:"running,omitempty"`
	Terminated *terminated `json:"terminated,omitempty"`
}

type waiting struct {
	Reason string `json:"reason,omitempty"`
}

type running struct {
	StartedAt metav1.Time `json:"startedAt,omitzero"`
}

type terminated struct {
	Reason     string      `json:"reason,omitempty"`
	ExitCode   int32       `json:"exitCode"`
	FinishedAt metav1.Time `json:"finishedAt,omitzero"`
}

type node struct {
	header
	Spec struct {
		Taints        []corev1.Taint `json:"taints,omitempty"`
		Unschedulable bool           `json:"unschedulable,omitempty"`
	} `json:"spec"`
	Status struct {
		Capacity    quantities  `json:"capacity,omitempty"`
		Allocatable quantities  `json:"allocatable,omitempty"`
		Conditions  []condition `json:"conditions,omitempty"`
	} `json:"status"`
}

type namespace struct {
	header
}

type priorityClass struct {
	header
	Value int32 `json:"value"`
}

type budget struct {
	header
	Spec struct {
		Selector                   *metav1.LabelSelector                    `json:"selector,omitempty"`
		UnhealthyPodEvictionPolicy *policyv1.UnhealthyPodEvictionPolicyType `json:"unhealthyPodEvictionPolicy,omitempty"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration,omitempty"`
		DisruptionsAllowed int32 `json:"disruptionsAllowed"`
		CurrentHealthy     int32 `json:"currentHealthy"`
		DesiredHealthy     int32 `json:"desiredHealthy"`
	} `json:"status"`
}

type claim struct {
	header
	Spec struct {
		StorageClassName *string `json:"storageClassName,omitempty"`
		VolumeName       string  `json:"volumeName,omitempty"`
	} `json:"spec"`
}

type persistentVolume struct {
	header
	Spec struct {
		NodeAffinity *corev1.VolumeNodeAffinity `json:"nodeAffinity,omitempty"`
	} `json:"spec"`
}

type storageClass struct {
	header
	VolumeBindingMode *storagev1.VolumeBindingMode `json:"volumeBindingMode,omitempty"`
}

// workload is any kind that wants a number of pods.
type workload struct {
	header
	Spec struct {
		Replicas    *int32 `json:"replicas,omitempty"`
		Parallelism *int32 `json:"parallelism,omitempty"`
	} `json:"spec"`
}

type nodeMetrics struct {
	header
	Timestamp metav1.Time  `json:"timestamp,omitzero"`
	Usage     measurements `json:"usage,omitempty"`
}

type nodePace struct {
	header
	Status struct {
		Limit    int `json:"limit,omitempty"`
		Starting int `json:"starting,omitempty"`
		Waiting  int `json:"waiting,omitempty"`
	} `json:"status,omitzero"`
}

type podMetrics struct {
	header
	Timestamp  metav1.Time        `json:"timestamp,omitzero"`
	Containers []containerMetrics `json:"containers,omitempty"`
}

type containerMetrics struct {
	Name  string       `json:"name,omitempty"`
	Usage measurements `json:"usage,omitempty"`
}
