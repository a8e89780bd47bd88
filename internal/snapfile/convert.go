package snapfile

import (
	"errors"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

func (b *builder) addNode(o *node) *fieldError {
	out := corev1.Node{
		ObjectMeta: o.Metadata.api(),
		Spec:       corev1.NodeSpec{Taints: o.Spec.Taints, Unschedulable: o.Spec.Unschedulable},
	}
	problem := checkTaints(o.Spec.Taints)
	if problem != nil {
		return problem.under("spec.taints")
	}
	if out.Status.Capacity, problem = b.parser.list(o.Status.Capacity); problem != nil {
		return problem.under("status.capacity")
	}
	if out.Status.Allocatable, problem = b.parser.list(o.Status.Allocatable); problem != nil {
		return problem.under("status.allocatable")
	}
	for i := range o.Status.Conditions {
		c := &o.Status.Conditions[i]
		out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status),
		})
		b.newest.see(c.LastHeartbeatTime.Time, "Node", &o.Metadata, "lastHeartbeatTime of a condition")
		b.newest.see(c.LastTransitionTime.Time, "Node", &o.Metadata, "lastTransitionTime of a condition")
	}
	b.parts.Nodes = append(b.parts.Nodes, b.conv.Node(&out))
	return nil
}

func (b *builder) addPod(o *pod) *fieldError {
	p := &b.pod
	*p = corev1.Pod{ObjectMeta: o.Metadata.api()}
	if problem := b.fillSpec(&p.Spec, &o.Spec); problem != nil {
		return problem.under("spec")
	}
	if odd := oddNodeAffinity(o.Spec.Affinity); odd != nil {
		b.oddPod(&o.Metadata, odd)
	}
	b.fillStatus(&p.Status, &o.Status)
	b.seePod(o)
	b.parts.Pods = append(b.parts.Pods, b.conv.Pod(p))
	return nil
}

func (b *builder) fillSpec(out *corev1.PodSpec, in *podSpec) (problem *fieldError) {
	*out = corev1.PodSpec{
		NodeName: in.NodeName, NodeSelector: in.NodeSelector, Affinity: in.Affinity, Tolerations: in.Tolerations,
		TopologySpreadConstraints: in.TopologySpreadConstraints, Priority: in.Priority, PriorityClassName: in.PriorityClassName,
		SchedulerName: in.SchedulerName, HostNetwork: in.HostNetwork, TerminationGracePeriodSeconds: in.TerminationGracePeriodSeconds,
		Volumes: volumes(in.Volumes),
	}
	if problem := checkConstraints(in); problem != nil {
		return problem
	}
	if len(in.ResourceClaims) > 0 {
		out.ResourceClaims = make([]corev1.PodResourceClaim, len(in.ResourceClaims))
	}
	if out.Overhead, problem = b.parser.list(in.Overhead); problem != nil {
		return problem.under(".overhead")
	}
	if in.Resources != nil {
		out.Resources = &corev1.ResourceRequirements{}
		if problem = b.fillResources(out.Resources, in.Resources); problem != nil {
			return problem.under(".resources")
		}
	}
	if out.Containers, problem = b.containers(in.Containers); problem != nil {
		return problem.under(".containers")
	}
	if out.InitContainers, problem = b.containers(in.InitContainers); problem != nil {
		return problem.under(".initContainers")
	}
	return nil
}

func (b *builder) containers(in []container) ([]corev1.Container, *fieldError) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]corev1.Container, len(in))
	for i := range in {
		c := &in[i]
		out[i].Image, out[i].RestartPolicy = c.Image, c.RestartPolicy
		if problem := b.fillResources(&out[i].Resources, &c.Resources); problem != nil {
			return nil, problem.under(index(i) + ".resources")
		}
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				out[i].Ports = append(out[i].Ports, corev1.ContainerPort{HostPort: p.HostPort, HostIP: p.HostIP, Protocol: p.Protocol})
			}
		}
	}
	return out, nil
}

func (b *builder) fillResources(out *corev1.ResourceRequirements, in *resources) (problem *fieldError) {
	if out.Requests, problem = b.parser.list(in.Requests); problem != nil {
		return problem.under(".requests")
	}
	if out.Limits, problem = b.parser.list(in.Limits); problem != nil {
		return problem.under(".limits")
	}
	return nil
}

