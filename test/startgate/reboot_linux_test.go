package startgate

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

// After a reboot the API still shows every pod Ready, and the agent comes so
// late that the first pods go by the lock files. Those count for it when it
// comes: never do more than two plugins run at once.
func TestARebootedNodeIsPacedAlthoughTheAPIStillShowsItReadyAndTheAgentIsLate(t *testing.T) {
	t.Parallel()
	const pods, limit = 10, 2
	g := newGate(t, "reboot", config(limit, "20s"))
	defer g.dump()
	namespace := g.cluster.Namespace(t)
	g.node.RunPods(t, namespace, "web", pods, harness.Work{Delay: 2 * time.Second}, nil)
	before := containers(g.cluster.AwaitReady(t, namespace, "app=web", pods))

	g.node.PowerOff(t)
	g.node.Boot(t)
	for _, pod := range g.cluster.Pods(t, namespace, "app=web") {
		if !harness.IsReady(&pod) {
			t.Fatalf("pod %s is not shown ready any more: the test shows nothing", pod.Name)
		}
	}
	booted := time.Now()
	g.hold(25 * time.Second) // longer than an agent gives no turns after its start
	g.node.StartContainerd(t)
	g.node.StartKubelet(t)
	w := g.watch(namespace)
	harness.Await(t, time.Minute, "two pods go by lock files", func(context.Context) error {
		if n := len(since(g.runs("ADD"), booted)); n < limit {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	time.Sleep(3 * time.Second) // so that nobody is between a lock and the plugin
	started := time.Now()
	g.start()
	t.Logf("the agent started %s after the boot", started.Sub(booted).Round(time.Second))
	g.ready()
	g.hold(0)
	var now []corev1.Pod
	harness.Await(t, 5*time.Minute, "all pods are ready with new containers", func(context.Context) error {
		now = slices.DeleteFunc(g.cluster.Pods(t, namespace, "app=web"), func(p corev1.Pod) bool {
			return !harness.IsReady(&p) || slices.ContainsFunc(containers([]corev1.Pod{p}), func(id string) bool { return slices.Contains(before, id) })
		})
		if len(now) < pods {
			return fmt.Errorf("%d of %d", len(now), pods)
		}
		return nil
	})
	w.stop()

	plugins := since(g.runs("ADD"), booted)
	byLock := slices.DeleteFunc(slices.Clone(plugins), func(r run) bool { return r.Begin.After(started) })
	if len(byLock) != limit || slices.ContainsFunc(byLock, func(r run) bool { return r.End.Before(started.Add(10 * time.Second)) }) {
		t.Errorf("want two pods that the agent finds under locks and that still are when its first turns are due, got %+v", byLock)
	}
	wantLimit(t, plugins, limit)
	wantLimit(t, since(g.starts(now), started), limit)
	w.wantAtMost(t, 2*limit) // a lock ends with the plugin, a slot of the agent's when the pod is ready
}

// since leaves the runs out that began before.
func since(runs []run, when time.Time) []run {
	return slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return r.Begin.Before(when) })
}

func containers(pods []corev1.Pod) []string {
	var ids []string
	for _, pod := range pods {
		for _, s := range pod.Status.ContainerStatuses {
			ids = append(ids, s.ContainerID)
		}
	}
	return ids
}
