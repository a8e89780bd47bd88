package pace

import (
	"slices"
	"time"
)

// maxPeers bounds the unanswered attempts of one pod: more networks than anybody uses.
const maxPeers = 8

// Request asks for a pod's turn. The attempt is answered by a grant or a refusal, in this output or a later one, before
// its wait is over.
func (q *Queue) Request(now time.Time, in Attempt) Output {
	t := q.begin(now)
	if old := q.attempts[in.ID]; old != nil {
		q.hangUp(t, old)
	}
	q.request(t, in)
	return q.settle(t)
}

func (q *Queue) request(t instant, in Attempt) {
	a := q.newAttempt(t, in)
	a.pod = &pod{uid: in.key(), namespace: in.Namespace, name: in.Name, info: in.Info, arrival: t, alarm: -1}
	p := q.pods[in.key()]
	if p != nil && p.slot != nil && p.slot.fromAPI && t < q.grace {
		q.release(t, p, StillWaiting)
		p = nil
	}
	switch {
	case in.key() == "":
		q.pass(t, a, Ungated)
	case p != nil && p.slot != nil:
		a.pod = p
		q.pass(t, a, SamePod)
	case p != nil:
		a.pod = p
		q.supersede(t, a)
		q.reclassify(p, in.Info)
		q.admitOrWait(t, a)
	default:
		q.newcomer(t, a, in)
	}
}

// newcomer handles the first attempt of a pod. During maintenance even pods that never wait do, as nothing of ours may
// be running.
func (q *Queue) newcomer(t instant, a *attempt, in Attempt) {
	if in.Info.Class == ClassUngated && !q.maintenance {
		q.pass(t, a, Ungated)
		return
	}
	if len(q.line.pods) >= maxWaiting && in.Info.Class != ClassUrgent {
		q.answerNo(t, a, Overloaded)
		delete(q.attempts, a.id)
		return
	}
	p := q.known(t, in.key(), in.Namespace, in.Name)
	p.info = in.Info
	p.arrival = t - max(0, min(in.Waited, maxIdle))
	if in.Info.Class == ClassUnknown {
		p.classifyBy = t + classifyWait
	}
	a.pod = p
	q.enterLine(p)
	q.admitOrWait(t, a)
}

// admitOrWait adds the attempt to its pod in the line, and lets the pod out at once if it is of those that never wait.
func (q *Queue) admitOrWait(t instant, a *attempt) {
	q.ask(a.pod, a)
	if q.maintenance {
		q.condemn(t, a, Maintenance)
		return
	}
	q.letThrough(t, a.pod)
}

// letThrough lets a present pod that never waits out of the line.
func (q *Queue) letThrough(t instant, p *pod) {
	if len(p.asking) == 0 {
		return
	}
	switch p.info.Class {
	case ClassUrgent:
		taken, _ := q.limiter.take(t) // counted, if there is a token, but not waited for
		q.admit(t, p, Urgent, taken)
	case ClassUngated:
		q.leaveLine(p)
		q.forget(p)
		for _, a := range p.asking {
			q.dequeue(a)
			q.pass(t, a, Ungated)
		}
		p.asking = nil
	}
}

// Classify tells what a pod is, when that was unknown or has changed. Pods that do not wait are ignored.
func (q *Queue) Classify(now time.Time, uid string, info Info) Output {
	t := q.begin(now)
	if p := q.pods[uid]; p != nil && p.slot == nil && info.Class != ClassUnknown {
		q.reclassify(p, info)
		if !q.maintenance {
			q.letThrough(t, p)
		}
	}
	return q.settle(t)
}

// Identify tells the UID of a pod that is known by its namespace and name so far: it goes on under the UID, with its
// place or its slot. It reports whether that was so.
func (q *Queue) Identify(key, uid string) bool {
	p := q.pods[key]
	if p == nil || uid == "" || q.pods[uid] != nil {
		return false
	}
	delete(q.pods, key)
	p.uid = uid
	q.pods[uid] = p
	return true
}

// reclassify updates what is known of a pod in the line.
func (q *Queue) reclassify(p *pod, info Info) {
	if info.Class == ClassUnknown {
		return
	}
	p.classifyBy = never
	if p.info.Priority == info.Priority {
		p.info = info
	} else {
		q.line.remove(p)
		p.info = info
		q.line.add(p)
	}
	q.arm(p)
}

func (q *Queue) newAttempt(t instant, in Attempt) *attempt {
	budget := max(0, q.cfg.RuntimeBudget.Std()-max(0, in.Spent))
	wait := q.cfg.Attempt.Std()
	if in.Wait > 0 {
		wait = min(wait, in.Wait)
	}
	expiry := Deadline
	if rest := max(0, budget-q.reserve()); rest < wait {
		wait, expiry = rest, Budget
	}
	a := &attempt{
		id: in.ID, sandbox: in.Sandbox, network: in.Network, since: t, expiry: expiry,
		latest: t + wait - answerMargin(wait), budgetEnd: t + budget,
	}
	q.attempts[a.id] = a
	return a
}

// answerMargin is how much before the end of its wait an attempt is answered, so that the answer arrives in time.
func answerMargin(wait time.Duration) time.Duration { return min(time.Second, wait/10) }

// reserve is how much of the runtime's deadline must be left for the plugin: what it needs in 99 of 100 cases. The first
// eighth of the deadline (30 s of 240) is always good enough. With no such bound a plugin that once needed nearly all of
// it would leave each attempt a few seconds: everybody would be refused again and again, at the price of a DEL each, and
// a node with a very slow plugin would start nothing at all.
func (q *Queue) reserve() time.Duration {
	return min(q.plugin.p99, q.cfg.RuntimeBudget.Std()*7/8)
}

// supersede refuses the pod's unanswered attempts that the new one replaces: those for another sandbox, which the
// runtime has given up, and the same network of the same one, whose connection was lost.
func (q *Queue) supersede(t instant, a *attempt) {
	for _, old := range slices.Clone(a.pod.asking) {
		replaced := old.sandbox != a.sandbox || old.network == a.network
		if replaced || len(a.pod.asking) >= maxPeers {
			q.dequeue(old)
			q.unask(t, old)
			q.answerNo(t, old, Superseded)
			delete(q.attempts, old.id)
		}
	}
}
