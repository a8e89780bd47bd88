package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/internal/agent/load"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

// pod is a pod of one container with a readiness probe, not started.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "app", ReadinessProbe: &corev1.Probe{}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func ofDaemonSet(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d"}}
}

// sandboxed gives a pod its sandbox at a time.
func sandboxed(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at),
		})
	}
}

// running makes a pod ready with a container of this ID since a time.
func running(id string, at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "app", ContainerID: id, Ready: true, Started: &yes,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}},
		}}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at),
		})
	}
}

func TestASlotEndsWhenThePodHasStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.pod(pod("a"))
	w.add("a").granted().done(0)
	b := w.add("b").waits()
	w.pod(pod("a", sandboxed(time.Now()), running("c1", time.Now())))
	b.granted()
}

func TestStatusFromBeforeTheGrantReleasesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1))
	boot, err := load.BootTime()
	w.must(err)
	yesterday := []func(*corev1.Pod){sandboxed(boot.Add(-time.Hour)), running("old", boot.Add(-time.Hour))}
	w.pod(pod("a", yesterday...))
	w.settled()
	w.add("a").granted().done(0)
	b := w.add("b").waits()
	w.pod(pod("a", append(yesterday, func(p *corev1.Pod) { p.Labels = map[string]string{"touched": "yes"} })...))
	b.waits()
	w.pod(pod("a", sandboxed(time.Now()), running("new", time.Now())))
	b.granted()
}

func TestADeletedPodGivesItsSlotBackAndItsPlaceUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	for _, name := range []string{"a", "b", "c"} {
		w.pod(pod(name))
	}
	w.eventually("the pods are known", func() bool { return w.status().Pods.Known == 3 })
	w.add("a").granted().done(0)
	b := w.add("b").waits()
	c := w.add("c").waits()
	now := metav1.Now()
	w.pod(pod("b", func(p *corev1.Pod) { p.DeletionTimestamp = &now }))
	if reason := b.refused(); !strings.Contains(reason, "no longer exists") {
		t.Fatal(reason)
	}
	w.must(os.Remove(filepath.Join(w.dir, "pods", "a.json")))
	c.granted()
}

func TestSomePodsNeverWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.add("a").granted()
	w.pod(pod("daemon", ofDaemonSet))
	w.pod(pod("skipped", func(p *corev1.Pod) { p.Annotations = map[string]string{"evenkeel.dev/pace": "skip"} }))
	w.pod(pod("mirror", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "uid-static"} }))
	w.pod(pod("ordinary"))
	w.eventually("the pods are known", func() bool { return w.status().Pods.Known == 4 })
	w.add("daemon").granted()
	w.add("skipped").granted()
	w.add("mirror", func(r *paceapi.Request) { r.UID = "uid-static" }).granted()
	w.add("dns", func(r *paceapi.Request) { r.Namespace = "kube-system" }).granted()
	w.add("ordinary").waits()
}

func TestARuntimeThatPassesNoUIDsIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.pod(pod("a"))
	w.eventually("the pod is known", func() bool { return w.status().Pods.Known == 1 })
	noUID := func(r *paceapi.Request) { r.UID = "" }
	w.add("a", noUID).granted().done(0)
	b := w.add("b", noUID).waits()
	w.pod(pod("a", sandboxed(time.Now()), running("c1", time.Now())))
	b.granted()
}

func TestARestartedAgentCountsThePodsThatTheAPIShowsStarting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(2))
	w.must(w.stop())
	w.pod(pod("starting", sandboxed(time.Now())))
	w.pod(pod("started", sandboxed(time.Now()), running("c", time.Now())))
	w.start()
	w.settled()
	w.add("first").granted()
	w.add("second").waits()
}

func TestAPodThatAskedByNameGoesOnByUIDOnceItIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	noUID := func(r *paceapi.Request) { r.UID = "" }
	w.add("a", noUID).granted().done(0)
	w.add("b", noUID).waits().Close()
	w.add("c", noUID).waits()
	w.pod(pod("b"))
	w.eventually("b goes on by its UID", func() bool {
		q := w.status().Queue.Waiting
		return len(q) == 2 && q[0].UID == "uid-b" && q[1].UID == "shop/c"
	})
	b := w.add("b", noUID).waits() // a later attempt, at its old place
	if q := w.status().Queue.Waiting; len(q) != 2 || q[0].Name != "b" || !q[0].Present {
		t.Fatalf("waiting %+v, want b first, and once", q)
	}
	w.pod(pod("a", sandboxed(time.Now()), running("c1", time.Now())))
	b.granted()
}

func TestWhileThePluginIsReplacedNobodyIsLetThroughAndAfterwardsNoHerd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)+"maintenance: {namespace: kube-system, labels: {k8s-app: azure-cns-win}}\n").settled()
	w.add("a").granted()
	b := w.add("b").waits()
	cns := func(change ...func(*corev1.Pod)) *corev1.Pod {
		return pod("azure-cns-win-1", append([]func(*corev1.Pod){func(p *corev1.Pod) {
			p.Namespace, p.Labels = "kube-system", map[string]string{"k8s-app": "azure-cns-win"}
			p.Spec.InitContainers = []corev1.Container{{Name: "cni-installer"}}
		}}, change...)...)
	}
	w.pod(cns())
	if reason := b.refused(); !strings.Contains(reason, "is being replaced") {
		t.Fatal(reason)
	}
	if reason := w.add("c").refused(); !strings.Contains(reason, "is being replaced") {
		t.Fatal(reason)
	}
	w.pod(cns(func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
			Name:  "cni-installer",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.Now()}},
		}}
	}))
	w.eventually("maintenance ends", func() bool { return !w.status().Queue.Maintenance })
	w.add("b").waits()
	w.add("c").waits()
}

func TestWithoutTheAPIPodsStartAtThePaceOfSlotTimeout(t *testing.T) {
	t.Parallel()
	w := &world{t: t, dir: t.TempDir(), log: &syncBuffer{}}
	w.socket, w.config = testSocket(t, w.dir), filepath.Join(w.dir, "config.yaml")
	kubeconfig := filepath.Join(w.dir, "kubeconfig")
	w.must(os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"x",
		"contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}],"users":[{"name":"x","user":{}}],
		"clusters":[{"name":"x","cluster":{"server":"http://127.0.0.1:1"}}]}`), 0o600))
	w.configure("pace: {limits: {maxConcurrent: 1}, slotTimeout: 10s}\n")
	w.run(func(o *Options) { o.Source, o.Node, o.Kubeconfig = "", "n1", kubeconfig })
	t.Cleanup(func() { w.must(w.stop()) })
	w.settled()
	w.eventually("the status says that the API is out of reach", func() bool {
		return strings.Contains(strings.Join(w.status().Problems, " "), "slots end by timeout")
	})
	began := time.Now()
	w.add("a").granted().done(0)
	w.add("b").waits().granted()
	if waited := time.Since(began); waited < 9*time.Second {
		t.Fatalf("the second start was let through after %s", waited)
	}
	if w.status().Ready {
		t.Fatal("ready although the pods are unknown")
	}
}

// The way out for one pod at three in the morning.
func TestAPodThatIsAnnotatedWhileItWaitsIsLetThroughAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.pod(pod("a"))
	w.pod(pod("b"))
	w.eventually("the pods are known", func() bool { return w.status().Pods.Known == 2 })
	w.add("a").granted()
	b := w.add("b").waits()
	w.pod(pod("b", func(p *corev1.Pod) { p.Annotations = map[string]string{"evenkeel.dev/pace": "skip"} }))
	b.granted().done(0)
}
