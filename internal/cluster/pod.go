package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// PodInfo is what a pod is. It is immutable and may be shared between snapshots.
//
// The pods of a large cluster do not fit into a processor's caches, and a cycle goes through all of them many times: what it reads of most comes
// first, so that it is in as few cache lines as can be.
type PodInfo struct {
	Phase     corev1.PodPhase
	Namespace string
	Labels    map[string]string
	// Annotations holds only those that decisions read; see [keptAnnotation].
	Annotations map[string]string
	Spec        *Spec
	Deleting    bool // deletionTimestamp is set
	Assumed     bool // another controller has accepted its eviction, of which nothing is to be seen yet
	Ready       bool // condition Ready is True
	Owners      []Owner
	Created     time.Time
	QoS         corev1.PodQOSClass
	Containers  []ContainerState
	Started     time.Time // status.startTime; zero when not set
	NodeName    string    // empty: not bound yet
	Name        string
	UID         string
	Claims      []string // names of its PersistentVolumeClaims
	Reason      string   // status.reason
	Conditions  []Condition
}

// Owner is one owner reference.
type Owner struct {
	APIVersion string
	Kind       string
	Name       string
	UID        string
	Controller bool
}

// Condition is a pod condition.
type Condition struct {
	Type       string
	Status     string
	Reason     string
	Transition time.Time // zero when not set
}

// ContainerKind tells the three kinds of container apart.
type ContainerKind uint8

// The kinds of container.
const (
	RegularContainer   ContainerKind = iota
	InitContainer                    // sidecars included
	EphemeralContainer               // kubectl debug
)

// ContainerState is the state of one container as the API last reported it.
type ContainerState struct {
	Kind       ContainerKind
	Restarts   int32
	Waiting    string // reason, when waiting
	Terminated string // reason, when terminated
	ExitCode   int32  // meaningful when HasExit
	HasExit    bool   // the current state is terminated
}

// Pod is a pod's place in one snapshot.
type Pod struct {
	*PodInfo
	Index int   // position in Snapshot.Pods
	Node  *Node // nil when it is not bound to a node of the snapshot
}

// Key is "namespace/name".
func (p *PodInfo) Key() string { return p.Namespace + "/" + p.Name }

// Terminal reports whether the pod has ended and holds no resources any more.
func (p *PodInfo) Terminal() bool {
	return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// Owner returns the managing owner: the controller, or else the first owner reference, or nil.
func (p *PodInfo) Owner() *Owner {
	for i := range p.Owners {
		if p.Owners[i].Controller {
			return &p.Owners[i]
		}
	}
	if len(p.Owners) > 0 {
		return &p.Owners[0]
	}
	return nil
}

// OwnedBy reports whether any owner reference is of that kind.
func (p *PodInfo) OwnedBy(kind string) bool {
	for i := range p.Owners {
		if p.Owners[i].Kind == kind {
			return true
		}
	}
	return false
}

// Pod converts an API object. What it shares with other pods is stored once.
func (c *Converter) Pod(p *corev1.Pod) *PodInfo {
	info := &PodInfo{
		Namespace:   c.str(p.Namespace),
		Name:        p.Name,
		UID:         string(p.UID),
		NodeName:    c.str(p.Spec.NodeName),
		Labels:      c.labels(p.Labels),
		Annotations: c.annotations(p.Annotations),
		Owners:      c.owners(p.OwnerReferences),
		Spec:        c.spec(p),
		Claims:      claims(&p.Spec),
		Created:     p.CreationTimestamp.Time,
		Deleting:    p.DeletionTimestamp != nil,
		Phase:       corev1.PodPhase(c.str(string(p.Status.Phase))),
		Reason:      c.str(p.Status.Reason),
		QoS:         qosClass(p),
		Conditions:  c.conditions(p.Status.Conditions),
		Containers:  c.containers(&p.Status),
	}
	if p.Status.StartTime != nil {
		info.Started = p.Status.StartTime.Time
	}
	for i := range info.Conditions {
		if info.Conditions[i].Type == string(corev1.PodReady) && info.Conditions[i].Status == string(corev1.ConditionTrue) {
			info.Ready = true
		}
	}
	return info
}

func claims(spec *corev1.PodSpec) []string {
	var names []string
	for i := range spec.Volumes {
		if pvc := spec.Volumes[i].PersistentVolumeClaim; pvc != nil {
			names = append(names, pvc.ClaimName)
		}
	}
	return names
}

func (c *Converter) conditions(list []corev1.PodCondition) []Condition {
	if len(list) == 0 {
		return nil
	}
	out := make([]Condition, len(list))
	for i := range list {
		out[i] = Condition{
			Type: c.str(string(list[i].Type)), Status: c.str(string(list[i].Status)),
			Reason: c.str(list[i].Reason), Transition: list[i].LastTransitionTime.Time,
		}
	}
	return out
}

func (c *Converter) containers(status *corev1.PodStatus) []ContainerState {
	n := len(status.ContainerStatuses) + len(status.InitContainerStatuses) + len(status.EphemeralContainerStatuses)
	if n == 0 {
		return nil
	}
	out := make([]ContainerState, 0, n)
	add := func(kind ContainerKind, list []corev1.ContainerStatus) {
		for i := range list {
			s := ContainerState{Kind: kind, Restarts: list[i].RestartCount}
			if w := list[i].State.Waiting; w != nil {
				s.Waiting = c.str(w.Reason)
			}
			if t := list[i].State.Terminated; t != nil {
				s.Terminated, s.ExitCode, s.HasExit = c.str(t.Reason), t.ExitCode, true
			}
			out = append(out, s)
		}
	}
	add(RegularContainer, status.ContainerStatuses)
	add(InitContainer, status.InitContainerStatuses)
	add(EphemeralContainer, status.EphemeralContainerStatuses)
	return c.containerStates(out)
}

// qosClass is the class the API server recorded, or, for a pod that never ran, the one its resources imply
// (the rules are those of kubernetes.io/docs/concepts/workloads/pods/pod-qos).
func qosClass(p *corev1.Pod) corev1.PodQOSClass {
	if p.Status.QOSClass != "" {
		return p.Status.QOSClass
	}
	any, guaranteed := false, true
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			r := &list[i].Resources
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				request, limit := r.Requests[name], r.Limits[name]
				if !request.IsZero() || !limit.IsZero() {
					any = true
				}
				if limit.IsZero() || (!request.IsZero() && request.Cmp(limit) != 0) {
					guaranteed = false
				}
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}
