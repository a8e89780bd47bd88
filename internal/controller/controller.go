package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/evict"
	"evenkeel.dev/evenkeel/internal/plan"
)

const (
	// snapshotTimeout is how long a cycle waits for its snapshot: a large cluster's lists take minutes at worst.
	snapshotTimeout = 10 * time.Minute
	// pauseAfterError is the least time between a cycle that failed and the next.
	pauseAfterError = 5 * time.Second
)

// Source gives snapshots.
type Source interface {
	Snapshot(ctx context.Context, now time.Time) (*cluster.Snapshot, error)
}

// Executor carries out plans; see [evict.Executor].
type Executor interface {
	Execute(ctx context.Context, p *plan.Plan, o evict.Options) ([]plan.Outcome, error)
}

// Programs gives what the policy file says. It is asked before every cycle, so that a changed file takes effect.
type Programs interface {
	Program(ctx context.Context) (*Program, error)
}

// Metrics is told what happens; see serve.Metrics.
type Metrics interface {
	Planned(p *plan.Plan)
	Outcome(o plan.Outcome)
	Phase(name string, took time.Duration)
	Strategy(profile, strategy string, took time.Duration)
	Cycle(took time.Duration, now time.Time, err error)
}

// Controller runs cycles. All fields but the optional ones must be set.
type Controller struct {
	Programs Programs
	Source   Source
	Executor Executor // nil: a dry run
	Metrics  Metrics
	Log      *slog.Logger
	// Self is the pod of this process; it is never evicted. Zero: in no pod.
	Self plan.PodRef
	// Interval is the time from the start of a cycle to the start of the next. 0: one cycle.
	Interval time.Duration
	// Seen is told each snapshot, when set, before it is planned.
	Seen func(*cluster.Snapshot)
	// Report is told each cycle's plan and outcomes, when set. In a dry run there are no outcomes.
	Report func(*cluster.Snapshot, *plan.Plan, []plan.Outcome) error
	// Rest is called, when set, between cycles.
	Rest func()
	// Trace opens a span, when set; see [Tracer].
	Trace Tracer
}

// Run runs cycles until ctx is done, or one cycle when Interval is 0. Only then does it return the cycle's error: otherwise a cycle that
// fails is logged, and the next one comes in its time.
func (c *Controller) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		started := time.Now()
		err := c.Cycle(ctx, started)
		if c.Interval <= 0 {
			if err == nil && ctx.Err() != nil {
				err = fmt.Errorf("stopped before the plan was carried out: %w", ctx.Err())
			}
			return err
		}
		if err != nil && ctx.Err() == nil {
			c.Log.Error("the cycle failed", "err", err)
		}
		if c.Rest != nil {
			c.Rest()
		}
		pause(ctx, started, c.Interval, err != nil)
	}
	return nil
}

