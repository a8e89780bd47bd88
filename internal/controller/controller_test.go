package controller_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/controller"
	"evenkeel.dev/evenkeel/internal/evict"
	"evenkeel.dev/evenkeel/internal/plan"
)

// world is everything around a controller, and writes down what happens.
type world struct {
	snapshotTakes time.Duration
	snapshotErr   error
	planErr       error
	strategyErr   error
	executeErr    error

	started  time.Time
	cycles   []time.Duration // when each began
	executed int
	reported int
	results  []string
}

func (w *world) Snapshot(_ context.Context, now time.Time) (*cluster.Snapshot, error) {
	w.cycles = append(w.cycles, now.Sub(w.started))
	time.Sleep(w.snapshotTakes)
	if w.snapshotErr != nil {
		return nil, w.snapshotErr
	}
	return (&cluster.Parts{}).Snapshot(now)
}

func (w *world) Program(context.Context) (*controller.Program, error) {
	return &controller.Program{
		Plan: func(s *cluster.Snapshot, around controller.Around) (*plan.Plan, error) {
			around("p", "s", func() error {
				w.results = append(w.results, "strategy ran")
				return w.strategyErr
			})
			return &plan.Plan{TakenAt: s.TakenAt, Moves: []plan.Move{{Pod: plan.PodRef{Namespace: "shop", Name: "a"}}}}, w.planErr
		},
	}, nil
}

func (w *world) Execute(_ context.Context, p *plan.Plan, o evict.Options) ([]plan.Outcome, error) {
	w.executed++
	outcome := plan.Outcome{Move: p.Moves[0], Result: plan.Evicted}
	o.Observe(outcome)
	return []plan.Outcome{outcome}, w.executeErr
}

func (w *world) Planned(*plan.Plan)          {}
func (w *world) Outcome(o plan.Outcome)      { w.results = append(w.results, string(o.Result)) }
func (w *world) Phase(string, time.Duration) {}
func (w *world) Strategy(profile, strategy string, _ time.Duration) {
	w.results = append(w.results, profile+"/"+strategy)
}

func (w *world) Cycle(_ time.Duration, _ time.Time, err error) {
	w.results = append(w.results, map[bool]string{true: "cycle ok", false: "cycle failed"}[err == nil])
}

func (w *world) controller(interval time.Duration) *controller.Controller {
	w.started = time.Now()
	return &controller.Controller{
		Programs: w, Source: w, Executor: w, Metrics: w, Log: slog.New(slog.DiscardHandler), Interval: interval,
		Report: func(*cluster.Snapshot, *plan.Plan, []plan.Outcome) error {
			w.reported++
			return nil
		},
	}
}

// runFor runs the controller for a time and returns when its cycles began, in seconds.
func runFor(t *testing.T, w *world, interval, d time.Duration) []int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := w.controller(interval).Run(ctx); err != nil {
		t.Error(err)
	}
	var seconds []int
	for _, c := range w.cycles {
		seconds = append(seconds, int(c.Seconds()))
	}
	return seconds
}

func TestIntervalIsFromStartToStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := runFor(t, &world{snapshotTakes: 40 * time.Second}, time.Minute, 150*time.Second)
		if want := []int{0, 60, 120}; !slices.Equal(got, want) {
			t.Errorf("cycles began at %v s, want %v", got, want)
		}
	})
}

func TestLongCycleIsFollowedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := runFor(t, &world{snapshotTakes: 90 * time.Second}, time.Minute, 200*time.Second)
		if want := []int{0, 90, 180}; !slices.Equal(got, want) {
			t.Errorf("cycles began at %v s, want %v", got, want)
		}
	})
}

func TestFailingCyclesAreNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{snapshotErr: errors.New("gone"), snapshotTakes: 90 * time.Second}
		got := runFor(t, w, time.Minute, 200*time.Second)
		if want := []int{0, 95, 190}; !slices.Equal(got, want) {
			t.Errorf("cycles began at %v s, want %v", got, want)
		}
		if w.executed != 0 {
			t.Error("something was evicted without a snapshot")
		}
	})
}

func TestOneCycleReturnsItsError(t *testing.T) {
	for name, w := range map[string]*world{
		"snapshot": {snapshotErr: errors.New("broken")},
		"plan":     {planErr: errors.New("broken")},
		"execute":  {executeErr: errors.New("broken")},
	} {
		t.Run(name, func(t *testing.T) {
			if err := w.controller(0).Run(t.Context()); err == nil {
				t.Error("no error")
			}
			if len(w.cycles) != 1 || w.results[len(w.results)-1] != "cycle failed" {
				t.Errorf("%d cycles, results %q", len(w.cycles), w.results)
			}
		})
	}
}

func TestPolicyErrorEvictsNothing(t *testing.T) {
	w := &world{planErr: errors.New("unknown priority class")}
	_ = w.controller(0).Run(t.Context())
	if w.executed != 0 {
		t.Error("evicted")
	}
}

func TestOneCycleEvictsAndReports(t *testing.T) {
	w := &world{}
	if err := w.controller(0).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.executed != 1 || w.reported != 1 || !slices.Equal(w.results, []string{"strategy ran", "p/s", "success", "cycle ok"}) {
		t.Errorf("executed %d, reported %d, results %q", w.executed, w.reported, w.results)
	}
}

func TestDryRunEvictsNothingAndReports(t *testing.T) {
	w := &world{}
	c := w.controller(0)
	c.Executor = nil
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.executed != 0 || w.reported != 1 {
		t.Errorf("executed %d, reported %d", w.executed, w.reported)
	}
}

func TestStoppingASingleCycleIsNoSuccess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{}
	c := w.controller(0)
	c.Seen = func(*cluster.Snapshot) { cancel() }
	if err := c.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestSpansNestAndEnd(t *testing.T) {
	var log []string
	c := (&world{}).controller(0)
	c.Trace = func(ctx context.Context, name string, _ time.Time, _ ...string) (context.Context, func(error)) {
		log = append(log, "+"+name)
		return ctx, func(error) { log = append(log, "-"+name) }
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"+cycle", "+snapshot", "-snapshot", "+plan", "+strategy", "-strategy", "-plan", "+execute", "+eviction", "-eviction", "-execute", "-cycle"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

func TestTheSpanOfAStrategyThatFailsIsAnError(t *testing.T) {
	failure := errors.New("no measurements")
	c := (&world{strategyErr: failure}).controller(0)
	ended := map[string]error{}
	c.Trace = func(ctx context.Context, name string, _ time.Time, _ ...string) (context.Context, func(error)) {
		return ctx, func(err error) { ended[name] = err }
	}
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(ended["strategy"], failure) || ended["plan"] != nil || ended["cycle"] != nil {
		t.Errorf("spans ended with %v, want an error of the strategy's alone", ended)
	}
}
