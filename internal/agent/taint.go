package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"evenkeel.dev/evenkeel/internal/admission"
)

// noTaint is the value of --taint that leaves taints alone.
const noTaint = "none"

// How long the taint remover waits.
const (
	taintPoll    = time.Second      // for readiness, while the node has the taint
	taintRetry   = 2 * time.Second  // after a refused removal, doubled up to taintBackOff
	taintBackOff = 60 * time.Second // the API server, or a platform's webhook, may refuse for ever
)

// untainter takes the bootstrap taint off this node once the agent is ready, and again should it come back.
type untainter struct {
	taint   admission.Taint
	node    string
	client  kubernetes.Interface
	ready   func() bool
	trouble func(error) // nil: all is well
	removed func()
	seen    chan *corev1.Node // the node's latest state; nil when it is gone
}

// removeTaint keeps the node free of the bootstrap taint until ctx ends. Without an API, which is without the source "kubernetes", or with
// --taint=none it does nothing. What the API server refuses is reported and tried again, and never ends the agent.
func (a *Agent) removeTaint(ctx context.Context) error {
	if a.options.sourceName() != kubernetesSource || a.options.flags.taint == noTaint {
		return nil
	}
	taint := admission.Default()
	if a.options.flags.taint != "" {
		var err error
		if taint, err = admission.Parse(a.options.flags.taint); err != nil {
			return fmt.Errorf("--taint: %w", err)
		}
	}
	client, err := newClient(a.options.Kubeconfig)
	if err != nil {
		return err
	}
	u := &untainter{
		taint: taint, node: a.options.Node, client: client,
		ready:   func() bool { s, alive := a.status(false); return alive && s.Ready },
		trouble: func(err error) { a.trouble("taint", err) },
		removed: func() { a.log.Info("the node takes pods: its bootstrap taint is removed", "taint", taint.String()) },
	}
	u.run(ctx)
	return nil
}

func (u *untainter) run(ctx context.Context) {
	u.seen = make(chan *corev1.Node, 1)
	watched := make(chan struct{})
	go func() { defer close(watched); u.watch(ctx) }()
	u.follow(ctx)
	<-watched
}

// watch hands on every state of this one node.
func (u *untainter) watch(ctx context.Context) {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, u.node).String()
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			return u.client.CoreV1().Nodes().List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return u.client.CoreV1().Nodes().Watch(ctx, o)
		},
	}, u.client)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Node{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { u.put(o) },
			UpdateFunc: func(_, o any) { u.put(o) },
			DeleteFunc: func(any) { u.put(nil) },
		},
	})
	informer.RunWithContext(ctx)
}

// put leaves the latest state for follow, in the place of one that it has not looked at yet.
func (u *untainter) put(o any) {
	node, _ := o.(*corev1.Node)
	select {
	case <-u.seen:
	default:
	}
	u.seen <- node
}

// follow acts on the latest state. While the node does not have the taint it sleeps.
func (u *untainter) follow(ctx context.Context) {
	var node *corev1.Node
	wait, retry := time.Duration(0), taintRetry
	for {
		if node == nil || !u.taint.On(node) {
			u.trouble(nil)
			wait, retry = 0, taintRetry
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case node = <-u.seen:
		case <-timer:
		}
		if node == nil || !u.taint.On(node) {
			continue
		}
		if !u.ready() {
			wait = taintPoll
			continue
		}
		switch fresh, err := u.remove(ctx, node); {
		case err == nil:
			node = fresh
			u.removed()
		case ctx.Err() != nil:
			return
		default:
			u.trouble(fmt.Errorf("remove the bootstrap taint %s from node %s: %w", u.taint, u.node, err))
			wait, retry = retry, min(2*retry, taintBackOff)
		}
	}
}

// remove takes the taint off. The patch tests what it removes; when the list of taints has changed meanwhile, it is made anew from the node as
// it is now, a few times.
func (u *untainter) remove(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	var err error
	for range 5 {
		patch, on := u.taint.RemovePatch(node.Spec.Taints)
		if !on {
			return node, nil
		}
		var fresh *corev1.Node
		fresh, err = u.client.CoreV1().Nodes().Patch(ctx, u.node, types.JSONPatchType, patch, metav1.PatchOptions{})
		if err == nil {
			return fresh, nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsInvalid(err) {
			return nil, err
		}
		if node, err = u.client.CoreV1().Nodes().Get(ctx, u.node, metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
	return nil, errors.Join(errors.New("the node's taints keep changing"), err)
}
