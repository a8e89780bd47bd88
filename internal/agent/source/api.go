package source

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// API watches the pods that are bound to Node, and no others.
type API struct {
	Client kubernetes.Interface
	Node   string
}

// Run implements Source. It goes on through every outage of the API server.
func (a API) Run(ctx context.Context, tell func(Change)) error {
	informer := cache.NewSharedIndexInformer(a.listWatch(tell), &corev1.Pod{}, 0, cache.Indexers{})
	if err := informer.SetTransform(strip); err != nil {
		return fmt.Errorf("watch pods of node %s: %w", a.Node, err)
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { seen(tell, nil, obj) },
		UpdateFunc: func(old, obj any) { seen(tell, old, obj) },
		DeleteFunc: func(obj any) { gone(tell, obj) },
	})
	if err != nil {
		return fmt.Errorf("watch pods of node %s: %w", a.Node, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		tell(Change{Kind: Synced})
	}
	<-done
	return nil
}

// listWatch reports outages by itself: a reflector keeps some to itself.
func (a API) listWatch(tell func(Change)) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector("spec.nodeName", a.Node).String()
	pods := a.Client.CoreV1().Pods(metav1.NamespaceAll)
	var failing atomic.Bool
	note := func(err error) {
		switch {
		case err != nil:
			failing.Store(true)
			tell(Change{Kind: Trouble, Err: fmt.Errorf("watch pods of node %s: %w", a.Node, err)})
		case failing.Swap(false):
			tell(Change{Kind: Fine})
		}
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			list, err := pods.List(ctx, o)
			note(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			w, err := pods.Watch(ctx, o)
			note(err)
			return w, err
		},
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, a.Client)
}

// seen reports a pod, and first its predecessor when a missed deletion made the
// two look like one.
func seen(tell func(Change), old, obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	if before, ok := old.(*corev1.Pod); ok && before.UID != pod.UID {
		tell(Change{Kind: Gone, Pod: before})
	}
	tell(Change{Kind: Seen, Pod: pod})
}

// gone reports a deletion, also one that the watch missed and a new list showed.
func gone(tell func(Change), obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		tell(Change{Kind: Gone, Pod: pod})
	}
}

// strip drops what the agent never reads, which is most of a pod's size.
func strip(obj any) (any, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Spec.Volumes = nil
		for i := range pod.Spec.Containers {
			pod.Spec.Containers[i].Env = nil
			pod.Spec.Containers[i].VolumeMounts = nil
		}
	}
	return obj, nil
}
