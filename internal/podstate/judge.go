package podstate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/pace"
)

// Verdict is what to do about a pod's slot.
type Verdict struct {
	// Release the slot, for the Reason.
	Release bool
	// Gone pods have ended for good, so that a place in the queue goes too. Implies Release.
	Gone   bool
	Reason pace.ReleaseReason
	// Detail is the fact behind the reason, for people: "app: CrashLoopBackOff"; or what the pod has yet to do.
	Detail string
	// Recheck is when to judge again if the pod has not changed; zero is never.
	Recheck time.Time
}

// The reasons that slots are released for by status. (A pod that is gone has pace.PodGone.)
const (
	ReasonStarted  pace.ReleaseReason = "Started"
	ReasonReady    pace.ReleaseReason = "Ready"
	ReasonFailed   pace.ReleaseReason = "Failed"
	ReasonParked   pace.ReleaseReason = "Parked"
	ReasonSlowInit pace.ReleaseReason = "SlowInit"
)

// judgement is one pod seen with one memory.
type judgement struct {
	Rules
	Memory
	pod *corev1.Pod
	now time.Time
}

// Judge applies the rules to a pod that holds a slot; nil is a pod that the API no longer has. The package
// documentation has the rules in full.
func (r Rules) Judge(m Memory, pod *corev1.Pod, now time.Time) Verdict {
	j := judgement{Rules: r.Defaulted(), Memory: m, pod: pod, now: now}
	for _, rule := range []func() (Verdict, bool){
		j.gone, j.ready, j.failed, j.started, j.initialising, j.creating,
	} {
		if v, decided := rule(); decided {
			return v
		}
	}
	return Verdict{Detail: j.missing()}
}

func release(reason pace.ReleaseReason, detail string) (Verdict, bool) {
	return Verdict{Release: true, Reason: reason, Detail: detail}, true
}

// holdFor holds for so long since a time, and releases from then on. A time that is yet to come was told before the
// node's clock was set back: how long ago it was nobody knows, so it was long ago.
func (j judgement) holdFor(d pace.Duration, since time.Time, reason pace.ReleaseReason, detail string) (Verdict, bool) {
	if end := since.Add(d.Std()); !since.After(j.now) && j.now.Before(end) {
		return Verdict{Recheck: end, Detail: detail}, true
	}
	return release(reason, detail)
}

func (j judgement) gone() (Verdict, bool) {
	detail, gone := Gone(j.pod, j.uid)
	return Verdict{Release: gone, Gone: gone, Reason: pace.PodGone, Detail: detail}, gone
}

// ready believes Ready only if a probe or gate stands behind it: without one it says no more than that processes run.
func (j judgement) ready() (Verdict, bool) {
	if !probed(j.pod) {
		return Verdict{}, false
	}
	if _, ok := j.newCondition(j.pod, corev1.PodReady); ok || j.readyAgain() {
		return release(ReasonReady, "")
	}
	return Verdict{}, false
}

// readyAgain reports whether the pod is ready with new containers although its condition never changed: the kubelet
// came back after they were.
func (j judgement) readyAgain() bool {
	ready := false
	for _, c := range j.pod.Status.Conditions {
		ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}
	for _, c := range j.pod.Spec.Containers {
		status, ok := statusOf(j.pod.Status.ContainerStatuses, c.Name)
		ready = ready && ok && status.Ready && j.newContainer(status)
	}
	return ready
}

func (j judgement) failed() (Verdict, bool) {
	for _, status := range allStatuses(j.pod) {
		if v, decided := j.containerFailed(status); decided {
			return v, true
		}
	}
	return Verdict{}, false
}

func (j judgement) containerFailed(status corev1.ContainerStatus) (Verdict, bool) {
	isNew := j.newContainer(status)
	if waiting := status.State.Waiting; waiting != nil && j.newWaiting(j.pod, status) {
		isNew = true
		if reason, stuck := stuckReasons()[waiting.Reason]; stuck {
			return release(reason, status.Name+": "+waiting.Reason)
		}
	}
	if !isNew {
		return Verdict{}, false
	}
	if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
		return release(ReasonFailed, fmt.Sprintf("%s: exit code %d", status.Name, ended.ExitCode))
	}
	if n := j.restarts(status); n >= 2 {
		return release(ReasonFailed, fmt.Sprintf("%s: %d restarts", status.Name, n))
	}
	return Verdict{}, false
}

