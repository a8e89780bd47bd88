package herd

import (
	"context"
	"math/rand/v2"
	"time"
)

// maxBackOff is the longest pause of a kubelet before it starts a container again.
const maxBackOff = 5 * time.Minute

// kubelet starts one pod, as a kubelet and its container runtime would.
type kubelet struct {
	machine machine
	// retry is the pause after a failed ADD, to which up to half is added.
	retry time.Duration
	// probe is how long a container may take to get ready; 0 is for ever.
	probe time.Duration
	// gated says that the plugin's start need not be the start of the ADD.
	gated  bool
	random *rand.Rand
}

// machine starts the processes of one pod and shows its state to the agent.
type machine interface {
	// add calls the plugin. started is when the plugin itself began; ok is false if it answered with an error.
	add(ctx context.Context, sandbox int) (started time.Time, ok bool, err error)
	del(ctx context.Context, sandbox int) error
	// container starts the container and returns at once. The channel gives nil when it is ready, or why it never will be.
	container(ctx context.Context) (<-chan error, error)
	show(state podState) error
}

// start brings the pod to ready, or returns when ctx ends. An error is a fault of the experiment, not of the pod.
func (k kubelet) start(ctx context.Context, s *story) error {
	if err := k.sandbox(ctx, s); err != nil || ctx.Err() != nil {
		return err
	}
	for restarts := 0; ; restarts++ {
		ready, err := k.run(ctx, s, restarts)
		if err != nil || ready || ctx.Err() != nil {
			return err
		}
		pause := backOff(k.retry, restarts)
		s.note(func(p *Pod) { p.Restart++ })
		s.enter(BackOff, time.Now())
		if pause > 0 {
			if err := k.machine.show(podState{phase: BackOff, restarts: restarts}); err != nil {
				return err
			}
			sleep(ctx, pause)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// sandbox calls ADD until it succeeds.
func (k kubelet) sandbox(ctx context.Context, s *story) error {
	for n := 1; ; n++ {
		called := time.Now()
		s.note(func(p *Pod) { p.Adds++ })
		if k.gated {
			s.enter(Waiting, called)
		} else {
			s.enter(Plugin, called)
		}
		started, ok, err := k.machine.add(ctx, n)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case ok && k.gated:
			s.enter(Plugin, started)
			return nil
		case ok:
			return nil
		}
		s.note(func(p *Pod) { p.Refused++ })
		s.enter(Away, time.Now())
		if err := k.machine.del(ctx, n); err != nil && ctx.Err() == nil {
			return err
		}
		sleep(ctx, k.retry+time.Duration(k.random.Float64()*float64(k.retry)/2))
	}
}

// run starts the container, and reports whether it got ready before its probe gave up.
func (k kubelet) run(ctx context.Context, s *story, restarts int) (ready bool, err error) {
	life, kill := context.WithCancel(ctx)
	defer func() {
		if !ready { // a ready one lives as long as the run
			kill()
		}
	}()
	now := time.Now()
	s.enter(Starting, now)
	outcome, err := k.machine.container(life)
	if err != nil {
		return false, err
	}
	if err := k.machine.show(podState{phase: Starting, started: now, restarts: restarts}); err != nil {
		return false, err
	}
	var gaveUp <-chan time.Time
	if k.probe > 0 {
		t := time.NewTimer(k.probe)
		defer t.Stop()
		gaveUp = t.C
	}
	select {
	case <-ctx.Done():
		return false, nil
	case <-gaveUp:
		return false, nil
	case err := <-outcome:
		if err != nil || ctx.Err() != nil {
			return false, err
		}
	}
	at := time.Now()
	s.enter(Ready, at)
	return true, k.machine.show(podState{phase: Ready, started: now, ready: at, restarts: restarts})
}

// backOff is the pause before a container is started again that has been started again so many times: none, base,
// twice base, and so on.
func backOff(base time.Duration, restarts int) time.Duration {
	if restarts == 0 {
		return 0
	}
	return min(base<<min(restarts-1, 16), maxBackOff)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
