package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/cluster"
)

const (
	// staleAfter is how long a watch may be broken before decisions are no longer made from what it last said.
	staleAfter = 30 * time.Second
	// askAgainAfter is how often an optional kind that was not granted is asked for again.
	askAgainAfter = 5 * time.Minute
	retryAfter    = 5 * time.Second
)

// Watcher keeps a picture of the cluster up to date and makes snapshots of it.
type Watcher struct {
	client    *Client
	log       *slog.Logger
	beside    Beside
	converter *cluster.Converter
	tables    []*table
	running   sync.WaitGroup

	mu     sync.Mutex
	shared int // Converter.Shared when it last was known to be in use
}

// Watch starts to watch all kinds until ctx is done. It returns at once.
func Watch(ctx context.Context, client *Client, log *slog.Logger, beside Beside) *Watcher {
	w := &Watcher{client: client, log: log, beside: beside, converter: cluster.NewConverter()}
	for _, k := range Kinds() {
		t := newTable(k)
		w.tables = append(w.tables, t)
		w.running.Go(func() { w.keep(ctx, t) })
	}
	return w
}

// Wait returns when the watches have ended, after the context of [Watch] is done.
func (w *Watcher) Wait() { w.running.Wait() }

// Snapshot returns the cluster as of now. The first one waits until every kind was listed. It fails when nodes or pods can't be read, and
// when any watch has been broken for so long that the picture may be wrong.
func (w *Watcher) Snapshot(ctx context.Context, now time.Time) (*cluster.Snapshot, error) {
	parts := &cluster.Parts{Resources: w.converter.Resources}
	var missing []Kind
	for _, t := range w.tables {
		select {
		case <-t.synced:
		case <-ctx.Done():
			return nil, w.notListed(t, ctx.Err())
		}
		s := t.state()
		switch {
		case s.missing != nil && t.kind.Required:
			return nil, s.missing
		case s.missing != nil:
			missing = append(missing, t.kind)
			parts.Notes = append(parts.Notes, missingNote(t.kind, s.missing))
		case s.failing != nil && s.age >= staleAfter:
			return nil, fmt.Errorf("the picture of %s has been out of date for %s: %w", t.kind, s.age.Round(time.Second), s.failing)
		}
		for _, v := range s.values {
			add(parts, v)
		}
	}
	parts.Has = has(missing)
	w.forget()
	return w.beside.assemble(ctx, parts, now)
}

func (w *Watcher) notListed(t *table, cause error) error {
	if s := t.state(); s.failing != nil {
		cause = s.failing
	}
	return fmt.Errorf("%s are not listed yet: %w", t.kind, cause)
}

// forget lets go of what no object may use any more, once the shared part has doubled.
func (w *Watcher) forget() {
	const slack = 10_000
	w.mu.Lock()
	defer w.mu.Unlock()
	switch n := w.converter.Shared(); {
	case w.shared == 0:
		w.shared = n
	case n > 2*w.shared+slack:
		w.log.Debug("forgetting shared parts of objects", "count", n)
		w.converter.Forget()
	}
}

// Size is how many objects are held.
func (w *Watcher) Size() int {
	n := 0
	for _, t := range w.tables {
		n += t.len()
	}
	return n
}

// keep fills one table until ctx is done.
func (w *Watcher) keep(ctx context.Context, t *table) {
	for ctx.Err() == nil {
		pause := retryAfter
		switch err := w.probe(ctx, t.kind); {
		case err == nil:
			w.reflect(ctx, t)
		case unavailable(err):
			w.log.Warn("can't be read", "kind", t.kind.String(), "err", err)
			t.lose(err)
			pause = askAgainAfter
			if t.kind.Required {
				pause = retryAfter
			}
		default:
			t.heard(err)
			w.log.Warn("can't be read at the moment", "kind", t.kind.String(), "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// probe asks for one object, so that a missing permission is known before a reflector tries for ever.
func (w *Watcher) probe(ctx context.Context, k Kind) error {
	ctx, cancel := context.WithTimeout(ctx, DefaultPageTimeout)
	defer cancel()
	if _, err := k.list(ctx, w.client.Read, metav1.ListOptions{Limit: 1}); err != nil {
		return &ReadError{Verb: "list", Kind: k, Err: err}
	}
	return nil
}

// reflect runs a reflector until ctx is done or permission is withdrawn.
func (w *Watcher) reflect(ctx context.Context, t *table) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := func(verb string, err error) {
		if err == nil {
			t.heard(nil)
			return
		}
		err = asReadError(verb, t.kind, err)
		if unavailable(err) {
			w.log.Warn("can no longer be read", "kind", t.kind.String(), "err", err)
			t.lose(err)
			cancel()
			return
		}
		t.heard(err)
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			list, err := w.listed(ctx, t.kind)
			heard("list", err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			events, err := t.kind.watch(ctx, w.client.Read, opts)
			heard("watch", err)
			if err != nil {
				return nil, err
			}
			return compacted(w.converter, events), nil
		},
	}
	cache.NewReflectorWithOptions(lw, nil, t, cache.ReflectorOptions{Name: t.kind.String(), TypeDescription: t.kind.String()}).RunWithContext(ctx)
}

// listed is the whole list of a kind, in compact form, for a server that does not stream lists.
func (w *Watcher) listed(ctx context.Context, k Kind) (*entries, error) {
	list := &entries{}
	pager := &Pager{Client: w.client.Read, Log: w.log}
	version, err := pager.Each(ctx, k, func() { list.Items = list.Items[:0] }, func(obj runtime.Object) error {
		m, ok := obj.(metav1.Object)
		if !ok {
			return fmt.Errorf("list %s: a %T has no name", k, obj)
		}
		list.Items = append(list.Items, newEntry(w.converter, obj, m))
		return nil
	})
	list.ResourceVersion = version
	return list, err
}

func asReadError(verb string, k Kind, err error) error {
	var read *ReadError
	if errors.As(err, &read) {
		return read
	}
	return &ReadError{Verb: verb, Kind: k, Err: err}
}
