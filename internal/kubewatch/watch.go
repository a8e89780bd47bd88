// Package kubewatch keeps a cache of the objects of one kind and knows whether it is up to date: client-go's informers
// keep to themselves why they cannot be.
package kubewatch

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

// Options say what is kept.
type Options struct {
	Fields string          // field selector; empty: all
	Labels string          // label selector; empty: all
	Strip  func(any)       // takes away from an object what nobody reads; may be nil
	Signal chan<- struct{} // see Cache
}

// Cache holds objects of type T. It sends on Signal, which has room for at least one, when they or the state of the
// watch may have changed, and drops the signal when there is no room: look at everything, then wait for the next.
type Cache[T runtime.Object] struct {
	what     string
	informer cache.SharedInformer
	signal   chan<- struct{}

	mu  sync.Mutex
	err error // of the last call; nil when it went well
}

// New makes a cache of what lists lists; what names it in errors. It is empty until Run.
func New[T, L runtime.Object](what string, lists Lists[L], example T, o Options) (*Cache[T], error) {
	c := &Cache[T]{what: what, signal: o.Signal}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector, options.LabelSelector = o.Fields, o.Labels
			list, err := lists.List(ctx, options)
			c.note(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector, options.LabelSelector = o.Fields, o.Labels
			events, err := lists.Watch(ctx, options)
			c.note(ctx, err)
			return events, err
		},
	}
	c.informer = cache.NewSharedInformer(cache.ToListWatcherWithWatchListSemantics(lw, lists), example, 0)
	if err := c.prepare(o.Strip); err != nil {
		return nil, fmt.Errorf("watch %s: %w", what, err)
	}
	return c, nil
}

func (c *Cache[T]) prepare(strip func(any)) error {
	err := c.informer.SetTransform(func(object any) (any, error) {
		if m, ok := object.(metav1.Object); ok {
			m.SetManagedFields(nil)
		}
		if strip != nil {
			strip(object)
		}
		return object, nil
	})
	if err != nil {
		return err
	}
	// note has every error; client-go's own handler would log each try, all through an outage
	quiet := func(context.Context, *cache.Reflector, error) {}
	if err := c.informer.SetWatchErrorHandlerWithContext(quiet); err != nil {
		return err
	}
	_, err = c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.changed() }, UpdateFunc: func(_, _ any) { c.changed() }, DeleteFunc: func(any) { c.changed() },
	})
	return err
}

func (c *Cache[T]) changed() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// Run watches until ctx ends. It goes on through every outage.
func (c *Cache[T]) Run(ctx context.Context) {
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
			c.changed() // also when there is nothing
		}
	}()
	c.informer.RunWithContext(ctx)
}

func (c *Cache[T]) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // told to stop
	}
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	c.changed()
}

// Synced is whether the objects have been read once.
func (c *Cache[T]) Synced() bool { return c.informer.HasSynced() }

// Problem is why the cache may be old, nil if it is not, and whether that is because the API server does not know the
// kind.
func (c *Cache[T]) Problem() (err error, absent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return nil, false
	}
	return fmt.Errorf("watch %s: %w", c.what, c.err), apierrors.IsNotFound(c.err)
}

// Objects are the cached ones, in no order. They must not be changed.
func (c *Cache[T]) Objects() []T {
	var list []T
	for _, object := range c.informer.GetStore().List() {
		if typed, ok := object.(T); ok {
			list = append(list, typed)
		}
	}
	return list
}
