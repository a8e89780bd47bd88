package pace

import (
	"cmp"
	"slices"
	"time"
)

func byLatest(a, b *attempt) int {
	if c := cmp.Compare(a.latest, b.latest); c != 0 {
		return c
	}
	return cmp.Compare(a.id, b.id)
}

// enqueue adds an unanswered attempt, and has the refusals looked at no later than it may need one.
func (q *Queue) enqueue(a *attempt) {
	at, _ := slices.BinarySearchFunc(q.asking, a, byLatest)
	q.asking = slices.Insert(q.asking, at, a)
	if at < len(q.asking)-1 {
		q.refuseAt = a.since // those behind it have less room now
		return
	}
	first := a.latest - (a.latest-a.since)*7/10
	q.refuseAt = min(q.refuseAt, first, a.latest-instant(at)*q.refusalGap())
}

func (q *Queue) dequeue(a *attempt) {
	if at, found := slices.BinarySearchFunc(q.asking, a, byLatest); found {
		q.asking = slices.Delete(q.asking, at, at+1)
	}
}

// condemn makes sure that the attempt is refused as soon as the cap allows, and never granted.
func (q *Queue) condemn(t instant, a *attempt, reason RefusalReason) {
	q.unask(t, a)
	a.doom = reason
	q.refuseAt = t
}

// answerNo refuses an attempt that is not, or no longer, among those asking.
func (q *Queue) answerNo(t instant, a *attempt, reason RefusalReason) {
	p := a.pod
	r := Refusal{
		ID: a.id, UID: p.uid, Namespace: p.namespace, Name: p.name, Reason: reason,
		Waiting: len(q.line.pods), Starting: q.holding + q.locks, Limit: q.limit(t),
	}
	if p.waiting {
		r.Rank = q.line.index(p) + 1
		r.Waited = t - p.arrival
	}
	q.out.Refusals = append(q.out.Refusals, r)
}

// refuseDue refuses what is due, keeping the gap between two refusals as long as all can still be answered in time.
func (q *Queue) refuseDue(t instant) {
	if t < q.refuseAt {
		return
	}
	for {
		a, at := q.nextRefusal(t)
		if a == nil {
			q.refuseAt = at
			return
		}
		q.dequeue(a)
		q.unask(t, a)
		q.answerNo(t, a, cmp.Or(a.doom, a.expiry))
		a.pod.dueBack = t + backAfter
		delete(q.attempts, a.id)
		q.lastRefusal = t
	}
}

// nextRefusal is the attempt to refuse now, or when to look again. Each attempt is due by its rank; of those that are
// due the farthest goes first. Before that comes what cannot wait for another turn: when the first i attempts by
// latest answer need all the turns there are up to then, one of them must go, again the farthest.
func (q *Queue) nextRefusal(t instant) (*attempt, instant) {
	for rank, p := range q.line.pods {
		p.rank = rank
	}
	gap := q.squeezedGap(t)
	turn := max(t, q.lastRefusal+gap)
	next := never
	var due, pressed, farthest *attempt
	for i, a := range q.asking {
		dueAt := a.due(q.rankOf(a), len(q.line.pods))
		last := a.latest - instant(i)*gap
		next = min(next, dueAt, last)
		farthest = q.farther(farthest, a)
		if last < turn+gap || last <= turn {
			pressed = farthest
		}
		if dueAt <= turn {
			due = q.farther(due, a)
		}
	}
	switch at := max(turn, next); {
	case next == never || at > t:
		return nil, max(at, turn)
	case pressed != nil:
		return pressed, t
	default:
		return due, t
	}
}

// refusalGap is the time between two refusals that keeps the cap.
func (q *Queue) refusalGap() time.Duration {
	perSecond := time.Duration(q.cfg.RefusalsPerSecond)
	return (time.Second + perSecond - 1) / perSecond
}

// squeezedGap is refusalGap, or less if with it some attempt would be answered too late.
func (q *Queue) squeezedGap(t instant) time.Duration {
	usual := q.refusalGap()
	gap, turn := usual, max(t, q.lastRefusal+usual)
	for i, a := range q.asking {
		if turn+instant(i)*usual > a.latest {
			gap = min(gap, max(0, a.latest-t)/instant(i+1))
		}
	}
	return gap
}

// rankOf is the rank of an attempt's pod; behind everybody if it is not in the line.
func (q *Queue) rankOf(a *attempt) int {
	if a.pod.waiting {
		return a.pod.rank
	}
	return len(q.line.pods)
}

func (q *Queue) farther(a, b *attempt) *attempt {
	if a != nil && q.rankOf(a) >= q.rankOf(b) {
		return a
	}
	return b
}
