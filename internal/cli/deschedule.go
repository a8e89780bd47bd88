package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/controller"
	"evenkeel.dev/evenkeel/internal/descheduleflags"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/report"
	"evenkeel.dev/evenkeel/internal/serve"
	"evenkeel.dev/evenkeel/internal/version"
)

const descheduleHelp = `runs the cycles of a DeschedulerPolicy on a live cluster: it evicts the pods that should sit elsewhere, and the
scheduler places their replacements. Flags, policy files, metrics and Events are those of the Kubernetes descheduler.

Without --descheduling-interval it runs one cycle and exits. With --dry-run it evicts nothing and prints the plan.

Exit status: 0 the cycle was done, also when budgets or limits were in the way and when there are fewer than two nodes to move pods between;
1 bad policy, no permission, no API server, leader lease lost; 2 bad usage; 130 stopped before a single cycle was done.`

func newDescheduleCommand(streams Streams) *cobra.Command {
	cmd := descheduleCommand(streams, "deschedule")
	cmd.Long = "Deschedule " + descheduleHelp
	return cmd
}

// newDescheduler is the root of a program that is called "descheduler".
func newDescheduler(streams Streams) *cobra.Command {
	cmd := descheduleCommand(streams, "descheduler")
	cmd.Long = "Descheduler " + descheduleHelp
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.AddCommand(newVersionCommand(streams))
	return cmd
}

func descheduleCommand(streams Streams, name string) *cobra.Command {
	flags, err := descheduleflags.New()
	cmd := &cobra.Command{
		Use:   name,
		Short: "Evict pods that should sit elsewhere, once or at intervals",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err != nil {
				return err
			}
			if err := flags.Complete(); err != nil {
				return usageError(err)
			}
			d, err := newDeschedule(streams, flags)
			if err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w\nsee '%s --help'", descheduleflags.ExplainUnknown(err), cmd.CommandPath()))
	})
	if err == nil {
		cmd.Flags().SetNormalizeFunc(underscores)
		flags.AddFlags(cmd.Flags())
	}
	return cmd
}

// underscores lets flags be written with underscores, as Kubernetes components do.
func underscores(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// deschedule is one run of the command.
type deschedule struct {
	streams Streams
	flags   *descheduleflags.Flags
	format  report.Format // empty: print no plans
	log     *slog.Logger
	self    plan.PodRef
	client  *kube.Client
	policy  *controller.PolicyFile
	metrics *serve.Metrics
}

func newDeschedule(streams Streams, flags *descheduleflags.Flags) (*deschedule, error) {
	d := &deschedule{streams: streams, flags: flags, metrics: serve.NewMetrics(serve.Build{Version: version.String()})}
	if flags.Output == "" && flags.DryRun {
		flags.Output = string(report.Table)
	}
	if flags.Output != "" {
		format, err := report.ParseFormat(flags.Output)
		if err != nil {
			return nil, usageError(fmt.Errorf("--output: %w", err))
		}
		if format == report.HTML && flags.Interval > 0 {
			return nil, usageError(errors.New("--output html is a page for one cycle: it needs --descheduling-interval=0"))
		}
		d.format = format
	}
	log, err := flags.Logging.Logger(streams.Err)
	if err != nil {
		return nil, usageError(err)
	}
	d.log = log
	if namespace, name, ok := kube.Self(); ok {
		d.self = plan.PodRef{Namespace: namespace, Name: name}
	}
	return d, nil
}

func (d *deschedule) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.log.Info("starting", "version", version.String(), "dryRun", d.flags.DryRun, "interval", d.flags.Interval, "pod", d.self.Name)

	// 1. The policy: nothing is done with a bad one.
	extras, err := engine.ParseExtras(d.flags.Enable)
	if err != nil {
		return usageError(fmt.Errorf("--enable: %w", err))
	}
	d.policy = &controller.PolicyFile{
		Path: d.flags.PolicyFile, Log: d.log, Loaded: d.metrics.PolicyLoaded,
		Options: engine.Options{Compat: d.flags.Compat != "", Self: d.self, Extras: extras, Background: d.flags.Gates.Enabled(descheduleflags.EvictionsInBackground)},
	}
	if err := d.policy.Load(); err != nil {
		return err
	}
	// 2. The API server.
	if err := d.connect(ctx); err != nil {
		return err
	}
	// 3. Health and metrics.
	serving, err := d.serve(ctx)
	if err != nil {
		return err
	}
	// 4. Traces.
	trace, flush, err := d.tracing(ctx)
	if err != nil {
		return err
	}
	defer flush()
	// 5. Cycles, alone or as the leader.
	err = d.lead(ctx, func(ctx context.Context) error { return d.cycles(ctx, trace) })
	cancel()
	if served := <-serving; err == nil {
		err = served
	}
	return err
}

// connect makes the clients and sees whether the API server can do what will be asked of it.
func (d *deschedule) connect(ctx context.Context) error {
	connection := kube.Connection{
		Kubeconfig: d.flags.Connection.Kubeconfig, UserAgent: userAgent(),
		QPS: d.flags.Connection.QPS, Burst: int(d.flags.Connection.Burst),
	}
	client, err := connection.Connect()
	if err != nil {
		return err
	}
	d.client = client
	info, err := client.ServerVersion(ctx)
	if err != nil {
		return err
	}
	d.log.Info("connected", "server", client.Config.Host, "serverVersion", info.GitVersion)
	if warning := kube.Skew(info); warning != "" {
		d.log.Warn(warning)
	}
	if d.flags.DryRun {
		return nil
	}
	return client.CheckEviction(ctx)
}

// serve starts the HTTPS endpoint; the channel tells how it ended.
func (d *deschedule) serve(ctx context.Context) (<-chan error, error) {
	ended := make(chan error, 1)
	handler := d.metrics.Handler()
	if !d.flags.Serving.AnonymousMetrics {
		handler = serve.NewReviewer(d.client.Read, d.log).Guard(handler)
	}
	if d.flags.DisableMetrics {
		handler = nil
	}
	server, err := d.flags.Serving.Listen(ctx, serve.Handler(func() error { return nil }, handler), d.log)
	if err != nil {
		return nil, err
	}
	if server == nil {
		ended <- nil
		return ended, nil
	}
	d.log.Info("serving /healthz and /metrics", "address", server.Addr().String())
	go func() {
		err := server.Serve(ctx)
		if err != nil {
			d.log.Error("no longer serving", "err", err)
		}
		ended <- err
	}()
	return ended, nil
}

// lead runs f as the leader, where that was asked for.
func (d *deschedule) lead(ctx context.Context, f func(context.Context) error) error {
	e := d.flags.Election
	switch {
	case !e.LeaderElect:
		return f(ctx)
	case d.flags.DryRun:
		d.log.Warn("--leader-elect is of no effect with --dry-run: nothing is evicted")
		return f(ctx)
	}
	election := controller.Election{
		Namespace: e.ResourceNamespace, Name: e.ResourceName, LeaseDuration: e.LeaseDuration.Duration,
		RenewDeadline: e.RenewDeadline.Duration, RetryPeriod: e.RetryPeriod.Duration,
	}
	return election.Lead(ctx, d.client.Read, d.log, f)
}
