package pace

// giveTurns gives free slots to the first pods in the line that are present.
func (q *Queue) giveTurns(t instant) {
	for q.present > 0 && !q.maintenance && t >= q.grace {
		free := q.limit(t) - q.holding - q.locks
		why := FreeSlot
		p := q.keptPresent(t)
		var away []*pod
		if p != nil {
			why = Reserved
		} else {
			if q.kept != nil {
				free--
			}
			if free <= 0 {
				return
			}
			p, away = q.firstPresent(t)
			if p == nil {
				return
			}
			if q.keepFor(t, away) {
				continue
			}
		}
		if free <= 0 {
			return
		}
		taken, ok := q.limiter.take(t)
		if !ok {
			return
		}
		for _, passed := range away {
			passed.passed++
		}
		q.admit(t, p, why, taken)
	}
}

// turnsAt is when giveTurns may have something to do without any input.
func (q *Queue) turnsAt() instant {
	if q.maintenance {
		return never
	}
	if q.clock.t < q.grace {
		return q.grace
	}
	return min(q.limiter.next(q.clock.t), q.pressure.stale())
}

// keptPresent is the pod that a slot is kept for, if it is back.
func (q *Queue) keptPresent(t instant) *pod {
	if q.kept != nil && q.grantable(t, q.kept) {
		return q.kept
	}
	return nil
}

// firstPresent is the first pod in the line that can be granted, and the pods before it that are away.
func (q *Queue) firstPresent(t instant) (first *pod, away []*pod) {
	for _, p := range q.line.pods {
		if q.grantable(t, p) {
			return p, away
		}
		if len(p.asking) == 0 {
			away = append(away, p)
		}
	}
	return nil, nil
}

// grantable reports whether the pod is present, of a known class, and has an attempt with enough time left for the
// plugin. Attempts without that are condemned.
func (q *Queue) grantable(t instant, p *pod) bool {
	if len(p.asking) == 0 || p.classifyBy != never {
		return false
	}
	reserve := q.reserve()
	for i := len(p.asking) - 1; i >= 0; i-- {
		if a := p.asking[i]; a.budgetEnd-t < reserve {
			q.condemn(t, a, Budget)
		}
	}
	return len(p.asking) > 0
}

// keepFor keeps the free slot for the first pod that was passed over too often and is due back, unless one is kept
// already. Whoever hung up unanswered is not: its executable was killed, or runs the original by a lock file.
func (q *Queue) keepFor(t instant, away []*pod) bool {
	if q.kept != nil {
		return false
	}
	for _, p := range away {
		if p.passed >= passedLimit && p.dueBack <= t {
			q.kept, q.keptEnd = p, t+keepFor
			q.tell(SlotKept, p, t-p.absentSince)
			return true
		}
	}
	return false
}

// admit gives the pod a slot, for which a token was taken or not, and all its attempts a grant.
func (q *Queue) admit(t instant, p *pod, why GrantReason, taken token) {
	q.leaveLine(p)
	p.slot = &slot{since: t, token: taken, lapses: never}
	q.holding++
	for _, a := range p.asking {
		q.dequeue(a)
		q.pass(t, a, why)
		why = SamePod // its other networks
	}
	p.asking = nil
	p.passed = 0
	q.arm(p)
}

// pass grants an attempt on its pod's slot, or on none.
func (q *Queue) pass(t instant, a *attempt, why GrantReason) {
	p := a.pod
	a.state = granted
	a.ackBy = t + ackTimeout
	g := Grant{ID: a.id, UID: p.uid, Namespace: p.namespace, Name: p.name, Why: why}
	if s := p.slot; s != nil {
		a.slot = s
		s.peers = append(s.peers, a)
		s.fromAPI, s.lapses = false, never
		q.arm(p)
	}
	if why != SamePod {
		g.Waited = t - p.arrival
	}
	q.out.Grants = append(q.out.Grants, g)
}
