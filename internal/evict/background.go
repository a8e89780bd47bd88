package evict

import (
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

const (
	// evacuation is what KubeVirt's webhook says when it will move a virtual machine itself.
	evacuation = "Eviction triggered evacuation"
	// assumeFor is how long a pod may stay after that without a sign that it is being moved.
	assumeFor = 10 * time.Minute
)

// Background follows evictions that another controller carries out: a virtual machine is migrated and not killed. Such pods
// carry the annotation request-evict-only; a 429 that says "Eviction triggered evacuation" means "accepted", and
// eviction-in-progress appears on the pod while it is moved. It is the feature gate EvictionsInBackground.
// It is safe for concurrent use.
type Background struct {
	mu       sync.Mutex
	eligible map[string]bool   // pods with request-evict-only, of the last snapshot, by UID
	moving   map[string]moving // by UID
	now      func() time.Time
}

type moving struct {
	move    plan.Move
	since   time.Time
	seen    bool // the annotation eviction-in-progress was there
	assumed bool // we asked for it
}

// NewBackground returns a follower that knows of nothing.
func NewBackground() *Background {
	return &Background{eligible: map[string]bool{}, moving: map[string]moving{}, now: time.Now}
}

// Has reports whether another controller is moving the pod of that UID.
func (b *Background) Has(uid string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.moving[uid]
	return ok
}

// Observe takes note of a new snapshot and returns what became of the evictions that we asked for: Evicted when
// the pod is gone or over, Failed when it stayed and nobody moves it (any more).
func (b *Background) Observe(s *cluster.Snapshot) []plan.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	present := map[string]*cluster.Pod{} // of the pods that are being moved
	clear(b.eligible)
	for _, p := range s.Pods {
		m, known := b.moving[p.UID]
		if known {
			present[p.UID] = p
		}
		if !eligible(p) {
			continue
		}
		b.eligible[p.UID] = true
		switch {
		case inProgress(p) && !known && !p.Terminal():
			b.moving[p.UID] = moving{move: plan.Move{Pod: plan.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Node: p.NodeName}, since: b.now(), seen: true}
			present[p.UID] = p
		case inProgress(p) && known:
			m.seen = true
			b.moving[p.UID] = m
		}
	}
	return b.settle(present)
}

// settle drops what has come to an end. The lock is held.
func (b *Background) settle(present map[string]*cluster.Pod) []plan.Outcome {
	var ended []plan.Outcome
	for uid, m := range b.moving {
		result, why := b.end(m, present[uid])
		if result == "" {
			continue
		}
		delete(b.moving, uid)
		if m.assumed {
			ended = append(ended, plan.Outcome{Move: m.move, Result: result, Message: why, Took: b.now().Sub(m.since)})
		}
	}
	slices.SortFunc(ended, func(a, b plan.Outcome) int { return strings.Compare(a.Move.Pod.String(), b.Move.Pod.String()) })
	return ended
}

// end says how the eviction of a pod ended that looks like p now; nil when it is gone. It is empty while the eviction goes on.
func (b *Background) end(m moving, p *cluster.Pod) (result plan.Result, why string) {
	switch {
	case p == nil || p.Terminal():
		return plan.Evicted, ""
	case p.Deleting:
		return "", "" // on its way out, whatever its annotations say
	case !eligible(p):
		return plan.Failed, "the pod no longer asks to be moved by another controller"
	case m.seen && !inProgress(p):
		return plan.Failed, "the controller that was moving it gave up"
	case !m.seen && b.now().Sub(m.since) > assumeFor:
		return plan.Failed, "nobody began to move it within " + assumeFor.String()
	}
	return "", ""
}

// eligible reports whether the pod asks to be moved by another controller.
func eligible(p *cluster.Pod) bool {
	_, ok := p.Annotations[cluster.AnnotationRequestEvictOnly]
	return ok
}

// inProgress reports whether that controller says that it is moving the pod.
func inProgress(p *cluster.Pod) bool {
	_, ok := p.Annotations[cluster.AnnotationEvictionInProgress]
	return ok
}

// accept reports whether the answer means that another controller will move the pod, and follows it then.
func (b *Background) accept(m plan.Move, err error) bool {
	if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), evacuation) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.eligible[m.Pod.UID] {
		return false
	}
	b.moving[m.Pod.UID] = moving{move: m, since: b.now(), assumed: true}
	return true
}
