package agent

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"evenkeel.dev/evenkeel/internal/agent/load"
	"evenkeel.dev/evenkeel/internal/agent/source"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/install"
	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/paceserver"
	"evenkeel.dev/evenkeel/internal/sock/listen"
)

// Options are what the command line says.
type Options struct {
	ConfigFile string
	Config     agentconfig.Config // as loaded, with the flags' changes
	Node       string
	Kubeconfig string // empty: in the cluster
	Source     string // empty or "kubernetes", or a folder of pod files
	Log        *slog.Logger
	Level      *slog.LevelVar // of Log, changed with the configuration

	flags runFlags // what goes before the file, also when it is read again
}

// Agent is a running node agent.
type Agent struct {
	options  Options
	log      *slog.Logger
	metrics  *metrics
	loop     *loop
	keeper   *keeper // nil for an agent that installs nothing
	problems problems
	recent   recent

	started   time.Time
	listening atomic.Bool

	settings settings

	mu      sync.Mutex
	current agentconfig.Config // in force: the options' Config, or what was taken over since
}

// Serve runs an agent until ctx ends. An error means that it cannot work with
// these options; what may pass by itself is waited for and shown in the status.
func Serve(parent context.Context, o Options) error {
	// 1. What to count.
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if err := registry.Register(collectors.NewGoCollector()); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	a := &Agent{options: o, log: o.Log, metrics: m, started: time.Now(), current: o.Config}
	a.settings.file = o.Config

	// 2. The queue and its owner.
	pods, events, stopEvents, err := a.outside()
	if err != nil {
		return err
	}
	defer stopEvents()
	if a.loop, err = a.newLoop(events); err != nil {
		return err
	}
	if a.keeper, err = a.newKeeper(); err != nil {
		return err
	}

	// 3. Everything at once, until the end or the first that can never work.
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var running sync.WaitGroup
	start := func(f func(context.Context) error) {
		running.Go(func() {
			if err := f(ctx); err != nil {
				cancel(err)
			}
		})
	}
	start(func(ctx context.Context) error { a.loop.Run(ctx); return nil })
	start(func(ctx context.Context) error { return pods.Run(ctx, a.podChange) })
	start(func(ctx context.Context) error { return a.serve(ctx, registry) })
	start(func(ctx context.Context) error { return a.serveTCP(ctx, registry) })
	start(func(ctx context.Context) error {
		watchConfig(ctx, o.ConfigFile, runtime.GOOS, a.reload, func(err error) { a.trouble("config", err) })
		return nil
	})
	start(a.followAPI)
	start(a.removeTaint)
	if a.keeper != nil {
		start(func(ctx context.Context) error { a.keeper.Run(ctx); return nil })
	}
	o.Log.Info("agent started", "version", version(), "node", o.Node, "source", o.sourceName(), "socket", o.Config.Socket)
	running.Wait()
	if parent.Err() == nil {
		return context.Cause(ctx)
	}
	o.Log.Info("agent ends; the stand-in stays and gets along without it")
	return nil
}

func (o Options) sourceName() string {
	if o.Source == "" {
		return kubernetesSource
	}
	return o.Source
}

func (a *Agent) newLoop(events eventSink) (*loop, error) {
	now := time.Now()
	conf := a.options.Config
	q, err := pace.New(now, conf.Pace, runtime.NumCPU())
	if err != nil {
		return nil, fmt.Errorf("configuration: pace: %w", err)
	}
	boot, err := load.BootTime()
	if err != nil {
		a.trouble("boot", fmt.Errorf("status from before the last boot cannot be told from newer: %w", err))
	}
	l := newLoop(now, q, newPodBook(conf, boot))
	l.log, l.metrics, l.reader, l.events, l.trouble = a.log, a.metrics, load.New(), events, a.trouble
	l.note = a.recent.add
	l.limit(conf.Pace.Limits)
	target := install.Target{BinDir: conf.Install.BinDir, Plugin: conf.Install.Plugin, SubDir: cni.OriginalDir}
	l.lockHolders = func() (int, error) { return cni.CountHeldLocks(target.OriginalDir()) }
	return l, nil
}

func (a *Agent) newKeeper() (*keeper, error) {
	conf := a.options.Config
	if !*conf.Install.Enabled {
		return nil, nil
	}
	i, err := newInstaller(conf.Install)
	if err != nil {
		return nil, err
	}
	k := &keeper{
		installer: i, log: a.log, metrics: a.metrics,
		settings: a.standIns, note: a.recent.add,
		foreign: func(is bool) {
			a.loop.do(func(now time.Time) { a.loop.maintain(now, func(w *maintenance) { w.foreign = is }) })
		},
	}
	k.late = func(by time.Duration) { a.loop.do(func(now time.Time) { a.loop.late(now, by) }) }
	a.loop.lookAgain = func() { k.lookAgain.Store(true) }
	if *conf.Install.DefenderExclusions && runtime.GOOS == "windows" {
		k.exclude = func(ctx context.Context) error {
			return install.ExcludeFromDefender(ctx, runProgram, i.Target)
		}
	}
	return k, nil
}

// serve listens on the socket, which an old agent may still hold, and answers
// executables and status commands.
func (a *Agent) serve(parent context.Context, reg prometheus.Gatherer) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	l, err := listen.Stay(ctx, a.options.Config.Socket)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("listen on %s: %w", a.options.Config.Socket, err)
	}
	a.listening.Store(true)
	defer a.listening.Store(false)
	a.log.Info("listening", "socket", a.options.Config.Socket)
	lines, other := split(ctx, l)
	server := &paceserver.Server{Handler: a.loop, Agent: version(), Problem: func(err error) { a.log.Warn("connection", "err", err) }}
	httpDone := make(chan struct{})
	go func() {
		defer close(httpDone)
		a.trouble("status", serveHTTP(ctx, other, a.statusHandler(reg)))
	}()
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		if err := a.keepListening(ctx, l); err != nil {
			cancel(err)
		}
	}()
	err = server.Serve(ctx, lines)
	<-httpDone
	lost := context.Cause(ctx)
	cancel(nil)
	<-kept
	switch {
	case parent.Err() != nil:
		return nil
	case lost != nil:
		return lost
	}
	return err
}

func (a *Agent) serveTCP(ctx context.Context, reg prometheus.Gatherer) error {
	if a.options.Config.Listen == agentconfig.NoListen {
		return nil
	}
	l := listenTCP(ctx, a.options.Config.Listen, func(err error) { a.trouble("listen", err) })
	if l == nil {
		return nil
	}
	a.trouble("listen", serveHTTP(ctx, l, a.handler(reg)))
	return nil
}

// podChange hands what the source tells to the loop.
func (a *Agent) podChange(c source.Change) {
	switch c.Kind {
	case source.Trouble:
		a.trouble("pods", fmt.Errorf("pods may be out of date, slots end by timeout then: %w", c.Err))
	case source.Fine:
		a.trouble("pods", nil)
	default:
		a.loop.do(func(now time.Time) { a.loop.podChange(now, c) })
	}
}

// trouble notes a problem for the status, and logs it once.
func (a *Agent) trouble(about string, err error) {
	if a.problems.set(about, err) && err != nil {
		a.log.Warn(about, "err", err)
	}
}
