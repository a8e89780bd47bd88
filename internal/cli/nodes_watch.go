package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kubewatch"
)

// watchEvery is the least time between two looks at what changed.
const watchEvery = time.Second

// watch calls show with all rows after each change, until ctx ends or show fails.
func (v *nodesView) watch(ctx context.Context, problems io.Writer, show func([]nodeRow, time.Time) error) error {
	changed := make(chan struct{}, 1)
	caches, err := v.caches(changed)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer caches.run(ctx)()
	defer stop()
	said := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
		caches.complain(problems, said)
		if world, ok := caches.world(); ok {
			world.taint = v.flags.taint
			now := time.Now()
			if err := show(world.rows(now), now); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchEvery):
		}
	}
}

// nodeCaches hold what rows are made of.
type nodeCaches struct {
	nodes *kubewatch.Cache[*corev1.Node]
	pods  *kubewatch.Cache[*corev1.Pod]
	paces *kubewatch.Cache[*v1alpha1.NodePace]
}

func (v *nodesView) caches(changed chan struct{}) (c nodeCaches, err error) {
	core := v.client.Read.CoreV1()
	c.nodes, err = kubewatch.New("nodes", core.Nodes(), &corev1.Node{},
		kubewatch.Options{Labels: v.flags.selector, Strip: slim, Signal: changed})
	if err != nil {
		return c, err
	}
	c.pods, err = kubewatch.New("pods", core.Pods(""), &corev1.Pod{}, kubewatch.Options{Strip: slim, Signal: changed})
	if err != nil {
		return c, err
	}
	c.paces, err = kubewatch.New("nodepaces", v.paces, &v1alpha1.NodePace{}, kubewatch.Options{Signal: changed})
	return c, err
}

// run watches until ctx ends; the function that it returns waits for that.
func (c nodeCaches) run(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	running.Go(func() { c.nodes.Run(ctx) })
	running.Go(func() { c.pods.Run(ctx) })
	running.Go(func() { c.paces.Run(ctx) })
	return running.Wait
}

// complain says once what may be out of date, and why. That NodePace is not installed was said before.
func (c nodeCaches) complain(w io.Writer, said map[string]bool) {
	for _, watching := range []interface{ Problem() (error, bool) }{c.nodes, c.pods, c.paces} {
		if err, absent := watching.Problem(); err != nil && !absent && !said[err.Error()] {
			said[err.Error()] = true
			fmt.Fprintf(w, "note: %v\n", err)
		}
	}
}

// world is what the caches hold, and false until they have been filled.
func (c nodeCaches) world() (nodeWorld, bool) {
	_, absent := c.paces.Problem()
	ok := c.nodes.Synced() && c.pods.Synced() && (c.paces.Synced() || absent)
	return nodeWorld{nodes: c.nodes.Objects(), pods: c.pods.Objects(), paces: c.paces.Objects()}, ok
}

// slim drops what no row shows.
func slim(object any) {
	switch o := object.(type) {
	case *corev1.Node:
		o.Annotations, o.Status = nil, corev1.NodeStatus{}
	case *corev1.Pod:
		o.Annotations, o.OwnerReferences = nil, nil
		o.Spec = corev1.PodSpec{NodeName: o.Spec.NodeName}
		o.Status = corev1.PodStatus{Phase: o.Status.Phase, Conditions: o.Status.Conditions}
	}
}
