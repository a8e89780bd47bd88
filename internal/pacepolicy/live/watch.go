package live

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Lists lists and watches one kind of objects; client-go's typed clients are some.
type Lists[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// watched is a cache of one kind of objects that knows whether it is up to date.
type watched struct {
	what     string
	informer cache.SharedInformer
	changed  func()

	mu  sync.Mutex
	err error // of the last call; nil when it went well
}

// newWatched makes a cache of the objects that the field selector selects. changed is called, from any goroutine, when
// they or the state of the watch may have changed, and must not block.
func newWatched[L runtime.Object](what string, lists Lists[L], example runtime.Object, fields string, changed func()) (*watched, error) {
	w := &watched{what: what, changed: changed}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = fields
			list, err := lists.List(ctx, o)
			w.note(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = fields
			events, err := lists.Watch(ctx, o)
			w.note(ctx, err)
			return events, err
		},
	}
	w.informer = cache.NewSharedInformer(cache.ToListWatcherWithWatchListSemantics(lw, lists), example, 0)
	if err := w.informer.SetTransform(strip); err != nil {
		return nil, fmt.Errorf("watch %s: %w", what, err)
	}
	// note has every error; client-go's own handler would log each try, all through an outage
	quiet := func(context.Context, *cache.Reflector, error) {}
	if err := w.informer.SetWatchErrorHandlerWithContext(quiet); err != nil {
		return nil, fmt.Errorf("watch %s: %w", what, err)
	}
	_, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(_, _ any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", what, err)
	}
	return w, nil
}

// run watches until ctx ends.
func (w *watched) run(ctx context.Context) {
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
			w.changed() // also when there is nothing
		}
	}()
	w.informer.RunWithContext(ctx)
}

func (w *watched) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // told to stop
	}
	w.mu.Lock()
	w.err = err
	w.mu.Unlock()
	w.changed()
}

// problem is why the cache may be old, and whether that is because the API server does not know the kind.
func (w *watched) problem() (err error, absent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		return nil, false
	}
	return fmt.Errorf("watch %s: %w", w.what, w.err), apierrors.IsNotFound(w.err)
}

// objects are the cached ones.
func objects[T any](w *watched) []T {
	var list []T
	for _, object := range w.informer.GetStore().List() {
		if typed, ok := object.(T); ok {
			list = append(list, typed)
		}
	}
	return list
}

// strip drops what nobody here reads.
func strip(object any) (any, error) {
	if m, ok := object.(metav1.Object); ok {
		m.SetManagedFields(nil)
		m.SetAnnotations(nil)
	}
	return stripNode(object), nil
}
