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

// watch calls show with all rows after each change, until ctx ends or show fails. What may be out of date, and why, it
// says once.
func (v *nodesView) watch(ctx context.Context, problems io.Writer, show func([]nodeRow, time.Time) error) error {
	changed := make(chan struct{}, 1)
	core := v.client.Read.CoreV1()
	nodes, err := kubewatch.New("nodes", core.Nodes(), &corev1.Node{},
		kubewatch.Options{Labels: v.flags.selector, Strip: slim, Signal: changed})
	if err != nil {
		return err
	}
	pods, err := kubewatch.New("pods", core.Pods(""), &corev1.Pod{}, kubewatch.Options{Strip: slim, Signal: changed})
	if err != nil {
		return err
	}
	paces, err := kubewatch.New("nodepaces", v.paces, &v1alpha1.NodePace{}, kubewatch.Options{Signal: changed})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { nodes.Run(ctx) })
	running.Go(func() { pods.Run(ctx) })
	running.Go(func() { paces.Run(ctx) })
	said := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
		for _, watching := range []interface{ Problem() (error, bool) }{nodes, pods, paces} {
			if err, absent := watching.Problem(); err != nil && !absent && !said[err.Error()] {
				said[err.Error()] = true
				fmt.Fprintf(problems, "note: %v\n", err)
			}
		}
		_, absent := paces.Problem()
		if nodes.Synced() && pods.Synced() && (paces.Synced() || absent) {
			now := time.Now()
			world := nodeWorld{taint: v.flags.taint, nodes: nodes.Objects(), pods: pods.Objects(), paces: paces.Objects()}
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
