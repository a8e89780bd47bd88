package agent

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/agent/source"
	"evenkeel.dev/evenkeel/internal/pace"
)

// restart is a loop of an agent that was started at a time of its own, in a node
// with a limit of one.
type restart struct {
	*loop
	t   *testing.T
	now time.Time
	id  pace.AttemptID
}

func newRestart(t *testing.T) *restart {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, _ := newTestLoop(t, now, limit(1))
	return &restart{loop: l, t: t, now: now}
}

func (r *restart) sees(p *corev1.Pod) { r.podChange(r.now, source.Change{Kind: source.Seen, Pod: p}) }
func (r *restart) synced()            { r.podChange(r.now, source.Change{Kind: source.Synced}) }

// pass lets time pass.
func (r *restart) pass(d time.Duration) {
	for end := r.now.Add(d); r.now.Before(end); {
		r.now = r.now.Add(time.Second)
		r.turn(r.now)
	}
}

// add asks for a pod that may be known.
func (r *restart) add(name string) {
	r.id++
	info := pace.Info{Class: pace.ClassOrdinary}
	if p := r.pods.pods["shop/"+name]; p != nil {
		info = r.pods.rules.Classify("shop", keyOf(p), p)
	}
	r.apply(r.now, r.queue.Request(r.now, pace.Attempt{ID: r.id, UID: "uid-" + name, Namespace: "shop", Name: name, Info: info}))
	r.apply(r.now, r.queue.Ack(r.now, r.id))
}

// starting fails the test unless these pods hold slots.
func (r *restart) starting(when string, want ...string) {
	r.t.Helper()
	got := []string{}
	for _, h := range r.queue.Snapshot().Holding {
		got = append(got, h.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: %q hold slots, want %q", when, got, want)
	}
}

// unprobed is a pod whose start nothing vouches for.
func unprobed(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = nil }

func onHostNetwork(p *corev1.Pod) { p.Spec.HostNetwork = true }

func TestARestartedAgentReleasesAPodThatOnlyHasToSettle(t *testing.T) {
	r := newRestart(t)
	r.sees(pod("settling", unprobed, sandboxed(r.now), running("c", r.now)))
	r.synced()
	r.starting("in the grace", "settling")
	r.pass(6 * time.Second)
	r.starting("although nothing more is heard of it, after 6 s")
}

func TestNobodyIsLetThroughBeforeTheFirstListOfPods(t *testing.T) {
	r := newRestart(t)
	r.add("a")
	r.pass(8 * time.Second)
	r.starting("while the list is awaited")
	r.sees(pod("b", sandboxed(r.now)))
	r.synced()
	r.pass(time.Second)
	r.starting("with the list", "b")

	r = newRestart(t)
	r.add("a")
	r.pass(16 * time.Second)
	r.starting("without an API server", "a")
}

func TestASlotFromBeforeTheRestartIsWatchedWhenItsPodAsksAnew(t *testing.T) {
	r := newRestart(t)
	r.sees(pod("daemon", ofDaemonSet, sandboxed(r.now)))
	r.synced()
	r.starting("by the API", "daemon")
	r.pass(time.Second)
	r.add("daemon") // in the grace: one slot ends and another begins at once
	r.starting("by its own word", "daemon")
	r.pass(5 * time.Second)
	r.sees(pod("daemon", ofDaemonSet, sandboxed(r.now), running("new", r.now)))
	r.starting("once it has started")
}

func TestAPodOnTheHostsNetworkCountsFromWhenItIsSeenStarting(t *testing.T) {
	r := newRestart(t)
	r.synced()
	r.pass(6 * time.Second)
	r.sees(pod("host", onHostNetwork))
	r.starting("bound, but not starting yet")
	r.sees(pod("host", onHostNetwork, sandboxed(r.now)))
	r.starting("with its sandbox", "host")
	r.add("a")
	r.starting("at the limit", "host")
	r.pass(2 * time.Second)
	r.sees(pod("host", onHostNetwork, sandboxed(r.now), running("c1", r.now)))
	r.starting("once it has started", "a")

	again := func(p *corev1.Pod) { p.Status.Conditions[1].Status = corev1.ConditionFalse }
	r.sees(pod("host", onHostNetwork, sandboxed(r.now), running("c2", r.now), again))
	r.starting("a container that is restarted is no start", "a")
}

func TestAPodOnTheHostsNetworkThatNeverStartsHoldsItsSlotNoLongerThanOthers(t *testing.T) {
	r := newRestart(t)
	r.synced()
	r.pass(6 * time.Second)
	r.sees(pod("host", onHostNetwork, sandboxed(r.now)))
	r.pass(59 * time.Second)
	r.starting("while its image may be pulled", "host")
	r.pass(2 * time.Second)
	r.starting("after pullTimeout")
	r.sees(pod("host", onHostNetwork, sandboxed(r.now.Add(-time.Minute))))
	r.starting("though it is seen again")
	r.podChange(r.now, source.Change{Kind: source.Gone, Pod: pod("host", onHostNetwork)})
	if len(r.pods.hosts)+len(r.pods.slots) > 0 {
		t.Errorf("remembered of a pod that is gone: %v %v", r.pods.hosts, r.pods.slots)
	}
}

func TestExcludedPodsOnTheHostsNetworkAreNotCounted(t *testing.T) {
	r := newRestart(t)
	r.synced()
	r.sees(pod("proxy", onHostNetwork, sandboxed(r.now), func(p *corev1.Pod) { p.Namespace = "kube-system" }))
	r.starting("in an excluded namespace")
}