// pause waits for the next cycle's time. A cycle that took longer than the interval is followed at once,
// unless it failed.
func pause(ctx context.Context, started time.Time, interval time.Duration, failed bool) {
	wait := interval - time.Since(started)
	if failed {
		wait = max(wait, min(pauseAfterError, interval))
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Cycle runs one cycle. Now is the time that decisions are made for.
func (c *Controller) Cycle(ctx context.Context, now time.Time) (err error) {
	ctx, span := c.Trace.start(ctx, "cycle")
	defer func() {
		span.end(err)
		c.Metrics.Cycle(time.Since(now), time.Now(), err)
	}()

	// 1. What the policy file says now.
	program, err := c.Programs.Program(ctx)
	if err != nil {
		return err
	}
	// 2. The cluster as it is now.
	snapshot, err := c.snapshot(ctx, now)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	// 3. What to move.
	p, err := c.plan(ctx, program, snapshot)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	// 4. Move it, or only say so.
	outcomes, err := c.execute(ctx, program, p)
	// 5. Tell.
	c.log(p, outcomes)
	if c.Report != nil {
		if reportErr := c.Report(snapshot, p, outcomes); reportErr != nil && err == nil {
			err = fmt.Errorf("report: %w", reportErr)
		}
	}
	return err
}

func (c *Controller) snapshot(ctx context.Context, now time.Time) (s *cluster.Snapshot, err error) {
	ctx, span := c.Trace.start(ctx, "snapshot")
	defer func(started time.Time) {
		span.end(err)
		c.Metrics.Phase("snapshot", time.Since(started))
	}(time.Now())
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	s, err = c.Source.Snapshot(ctx, now)
	if err == nil && c.Seen != nil {
		c.Seen(s)
	}
	return s, err
}

func (c *Controller) plan(ctx context.Context, program *Program, s *cluster.Snapshot) (p *plan.Plan, err error) {
	ctx, span := c.Trace.start(ctx, "plan")
	defer func(started time.Time) {
		span.end(err)
		c.Metrics.Phase("plan", time.Since(started))
	}(time.Now())
	if p, err = program.Plan(s, c.around(ctx)); err != nil {
		return nil, err
	}
	c.Metrics.Planned(p)
	return p, nil
}

func (c *Controller) execute(ctx context.Context, program *Program, p *plan.Plan) (outcomes []plan.Outcome, err error) {
	ctx, span := c.Trace.start(ctx, "execute")
	defer func() { span.end(err) }()
	if c.Executor == nil {
		for _, m := range p.Moves {
			// The descheduler counts a dry run's evictions as if they had been made, and dashboards of trial runs show them.
			c.Metrics.Outcome(plan.Outcome{Move: m, Result: plan.Evicted})
		}
		return nil, nil
	}
	started := time.Now()
	options := program.Evictions
	options.Self = c.Self
	options.Observe = func(o plan.Outcome) {
		c.Trace.eviction(ctx, o)
		c.Metrics.Outcome(o)
	}
	outcomes, err = c.Executor.Execute(ctx, p, options)
	c.Metrics.Phase("execute", time.Since(started))
	return outcomes, err
}

// log writes one line about the cycle.
func (c *Controller) log(p *plan.Plan, outcomes []plan.Outcome) {
	for _, n := range p.Summary.Notes {
		c.Log.Warn("about the cluster", "note", n)
	}
	failed := 0
	for _, s := range p.Summary.ByStrategy {
		if s.Error != "" {
			failed++
			c.Log.Error("a strategy could not run", "profile", s.Profile, "strategy", s.Strategy, "err", s.Error)
		}
	}
	attrs := []any{
		"nodes", p.Summary.Nodes, "eligibleNodes", p.Summary.EligibleNodes, "pods", p.Summary.Pods,
		"moves", p.Summary.Moves, "refusals", p.Summary.Refusals,
	}
	if failed > 0 {
		attrs = append(attrs, "strategiesFailed", failed)
	}
	if p.Summary.Skipped != "" {
		attrs = append(attrs, "skipped", p.Summary.Skipped)
	}
	if c.Executor == nil {
		c.Log.Info("cycle done; a dry run evicts nothing", attrs...)
		return
	}
	byResult := map[plan.Result]int{}
	for _, o := range outcomes {
		byResult[o.Result]++
	}
	for _, r := range []plan.Result{plan.Evicted, plan.Background, plan.Blocked, plan.Gone, plan.Forbidden, plan.Failed, plan.Skipped} {
		if byResult[r] > 0 || r == plan.Evicted {
			attrs = append(attrs, string(r), byResult[r])
		}
	}
	c.Log.Info("cycle done", attrs...)
}

// around measures and traces each strategy of a cycle.
func (c *Controller) around(ctx context.Context) Around {
	return func(profile, strategy string, run func() error) {
		started := time.Now()
		err := run()
		c.Metrics.Strategy(profile, strategy, time.Since(started))
		c.Trace.strategy(ctx, started, profile, strategy, err)
	}
}
