package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"evenkeel.dev/evenkeel/internal/agent/load"
	"evenkeel.dev/evenkeel/internal/agent/source"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/pace"
)

// noLoad is a machine at rest.
type noLoad struct{}

func (noLoad) Read() (load.Sample, error) { return load.Sample{}, nil }

// newTestLoop is a loop that nobody runs, booted a minute ago.
func newTestLoop(t *testing.T, now time.Time, config string) (*loop, *prometheus.Registry) {
	t.Helper()
	conf, err := agentconfig.Parse([]byte(config), "linux")
	if err != nil {
		t.Fatal(err)
	}
	q, err := pace.New(now, conf.Pace, 4)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	l := newLoop(now, q, newPodBook(conf, now.Add(-time.Minute)))
	l.log, l.metrics, l.reader = slog.New(slog.DiscardHandler), m, noLoad{}
	l.lockHolders = func() (int, error) { return 0, nil }
	l.limit(conf.Pace.Limits)
	return l, registry
}

// askFor is an ADD without anybody at the other end.
func (l *loop) askFor(now time.Time, id pace.AttemptID, name string) {
	l.apply(now, l.queue.Request(now, pace.Attempt{
		ID: id, UID: "uid-" + name, Namespace: "shop", Name: name, Info: pace.Info{Class: pace.ClassOrdinary},
	}))
}

func TestAnIdleAgentDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counted, sampled atomic.Int64
		l, _ := newTestLoop(t, time.Now(), "pace: {limits: {maxConcurrent: 1, pressure: {cpu: 90}}}")
		l.lockHolders = func() (int, error) { counted.Add(1); return 0, nil }
		l.reader = readerFunc(func() (load.Sample, error) { sampled.Add(1); return load.Sample{}, nil })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		l.do(func(now time.Time) { l.podChange(now, source.Change{Kind: source.Synced}) })

		// A pod starts and is deleted, and one is refused and does not come back.
		time.Sleep(10 * time.Second)
		l.do(func(now time.Time) { l.askFor(now, 1, "a"); l.askFor(now, 2, "b") })
		time.Sleep(2 * time.Minute)
		l.do(func(now time.Time) { l.podGone(now, "uid-a") })
		time.Sleep(5 * time.Minute)
		if sampled.Swap(0) == 0 || counted.Swap(0) == 0 {
			t.Error("neither the load nor lock holders were looked at while pods started: the test sees nothing")
		}

		before := testutil.ToFloat64(l.metrics.turns)
		time.Sleep(time.Hour)
		if turns := testutil.ToFloat64(l.metrics.turns) - before; turns != 0 || sampled.Load() != 0 || counted.Load() != 0 {
			t.Errorf("in an idle hour the agent woke up %g times, took %d samples and counted lock holders %d times", turns, sampled.Load(), counted.Load())
		}
		cancel()
		<-done
	})
}

func TestLockHoldersThatCannotBeCountedKeepTheirSlots(t *testing.T) {
	now := time.Now()
	l, _ := newTestLoop(t, now, "pace: {limits: {maxConcurrent: 1}}")
	holders, err := 1, error(nil)
	l.lockHolders = func() (int, error) { return holders, err }
	trouble := map[string]error{}
	l.trouble = func(about string, err error) { trouble[about] = err }
	l.locksAt = now
	l.countLocks(now)
	if got := l.queue.Counts().LockHolders; got != 1 {
		t.Fatalf("%d lock holders, want 1", got)
	}
	holders, err = 0, errors.New("too many open files")
	now = now.Add(locksEvery)
	l.countLocks(now)
	if got := l.queue.Counts().LockHolders; got != 1 || trouble["locks"] == nil {
		t.Errorf("%d lock holders and the problem %v after an error, want 1 and a problem", got, trouble["locks"])
	}
	now, err = now.Add(locksEvery), nil
	l.countLocks(now)
	if got := l.queue.Counts().LockHolders; got != 0 || trouble["locks"] != nil {
		t.Errorf("%d lock holders and the problem %v once they can be counted, want none", got, trouble["locks"])
	}
}

type readerFunc func() (load.Sample, error)

func (f readerFunc) Read() (load.Sample, error) { return f() }

func TestPodsHeldLongAndDroppedAreCounted(t *testing.T) {
	now := time.Now()
	l, _ := newTestLoop(t, now, "pace: {limits: {maxConcurrent: 1}, maxWait: 10s, attempt: 30s}")
	l.podChange(now, source.Change{Kind: source.Synced})
	turn := func(later time.Duration) {
		for end := now.Add(later); now.Before(end); now = now.Add(time.Second) {
			l.turn(now)
		}
	}
	turn(6 * time.Second)
	l.askFor(now, 1, "a")
	l.apply(now, l.queue.Ack(now, 1))
	l.askFor(now, 2, "b")
	turn(12 * time.Second)
	if n := testutil.ToFloat64(l.metrics.overdue); n != 1 {
		t.Errorf("%g overdue pods, want 1", n)
	}
	turn(3 * time.Minute) // b is refused and stays away
	if n := testutil.ToFloat64(l.metrics.overdue); n != 0 {
		t.Errorf("%g overdue pods after the only one was dropped", n)
	}
	for kind, want := range map[pace.EventKind]float64{pace.HeldLong: 1, pace.Dropped: 1, pace.SlotKept: 0, pace.MaintenanceEnded: 0} {
		if n := testutil.ToFloat64(l.metrics.events.WithLabelValues(string(kind))); n != want {
			t.Errorf("%s: %g, want %g", kind, n, want)
		}
	}
	l.apply(now, l.queue.Maintenance(now, true))
	turn(6 * time.Minute)
	if n := testutil.ToFloat64(l.metrics.events.WithLabelValues(string(pace.MaintenanceEnded))); n != 1 {
		t.Errorf("%g maintenances that ended by themselves, want 1", n)
	}
}

func TestAThresholdWithoutAFigureIsAProblem(t *testing.T) {
	var problem error
	l, _ := newTestLoop(t, time.Now(), "")
	l.trouble = func(_ string, err error) { problem = err }
	l.reader = readerFunc(func() (load.Sample, error) { return load.Sample{IO: load.Unknown}, nil })

	l.limit(pace.Limits{Pressure: &pace.Pressure{CPU: 90}})
	if problem != nil {
		t.Errorf("nothing was asked of I/O: %v", problem)
	}
	l.limit(pace.Limits{Pressure: &pace.Pressure{IO: 20}})
	if want := "pace.limits.pressure.io: 20: this system has no figure for it, the limit does not follow it (Linux has one where /proc/pressure is)"; problem == nil || problem.Error() != want {
		t.Errorf("got %v, want %s", problem, want)
	}
	l.reader = readerFunc(func() (load.Sample, error) { return load.Sample{}, errors.New("no such file") })
	l.limit(pace.Limits{Pressure: &pace.Pressure{CPU: 90}})
	if want := "the load cannot be measured, the limit does not follow it: no such file"; problem == nil || problem.Error() != want {
		t.Errorf("got %v, want %s", problem, want)
	}
	l.limit(pace.Limits{})
	if problem != nil {
		t.Errorf("no limit goes by the load any more: %v", problem)
	}
}
