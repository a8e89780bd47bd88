package pace_test

import (
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

// TestIncidentFailuresLeakNoSlot is AKS#2490: every new pod failed. A thousand failing cycles leave no slot behind.
func TestIncidentFailuresLeakNoSlot(t *testing.T) {
	w := newWorld(t, pace.Config{Limits: pace.Limits{MaxConcurrent: 2}}, 4)
	w.recover()
	for i := range 1000 {
		pod := fmt.Sprint("p", i%5)
		id := w.request(pace.Attempt{UID: pod, Info: pace.Info{Class: pace.ClassOrdinary}})
		if !w.attempts[id].answered {
			t.Fatalf("cycle %d: both slots are free, but %s waits", i, pod)
		}
		switch i % 3 {
		case 0:
			w.apply(w.queue.Done(w.now, id, time.Second, false))
		case 1:
			w.cancel(id)
			w.advance(30 * time.Second)
		case 2:
			w.advance(5 * time.Minute)
		}
	}
	w.drain()
}

func TestAttemptWithoutAPodPasses(t *testing.T) {
	w := newWorld(t, pace.Config{}, 4)
	out := w.queue.Request(w.now, pace.Attempt{ID: 1})
	if len(out.Grants) != 1 || out.Grants[0].Why != pace.Ungated {
		t.Errorf("got %+v", out)
	}
	out = w.queue.Request(w.now, pace.Attempt{ID: 2, Namespace: "ns", Name: "pod", Info: pace.Info{Class: pace.ClassUrgent}})
	if len(out.Grants) != 1 || out.Grants[0].UID != "ns/pod" {
		t.Errorf("a pod without UID goes by its name; got %+v", out)
	}
}

func TestReusedIDHangsUpTheOldAttempt(t *testing.T) {
	w := newWorld(t, pace.Config{Limits: pace.Limits{MaxConcurrent: 1}}, 4)
	w.recover()
	ask := func(pod string) pace.Output {
		return w.queue.Request(w.now, pace.Attempt{ID: 7, UID: pod, Info: pace.Info{Class: pace.ClassOrdinary}})
	}
	ask("a")
	out := ask("b")
	if len(out.Grants) != 1 || out.Grants[0].UID != "b" || len(out.Events) != 1 {
		t.Errorf("a's unacknowledged slot should go to b, got %+v", out)
	}
}

func TestPositionIsToldWhileWaiting(t *testing.T) {
	w := newWorld(t, pace.Config{Limits: pace.Limits{MaxConcurrent: 1}}, 4)
	w.recover()
	var ids []pace.AttemptID
	for _, pod := range []string{"a", "b", "c"} {
		ids = append(ids, w.request(pace.Attempt{UID: pod, Info: pace.Info{Class: pace.ClassOrdinary}}))
	}
	w.now = w.now.Add(3 * time.Second)
	rank, waiting, waited, ok := w.queue.Position(w.now, ids[2])
	if rank != 2 || waiting != 2 || waited != 3*time.Second || !ok {
		t.Errorf("c: %d of %d, %s, %t", rank, waiting, waited, ok)
	}
	if _, _, _, ok := w.queue.Position(w.now, ids[0]); ok {
		t.Error("a was granted and has no position")
	}
}

// TestSlowPluginWindowForgets checks that the percentiles are over the last 256 runs.
func TestSlowPluginWindowForgets(t *testing.T) {
	w := newWorld(t, pace.Config{Limits: pace.Limits{MaxConcurrent: 1}}, 4)
	w.recover()
	run := func(n int, took time.Duration) {
		for range n {
			id := w.request(pace.Attempt{UID: "a", Info: pace.Info{Class: pace.ClassOrdinary}})
			w.apply(w.queue.Done(w.now, id, took, true))
		}
	}
	run(3, time.Minute)
	if s := w.queue.Snapshot(); s.PluginP99.Std() != time.Minute || s.PluginMedian.Std() != time.Minute {
		t.Errorf("after three slow runs: %s, %s", s.PluginMedian, s.PluginP99)
	}
	run(256, time.Second)
	if s := w.queue.Snapshot(); s.PluginP99.Std() != time.Second {
		t.Errorf("after 256 quick runs p99 is %s", s.PluginP99)
	}
}
