package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/podstate"
)

// asked is what is known of a pod in the line besides its place.
type asked struct {
	at      time.Time // of its first attempt
	refused bool      // its last attempt was told to try again, or failed
}

// asks notes an attempt of a pod in the line.
func (b *podBook) asks(now time.Time, key string) {
	if a := b.asked[key]; a != nil {
		a.refused = false
		return
	}
	b.asked[key] = &asked{at: now}
}

func (b *podBook) refused(key string) {
	if a := b.asked[key]; a != nil {
		a.refused = true
	}
}

// sandboxSince is the time from which on a sandbox of a pod that has a place in
// the line, and is not connected, shows that it went without leave. One that was
// told to try again comes back, and may have had another sandbox before it asked.
// Of one that hung up unanswered nobody knows when its plugin began to run: this
// agent may have hung since before it heard of the pod.
func (b *podBook) sandboxSince(key string) time.Time {
	if a := b.asked[key]; a != nil && a.refused && a.at.After(b.boot) {
		return a.at
	}
	return b.boot
}

// stray takes a pod's place in the line from it if the pod has started without
// leave, its plugin having run by a lock file while this agent hung or could not
// be reached. A pod that is still starting counts from now on. Until the first
// list of pods is complete that is left to Seed.
func (l *loop) stray(now time.Time, p *corev1.Pod) {
	if p == nil || !l.pods.synced {
		return
	}
	key := keyOf(p)
	if waits, present := l.queue.Waits(key); !waits || present {
		return
	}
	since := l.pods.sandboxSince(key)
	at, ok := podstate.Sandboxed(p, since)
	if !ok {
		return
	}
	memory := podstate.Recover(key, since)
	starts := !l.pods.rules.Judge(memory, p, now).Release
	l.log.Info("started without leave", "pod", nameOf(p), "sandbox", at, "still starting", starts)
	if !starts {
		l.apply(now, l.queue.Gone(now, key))
		return
	}
	info := l.pods.rules.Classify(p.Namespace, key, p)
	l.seed(now, []pace.Starting{{UID: key, Namespace: p.Namespace, Name: p.Name, Info: info, For: now.Sub(at)}}, since)
	l.judge(now, key)
}

// strays looks for such pods among all that are known.
func (l *loop) strays(now time.Time) {
	for _, p := range l.pods.pods {
		l.stray(now, p)
	}
}
