package evict_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/evict"
	"evenkeel.dev/evenkeel/internal/plan"
)

// virt is an API server whose webhook moves virtual machines itself.
type virt struct{ asked int }

func (v *virt) Evict(context.Context, evict.Request) error {
	v.asked++
	return apierrors.NewTooManyRequests(`admission webhook denied the request: Eviction triggered evacuation of VMI "shop/vm"`, 0)
}

func (*virt) MayEvict(context.Context, string) (bool, error) { return true, nil }

// machine is a snapshot with the pod of a virtual machine; change makes it look otherwise.
func machine(t *testing.T, change func(*cluster.PodInfo)) *cluster.Snapshot {
	t.Helper()
	pod := &cluster.PodInfo{
		Namespace: "shop", Name: "vm", UID: "uid-vm", NodeName: "one", Spec: &cluster.Spec{}, Phase: corev1.PodRunning,
		Annotations: map[string]string{cluster.AnnotationRequestEvictOnly: ""},
	}
	change(pod)
	s, err := (&cluster.Parts{Pods: []*cluster.PodInfo{pod}}).Snapshot(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asksToBeMoved(*cluster.PodInfo) {}
func isBeingMoved(p *cluster.PodInfo) {
	p.Annotations[cluster.AnnotationEvictionInProgress] = ""
}

// assumed is an executor whose eviction of the machine was accepted.
func assumed(t *testing.T) (*evict.Executor, *virt) {
	t.Helper()
	v := &virt{}
	e := &evict.Executor{API: v, Recent: evict.NewRecent(), Background: evict.NewBackground(), Log: slog.New(slog.DiscardHandler)}
	e.Background.Observe(machine(t, asksToBeMoved))
	attempt(t, e, "vm=background")
	return e, v
}

func attempt(t *testing.T, e *evict.Executor, want string) {
	t.Helper()
	outcomes, err := e.Execute(t.Context(), moves("vm"), evict.Options{})
	if err != nil || results(outcomes)[0] != want {
		t.Fatalf("got %v, %v; want %s", results(outcomes), err, want)
	}
}

func TestOnlyPodsThatAskForItAreMovedInTheBackground(t *testing.T) {
	v := &virt{}
	e := &evict.Executor{API: v, Recent: evict.NewRecent(), Background: evict.NewBackground(), Log: slog.New(slog.DiscardHandler)}
	attempt(t, e, "vm=blocked")
	e.Background.Observe(machine(t, asksToBeMoved))
	attempt(t, e, "vm=background")
	attempt(t, e, "vm=background")
	if v.asked != 2 {
		t.Errorf("%d evictions were sent, want 2: the third is under way already", v.asked)
	}
}

// TestHowAnEvictionInTheBackgroundEnds looks at the machine twice after its eviction was accepted.
func TestHowAnEvictionInTheBackgroundEnds(t *testing.T) {
	notAsking := func(p *cluster.PodInfo) { delete(p.Annotations, cluster.AnnotationRequestEvictOnly) }
	for _, c := range []struct {
		name          string
		first, second func(*cluster.PodInfo)
		after         time.Duration // between the two
		want          plan.Result   // empty: it goes on
		why           string
	}{
		{name: "the pod is gone", first: isBeingMoved, second: func(p *cluster.PodInfo) { p.UID = "another" }, want: plan.Evicted},
		{name: "the pod has ended", first: isBeingMoved, second: func(p *cluster.PodInfo) { p.Phase = corev1.PodSucceeded }, want: plan.Evicted},
		{name: "it is still being moved after hours", first: isBeingMoved, second: isBeingMoved, after: 5 * time.Hour},
		{name: "it is on its way out", first: isBeingMoved, second: func(p *cluster.PodInfo) { p.Deleting, p.Annotations = true, nil }},
		{name: "the other controller gave up", first: isBeingMoved, second: asksToBeMoved, want: plan.Failed, why: "the controller that was moving it gave up"},
		{name: "the pod no longer asks for it", first: isBeingMoved, second: notAsking, want: plan.Failed, why: "the pod no longer asks to be moved by another controller"},
		{name: "nobody began within ten minutes", first: asksToBeMoved, second: asksToBeMoved, after: 10*time.Minute + time.Second, want: plan.Failed, why: "nobody began to move it within 10m0s"},
		{name: "somebody may still begin", first: asksToBeMoved, second: asksToBeMoved, after: 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, _ := assumed(t)
				if ended := e.Background.Observe(machine(t, c.first)); len(ended) != 0 {
					t.Fatalf("ended too early: %v", results(ended))
				}
				time.Sleep(c.after)
				ended := e.Background.Observe(machine(t, c.second))
				if c.want == "" {
					if len(ended) != 0 || !e.Background.Has("uid-vm") {
						t.Errorf("ended with %+v, want it to be followed", ended)
					}
					return
				}
				if len(ended) != 1 || ended[0].Result != c.want || ended[0].Message != c.why || e.Background.Has("uid-vm") {
					t.Errorf("got %+v, want %s: %s", ended, c.want, c.why)
				}
			})
		})
	}
}

func TestEvictionsOfOthersAreFollowedAndNotReported(t *testing.T) {
	b := evict.NewBackground()
	b.Observe(machine(t, isBeingMoved))
	if !b.Has("uid-vm") {
		t.Error("it is not known to be moved")
	}
	if ended := b.Observe(machine(t, asksToBeMoved)); len(ended) != 0 || b.Has("uid-vm") {
		t.Errorf("reported %v, want nothing: it was not our eviction", results(ended))
	}
}
