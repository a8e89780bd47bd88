package kube

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// Lister makes snapshots by listing everything, each time anew.
type Lister struct {
	Client *Client
	Log    *slog.Logger // nil: silent
	Beside Beside

	PageSize    int64         // 0: DefaultPageSize
	PageTimeout time.Duration // 0: DefaultPageTimeout
}

// parallelLists is how many kinds are listed at a time.
const parallelLists = 4

// Snapshot lists all kinds and returns the cluster as of now. It fails when nodes or pods can't be listed (*ReadError), and when any
// list fails for a reason other than a missing permission or kind.
func (l *Lister) Snapshot(ctx context.Context, now time.Time) (*cluster.Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kinds := Kinds()
	converter := cluster.NewConverter()
	found := make([][]any, len(kinds))
	errs := make([]error, len(kinds))
	slots := make(chan struct{}, parallelLists)
	var wg sync.WaitGroup
	for i, k := range kinds {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			found[i], errs[i] = l.all(ctx, k, converter)
			if errs[i] != nil && (k.Required || !unavailable(errs[i])) {
				cancel() // the rest is of no use
			}
		})
	}
	wg.Wait()

	parts := &cluster.Parts{Resources: converter.Resources}
	if err := gather(parts, kinds, found, errs); err != nil {
		return nil, err
	}
	return l.Beside.assemble(ctx, parts, now)
}

func (l *Lister) all(ctx context.Context, k Kind, converter *cluster.Converter) ([]any, error) {
	pager := &Pager{Client: l.Client.Read, Log: l.Log, PageSize: l.PageSize, PageTimeout: l.PageTimeout}
	var all []any
	_, err := pager.Each(ctx, k, func() { all = all[:0] }, func(obj runtime.Object) error {
		if v := compact(converter, obj); v != nil {
			all = append(all, v)
		}
		return nil
	})
	return all, err
}

// gather puts what was found of each kind into parts, or returns the error that stands in the way.
func gather(parts *cluster.Parts, kinds []Kind, found [][]any, errs []error) error {
	var missing []Kind
	var failed error
	for i, k := range kinds {
		switch err := errs[i]; {
		case err == nil:
			for _, v := range found[i] {
				add(parts, v)
			}
		case !k.Required && unavailable(err):
			missing = append(missing, k)
			parts.Notes = append(parts.Notes, missingNote(k, err))
		case failed == nil || errors.Is(failed, context.Canceled):
			failed = err // the cause, and not the lists that were called off because of it
		}
	}
	parts.Has = has(missing)
	return failed
}
