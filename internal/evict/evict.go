package evict

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"evenkeel.dev/evenkeel/internal/plan"
)

const (
	// callTimeout is for one eviction. A call that was begun is seen through even when the process is told to stop.
	callTimeout = 30 * time.Second
	// giveUpAfter is how many evictions in a row may get no answer before the API server counts as gone.
	giveUpAfter = 3
	// limitGate is the name that package engine gives to the limits of a policy in refusals.
	limitGate = "limit"
)

// API asks for evictions; see [NewAPI].
type API interface {
	// Evict asks for one. The error is the API server's.
	Evict(ctx context.Context, r Request) error
	// MayEvict reports whether evictions in the namespace are granted at all.
	MayEvict(ctx context.Context, namespace string) (bool, error)
}

// Recorder takes what is told about a pod. It must not block.
type Recorder interface {
	Record(e Event)
}

// Request is one eviction.
type Request struct {
	Pod plan.PodRef
	// Reason is what the eviction's annotation "reason" says.
	Reason string
	// GracePeriodSeconds replaces the pod's own; nil: the pod's own.
	GracePeriodSeconds *int64
}

// Options are what the policy and the process say about evictions.
type Options struct {
	GracePeriodSeconds *int64
	// FailureEvents makes refused evictions Events too (evictionFailureEventNotification).
	FailureEvents bool
	// Self is never evicted. Zero: not in a pod.
	Self plan.PodRef
	// Observe, when set, is told every outcome as it happens.
	Observe func(plan.Outcome)
}

// Executor carries out plans. Its fields must not be changed while Execute runs.
type Executor struct {
	API    API
	Events Recorder // nil: none
	Recent *Recent  // remembers what was evicted
	// Background, when set, follows pods that another controller moves; see [Background].
	Background *Background
	Log        *slog.Logger
}

// Execute asks for every move of the plan and returns an outcome for each, in the same order. When ctx is done the call in flight is
// finished and the rest are Skipped. The error says why the cycle was stopped early: evictions are not granted, the credentials are
// refused, or the API server is gone. Then the rest are Skipped too.
func (e *Executor) Execute(ctx context.Context, p *plan.Plan, o Options) ([]plan.Outcome, error) {
	e.tellLimits(p, o)
	outcomes := make([]plan.Outcome, 0, len(p.Moves))
	var stopped error
	unanswered := 0
	for _, m := range p.Moves {
		outcome := plan.Outcome{Move: m, Result: plan.Skipped}
		switch {
		case stopped != nil:
			outcome.Message = "the cycle was stopped before"
		case ctx.Err() != nil:
			outcome.Message = "told to stop before"
		default:
			var err error
			outcome, err = e.one(ctx, m, o)
			unanswered = count(unanswered, err)
			stopped = e.stop(ctx, outcome, err, unanswered)
		}
		outcomes = append(outcomes, outcome)
		if o.Observe != nil {
			o.Observe(outcome)
		}
	}
	return outcomes, stopped
}

// one asks for one eviction.
func (e *Executor) one(ctx context.Context, m plan.Move, o Options) (plan.Outcome, error) {
	outcome := plan.Outcome{Move: m, Result: plan.Skipped}
	switch {
	case m.Pod.Namespace == o.Self.Namespace && m.Pod.Name == o.Self.Name:
		outcome.Message = "this process runs in that pod"
		return outcome, nil
	case m.Pod.UID == "":
		outcome.Result, outcome.Message = plan.Failed, "the plan does not say which pod of that name it means: it holds no UID"
		return outcome, nil
	case e.Recent.Has(m.Pod.UID, time.Now()):
		outcome.Message = "it was evicted a moment ago and is leaving"
		return outcome, nil
	case e.Background != nil && e.Background.Has(m.Pod.UID):
		outcome.Result, outcome.Message = plan.Background, "another controller is moving it already"
		return outcome, nil
	}

	// The rate limiter waits here too: stopping a process waits for that at most a few hundred milliseconds.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	started := time.Now()
	err := e.API.Evict(call, Request{Pod: m.Pod, Reason: reason(m), GracePeriodSeconds: o.GracePeriodSeconds})
	outcome.Took = time.Since(started)
	outcome.Result, outcome.Message = judge(err)
	if e.Background != nil && e.Background.accept(m, err) {
		outcome.Result = plan.Background
	}
	e.tell(outcome, o)
	return outcome, err
}

// tell logs the outcome, remembers it and makes an Event of it.
func (e *Executor) tell(o plan.Outcome, opts Options) {
	log := e.Log.With("pod", o.Move.Pod.String(), "node", o.Move.Node, "profile", o.Move.Profile, "strategy", o.Move.Strategy)
	switch o.Result {
	case plan.Evicted:
		e.Recent.Add(o.Move.Pod.UID, time.Now())
		log.Info("evicted", "reason", o.Move.Reason.Message)
	case plan.Background:
		log.Info("another controller moves the pod", "answer", o.Message)
	case plan.Blocked, plan.Gone:
		log.Info("not evicted", "result", string(o.Result), "answer", o.Message)
	default:
		log.Error("not evicted", "result", string(o.Result), "answer", o.Message)
	}
	if e.Events == nil {
		return
	}
	switch {
	case o.Result == plan.Evicted:
		e.Events.Record(evictedEvent(o.Move))
	case opts.FailureEvents && o.Result != plan.Background && o.Result != plan.Gone:
		e.Events.Record(failedEvent(o.Move.Pod, o.Move.Node, o.Message))
	}
}

// tellLimits makes Events of moves that a limit of the policy refused, where failures are to be told.
func (e *Executor) tellLimits(p *plan.Plan, o Options) {
	if e.Events == nil || !o.FailureEvents {
		return
	}
	for i := range p.Refusals {
		if r := &p.Refusals[i]; r.Gate == limitGate {
			e.Events.Record(failedEvent(r.Pod, r.Node, r.Reason.Message))
		}
	}
}

// stop decides whether the rest of the plan is to be left, and says why.
func (e *Executor) stop(ctx context.Context, o plan.Outcome, err error, unanswered int) error {
	switch {
	case err == nil:
		return nil
	case refusesCredentials(err):
		return fmt.Errorf("evict %s: the API server refuses the credentials; nothing further was evicted: %w", o.Move.Pod, err)
	case unanswered >= giveUpAfter:
		return fmt.Errorf("evict %s: %d evictions in a row got no answer; nothing further was tried: %w", o.Move.Pod, unanswered, err)
	case o.Result != plan.Forbidden:
		return nil
	}
	// A 403 is either a missing permission, which concerns every pod, or an admission webhook that guards this one.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if may, ask := e.API.MayEvict(call, o.Move.Pod.Namespace); may && ask == nil {
		return nil
	}
	return fmt.Errorf("evict %s: %w; nothing further was evicted: a ClusterRole must grant the verb create on \"pods/eviction\" of API group \"\"", o.Move.Pod, err)
}

// count is how many evictions in a row got no answer from the API server.
func count(before int, err error) int {
	if err != nil && !answered(err) && !errors.Is(err, context.Canceled) {
		return before + 1
	}
	return 0
}

func reason(m plan.Move) string {
	return fmt.Sprintf("triggered by %s/%s: %s", m.Profile, m.Strategy, m.Reason.Message)
}
