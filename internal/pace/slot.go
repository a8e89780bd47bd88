package pace

import (
	"slices"
	"time"
)

// Ack says that the peer got its grant and runs the original. An unknown attempt is ignored.
func (q *Queue) Ack(now time.Time, id AttemptID) Output {
	t := q.begin(now)
	if a := q.attempts[id]; a != nil && a.state == granted {
		q.acknowledge(a)
	}
	return q.settle(t)
}

func (q *Queue) acknowledge(a *attempt) {
	a.state = running
	if s := a.slot; s != nil {
		s.acked = true
		q.arm(a.pod)
	}
}

// Done says that the original ended after this long, and whether it succeeded. The slot of a pod whose original failed
// ends, and the pod queues at the back; after a success the slot waits for the pod's status ([Queue.Release]). It
// implies Ack. An unknown attempt is ignored.
func (q *Queue) Done(now time.Time, id AttemptID, took time.Duration, ok bool) Output {
	t := q.begin(now)
	if a := q.attempts[id]; a != nil && a.state != asking {
		q.acknowledge(a)
		q.observe(t, took, ok)
		q.part(t, a, func(s *slot) { s.failed = s.failed || !ok })
	}
	return q.settle(t)
}

// Cancel says that the peer hung up. A waiting pod keeps its rank for two minutes; a slot whose original was running
// lasts 30 s more, for the pod's next attempt. An unknown attempt is ignored, so Cancel may always follow a closed
// connection.
func (q *Queue) Cancel(now time.Time, id AttemptID) Output {
	t := q.begin(now)
	if a := q.attempts[id]; a != nil {
		q.hangUp(t, a)
	}
	return q.settle(t)
}

func (q *Queue) hangUp(t instant, a *attempt) {
	switch a.state {
	case asking:
		q.dequeue(a)
		q.unask(t, a)
		delete(q.attempts, a.id)
	case granted, running:
		q.part(t, a, func(s *slot) { s.lapses = t + hangupGrace })
	}
}

// part ends the attempt of a peer that was granted, notes on its slot how it ended, and ends the slot if that was the
// last peer and there is nothing left to wait for.
func (q *Queue) part(t instant, a *attempt, note func(*slot)) {
	delete(q.attempts, a.id)
	s := a.slot
	if s == nil {
		return
	}
	note(s)
	s.peers = slices.DeleteFunc(s.peers, func(peer *attempt) bool { return peer == a })
	p := a.pod
	switch {
	case len(s.peers) > 0:
		s.lapses = never
	case !s.acked:
		q.release(t, p, NotAcknowledged)
		q.comeBack(t, p)
		q.limiter.giveBack(s.token)
		return
	case s.failed:
		q.release(t, p, PluginFailed)
		if p.info.Class != ClassUrgent {
			q.goToBack(t, p)
			p.dueBack = t + backAfter
		}
		return
	}
	q.arm(p)
}

// comeBack puts a pod back at its old place, away.
func (q *Queue) comeBack(t instant, p *pod) {
	p.absentSince, p.dueBack = t, never
	q.pods[p.uid] = p
	q.enterLine(p)
}

// goToBack makes the pod wait anew, away.
func (q *Queue) goToBack(t instant, p *pod) {
	q.seq++
	p.seq, p.arrival, p.overdue, p.passed = q.seq, t, false, 0
	q.comeBack(t, p)
}

// Release says that a pod has started, or will not, by its status. It reports whether the pod held a slot, which is
// true once for each slot at most.
func (q *Queue) Release(now time.Time, uid string, why ReleaseReason) (Output, bool) {
	t := q.begin(now)
	p := q.pods[uid]
	held := p != nil && p.slot != nil
	if held {
		q.release(t, p, why)
	}
	return q.settle(t), held
}

// Gone says that a pod was deleted, has ended for good, or has started without leave: its slot ends, its place in the
// line is dropped and whoever still asks for it is refused.
func (q *Queue) Gone(now time.Time, uid string) Output {
	t := q.begin(now)
	if p := q.pods[uid]; p != nil {
		if p.slot != nil {
			q.release(t, p, PodGone)
		} else {
			q.tell(Dropped, p, t-p.arrival)
			for _, a := range slices.Clone(p.asking) {
				q.condemn(t, a, Deleted)
			}
			q.leaveLine(p)
			q.forget(p)
		}
	}
	return q.settle(t)
}

// release ends the pod's slot and forgets the pod. Peers that still run report to nobody.
func (q *Queue) release(t instant, p *pod, why ReleaseReason) {
	s := p.slot
	for _, a := range s.peers {
		a.slot = nil
	}
	p.slot = nil
	q.holding--
	q.forget(p)
	q.out.Events = append(q.out.Events, Event{
		Kind: Released, UID: p.uid, Namespace: p.namespace, Name: p.name,
		Why: why, For: t - s.since,
	})
}

func (q *Queue) wakeHolder(t instant, p *pod) {
	s := p.slot
	if s.since+q.cfg.SlotTimeout.Std() <= t {
		q.release(t, p, Expired)
		return
	}
	if s.lapses <= t {
		q.release(t, p, HungUp)
		return
	}
	for _, a := range slices.Clone(s.peers) {
		if a.state == granted && a.ackBy <= t {
			q.part(t, a, func(s *slot) { s.lapses = t + hangupGrace })
			q.answerNo(t, a, Unacknowledged)
		}
	}
	q.arm(p)
}
