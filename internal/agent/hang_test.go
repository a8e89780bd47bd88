package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"evenkeel.dev/evenkeel/internal/agent/source"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

func TestAHangIsToldOnceAndLocksAreCountedAnew(t *testing.T) {
	r := newRestart(t).settled()
	r.connect("a")
	r.pass(40 * time.Second)
	if !r.locksAt.IsZero() {
		t.Fatal("locks are still counted: the test sees nothing")
	}
	counted := 0
	r.lockHolders = func() (int, error) { counted++; return 1, nil }
	r.late(r.now, 2*time.Second)
	r.pass(time.Second)
	if counted != 0 {
		t.Error("two seconds are no hang")
	}
	r.late(r.now, 30*time.Second)
	r.now = r.now.Add(time.Millisecond)
	r.late(r.now, 29*time.Second) // somebody else noticed
	r.pass(time.Second)
	if counted == 0 || r.queue.Counts().LockHolders != 1 {
		t.Errorf("locks counted %d times, %d holders", counted, r.queue.Counts().LockHolders)
	}
	if n := testutil.ToFloat64(r.metrics.hangs); n != 1 {
		t.Errorf("%g hangs, want 1", n)
	}
}

// After a hang the agent reads at once what was said in the course of it: that a
// plugin runs, and that it has ended. The pod has long started.
func TestAPodThatStartedDuringAHangHoldsNoSlotAfterIt(t *testing.T) {
	for _, heardFirst := range []bool{false, true} {
		r := newRestart(t).settled()
		r.now = r.now.Add(30 * time.Second)
		r.sees(pod("a", sandboxed(r.now.Add(-20*time.Second)), running("c1", r.now.Add(-19*time.Second))))
		if !heardFirst {
			r.late(r.now, 29*time.Second)
		}
		r.id++
		s := &session{loop: r.loop, id: r.id, peer: nobody{}, req: paceapi.Request{
			UID: "uid-a", Namespace: "shop", Name: "a", Running: true, Degraded: true, RunningFor: paceapi.Millis(time.Second),
		}}
		r.arrive(r.now, s)
		r.done(r.now, s, paceapi.Done{Duration: paceapi.Millis(2 * time.Second)})
		r.leave(r.now, s)
		if heardFirst {
			r.starting("as far as is known", "a")
			r.late(r.now, 29*time.Second)
		}
		r.starting("once the hang is known")
	}
}

// What runs since before the agent asks about it is not old without a hang.
func TestStatusFromBeforeAPluginRanReleasesNothingWithoutAHang(t *testing.T) {
	r := newRestart(t).settled()
	r.sees(pod("a", sandboxed(r.now.Add(-5*time.Second)), running("c1", r.now.Add(-5*time.Second))))
	r.id++
	s := &session{loop: r.loop, id: r.id, peer: nobody{}, req: paceapi.Request{
		UID: "uid-a", Namespace: "shop", Name: "a", Running: true, RunningFor: paceapi.Millis(time.Second),
	}}
	r.arrive(r.now, s)
	r.done(r.now, s, paceapi.Done{Duration: paceapi.Millis(2 * time.Second)})
	r.starting("its new sandbox has not been shown yet", "a")
}

func TestTheLoopNoticesThatItHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newTestLoop(t, time.Now(), limit(1))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.Run(ctx) }()
		l.do(func(now time.Time) { l.podChange(now, source.Change{Kind: source.Synced}) })
		l.ask(func(time.Time) { time.Sleep(20 * time.Second) }) // as a stopped process does
		l.ask(func(time.Time) {})
		if n := testutil.ToFloat64(l.metrics.hangs); n != 1 {
			t.Errorf("%g hangs, want 1", n)
		}
		cancel()
		<-ended
	})
}
