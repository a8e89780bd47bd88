package controller

import (
	"context"
	"time"

	"evenkeel.dev/evenkeel/internal/plan"
)

// Tracer opens the span of a part of a cycle ("cycle", "snapshot", "plan", "strategy", "execute", "eviction") that began at started, and returns
// what ends it. Attributes are names and values in turn. A nil Tracer traces nothing.
type Tracer func(ctx context.Context, name string, started time.Time, attributes ...string) (context.Context, func(error))

type span func(error)

func (s span) end(err error) {
	if s != nil {
		s(err)
	}
}

func (t Tracer) start(ctx context.Context, name string) (context.Context, span) {
	if t == nil {
		return ctx, nil
	}
	ctx, end := t(ctx, name, time.Now())
	return ctx, end
}

// strategy records a strategy that has just run; the error is why it could not.
func (t Tracer) strategy(ctx context.Context, started time.Time, profile, strategy string, err error) {
	if t == nil {
		return
	}
	_, end := t(ctx, "strategy", started, "profile", profile, "strategy", strategy)
	end(err)
}

// eviction records an eviction that has just ended.
func (t Tracer) eviction(ctx context.Context, o plan.Outcome) {
	if t == nil {
		return
	}
	_, end := t(ctx, "eviction", time.Now().Add(-o.Took), "pod", o.Move.Pod.String(), "node", o.Move.Node,
		"profile", o.Move.Profile, "strategy", o.Move.Strategy, "result", string(o.Result), "message", o.Message)
	end(nil)
}
