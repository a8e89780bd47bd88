package nodepace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// WriteEvery is the least time between two writes.
	WriteEvery = 5 * time.Second
	// lookEvery is how often the agent is looked at.
	lookEvery = time.Second
	// retryAfter is the pause after a write that failed, and absentAfter after one that failed because the CRD is not
	// installed.
	retryAfter  = 15 * time.Second
	absentAfter = time.Minute
)

// ErrAbsent is what Publisher reports while the API server does not know NodePace.
var ErrAbsent = errors.New("NodePace is not installed, so this node's queue is not shown in the API")

// Store keeps NodePaces; a typed client does.
type Store interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*v1alpha1.NodePace, error)
	Create(ctx context.Context, n *v1alpha1.NodePace, o metav1.CreateOptions) (*v1alpha1.NodePace, error)
	Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, o metav1.PatchOptions, subresources ...string) (*v1alpha1.NodePace, error)
}

// Publisher writes one node's NodePace.
type Publisher struct {
	Store Store
	Node  string
	// NodeUID is that of the Node object, which owns the NodePace.
	NodeUID func(ctx context.Context) (types.UID, error)
	// Observe looks at the agent; false when there is nothing to see any more.
	Observe func() (Observation, bool)
	// Trouble is told what keeps the report from being written, again and again, and nil once it is written. It is
	// ErrAbsent where the CRD is not installed.
	Trouble func(error)
}

// Run publishes until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last v1alpha1.NodePaceStatus // as written
	var next time.Time               // when writing is allowed
	known := false                   // whether last is what the API has
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if now.Before(next) {
			continue
		}
		o, ok := p.Observe()
		if !ok {
			continue
		}
		if !known {
			last = p.read(ctx)
		}
		status := Next(last, o, now)
		if known && equality.Semantic.DeepEqual(last, status) {
			continue
		}
		err := p.write(ctx, status)
		if ctx.Err() != nil {
			return
		}
		p.Trouble(err)
		next = now.Add(pause(err))
		if known = err == nil; known {
			last = status
		}
	}
}

func pause(err error) time.Duration {
	switch {
	case err == nil:
		return WriteEvery
	case errors.Is(err, ErrAbsent):
		return absentAfter
	}
	return retryAfter
}

// read returns what an agent wrote before, so that conditions and the last change of the limit outlive a restart.
func (p *Publisher) read(ctx context.Context) v1alpha1.NodePaceStatus {
	n, err := p.Store.Get(ctx, p.Node, metav1.GetOptions{})
	if err != nil {
		return v1alpha1.NodePaceStatus{} // writing will tell
	}
	return n.Status
}

// write replaces the status, and creates the object if there is none.
func (p *Publisher) write(ctx context.Context, status v1alpha1.NodePaceStatus) error {
	err := p.patch(ctx, status)
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := p.create(ctx); err != nil {
		return err
	}
	return p.patch(ctx, status)
}

func (p *Publisher) patch(ctx context.Context, status v1alpha1.NodePaceStatus) error {
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": status}})
	if err != nil {
		return fmt.Errorf("write NodePace %s: %w", p.Node, err)
	}
	_, err = p.Store.Patch(ctx, p.Node, types.JSONPatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write NodePace %s: %w", p.Node, err)
	}
	return nil
}

func (p *Publisher) create(ctx context.Context) error {
	uid, err := p.NodeUID(ctx)
	if err != nil {
		return fmt.Errorf("create NodePace %s: who owns it: %w", p.Node, err)
	}
	_, err = p.Store.Create(ctx, &v1alpha1.NodePace{ObjectMeta: metav1.ObjectMeta{
		Name:            p.Node,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: p.Node, UID: uid}},
	}}, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return ErrAbsent
	case err != nil && !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("create NodePace %s: %w", p.Node, err)
	}
	return nil
}
