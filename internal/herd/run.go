package herd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/agent/load"
)

const (
	// beatWork is the CPU time of one heartbeat, the start of its process aside.
	beatWork = 20 * time.Millisecond
	// The heartbeat of the quiet machine.
	quietBeats = 10
	quietEvery = 200 * time.Millisecond

	progressEvery = 250 * time.Millisecond
	seed          = 1 // of the kubelets' pauses
)

// experiment is Options on a machine of known speed.
type experiment struct {
	Options
	perSecond float64 // rounds of work in a second of CPU time
}

// Start runs the herd twice and compares. Whatever happens, no process of it is left when it returns; files are left in
// o.Dir. An error is that of ctx, or says why the experiment is worthless; pods that do not get ready in time are no
// error but in the report.
func Start(ctx context.Context, o Options) (Report, error) {
	// 1. What is asked for.
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	// 2. The node: how much else it has to do, how fast it is.
	o.tell(Progress{Doing: "measuring this machine"})
	busy := busyPercent(ctx)
	e := experiment{Options: o, perSecond: calibrate()}

	// 3. The heartbeat of a node that has nothing else to do.
	quiet, err := e.quietHeartbeat(ctx)
	if err != nil {
		return Report{}, err
	}

	// 4. Both herds.
	unpaced, err := e.run(ctx, Unpaced)
	if err != nil {
		return Report{}, fmt.Errorf("unpaced run: %w", err)
	}
	paced, err := e.run(ctx, Paced)
	if err != nil {
		return Report{}, fmt.Errorf("paced run: %w", err)
	}

	// 5. The difference.
	return Report{
		Kind:     ReportKind,
		Machine:  Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Busy: busy},
		Settings: o.settings(),
		Quiet:    quiet, Unpaced: unpaced, Paced: paced, Better: compare(unpaced, paced),
	}, nil
}

// busyPercent is how much of the processor time is used in one second of ours without work.
func busyPercent(ctx context.Context) float64 {
	reader := load.New()
	if _, err := reader.Read(); err != nil {
		return 0
	}
	sleep(ctx, time.Second)
	sample, err := reader.Read()
	if err != nil {
		return 0
	}
	return math.Round(sample.CPU)
}

func (o Options) tell(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}

func (e experiment) beat(ctx context.Context) func() error {
	work := roundsFor(beatWork, e.perSecond)
	return func() error { return beat(ctx, e.Program, work) }
}

func (e experiment) quietHeartbeat(ctx context.Context) (Heartbeat, error) {
	while, cancel := context.WithTimeout(ctx, quietBeats*quietEvery-quietEvery/2)
	defer cancel()
	list, err := beats(while, time.Now(), quietEvery, e.beat(ctx))
	return summarizeBeats(list), errors.Join(err, ctx.Err())
}

// run is one herd, from an empty node to an empty node.
func (e experiment) run(parent context.Context, name string) (r Run, err error) {
	e.tell(Progress{Run: name, Doing: "preparing"})
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	n, err := newNode(e, name)
	if err != nil {
		return Run{}, err
	}
	defer n.processes.Wait()
	defer cancel(nil)
	pods, err := n.bind(e.Pods)
	if err != nil {
		return Run{}, err
	}
	limit := 0
	if name == Paced {
		e.tell(Progress{Run: name, Doing: "waiting for the agent"})
		a, err := startAgent(ctx, n, e.Options)
		if err != nil {
			return Run{}, errors.Join(err, parent.Err())
		}
		defer func() { err = errors.Join(err, a.stop()) }()
		limit = a.limit
	}
	stories, list := e.herd(ctx, cancel, name, pods)
	if ctx.Err() != nil {
		return Run{}, context.Cause(ctx)
	}
	return summarize(name, limit, stories, list), nil
}

// herd starts all pods at once beside the heartbeat, and returns when every pod is ready, the time is up, or ctx ends.
func (e experiment) herd(ctx context.Context, fail context.CancelCauseFunc, name string, pods []onNode) ([]Pod, []Beat) {
	began := time.Now()
	b := newBoard(began)
	var starting, others sync.WaitGroup

	besides, stop := context.WithCancel(ctx)
	defer stop()
	var list []Beat
	others.Go(func() {
		var err error
		if list, err = beats(besides, began, e.Heartbeat, e.beat(ctx)); err != nil {
			fail(err)
		}
	})
	others.Go(func() { e.follow(besides, b, name) })

	inTime, end := context.WithTimeout(ctx, e.Timeout)
	defer end()
	for i, p := range pods {
		k := kubelet{
			machine: p, retry: e.Retry, probe: e.StartupProbe, gated: name == Paced,
			random: rand.New(rand.NewPCG(seed, uint64(i))),
		}
		s := b.add(p.name)
		starting.Go(func() {
			if err := k.start(inTime, s); err != nil && inTime.Err() == nil {
				fail(err)
			}
		})
	}
	starting.Wait()
	stories := b.close(time.Now())
	stop()
	others.Wait()
	return stories, list
}

// follow tells how the run is getting on, until ctx ends.
func (e experiment) follow(ctx context.Context, b *board, name string) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		e.tell(Progress{Run: name, Elapsed: time.Since(b.began), Pods: b.counts()})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
