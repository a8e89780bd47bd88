package kube

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

// How lists are read unless a [Pager] says otherwise.
const (
	DefaultPageSize    = 500
	DefaultPageTimeout = time.Minute
	progressEvery      = 10 * time.Second
	maxRestarts        = 5
)

// Pager lists all objects of a kind in pages.
type Pager struct {
	Client      kubernetes.Interface
	Log         *slog.Logger  // nil: silent. Tells the progress of a list that takes long
	PageSize    int64         // 0: DefaultPageSize
	PageTimeout time.Duration // for one page; 0: DefaultPageTimeout
}

// Each lists all objects of kind k and hands each to visit, then returns the resource version of the list. When the API server
// has forgotten the list's version before its last page (410 Gone), it starts again: restart is called, and all objects
// come once more. Errors are of type *ReadError unless visit returned them.
func (p *Pager) Each(ctx context.Context, k Kind, restart func(), visit func(runtime.Object) error) (resourceVersion string, err error) {
	for attempt := 0; ; attempt++ {
		version, err := p.once(ctx, k, visit)
		if (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && attempt < maxRestarts {
			p.logger().Warn("the list expired before its last page; listing again", "kind", k.String(), "attempt", attempt+1)
			restart()
			continue
		}
		return version, err
	}
}

func (p *Pager) once(ctx context.Context, k Kind, visit func(runtime.Object) error) (string, error) {
	opts := metav1.ListOptions{Limit: p.PageSize}
	if opts.Limit == 0 {
		opts.Limit = DefaultPageSize
	}
	started, told, count := time.Now(), time.Now(), 0
	for {
		list, err := p.page(ctx, k, opts)
		if err != nil {
			return "", &ReadError{Verb: "list", Kind: k, Err: err}
		}
		err = meta.EachListItem(list, func(obj runtime.Object) error { count++; return visit(obj) })
		if err != nil {
			return "", err
		}
		m, err := meta.ListAccessor(list)
		if err != nil {
			return "", &ReadError{Verb: "list", Kind: k, Err: err}
		}
		if opts.Continue = m.GetContinue(); opts.Continue == "" {
			p.logger().Debug("listed", "kind", k.String(), "objects", count, "took", time.Since(started))
			return m.GetResourceVersion(), nil
		}
		if time.Since(told) >= progressEvery {
			told = time.Now()
			p.logger().Info("still listing", "kind", k.String(), "objects", count, "remaining", remaining(m), "since", time.Since(started).Round(time.Second))
		}
	}
}

func (p *Pager) page(ctx context.Context, k Kind, opts metav1.ListOptions) (runtime.Object, error) {
	timeout := p.PageTimeout
	if timeout == 0 {
		timeout = DefaultPageTimeout
	}
	pageCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	list, err := k.list(pageCtx, p.Client, opts)
	if err != nil && pageCtx.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("the API server did not send a page within %s: %w", timeout, err)
	}
	return list, err
}

func (p *Pager) logger() *slog.Logger {
	if p.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return p.Log
}

func remaining(m metav1.ListInterface) int64 {
	if n := m.GetRemainingItemCount(); n != nil {
		return *n
	}
	return -1 // not told
}
