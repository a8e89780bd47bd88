package podstate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/podstate"
)

// TestWhatWasShownAtTheGrantNeverReleases judges random pods by exactly what the API showed at the grant, and by
// anything from before the boot: neither may end a slot, at any time, in any mode.
func TestWhatWasShownAtTheGrantNeverReleases(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	granted := at(t, "12:00:00")
	for range 20_000 {
		p := randomPod(random, granted.Add(-2*time.Hour))
		rules := podstate.Rules{StartedWhen: []podstate.Mode{
			podstate.Started, podstate.Running,
			podstate.Ready,
		}[random.IntN(3)]}
		boot := granted.Add(-time.Duration(random.IntN(200)) * time.Minute)
		now := granted.Add(time.Duration(random.IntN(600)) * time.Second)
		for name, memory := range map[string]podstate.Memory{
			"remembered": podstate.Remember(p.DeepCopy(), "u1", granted, boot),
			"unseen":     podstate.Remember(nil, "u1", granted, boot),
			"recovered":  podstate.Recover("u1", granted.Add(-time.Second)),
		} {
			if v := rules.Judge(memory, p, now); v.Release {
				t.Fatalf("%s: released as %s (%s) by old status: %+v", name, v.Reason, v.Detail, p.Status)
			}
		}
	}
}

// randomPod shows things that happened in the hour after start.
func randomPod(random *rand.Rand, start time.Time) *corev1.Pod {
	p := pod()
	when := func() metav1.Time {
		return metav1.Time{Time: start.Add(time.Duration(random.IntN(3600)) * time.Second)}
	}
	for _, name := range []string{"init", "app", "web"}[random.IntN(2) : 1+random.IntN(3)] {
		c, status := corev1.Container{Name: name}, randomStatus(random, name, when)
		if random.IntN(2) == 0 {
			c.ReadinessProbe = &corev1.Probe{}
		}
		if random.IntN(2) == 0 {
			c.StartupProbe = &corev1.Probe{}
		}
		if name == "init" {
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, status)
		} else {
			p.Spec.Containers = append(p.Spec.Containers, c)
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
		}
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.PodReadyToStartContainers} {
		if random.IntN(4) > 0 {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type:               kind,
				Status:             []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}[random.IntN(2)],
				LastTransitionTime: when(),
			})
		}
	}
	return p
}

func randomStatus(random *rand.Rand, name string, when func() metav1.Time) corev1.ContainerStatus {
	yes := true
	status := corev1.ContainerStatus{
		Name: name, ContainerID: "containerd://" + name, Ready: random.IntN(2) == 0,
		Started: &yes, RestartCount: int32(random.IntN(5)),
	}
	switch random.IntN(4) {
	case 0:
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: when()}
	case 1:
		status.State.Terminated = &corev1.ContainerStateTerminated{
			StartedAt: when(), FinishedAt: when(),
			ExitCode: int32(random.IntN(2)),
		}
	case 2:
		reasons := []string{"CrashLoopBackOff", "ImagePullBackOff", "RunContainerError", "ContainerCreating"}
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasons[random.IntN(4)]}
	}
	if random.IntN(2) == 0 {
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{StartedAt: when(), FinishedAt: when()}
	}
	return status
}
