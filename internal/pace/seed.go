package pace

import (
	"slices"
	"time"
)

// Starting is a pod that, by the API, has a sandbox and has not started.
type Starting struct {
	UID, Namespace, Name string
	Info                 Info
	// For is how long it has been starting.
	For time.Duration
}

// Resume takes in an executable whose original has been running for so long, after the connection or the agent was
// lost. It needs no answer. The pod gets a slot if it has none, whatever the limits say: what runs, runs.
func (q *Queue) Resume(now time.Time, in Attempt, ran time.Duration) Output {
	t := q.begin(now)
	if old := q.attempts[in.ID]; old != nil {
		q.hangUp(t, old)
	}
	a := q.newAttempt(t, in)
	a.pod = &pod{uid: in.key(), namespace: in.Namespace, name: in.Name, alarm: -1}
	a.state = running
	if in.key() != "" && in.Info.Class != ClassUngated && ran < q.cfg.SlotTimeout.Std() {
		p := q.holder(t, Starting{UID: in.key(), Namespace: in.Namespace, Name: in.Name, Info: in.Info, For: ran})
		a.pod, a.slot = p, p.slot
		p.slot.peers = append(p.slot.peers, a)
		p.slot.acked, p.slot.fromAPI, p.slot.lapses = true, false, never
		q.arm(p)
	}
	return q.settle(t)
}

// Seed takes in pods that the API says are starting: all of them once after a restart, which ends the wait for it, an
// empty list too; and later each pod that starts without an attempt, because it uses the host's network. Pods that ask
// for their turn, now or later in the grace period, are believed instead.
func (q *Queue) Seed(now time.Time, starting []Starting) Output {
	t := q.begin(now)
	q.grace = restartGrace
	for _, s := range starting {
		p := q.pods[s.UID]
		asks := p != nil && (p.slot != nil || len(p.asking) > 0)
		if s.UID == "" || asks || s.Info.Class == ClassUngated || s.For >= q.cfg.SlotTimeout.Std() {
			continue
		}
		q.holder(t, s).slot.fromAPI = true
	}
	return q.settle(t)
}

// holder returns the pod with a slot, and gives it one if it has none.
func (q *Queue) holder(t instant, s Starting) *pod {
	p := q.pods[s.UID]
	if p == nil {
		p = q.known(t, s.UID, s.Namespace, s.Name)
		p.info = s.Info
	}
	if p.slot != nil {
		return p
	}
	if p.waiting {
		q.leaveLine(p)
	}
	p.slot = &slot{since: t - max(0, s.For), lapses: never}
	q.holding++
	for _, a := range slices.Clone(p.asking) {
		q.dequeue(a)
		q.pass(t, a, SamePod)
	}
	p.asking = nil
	q.arm(p)
	return p
}

// LockHolders tells how many executables run their original under a lock file and are not known by Resume: each counts
// as a slot. The number must be told again while it is not zero; after slotTimeout without that it is forgotten.
func (q *Queue) LockHolders(now time.Time, n int) Output {
	t := q.begin(now)
	q.locks = max(0, n)
	q.locksEnd = t + q.cfg.SlotTimeout.Std()
	return q.settle(t)
}

// Maintenance switches on and off the time in which the plugin's file must be replaceable. On: everybody who waits is
// told to try again later, as fast as the cap allows, and so is everybody who comes, but for pods that hold a slot
// already. It ends by itself after five minutes. Turns then go on as before, within the limit.
func (q *Queue) Maintenance(now time.Time, on bool) Output {
	t := q.begin(now)
	q.maintenance = on
	if on {
		q.maintainEnd = t + maintenanceLimit
		for _, a := range q.asking {
			if a.doom == "" {
				q.condemn(t, a, Maintenance)
			}
		}
	}
	return q.settle(t)
}
