package backstop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"evenkeel.dev/evenkeel/internal/admission"
)

// Reason is that of the Event.
const Reason = "BootstrapTaintExpired"

// Backstop watches nodes. Only one may act at a time: use leader election.
type Backstop struct {
	Client kubernetes.Interface
	Taint  admission.Taint
	Grace  time.Duration // default 15 minutes
	Log    *slog.Logger
}

// run is a Backstop at work. One goroutine owns it.
type run struct {
	*Backstop
	record record
	nodes  listersv1.NodeLister
	queue  workqueue.TypedRateLimitingInterface[string]
	// gone brings the UIDs of nodes that were deleted to the goroutine.
	uids map[string]types.UID
}

// Run works until ctx is done.
func (b *Backstop) Run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(b.Client, 0, informers.WithTransform(slim))
	informer := factory.Core().V1().Nodes().Informer()
	r := &run{
		Backstop: b,
		record:   record{taint: b.Taint, grace: b.Grace, nodes: map[types.UID]sight{}},
		nodes:    factory.Core().V1().Nodes().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)),
		uids: map[string]types.UID{},
	}
	if _, err := informer.AddEventHandler(r.handler()); err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return ctx.Err()
	}
	b.Log.Info("watching nodes", "taint", b.Taint.String(), "grace", b.Grace)
	defer context.AfterFunc(ctx, r.queue.ShutDown)()
	for r.next(ctx) {
	}
	return ctx.Err()
}

// slim drops what is not looked at: a node's status can be long.
func slim(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.ManagedFields, node.Annotations, node.Status = nil, nil, corev1.NodeStatus{}
	}
	return object, nil
}

func (r *run) handler() cache.ResourceEventHandlerFuncs {
	add := func(object any) {
		if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			r.queue.Add(name)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, now any) { add(now) }, DeleteFunc: add}
}

// next handles one node; false when told to stop.
func (r *run) next(ctx context.Context) bool {
	name, stop := r.queue.Get()
	if stop {
		return false
	}
	defer r.queue.Done(name)
	again, err := r.reconcile(ctx, name, time.Now())
	switch {
	case err != nil && ctx.Err() == nil:
		r.Log.Error("a node's taint could not be taken away; trying again", "node", name, "err", err)
		r.queue.AddRateLimited(name)
	case again > 0:
		r.queue.Forget(name)
		r.queue.AddAfter(name, again)
	default:
		r.queue.Forget(name)
	}
	return true
}

// reconcile looks at one node. It returns in how long to look again, if the node stays as it is.
func (r *run) reconcile(ctx context.Context, name string, now time.Time) (time.Duration, error) {
	node, err := r.nodes.Get(name)
	if known, ok := r.uids[name]; ok && (err != nil || known != node.UID) {
		r.record.forget(known)
		delete(r.uids, name)
	}
	if err != nil {
		return 0, nil // gone
	}
	r.uids[name] = node.UID
	due, tainted := r.record.see(node, now)
	if !tainted {
		return 0, nil
	}
	if now.Before(due) {
		return due.Sub(now), nil
	}
	return 0, r.remove(ctx, name, now)
}

// remove takes the taint away from the node as it is at the API server.
func (r *run) remove(ctx context.Context, name string, now time.Time) error {
	node, err := r.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return ignoreNotFound(err)
	}
	patch, found := r.Taint.RemovePatch(node.Spec.Taints)
	if !found || node.UID != r.uids[name] {
		return nil // the agent was first, or it is another node of that name: the watch will tell
	}
	if _, err := r.Client.CoreV1().Nodes().Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		return ignoreNotFound(err)
	}
	r.Log.Warn("took the bootstrap taint away: the agent did not within the grace time", "node", name, "grace", r.Grace)
	if err := r.tell(ctx, node, now); err != nil {
		r.Log.Error("the Event could not be written", "node", name, "err", err)
	}
	return nil
}

func (r *run) tell(ctx context.Context, node *corev1.Node, now time.Time) error {
	at := metav1.NewTime(now)
	_, err := r.Client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: node.Name + ".", Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		Type:           corev1.EventTypeWarning,
		Reason:         Reason,
		Message: fmt.Sprintf("The taint %s was taken away because the node's agent had not done so for %s. Pods start here unpaced"+
			" if the agent does not run: look at the pod of evenkeel-agent on this node.", r.Taint.Key, r.Grace),
		Source:         corev1.EventSource{Component: "evenkeel-controller"},
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}, metav1.CreateOptions{})
	if apierrors.IsNotFound(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
