package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// UsageFunc measures the nodes and their pods. What can't be measured goes to Usage.Problems;
// an error is for a source that gave nothing at all, and fails the snapshot.
type UsageFunc func(ctx context.Context, resources *cluster.Resources, nodes []*cluster.NodeInfo) (cluster.Usage, error)

// Beside is what goes into a snapshot beside the API objects. The zero value adds nothing.
type Beside struct {
	// Usage measures, when set.
	Usage UsageFunc
	// Starts reads, when set, what starts on the nodes.
	Starts StartsFunc
	// Evicted reports, when set, whether the pod of that UID was evicted a moment ago: the picture of the cluster may be older
	// than the eviction, and such a pod is shown as being deleted.
	Evicted func(uid string) bool
	// Assumed reports, when set, whether another controller has accepted the eviction of the pod of that UID: such a pod stays as
	// it is, and is marked.
	Assumed func(uid string) bool
}

// assemble makes the snapshot. It changes parts.Pods.
func (b Beside) assemble(ctx context.Context, parts *cluster.Parts, now time.Time) (*cluster.Snapshot, error) {
	for i, p := range parts.Pods {
		evicted := !p.Deleting && b.Evicted != nil && b.Evicted(p.UID)
		assumed := b.Assumed != nil && b.Assumed(p.UID)
		if evicted || assumed {
			marked := *p
			marked.Deleting, marked.Assumed = p.Deleting || evicted, assumed
			parts.Pods[i] = &marked
		}
	}
	if b.Usage != nil {
		usage, err := b.Usage(ctx, parts.Resources, parts.Nodes)
		if err != nil {
			return nil, fmt.Errorf("measure usage: %w", err)
		}
		parts.Usage = usage
	}
	if b.Starts != nil {
		starts, note, err := b.Starts(ctx)
		if err != nil {
			return nil, err
		}
		if note != "" {
			parts.Notes = append(parts.Notes, note)
		}
		parts.Starts = starts
	}
	slices.Sort(parts.Notes)
	return parts.Snapshot(now)
}
