package agent

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"evenkeel.dev/evenkeel/internal/admission"
)

// taintWorld is a node with a taint of its own and the bootstrap taint, and what the remover says.
type taintWorld struct {
	client  *fake.Clientset
	ready   atomic.Bool
	trouble atomic.Pointer[error]
}

func newTaintWorld() *taintWorld {
	own := corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	return &taintWorld{client: fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{own, bootstrapTaint()}},
	})}
}

func bootstrapTaint() corev1.Taint {
	return corev1.Taint{Key: admission.DefaultKey, Effect: corev1.TaintEffectNoSchedule}
}

// run lets the remover work while check runs, all in a time of its own.
func (w *taintWorld) run(t *testing.T, check func(ctx context.Context)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		u := &untainter{
			taint: admission.Default(), node: "n", client: w.client, ready: w.ready.Load,
			trouble: func(err error) { w.trouble.Store(&err) }, removed: func() {},
		}
		go func() { defer close(done); u.run(ctx) }()
		check(ctx)
		cancel()
		<-done
	})
}

// after says which taints the node has some time later.
func (w *taintWorld) after(ctx context.Context, t *testing.T, d time.Duration) []string {
	t.Helper()
	time.Sleep(d) // in the test's own time
	synctest.Wait()
	n, err := w.client.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, taint := range n.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	return keys
}

func TestTheTaintGoesOnceTheAgentIsReadyAndStaysAway(t *testing.T) {
	w := newTaintWorld()
	w.run(t, func(ctx context.Context) {
		if got := w.after(ctx, t, time.Minute); len(got) != 2 {
			t.Fatalf("removed before the agent was ready: %q", got)
		}
		w.ready.Store(true)
		if got := w.after(ctx, t, 2*taintPoll); !slices.Equal(got, []string{"dedicated"}) {
			t.Fatalf("the node has %q, want its own taint alone", got)
		}
		n, err := w.client.CoreV1().Nodes().Get(ctx, "n", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n.Spec.Taints = append(n.Spec.Taints, bootstrapTaint())
		if _, err := w.client.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := w.after(ctx, t, 2*taintPoll); !slices.Equal(got, []string{"dedicated"}) {
			t.Fatalf("put on again, it was not removed again: %q", got)
		}
	})
}

func TestARefusedRemovalIsReportedAndTriedForEver(t *testing.T) {
	w := newTaintWorld()
	w.ready.Store(true)
	var refused atomic.Int64
	forbid := atomic.Bool{}
	forbid.Store(true)
	w.client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !forbid.Load() {
			return false, nil, nil
		}
		refused.Add(1)
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", errors.New("aks-node-validating-webhook"))
	})
	w.run(t, func(ctx context.Context) {
		w.after(ctx, t, time.Hour)
		if n := refused.Load(); n < 50 || n > 80 {
			t.Errorf("tried %d times in an hour, want about one a minute", n)
		}
		if err := w.trouble.Load(); err == nil || !apierrors.IsForbidden(*err) {
			t.Errorf("the refusal is not reported: %v", err)
		}
		forbid.Store(false)
		if got := w.after(ctx, t, 2*taintBackOff); !slices.Equal(got, []string{"dedicated"}) {
			t.Errorf("allowed at last, it was not removed: %q", got)
		}
		if err := w.trouble.Load(); *err != nil {
			t.Errorf("still in trouble: %v", *err)
		}
	})
}

func TestARemovalThatLostARaceIsMadeAnew(t *testing.T) {
	w := newTaintWorld()
	w.ready.Store(true)
	var races atomic.Int64
	w.client.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		if races.Add(1) > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, "n", errors.New("changed"))
	})
	w.run(t, func(ctx context.Context) {
		if got := w.after(ctx, t, taintPoll); !slices.Equal(got, []string{"dedicated"}) {
			t.Errorf("the node has %q", got)
		}
	})
}
