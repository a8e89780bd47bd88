package cli

import (
	"context"
	"log/slog"
	"sync"

	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/paceobjects"
	"evenkeel.dev/evenkeel/internal/pacepolicy/live"
)

func newPolicyReporter(client *kube.Client, log *slog.Logger) (*live.Reporter, error) {
	objects, err := paceobjects.New(client.Config)
	if err != nil {
		return nil, err
	}
	return &live.Reporter{
		Policies: objects.Policies, Statuses: objects.Policies, Nodes: client.Read.CoreV1().Nodes(), Log: log,
	}, nil
}

// together runs all until the first ends, then ends the others and returns what the first did.
func together(all ...func(context.Context) error) func(context.Context) error {
	return func(parent context.Context) error {
		ctx, cancel := context.WithCancelCause(parent)
		defer cancel(nil)
		var running sync.WaitGroup
		for _, run := range all {
			running.Go(func() {
				err := run(ctx)
				if err == nil {
					err = context.Canceled
				}
				cancel(err)
			})
		}
		running.Wait()
		return context.Cause(ctx)
	}
}
