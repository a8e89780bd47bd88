package pace

import "slices"

// pod is a pod that waits for its turn, present or between two attempts, or that holds a slot.
type pod struct {
	uid, namespace, name string
	info                 Info
	slot                 *slot // nil while it waits
	waiting              bool  // is in the line

	arrival instant // of the first attempt; what its turn goes by
	seq     uint64  // settles equal arrivals
	key     instant // kept by line
	overdue bool    // waited maxWait
	passed  int     // how often a turn went to a pod behind it while it was away

	asking      []*attempt // may be granted
	absentSince instant    // while asking is empty
	dueBack     instant    // while asking is empty; never of one whose caller was not told to try again
	classifyBy  instant    // while its class is unknown

	wake  instant // kept by alarms
	alarm int     // kept by alarms
	rank  int     // from 0; only meaningful inside refuseDue
}

// slot is a pod's right to be starting.
type slot struct {
	since   instant
	peers   []*attempt // granted or running
	acked   bool       // at least one original was run
	failed  bool       // at least one original failed
	token   token      // taken for it
	fromAPI bool       // seeded, and not confirmed by any attempt
	lapses  instant    // the peer vanished; the slot ends then unless the pod comes back
}

// known makes the pod known to the queue, neither waiting nor holding a slot yet.
func (q *Queue) known(t instant, uid, namespace, name string) *pod {
	q.seq++
	p := &pod{
		uid: uid, namespace: namespace, name: name, arrival: t, seq: q.seq,
		absentSince: t, dueBack: never, classifyBy: never, wake: never, alarm: -1,
	}
	q.pods[uid] = p
	return p
}

// forget ends the queue's knowledge of a pod that is not in the line and holds no slot.
func (q *Queue) forget(p *pod) {
	q.alarms.set(p, never)
	delete(q.pods, p.uid)
}

func (q *Queue) enterLine(p *pod) {
	q.line.add(p)
	p.waiting = true
	if len(p.asking) > 0 {
		q.present++
	}
	q.arm(p)
}

func (q *Queue) leaveLine(p *pod) {
	q.line.remove(p)
	p.waiting = false
	if len(p.asking) > 0 {
		q.present--
	}
	if q.kept == p {
		q.kept = nil
	}
}

// ask adds an attempt to a pod in the line.
func (q *Queue) ask(p *pod, a *attempt) {
	if len(p.asking) == 0 {
		q.present++
	}
	p.asking = append(p.asking, a)
	p.dueBack = never
	q.enqueue(a)
	q.arm(p)
}

// unask takes an attempt back from its pod; it stays unanswered.
func (q *Queue) unask(t instant, a *attempt) {
	p := a.pod
	at := slices.Index(p.asking, a)
	if at < 0 {
		return
	}
	p.asking = slices.Delete(p.asking, at, at+1)
	if len(p.asking) == 0 {
		p.absentSince = t
		if p.waiting {
			q.present--
		}
	}
	q.arm(p)
}

// arm sets the instant at which something happens to the pod by itself.
func (q *Queue) arm(p *pod) {
	if q.pods[p.uid] != p {
		return
	}
	if s := p.slot; s != nil {
		wake := min(s.since+q.cfg.SlotTimeout.Std(), s.lapses)
		for _, a := range s.peers {
			if a.state == granted {
				wake = min(wake, a.ackBy)
			}
		}
		q.alarms.set(p, wake)
		return
	}
	wake := p.classifyBy
	if !p.overdue {
		wake = min(wake, p.arrival+q.cfg.MaxWait.Std())
	}
	if len(p.asking) == 0 {
		wake = min(wake, p.absentSince+absentDrop)
	}
	q.alarms.set(p, wake)
}

// wakeDue does what has become due for any pod.
func (q *Queue) wakeDue(t instant) {
	for q.alarms.next() <= t {
		q.wake(t, q.alarms[0])
	}
}

// wake does what has become due for a pod.
func (q *Queue) wake(t instant, p *pod) {
	if p.slot != nil {
		q.wakeHolder(t, p)
		return
	}
	if len(p.asking) == 0 && p.absentSince+absentDrop <= t {
		q.tell(Dropped, p, t-p.absentSince)
		q.leaveLine(p)
		q.forget(p)
		return
	}
	if p.classifyBy <= t {
		p.classifyBy = never
		p.info.Class = ClassOrdinary
	}
	if !p.overdue && p.arrival+q.cfg.MaxWait.Std() <= t {
		q.tell(HeldLong, p, t-p.arrival)
		q.line.remove(p)
		p.overdue = true
		q.line.add(p)
	}
	q.arm(p)
}

func (q *Queue) tell(kind EventKind, p *pod, d instant) {
	q.out.Events = append(q.out.Events,
		Event{Kind: kind, UID: p.uid, Namespace: p.namespace, Name: p.name, For: d})
}
