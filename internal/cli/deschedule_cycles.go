package cli

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/controller"
	"evenkeel.dev/evenkeel/internal/descheduleflags"
	"evenkeel.dev/evenkeel/internal/evict"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/report"
)

// cycles runs cycles until ctx is done, or one.
func (d *deschedule) cycles(ctx context.Context, trace controller.Tracer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &controller.Controller{
		Programs: d.policy, Metrics: d.metrics, Log: d.log, Self: d.self, Interval: d.flags.Interval, Trace: trace,
	}
	beside := kube.Beside{Usage: d.usage}
	if d.flags.Compat == "" {
		beside.Starts = kube.NodePaces(d.client)
	}
	if !d.flags.DryRun {
		executor, closeEvents := d.executor()
		defer closeEvents()
		c.Executor, c.Seen = executor, d.follow(executor.Background)
		beside.Evicted = func(uid string) bool { return executor.Recent.Has(uid, time.Now()) }
		if executor.Background != nil {
			beside.Assumed = executor.Background.Has
		}
	}
	if d.flags.Interval > 0 {
		watcher := kube.Watch(ctx, d.client, d.log, beside)
		defer watcher.Wait()
		defer cancel() // before Wait
		c.Source, c.Rest = watcher, keepSmall()
	} else {
		c.Source = &kube.Lister{Client: d.client, Log: d.log, Beside: beside}
	}
	if d.format != "" {
		c.Report = func(s *cluster.Snapshot, p *plan.Plan, _ []plan.Outcome) error {
			return report.Write(d.streams.Out, p, s, report.Options{Format: d.format, Color: colorful(d.streams.Out), Policy: d.flags.PolicyFile})
		}
	}
	return c.Run(ctx)
}

// follow tells what became of evictions that another controller carries out; nil when there are none.
func (d *deschedule) follow(b *evict.Background) func(*cluster.Snapshot) {
	if b == nil {
		return nil
	}
	return func(s *cluster.Snapshot) {
		for _, o := range b.Observe(s) {
			d.log.Info("an eviction in the background ended", "pod", o.Move.Pod.String(), "result", string(o.Result), "answer", o.Message)
			d.metrics.Outcome(o)
		}
	}
}

// keepSmall trades some CPU of a long-lived process for memory, unless its environment says what it wants: the cluster's
// picture is most of its heap, and stays. It returns what gives back, between cycles, what a cycle took.
func keepSmall() func() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	return debug.FreeOSMemory
}

func (d *deschedule) executor() (*evict.Executor, func()) {
	host := d.self.Name
	if host == "" {
		host = "out-of-cluster"
	}
	events := evict.NewEvents(d.client.Read, host, d.log)
	executor := &evict.Executor{API: evict.NewAPI(d.client.Write, d.client.Read), Events: events, Recent: evict.NewRecent(), Log: d.log}
	if d.flags.Gates.Enabled(descheduleflags.EvictionsInBackground) {
		executor.Background = evict.NewBackground()
	}
	return executor, func() { events.Close(10 * time.Second) }
}

// usage measures what the policy of the moment asks for.
func (d *deschedule) usage(ctx context.Context, resources *cluster.Resources, nodes []*cluster.NodeInfo) (cluster.Usage, error) {
	program, err := d.policy.Program(ctx)
	if err != nil {
		return cluster.Usage{}, err
	}
	measure := usageOf(d.client, program.Policy)
	if measure == nil {
		return cluster.Usage{}, nil
	}
	return measure(ctx, resources, nodes)
}
