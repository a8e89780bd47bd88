package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/agent/source"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/podstate"
)

// podBook is what the loop knows of the node's pods, and who watches which slot.
// A pod's key is the UID by which the network plugin knows it, or its namespace
// and name where the runtime passes no UID on.
type podBook struct {
	rules       podstate.Rules
	maintenance agentconfig.Maintenance
	boot        time.Time

	synced bool
	pods   map[string]*corev1.Pod // by namespace/name
	slots  map[string]*watched    // by key
	hosts  map[string]bool        // keys of pods on the host's network that were counted
	asked  map[string]*asked      // by key: the pods in the line, and those just granted
}

// watched is a slot whose pod is watched until it has started.
type watched struct {
	pod     string // namespace/name
	memory  podstate.Memory
	recheck time.Time // zero: only when the pod changes

	// Of a pod whose executable said that its plugin runs: when the plugin began,
	// and when that was read; zero for others.
	began, heard time.Time
}

func newPodBook(c agentconfig.Config, boot time.Time) *podBook {
	return &podBook{
		rules: c.Pods, maintenance: c.Maintenance, boot: boot,
		pods: map[string]*corev1.Pod{}, slots: map[string]*watched{}, hosts: map[string]bool{}, asked: map[string]*asked{},
	}
}

func nameOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// keyOf is the UID by which the network plugin knows a pod: of a static pod that
// of its manifest, which its mirror in the API carries as an annotation.
func keyOf(p *corev1.Pod) string {
	if uid := p.Annotations[corev1.MirrorPodAnnotationKey]; uid != "" {
		return uid
	}
	return string(p.UID)
}

// identify fills in the UID of a request from a runtime that passes none on.
func (b *podBook) identify(req *paceapi.Request) {
	if p := b.pods[req.Namespace+"/"+req.Name]; req.UID == "" && p != nil && p.DeletionTimestamp == nil {
		req.UID = keyOf(p)
	}
}

// info says how the pod of a request is treated.
func (b *podBook) info(req paceapi.Request) pace.Info {
	return b.rules.Classify(req.Namespace, req.UID, b.pods[req.Namespace+"/"+req.Name])
}

// granted begins to watch a pod that was given a slot.
func (b *podBook) granted(now time.Time, g pace.Grant) {
	switch g.Why {
	case pace.SamePod:
		return
	case pace.Ungated:
		delete(b.asked, g.UID)
		return
	}
	name := g.Namespace + "/" + g.Name
	b.slots[g.UID] = &watched{pod: name, memory: podstate.Remember(b.pods[name], g.UID, now, b.boot)}
}

// resumed begins to watch a pod whose plugin has been running for a while, let
// through by whoever was the agent then. What it says may be this old.
func (b *podBook) resumed(now time.Time, req paceapi.Request, old time.Duration) {
	if b.slots[req.Key()] != nil {
		return
	}
	w := &watched{pod: req.Namespace + "/" + req.Name, began: now.Add(-time.Duration(req.RunningFor) - old)}
	if old == 0 {
		w.heard = now
	}
	w.memory = podstate.Remember(nil, req.UID, w.began, b.boot)
	b.slots[req.Key()] = w
}

// released ends the watch over a slot. A pod that did not take it goes on waiting.
func (b *podBook) released(e pace.Event) {
	delete(b.slots, e.UID)
	if e.Why != pace.NotAcknowledged {
		delete(b.asked, e.UID)
	}
}

// podChange takes in what the source tells.
func (l *loop) podChange(now time.Time, c source.Change) {
	b := l.pods
	switch c.Kind {
	case source.Synced:
		b.synced = true
		l.seed(now, b.starting(now), b.boot)
		l.judgeAll(now)
		l.strays(now)
	case source.Gone:
		if p := b.pods[nameOf(c.Pod)]; p != nil && p.UID == c.Pod.UID {
			delete(b.pods, nameOf(c.Pod))
		}
		l.podGone(now, keyOf(c.Pod))
	case source.Seen:
		b.pods[nameOf(c.Pod)] = c.Pod
		l.podSeen(now, c.Pod)
	}
	l.maintain(now, func(m *maintenance) { m.initialising = b.initialising() })
}

func (l *loop) podSeen(now time.Time, p *corev1.Pod) {
	key := keyOf(p)
	l.named(p)
	if ended(p) {
		l.podGone(now, key)
		return
	}
	l.judge(now, key)
	l.apply(now, l.queue.Classify(now, key, l.pods.rules.Classify(p.Namespace, key, p)))
	l.countHost(now, p)
	l.stray(now, p)
}

// ended reports whether a pod will not start any more.
func ended(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func (l *loop) podGone(now time.Time, key string) {
	delete(l.pods.slots, key)
	delete(l.pods.hosts, key)
	l.apply(now, l.queue.Gone(now, key))
}

// judge asks whether a pod with a slot has started. A pod that is not in the
// cache, or is there under another UID, may be newer than the cache: it is left
// to the next change and, at last, to slotTimeout.
func (l *loop) judge(now time.Time, key string) {
	w := l.pods.slots[key]
	if w == nil {
		return
	}
	p := l.pods.pods[w.pod]
	if p == nil || !podstate.Is(p, key) {
		w.recheck = time.Time{}
		return
	}
	v := l.pods.rules.Judge(w.memory, p, now)
	w.recheck = v.Recheck
	switch {
	case v.Gone:
		l.podGone(now, key)
	case v.Release:
		delete(l.pods.slots, key)
		l.log.Info("slot given back", "pod", w.pod, "why", string(v.Reason), "detail", v.Detail)
		out, _ := l.queue.Release(now, key, v.Reason)
		l.apply(now, out)
	}
}

// waitsFor is what each pod with a slot has yet to do, as far as is known.
func (b *podBook) waitsFor(now time.Time) map[string]string {
	list := map[string]string{}
	for key, w := range b.slots {
		p := b.pods[w.pod]
		switch {
		case p == nil:
			list[key] = "the pod is not known yet"
		case !podstate.Is(p, key):
			list[key] = "another pod of its name is known"
		default:
			list[key] = b.rules.Judge(w.memory, p, now).Detail
		}
	}
	return list
}

// judgeAll judges every pod with a slot, after something that concerns them all.
func (l *loop) judgeAll(now time.Time) {
	for key := range l.pods.slots {
		l.judge(now, key)
	}
}

// judgePods judges the pods that are due and gives the time of the next.
func (l *loop) judgePods(now time.Time) time.Time {
	var next time.Time
	for key, w := range l.pods.slots {
		if !w.recheck.IsZero() && !now.Before(w.recheck) {
			l.judge(now, key)
		}
		next = earlier(next, w.recheck)
	}
	return next
}

// pluginSucceeded notes that a pod has its sandbox.
func (l *loop) pluginSucceeded(now time.Time, key string) {
	if w := l.pods.slots[key]; w != nil {
		w.memory.PluginDone(now)
		l.judge(now, key)
	}
}

// reconfigurePods takes over new rules for what is judged from now on.
func (l *loop) reconfigurePods(now time.Time, c agentconfig.Config) {
	l.pods.rules, l.pods.maintenance = c.Pods, c.Maintenance
	l.judgeAll(now)
	l.maintain(now, func(m *maintenance) {
		m.watched = len(c.Maintenance.Labels) > 0
		m.initialising = l.pods.initialising()
	})
}