func volumes(in []volume) []corev1.Volume {
	var out []corev1.Volume
	for i := range in {
		v := &in[i]
		switch {
		case v.HostPath != nil:
			out = append(out, corev1.Volume{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}})
		case v.EmptyDir != nil:
			out = append(out, corev1.Volume{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
		case v.PersistentVolumeClaim != nil:
			out = append(out, corev1.Volume{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.PersistentVolumeClaim.ClaimName},
			}})
		}
	}
	return out
}

func (b *builder) fillStatus(out *corev1.PodStatus, in *podStatus) {
	*out = corev1.PodStatus{
		Phase: in.Phase, Reason: in.Reason, QOSClass: in.QOSClass, StartTime: in.StartTime,
		ContainerStatuses:          containerStatuses(in.ContainerStatuses),
		InitContainerStatuses:      containerStatuses(in.InitContainerStatuses),
		EphemeralContainerStatuses: containerStatuses(in.EphemeralContainerStatuses),
	}
	for i := range in.Conditions {
		c := &in.Conditions[i]
		out.Conditions = append(out.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
		})
	}
}

func containerStatuses(in []containerStatus) []corev1.ContainerStatus {
	if len(in) == 0 {
		return nil
	}
	out := make([]corev1.ContainerStatus, len(in))
	for i := range in {
		s := &in[i]
		out[i].RestartCount = s.RestartCount
		if w := s.State.Waiting; w != nil {
			out[i].State.Waiting = &corev1.ContainerStateWaiting{Reason: w.Reason}
		}
		if t := s.State.Terminated; t != nil {
			out[i].State.Terminated = &corev1.ContainerStateTerminated{Reason: t.Reason, ExitCode: t.ExitCode}
		}
	}
	return out
}

// seePod looks at the times of a pod.
func (b *builder) seePod(o *pod) {
	see := func(t metav1.Time, what string) { b.newest.see(t.Time, "Pod", &o.Metadata, what) }
	if t := o.Status.StartTime; t != nil {
		see(*t, "status.startTime")
	}
	for i := range o.Status.Conditions {
		see(o.Status.Conditions[i].LastTransitionTime, "lastTransitionTime of a condition")
	}
	for _, list := range [][]containerStatus{o.Status.InitContainerStatuses, o.Status.ContainerStatuses, o.Status.EphemeralContainerStatuses} {
		for i := range list {
			if r := list[i].State.Running; r != nil {
				see(r.StartedAt, "startedAt of a container")
			}
			if t := list[i].State.Terminated; t != nil {
				see(t.FinishedAt, "finishedAt of a container")
			}
		}
	}
}

func (b *builder) addNodeMetrics(o *nodeMetrics) *fieldError {
	list, problem := b.parser.list(o.Usage.measured())
	if problem != nil {
		return problem.under("usage")
	}
	b.newest.see(o.Timestamp.Time, "NodeMetrics", &o.Metadata, "timestamp")
	b.parts.Usage.Nodes[o.Metadata.Name] = b.conv.Resources.Measured(list)
	return nil
}

// addNodePace leaves out a report without a limit: the agent has not begun.
func (b *builder) addNodePace(o *nodePace) *fieldError {
	for _, field := range []struct {
		name  string
		value int
	}{{"limit", o.Status.Limit}, {"starting", o.Status.Starting}, {"waiting", o.Status.Waiting}} {
		if field.value < 0 {
			return &fieldError{path: "status." + field.name, value: strconv.Itoa(field.value), err: errors.New("expected 0 or more")}
		}
	}
	if o.Status.Limit > 0 {
		b.parts.Starts[o.Metadata.Name] = cluster.Starts(o.Status)
	}
	return nil
}

func (b *builder) addPodMetrics(o *podMetrics) *fieldError {
	lists := make([]corev1.ResourceList, len(o.Containers))
	for i := range o.Containers {
		list, problem := b.parser.list(o.Containers[i].Usage.measured())
		if problem != nil {
			return problem.under("containers" + index(i) + ".usage")
		}
		lists[i] = list
	}
	b.newest.see(o.Timestamp.Time, "PodMetrics", &o.Metadata, "timestamp")
	b.parts.Usage.Pods[qualified(o.Metadata.Namespace, o.Metadata.Name)] = b.conv.Resources.Measured(lists...)
	return nil
}
