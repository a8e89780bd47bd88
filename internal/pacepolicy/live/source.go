package live

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kubewatch"
	"evenkeel.dev/evenkeel/internal/pacepolicy"
)

// Source watches the policies and one node's labels.
type Source struct {
	Policies kubewatch.Lists[*v1alpha1.PacePolicyList]
	Nodes    kubewatch.Lists[*corev1.NodeList]
	Node     string
}

// Finding is what the API says of the policy for the node.
type Finding struct {
	// Known is whether the API has said it; if not, whatever was in force should stay so.
	Known bool
	// Absent is whether the API server does not know PacePolicy: the CRDs are not installed.
	Absent bool
	// Policy holds on the node; nil if none does. It must not be changed.
	Policy *v1alpha1.PacePolicy
	// Rivals have its priority and lost by name.
	Rivals []string
	// Err is why the rest may be old or incomplete; nil when all is well.
	Err error
}

// Run tells what it finds, at first and whenever that changes, until ctx ends. It goes on through every outage of the
// API server; after one, and after CRDs were installed, it may take a minute until it looks again.
func (s Source) Run(ctx context.Context, tell func(Finding)) error {
	changed := make(chan struct{}, 1)
	policies, err := kubewatch.New("pace policies", s.Policies, &v1alpha1.PacePolicy{}, kubewatch.Options{Signal: changed})
	if err != nil {
		return err
	}
	node, err := kubewatch.New("node "+s.Node, s.Nodes, &corev1.Node{},
		kubewatch.Options{Fields: "metadata.name=" + s.Node, Strip: stripNode, Signal: changed})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { policies.Run(ctx) })
	running.Go(func() { node.Run(ctx) })
	var last *Finding
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if f, news := s.find(policies, node); news && (last == nil || !last.same(f)) {
			last = &f
			tell(f)
		}
	}
}

// find reports what is known now, and false while there is nothing to say yet.
func (s Source) find(policies *kubewatch.Cache[*v1alpha1.PacePolicy], node *kubewatch.Cache[*corev1.Node]) (Finding, bool) {
	err, absent := policies.Problem()
	if absent {
		return Finding{Known: true, Absent: true}, true
	}
	if nodeErr, _ := node.Problem(); err == nil {
		err = nodeErr
	}
	if !policies.Synced() || !node.Synced() {
		return Finding{Err: err}, err != nil
	}
	nodes := node.Objects()
	if len(nodes) == 0 {
		return Finding{Err: fmt.Errorf("node %s does not exist, so no policy can be chosen by its labels", s.Node)}, true
	}
	var list []v1alpha1.PacePolicy
	for _, p := range policies.Objects() {
		list = append(list, *p)
	}
	choice := pacepolicy.Choose(list, nodes[0].Labels)
	if err == nil && len(choice.Unusable) > 0 {
		err = choice.Unusable[0]
	}
	return Finding{Known: true, Policy: choice.Policy, Rivals: choice.Rivals, Err: err}, true
}

func (f Finding) same(g Finding) bool {
	return f.Known == g.Known && f.Absent == g.Absent && samePolicy(f.Policy, g.Policy) &&
		slices.Equal(f.Rivals, g.Rivals) && fmt.Sprint(f.Err) == fmt.Sprint(g.Err)
}

// samePolicy goes by the generation: a change of the status is none.
func samePolicy(a, b *v1alpha1.PacePolicy) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.Generation == b.Generation
}
