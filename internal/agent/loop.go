package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"evenkeel.dev/evenkeel/internal/agent/load"
	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

const (
	// speakEvery is how often a waiting executable hears of us, with room for a
	// slow moment before paceapi.KeepAlive.
	speakEvery = paceapi.KeepAlive * 4 / 5
	// locksEvery is how often lock holders are counted while there are any, and
	// recoverTime how long after a start, or a hang, they are looked for at least.
	locksEvery  = 2 * time.Second
	recoverTime = 30 * time.Second
)

// loop owns the queue. Everything but do, lastID and done is touched by Run's
// goroutine alone.
type loop struct {
	log     *slog.Logger
	metrics *metrics
	reader  load.Reader
	events  eventSink
	// lockHolders counts executables that run the original under a lock file.
	lockHolders func() (int, error)

	// trouble notes a problem for the status, or with nil its end; note what
	// happened.
	trouble func(about string, err error)
	note    func(format string, args ...any)

	inbox  chan func(now time.Time)
	ended  chan struct{}
	lastID atomic.Uint64

	queue    *pace.Queue
	pods     *podBook
	sessions map[pace.AttemptID]*session
	silent   []*session // waiting, by when they last heard something

	maintenance maintenance
	lookAgain   func() // asks for a look at the plugin's file; nil without a keeper

	began time.Time
	clock wallClock
	hang  hang

	limits     pace.Limits // in force
	sampleAt   time.Time
	locksAt    time.Time // zero: nobody holds a lock
	recoverEnd time.Time // lock holders are looked for until then at least
}

func newLoop(now time.Time, q *pace.Queue, pods *podBook) *loop {
	return &loop{
		inbox: make(chan func(time.Time)), ended: make(chan struct{}),
		queue: q, pods: pods, sessions: map[pace.AttemptID]*session{},
		maintenance: maintenance{watched: len(pods.maintenance.Labels) > 0},
		began:       now, clock: newWallClock(now),
		locksAt: now, recoverEnd: now.Add(recoverTime),
		events: noEvents{}, trouble: func(string, error) {}, note: func(string, ...any) {},
	}
}

// do has the loop call f, in the order of the calls from one goroutine. It
// returns when f begins, or at once when the loop has ended.
func (l *loop) do(f func(now time.Time)) {
	select {
	case l.inbox <- f:
	case <-l.ended:
	}
}

// ask is do, but waits until f is done and reports whether it was called.
func (l *loop) ask(f func(now time.Time)) bool {
	done := make(chan struct{})
	l.do(func(now time.Time) { f(now); close(done) })
	select {
	case <-done:
		return true
	case <-l.ended:
		return false
	}
}

// Run serves until ctx ends.
func (l *loop) Run(ctx context.Context) {
	defer close(l.ended)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var next time.Time // zero: the timer is not set
	for {
		var f func(time.Time)
		select {
		case <-ctx.Done():
			return
		case f = <-l.inbox:
		case <-timer.C:
		}
		woke := time.Now()
		if !next.IsZero() {
			l.late(woke, woke.Sub(next))
		}
		if f != nil {
			l.watchClock(woke)
			f(woke)
		}
		timer.Stop()
		now := time.Now()
		l.late(now, now.Sub(woke))
		if next = l.turn(now); !next.IsZero() {
			timer.Reset(max(0, time.Until(next)))
		}
	}
}

// turn does what has become due and gives the time of the next turn, zero for
// none.
func (l *loop) turn(now time.Time) time.Time {
	l.metrics.turns.Inc()
	l.watchClock(now)
	l.apply(now, l.queue.Tick(now))
	next := l.judgePods(now)
	next = earlier(next, l.speak(now))
	next = earlier(next, l.sample(now))
	next = earlier(next, l.countLocks(now))
	l.metrics.set(l.queue.Counts())
	return earlier(next, l.queue.Next(now))
}

// earlier is the earlier of two times, where zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// apply does what the queue decided. Slots end before others begin: the same pod
// may do both.
func (l *loop) apply(now time.Time, out pace.Output) {
	for _, e := range out.Events {
		l.happened(now, e)
	}
	for _, g := range out.Grants {
		if s := l.sessions[g.ID]; s != nil {
			s.waiting = false
			s.peer.Grant()
		}
		l.metrics.granted(g)
		l.pods.granted(now, g)
		l.log.Info("granted", "pod", g.Namespace+"/"+g.Name, "why", string(g.Why), "waited", g.Waited)
	}
	for _, r := range out.Refusals {
		if s := l.sessions[r.ID]; s != nil {
			s.waiting = false
			s.peer.Refuse(paceapi.Place{Reason: strings.TrimPrefix(r.Message(), "paced: ")})
		}
		l.metrics.refused(r)
		l.pods.refused(r.UID)
		l.log.Info("told to try again", "pod", r.Namespace+"/"+r.Name, "why", string(r.Reason), "rank", r.Rank, "waiting", r.Waiting)
	}
}

func (l *loop) happened(now time.Time, e pace.Event) {
	l.metrics.happened(e)
	l.log.Info(string(e.Kind), "pod", e.Namespace+"/"+e.Name, "why", string(e.Why), "for", e.For)
	switch e.Kind {
	case pace.Dropped:
		delete(l.pods.asked, e.UID)
	case pace.Released:
		l.pods.released(e)
		if waits, _ := l.queue.Waits(e.UID); waits && e.Why == pace.PluginFailed {
			l.pods.asked[e.UID] = &asked{at: now, refused: true}
		}
		if e.Why == pace.Expired {
			l.events.warn(e.UID, e.Namespace, e.Name, "StartSlotExpired",
				fmt.Sprintf("Did not start within %s; the next pod may start now.", e.For.Round(time.Second)))
		}
	case pace.HeldLong:
		l.events.warn(e.UID, e.Namespace, e.Name, "HeldLong",
			fmt.Sprintf("Has waited %s for its turn to start on this node and goes to the head of the queue (%s).",
				e.For.Round(time.Second), waitingReason(l.queue.Counts())))
	}
}

// waitingReason says what a waiting pod waits for.
func waitingReason(c pace.Counts) string {
	return fmt.Sprintf("%d starting, limit %d", c.Holding+c.LockHolders, c.Limit)
}

// countLocks counts the executables that ran on without an agent, until there
// are none left.
func (l *loop) countLocks(now time.Time) time.Time {
	if l.locksAt.IsZero() || now.Before(l.locksAt) {
		return l.locksAt
	}
	n, err := l.lockHolders()
	if err != nil {
		// Not "none": those counted before hold until they are told to have gone, or for slotTimeout.
		l.trouble("locks", fmt.Errorf("lock files cannot be counted: %w", err))
		if l.locksAt = now.Add(locksEvery); now.After(l.recoverEnd) && l.queue.Counts().LockHolders == 0 {
			l.locksAt = time.Time{}
		}
		return l.locksAt
	}
	l.trouble("locks", nil)
	for _, s := range l.sessions { // known by connection as well: not twice
		if s.req.Degraded && s.req.Running {
			n--
		}
	}
	if n = max(0, n); n > 0 || l.queue.Counts().LockHolders > 0 {
		l.apply(now, l.queue.LockHolders(now, n))
	}
	if l.locksAt = now.Add(locksEvery); n == 0 && now.After(l.recoverEnd) {
		l.locksAt = time.Time{}
	}
	return l.locksAt
}
