package agent

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

func TestNoMorePodsStartThanTheLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(2)).settled()
	a, b := w.add("a").granted(), w.add("b").granted()
	c := w.add("c").waits()
	s := w.status()
	if len(s.Queue.Holding) != 2 || len(s.Queue.Waiting) != 1 || s.Connections != 3 {
		t.Fatalf("status %+v", s)
	}
	a.done(1) // a failed plugin gives its slot back
	c.granted().done(0)
	b.done(0)
}

func TestHangingUpIsACancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.add("a").granted()
	b := w.add("b").waits()
	w.must(b.Close())
	w.eventually("b is absent", func() bool { q := w.status().Queue.Waiting; return len(q) == 1 && !q[0].Present })
}

func TestARestartedAgentNeitherForgetsNorAdmitsTooMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.add("running").granted()
	w.add("waiting").waits()
	w.must(w.stop())
	w.start()
	running := w.add("running", func(r *paceapi.Request) { r.Running, r.RunningFor = true, paceapi.Millis(time.Second) })
	waiting := w.add("waiting", func(r *paceapi.Request) { r.SinceFirst = paceapi.Millis(time.Minute) })
	later := w.add("later")
	w.settled()
	waiting.waits()
	running.done(1)
	waiting.granted()
	later.waits()
}

func TestANewConfigurationKeepsSlotsAndWaiters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.add("a").granted()
	b, c := w.add("b").waits(), w.add("c").waits()
	w.configure("pace: {limits: {maxConcurrent: 900000}}\n")
	w.eventually("a wrong file is a problem", func() bool {
		return strings.Contains(strings.Join(w.status().Problems, " "), "pace.limits.maxConcurrent")
	})
	if w.status().Queue.Limit != 1 {
		t.Fatal("a wrong file changed the limit")
	}
	w.configure(limit(2))
	b.granted()
	c.waits()
	if p := w.status().Problems; len(p) > 0 {
		t.Fatalf("problems %q", p)
	}
	w.configure(limit(2) + "socket: /elsewhere\nlog: {format: text}\n")
	w.eventually("what needs a restart is named", func() bool {
		return strings.Contains(strings.Join(w.status().Problems, " "), "need a restart of the agent: log.format")
	})
}

func TestWaitersHearOfTheirPlaceAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.add("a").granted()
	b := w.add("b")
	for n := range 2 {
		began := time.Now()
		m, err := b.Next(began.Add(paceapi.KeepAlive))
		if err != nil || m.Type != paceapi.TypeWaiting || m.Place.Rank != 1 || m.Place.Length != 1 || m.Place.Reason != "1 starting, limit 1" {
			t.Fatalf("line %d after %s: %+v, %v", n+1, time.Since(began), m, err)
		}
	}
}

func TestAnAttemptThatMayNotWaitLongIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.add("a").granted()
	began := time.Now()
	b := w.add("b", func(r *paceapi.Request) { r.Remaining = paceapi.Millis(2 * time.Second) })
	reason := b.refused()
	if waited := time.Since(began); waited > 2*time.Second || !strings.HasPrefix(reason, "1st of 1 waiting to start on this node (1 starting, limit 1)") {
		t.Fatalf("after %s: %q", waited, reason)
	}
}

func TestWhatAnAttemptHasWaitedIsTakenOffTheRuntimesDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(5)).settled()
	a := w.add("a").granted()
	w.must(a.Done(paceapi.Done{Duration: paceapi.Millis(200 * time.Second)}))
	w.must(a.Close())
	w.eventually("the run is noted", func() bool { return w.status().Queue.PluginP99.Std() == 200*time.Second })
	w.add("b").granted()
	redialled := w.add("c", func(r *paceapi.Request) {
		r.Waited, r.Remaining = paceapi.Millis(55*time.Second), paceapi.Millis(5*time.Second)
	})
	if reason := redialled.refused(); !strings.Contains(reason, "too little of the runtime's deadline was left") {
		t.Fatal(reason)
	}
}

func TestAnAgentLeavesNoGoroutineBehind(t *testing.T) {
	first := newWorld(t, limit(1)) // what libraries keep for the life of the process is there after it
	first.must(first.stop())
	before := runtime.NumGoroutine()
	w := newWorld(t, limit(1)).settled()
	w.add("a").granted()
	w.add("b").waits()
	w.must(w.stop())
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestASecondAgentWaitsForTheFirstToLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(3))
	second := *w
	second.t = t
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		time.Sleep(200 * time.Millisecond)
		w.must(w.stop())
	}()
	started := w.status().Started
	second.start()
	<-ended
	w.eventually("the second agent serves", func() bool {
		s, err := askAgent(context.Background(), w.socket)
		return err == nil && s.Started.After(started)
	})
	w.must(second.stop())
}

func TestGarbageOnTheSocketHarmsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	for _, text := range []string{"{", "{}\n", "\x00\x01\n", strings.Repeat("{", 20_000), "GET / HTTP/9.9\r\n\r\n"} {
		conn := w.dial()
		_, _ = conn.Write([]byte(text))
		defer conn.Close()
	}
	half := w.dial() // says nothing at all
	defer half.Close()
	w.add("a").granted()
}

func TestRefusalReasonsAreWrittenForPeople(t *testing.T) {
	if got := waitingReason(pace.Counts{Holding: 2, LockHolders: 1, Limit: 3}); got != "3 starting, limit 3" {
		t.Fatal(got)
	}
}

func TestWhatIsDecidedIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	w.add("a").granted().done(1)
	w.add("b").granted()
	w.add("c", func(r *paceapi.Request) { r.Remaining = paceapi.Millis(time.Second) }).refused()
	text := w.get("/metrics")
	for _, line := range []string{
		`evenkeel_pace_grants_total{reason="FreeSlot"} 2`,
		`evenkeel_pace_refusals_total{reason="Deadline"} 1`,
		`evenkeel_pace_releases_total{reason="PluginFailed"} 1`,
		`evenkeel_pace_plugin_failures_total 1`,
		`evenkeel_pace_wait_seconds_count 2`,
		`evenkeel_pace_plugin_seconds_bucket{le="300"} 1`,
		`evenkeel_pace_starting_pods 1`,
		`evenkeel_pace_limit_pods 1`,
		`evenkeel_pace_overdue_pods 0`,
		`evenkeel_pace_events_total{kind="HeldLong"} 0`,
		`evenkeel_pace_ready 1`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %s in:\n%s", line, text)
		}
	}
	if w.get("/healthz") != "ok\n" || w.get("/readyz") != "ok\n" {
		t.Error("not healthy")
	}
}
