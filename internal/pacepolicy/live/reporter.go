package live

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kubewatch"
	"evenkeel.dev/evenkeel/internal/pacepolicy"
)

// reportEvery is the least time between two looks: nodes come in crowds.
const reportEvery = 2 * time.Second

// retryAfter is the pause after a status could not be written.
const retryAfter = 15 * time.Second

// PolicyStatuses writes what Reporter found; a typed client does.
type PolicyStatuses interface {
	Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, o metav1.PatchOptions, subresources ...string) (*v1alpha1.PacePolicy, error)
}

// Reporter writes the status of every policy: how many nodes it selects and holds on, and with which others it
// conflicts. Only one may work at a time: use leader election.
type Reporter struct {
	Policies kubewatch.Lists[*v1alpha1.PacePolicyList]
	Statuses PolicyStatuses
	Nodes    kubewatch.Lists[*corev1.NodeList]
	Log      *slog.Logger
}

// Run works until ctx ends. Without CRDs it waits for them.
func (r *Reporter) Run(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	policies, err := kubewatch.New("pace policies", r.Policies, &v1alpha1.PacePolicy{}, kubewatch.Options{Signal: changed})
	if err != nil {
		return err
	}
	nodes, err := kubewatch.New("nodes", r.Nodes, &corev1.Node{}, kubewatch.Options{Strip: stripNode, Signal: changed})
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { policies.Run(ctx) })
	running.Go(func() { nodes.Run(ctx) })
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
		trouble = r.say(trouble, policies, nodes)
		pause := reportEvery
		if policies.Synced() && nodes.Synced() && !r.report(ctx, policies.Objects(), nodes.Objects(), time.Now()) {
			pause = retryAfter
			select { // look again after it, whatever happens
			case changed <- struct{}{}:
			default:
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// watching is a cache that may be old.
type watching interface{ Problem() (error, bool) }

// say logs trouble with the watches once, and returns it.
func (r *Reporter) say(before string, all ...watching) string {
	for _, w := range all {
		err, absent := w.Problem()
		switch {
		case err == nil:
			continue
		case err.Error() == before:
		case absent:
			r.Log.Info("PacePolicy is not installed; its status is written once it is")
		default:
			r.Log.Warn("the status of pace policies may be old", "err", err)
		}
		return err.Error()
	}
	return ""
}

// report brings every status up to date and says whether all could be written.
func (r *Reporter) report(ctx context.Context, policies []*v1alpha1.PacePolicy, nodes []*corev1.Node, now time.Time) bool {
	var all []pacepolicy.Node
	for _, n := range nodes {
		all = append(all, pacepolicy.Node{Name: n.Name, Labels: n.Labels})
	}
	var list []v1alpha1.PacePolicy
	for _, p := range policies {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b v1alpha1.PacePolicy) int { return cmp.Compare(a.Name, b.Name) })
	standings := pacepolicy.Survey(list, all)
	written := true
	for i := range list {
		p := &list[i]
		if err := r.write(ctx, p, standings[p.Name].Status(p, now)); err != nil && ctx.Err() == nil {
			r.Log.Warn("the status of a pace policy cannot be written; trying again", "policy", p.Name, "err", err)
			written = false
		}
	}
	return written
}

func (r *Reporter) write(ctx context.Context, p *v1alpha1.PacePolicy, status v1alpha1.PacePolicyStatus) error {
	if equality.Semantic.DeepEqual(p.Status, status) {
		return nil
	}
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": status}})
	if err != nil {
		return err
	}
	_, err = r.Statuses.Patch(ctx, p.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return nil // gone meanwhile
	}
	return err
}

// stripNode leaves a node's name and labels.
func stripNode(object any) {
	if node, ok := object.(*corev1.Node); ok {
		node.Annotations, node.Spec, node.Status = nil, corev1.NodeSpec{}, corev1.NodeStatus{}
	}
}
