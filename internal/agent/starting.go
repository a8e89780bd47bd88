package agent

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/podstate"
)

// starting is the pods that a restarted agent must count.
func (b *podBook) starting(now time.Time) []pace.Starting {
	var list []pace.Starting
	for _, p := range b.pods {
		if s, ok := b.starts(now, p); ok {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(x, y pace.Starting) int {
		return cmp.Or(cmp.Compare(y.For, x.For), cmp.Compare(x.UID, y.UID))
	})
	return list
}

// starts reports whether the API shows a pod starting that must be counted.
func (b *podBook) starts(now time.Time, p *corev1.Pod) (pace.Starting, bool) {
	since, ok := b.rules.Starting(p, b.boot, now)
	key := keyOf(p)
	info := b.rules.Classify(p.Namespace, key, p)
	if !ok || info.Class == pace.ClassUngated {
		return pace.Starting{}, false
	}
	if podstate.HostNetwork(p) {
		b.hosts[key] = true
	}
	return pace.Starting{UID: key, Namespace: p.Namespace, Name: p.Name, Info: info, For: now.Sub(since)}, true
}

// seed has the queue count pods that are starting, with sandboxes from after a
// time, and watches those that it does count.
func (l *loop) seed(now time.Time, starting []pace.Starting, since time.Time) {
	l.apply(now, l.queue.Seed(now, starting))
	for _, s := range starting {
		if l.pods.slots[s.UID] == nil && l.queue.Holds(s.UID) {
			l.pods.slots[s.UID] = &watched{pod: s.Namespace + "/" + s.Name, memory: podstate.Recover(s.UID, since)}
		}
	}
}

// named goes on by UID with a pod that asked, by name, before it was known.
func (l *loop) named(p *corev1.Pod) {
	name, key := nameOf(p), keyOf(p)
	if p.DeletionTimestamp != nil || !l.queue.Identify(name, key) {
		return
	}
	if w := l.pods.slots[name]; w != nil {
		w.memory.Identify(key)
		delete(l.pods.slots, name)
		l.pods.slots[key] = w
	}
	if a := l.pods.asked[name]; a != nil {
		delete(l.pods.asked, name)
		l.pods.asked[key] = a
	}
}

// countHost counts a pod on the host's network, for which no plugin is called,
// from when it is first seen starting. Until the first list is complete that is
// left to Seed.
func (l *loop) countHost(now time.Time, p *corev1.Pod) {
	key := keyOf(p)
	if !l.pods.synced || !podstate.HostNetwork(p) || l.pods.hosts[key] || l.pods.slots[key] != nil {
		return
	}
	if s, ok := l.pods.starts(now, p); ok {
		l.log.Info("counted", "pod", nameOf(p), "why", s.Info.Why)
		l.seed(now, []pace.Starting{s}, l.pods.boot)
		l.judge(now, key)
	}
}
