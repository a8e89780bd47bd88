package controller

import (
	"context"

	"evenkeel.dev/evenkeel/internal/plan"
)

// Tracer opens the span of a part of a cycle ("cycle", "snapshot", "plan", "execute", "eviction") and returns what ends it.
// A nil Tracer traces nothing.
type Tracer func(ctx context.Context, name string, attributes ...string) (context.Context, func(error))

type span func(error)

func (s span) end(err error) {
	if s != nil {
		s(err)
	}
}

func (t Tracer) start(ctx context.Context, name string, attributes ...string) (context.Context, span) {
	if t == nil {
		return ctx, nil
	}
	ctx, end := t(ctx, name, attributes...)
	return ctx, end
}

// eviction records an eviction that has just ended.
func (t Tracer) eviction(ctx context.Context, o plan.Outcome) {
	_, s := t.start(ctx, "eviction", "pod", o.Move.Pod.String(), "node", o.Move.Node,
		"profile", o.Move.Profile, "strategy", o.Move.Strategy, "result", string(o.Result))
	s.end(nil)
}
