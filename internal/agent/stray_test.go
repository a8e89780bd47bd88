package agent

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

// waiting fails the test unless these pods have places in the line.
func (r *restart) waiting(when string, want ...string) {
	r.t.Helper()
	got := []string{}
	for _, p := range r.queue.Snapshot().Waiting {
		got = append(got, p.Name)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: %q wait, want %q", when, got, want)
	}
}

// nobody is an executable that is told things in vain.
type nobody struct{}

func (nobody) Waiting(paceapi.Place) {}
func (nobody) Grant()                {}
func (nobody) Refuse(paceapi.Place)  {}

// connect is an ADD that asks over a connection nobody reads.
func (r *restart) connect(name string) *session {
	r.id++
	s := &session{loop: r.loop, id: r.id, peer: nobody{}, req: paceapi.Request{UID: "uid-" + name, Namespace: "shop", Name: name}}
	r.arrive(r.now, s)
	r.apply(r.now, r.queue.Ack(r.now, s.id))
	return s
}

// settled is a loop past its recovery that knows these pods.
func (r *restart) settled(names ...string) *restart {
	for _, name := range names {
		r.sees(pod(name))
	}
	r.synced()
	r.pass(6 * time.Second)
	return r
}

func TestAPodThatStartedWithoutLeaveGivesItsPlaceUp(t *testing.T) {
	r := newRestart(t).settled("a", "b", "c", "d")
	a, b := r.connect("a"), r.connect("b")
	r.connect("c")
	r.leave(r.now, b) // to go by a lock file: nobody answered
	r.waiting("while nothing more is known", "b", "c")
	r.pass(time.Second)
	r.sees(pod("b", sandboxed(r.now)))
	r.waiting("once it has its sandbox", "c")
	r.starting("and counts", "a", "b")
	r.sees(pod("b", sandboxed(r.now), running("c1", r.now)))
	r.starting("until it has started", "a")

	d := r.connect("d")
	r.sees(pod("d", sandboxed(r.now), running("c1", r.now)))
	r.waiting("a pod that still asks is believed", "c", "d")
	r.leave(r.now, d)
	r.waiting("until it hangs up", "c")

	r.done(r.now, a, paceapi.Done{})
	r.sees(pod("a", sandboxed(r.now), running("c1", r.now)))
	r.starting("the next one", "c")
	if len(r.pods.slots) != 1 || len(r.pods.asked) != 1 {
		t.Errorf("remembered beyond c: %v %v", r.pods.slots, r.pods.asked)
	}
}

// A refused pod comes back. What is shown of it from before it asked is old.
func TestARefusedPodGivesItsPlaceUpOnlyForANewSandbox(t *testing.T) {
	r := newRestart(t).settled("a", "b")
	old := []func(*corev1.Pod){sandboxed(r.now.Add(-10 * time.Second)), running("old", r.now.Add(-10*time.Second))}
	r.connect("a")
	b := r.connect("b")
	r.pass(61 * time.Second)
	r.leave(r.now, b)
	r.sees(pod("b", old...))
	r.waiting("shown as it was", "b")
	r.sees(pod("b", append(old, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(r.now)}
	})...))
	r.waiting("its old container has ended", "b")
	r.sees(pod("b", sandboxed(r.now), running("new", r.now)))
	r.waiting("it has started")
	if len(r.pods.asked) != 0 {
		t.Errorf("still remembered: %v", r.pods.asked)
	}
}

func TestAPodWhosePluginFailedWaitsAnewWhateverItsOldSandboxWas(t *testing.T) {
	r := newRestart(t).settled()
	r.sees(pod("a", sandboxed(r.now)))
	r.pass(2 * time.Second)
	a := r.connect("a")
	r.done(r.now, a, paceapi.Done{Exit: 1})
	r.leave(r.now, a)
	r.waiting("it comes back", "a")
	r.starting("and none counts")
	r.pass(3 * time.Minute)
	r.waiting("unless it does not")
	if len(r.pods.asked) != 0 {
		t.Errorf("still remembered: %v", r.pods.asked)
	}
}

func TestPodsThatStartedWithoutLeaveAreFoundInTheFirstList(t *testing.T) {
	r := newRestart(t)
	b := r.connect("b")
	r.leave(r.now, b)
	r.sees(pod("b", sandboxed(r.now), running("c1", r.now)))
	r.waiting("before the list is complete", "b")
	r.synced()
	r.waiting("with the list")
}

func TestWhoHoldsNoSlotIsNotWatched(t *testing.T) {
	r := newRestart(t)
	r.sees(pod("skipped", func(p *corev1.Pod) { p.Annotations = map[string]string{"evenkeel.dev/pace": "skip"} }))
	for _, req := range []paceapi.Request{
		{UID: "uid-skipped", Namespace: "shop", Name: "skipped", RunningFor: paceapi.Millis(time.Second)},
		{UID: "uid-long", Namespace: "shop", Name: "long", RunningFor: paceapi.Millis(6 * time.Minute)},
		{RunningFor: paceapi.Millis(time.Second)},
	} {
		req.Running = true
		r.id++
		r.arrive(r.now, &session{loop: r.loop, id: r.id, req: req})
	}
	r.connect("asks")
	r.sees(pod("asks", sandboxed(r.now)))
	r.sees(pod("stuck", sandboxed(r.now.Add(-50*time.Second))))
	r.pods.rules.PullTimeout = pace.Duration(time.Hour)
	r.pods.boot = r.now.Add(-time.Hour)
	r.sees(pod("old", sandboxed(r.now.Add(-6*time.Minute))))
	r.synced()
	r.starting("by the first list", "stuck")
	if len(r.pods.slots) != 1 || r.pods.slots["uid-stuck"] == nil {
		t.Errorf("watched: %v, want stuck alone", r.pods.slots)
	}
}