// stuckReasons are the kubelet's reasons for containers that will not start soon (pkg/kubelet/images/types.go and
// container/sync_result.go there), and what each means for the slot.
func stuckReasons() map[string]pace.ReleaseReason {
	return map[string]pace.ReleaseReason{
		"ErrImagePull":               ReasonParked,
		"ImagePullBackOff":           ReasonParked,
		"ErrImageNeverPull":          ReasonParked,
		"InvalidImageName":           ReasonParked,
		"ImageInspectError":          ReasonParked,
		"RegistryUnavailable":        ReasonParked,
		"SignatureValidationFailed":  ReasonParked,
		"CrashLoopBackOff":           ReasonFailed,
		"CreateContainerConfigError": ReasonFailed,
		"CreateContainerError":       ReasonFailed,
		"PreCreateHookError":         ReasonFailed,
		"PreStartHookError":          ReasonFailed,
		"PostStartHookError":         ReasonFailed,
		"RunContainerError":          ReasonFailed,
	}
}

// started decides about a pod whose containers and sidecars have all started since the grant.
func (j judgement) started() (Verdict, bool) {
	vouched := j.StartedWhen != Running
	last := time.Time{}
	for _, c := range lasting(j.pod) {
		status, ok := statusOf(allStatuses(j.pod), c.Name)
		if !ok || !j.newContainer(status) || !j.hasStarted(status) {
			return Verdict{}, false
		}
		vouched = vouched && c.StartupProbe != nil
		last = later(last, startedAt(status))
	}
	switch {
	case last.IsZero():
		return Verdict{}, false
	case j.StartedWhen == Ready && readinessProbed(j.pod):
		return Verdict{Detail: "not ready yet"}, true
	case vouched:
		return release(ReasonStarted, "")
	}
	v, _ := j.holdFor(j.Settle, last, ReasonStarted, "")
	if !v.Release {
		v.Detail = "has run for less than " + j.Settle.String()
	}
	return v, true
}

// missing is what keeps a pod from having started, of which no rule knows how long it may take.
func (j judgement) missing() string {
	for _, c := range lasting(j.pod) {
		status, _ := statusOf(allStatuses(j.pod), c.Name)
		switch {
		case !j.newContainer(status):
		case !j.hasStarted(status):
			return c.Name + ": runs, has not started yet"
		default:
			continue
		}
		if _, sandbox := j.newCondition(j.pod, corev1.PodReadyToStartContainers); sandbox || !j.pluginDone.IsZero() {
			return c.Name + ": not created yet"
		}
		return "no new sandbox is shown yet"
	}
	return ""
}

func (j judgement) hasStarted(status corev1.ContainerStatus) bool {
	if status.State.Running == nil {
		return status.State.Terminated != nil
	}
	return j.StartedWhen == Running || status.Started != nil && *status.Started
}

// initialising bounds the time that init containers take together.
func (j judgement) initialising() (Verdict, bool) {
	first, running := time.Time{}, ""
	for _, c := range j.pod.Spec.InitContainers {
		status, ok := statusOf(j.pod.Status.InitContainerStatuses, c.Name)
		if sidecar(c) || !ok || !j.newContainer(status) {
			continue
		}
		if at := startedAt(status); first.IsZero() || at.Before(first) {
			first = at
		}
		if status.State.Running != nil {
			running = c.Name
		}
	}
	if running == "" {
		return Verdict{}, false
	}
	return j.holdFor(j.InitTimeout, first, ReasonSlowInit, running+": still running")
}

// creating bounds the time that a container takes to be created: that is as much as the status says of a pull.
func (j judgement) creating() (Verdict, bool) {
	since, ok := j.newCondition(j.pod, corev1.PodReadyToStartContainers)
	if !ok {
		since = j.pluginDone
	}
	if since.IsZero() {
		return Verdict{}, false
	}
	creating := ""
	for _, c := range append(append([]corev1.Container{}, j.pod.Spec.InitContainers...), j.pod.Spec.Containers...) {
		status, _ := statusOf(allStatuses(j.pod), c.Name)
		switch {
		case j.newContainer(status):
			since = later(since, startedAt(status))
			if ended := status.State.Terminated; ended != nil {
				since = later(since, ended.FinishedAt.Time)
			}
		case creating == "":
			creating = c.Name
		}
	}
	if creating == "" {
		return Verdict{}, false
	}
	return j.holdFor(j.PullTimeout, since, ReasonParked, creating+": not created yet")
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
