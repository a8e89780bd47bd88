package podstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Memory is what the API showed of a pod when it was granted its start. The zero value is not useful.
type Memory struct {
	uid     string
	boot    time.Time // nothing from before it is believed
	granted time.Time
	blind   bool // nothing was shown: only times tell old from new

	pluginDone time.Time
	containers map[string]remembered
	conditions map[corev1.PodConditionType]corev1.PodCondition
}

type remembered struct {
	id       string
	restarts int32
	waiting  string
}

// Remember makes the memory of a pod granted now; pod is what the API shows of it, or nil. uid is the one that the
// network plugin is called with, boot the time that the node was booted.
func Remember(pod *corev1.Pod, uid string, granted, boot time.Time) Memory {
	m := Memory{uid: uid, boot: boot, granted: granted, blind: pod == nil || !Is(pod, uid)}
	if m.blind {
		return m
	}
	m.containers = map[string]remembered{}
	for _, status := range allStatuses(pod) {
		r := remembered{id: status.ContainerID, restarts: status.RestartCount}
		if status.State.Waiting != nil {
			r.waiting = status.State.Waiting.Reason
		}
		m.containers[status.Name] = r
	}
	m.conditions = map[corev1.PodConditionType]corev1.PodCondition{}
	for _, c := range pod.Status.Conditions {
		m.conditions[c.Type] = c
	}
	return m
}

// Recover is the memory of an agent that has restarted since the grant: everything since the boot counts.
func Recover(uid string, boot time.Time) Memory {
	return Memory{uid: uid, boot: boot, granted: boot, blind: true}
}

// PluginDone notes that the network plugin has succeeded, so the sandbox exists. It serves where the API does not show
// that (condition PodReadyToStartContainers, on by default since Kubernetes 1.29).
func (m *Memory) PluginDone(at time.Time) { m.pluginDone = at }

// Identify notes the UID of a pod that was granted when only its name was known.
func (m *Memory) Identify(uid string) { m.uid = uid }

// ClockSetBack notes that the node's clock was set back by so much: what is to be told from now on carries earlier times
// than the grant does, and the boot would lie in the future. A clock set forward changes nothing, as what is told
// afterwards is later all the same.
func (m *Memory) ClockSetBack(by time.Duration) {
	m.boot, m.granted = m.boot.Add(-by), m.granted.Add(-by)
	if !m.pluginDone.IsZero() {
		m.pluginDone = m.pluginDone.Add(-by)
	}
}

// newContainer reports whether a container that runs or has run did not do so at the grant.
func (m Memory) newContainer(status corev1.ContainerStatus) bool {
	started := startedAt(status)
	if started.IsZero() || before(started, m.boot) {
		return false
	}
	if m.blind {
		return !before(started, m.granted)
	}
	return status.ContainerID != m.containers[status.Name].id
}

// newCondition reports whether a condition is true, and only since the grant, and since when.
func (m Memory) newCondition(pod *corev1.Pod, kind corev1.PodConditionType) (since time.Time, ok bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type != kind || c.Status != corev1.ConditionTrue || before(c.LastTransitionTime.Time, m.boot) {
			continue
		}
		since = c.LastTransitionTime.Time
		if m.blind {
			return since, !before(since, m.granted)
		}
		old := m.conditions[kind]
		return since, old.Status != c.Status || !old.LastTransitionTime.Time.Equal(since)
	}
	return time.Time{}, false
}

// newWaiting reports whether the reason that a container waits for is from after the grant.
func (m Memory) newWaiting(pod *corev1.Pod, status corev1.ContainerStatus) bool {
	if _, sandbox := m.newCondition(pod, corev1.PodReadyToStartContainers); sandbox {
		return true
	}
	if last := status.LastTerminationState.Terminated; m.blind {
		return last != nil && !before(last.FinishedAt.Time, m.granted)
	}
	old := m.containers[status.Name]
	return status.State.Waiting.Reason != old.waiting || status.RestartCount != old.restarts
}

// restarts is how often a container was restarted since the grant. Without a memory only one that last ended after the
// grant is known to have been.
func (m Memory) restarts(status corev1.ContainerStatus) int32 {
	if !m.blind {
		return status.RestartCount - m.containers[status.Name].restarts
	}
	if last := status.LastTerminationState.Terminated; last == nil || before(last.StartedAt.Time, m.granted) {
		return 0
	}
	return status.RestartCount
}

// before compares times of the API, which are in whole seconds, with one that is not.
func before(api, t time.Time) bool { return api.Before(t.Truncate(time.Second)) }

// startedAt is when a container that runs or has run was started, or zero.
func startedAt(status corev1.ContainerStatus) time.Time {
	switch {
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time
	}
	return time.Time{}
}

func allStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	all := make([]corev1.ContainerStatus, 0, len(pod.Status.InitContainerStatuses)+len(pod.Status.ContainerStatuses))
	return append(append(all, pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
}
