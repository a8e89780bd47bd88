package backstop

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"evenkeel.dev/evenkeel/internal/admission"
)

const grace = 15 * time.Minute

func other() corev1.Taint {
	return corev1.Taint{Key: "other", Value: "x", Effect: corev1.TaintEffectNoExecute}
}

func ours() corev1.Taint {
	return corev1.Taint{Key: admission.DefaultKey, Effect: corev1.TaintEffectNoSchedule}
}

func node(name string, created time.Time, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-uid"), CreationTimestamp: metav1.NewTime(created)},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
}

// world is a backstop on an API server in memory, in a bubble of fake time.
type world struct {
	t      *testing.T
	client *fake.Clientset
}

func story(t *testing.T, nodes []runtime.Object, tell func(*world), reactors ...clienttesting.ReactionFunc) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t, fake.NewClientset(nodes...)}
		for _, react := range reactors {
			w.client.PrependReactor("patch", "nodes", react)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		b := &Backstop{Client: w.client, Taint: admission.Default(), Grace: grace, Log: slog.New(slog.DiscardHandler)}
		go func() { ended <- b.Run(ctx) }()
		w.wait(time.Second)
		tell(w)
		stop()
		<-ended
	})
}

func (w *world) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) taints(name string) []string {
	w.t.Helper()
	found, err := w.client.CoreV1().Nodes().Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for _, taint := range found.Spec.Taints {
		keys = append(keys, strings.TrimPrefix(taint.Key, "startup-taint.cluster-autoscaler.kubernetes.io/"))
	}
	return keys
}

func (w *world) expect(name string, keys ...string) {
	w.t.Helper()
	if got := w.taints(name); !slices.Equal(got, keys) {
		w.t.Errorf("node %s has taints %v, want %v", name, got, keys)
	}
}

func (w *world) set(n *corev1.Node) {
	w.t.Helper()
	if _, err := w.client.CoreV1().Nodes().Update(w.t.Context(), n, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

func (w *world) events() []corev1.Event {
	w.t.Helper()
	list, err := w.client.CoreV1().Events("").List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

const agent = "evenkeel-agent-not-ready"

func TestTaintGoesAfterTheGraceTimeWithAnEventAndOthersStay(t *testing.T) {
	born := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-5 * time.Minute)
	story(t, []runtime.Object{node("n", born, other(), ours())}, func(w *world) {
		w.wait(10*time.Minute - 2*time.Second)
		w.expect("n", "other", agent)
		w.wait(2 * time.Second)
		w.expect("n", "other")
		events := w.events()
		if len(events) != 1 {
			t.Fatalf("%d Events", len(events))
		}
		e := events[0]
		if e.Reason != Reason || e.Type != corev1.EventTypeWarning || e.InvolvedObject.Name != "n" || e.InvolvedObject.UID != "n-uid" ||
			!strings.Contains(e.Message, "15m0s") || !strings.Contains(e.Message, admission.DefaultKey) {
			t.Errorf("Event %+v", e)
		}
	})
}

func TestAnAgentThatIsInTimeLeavesNothingToDo(t *testing.T) {
	born := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	story(t, []runtime.Object{node("n", born, ours())}, func(w *world) {
		w.wait(14 * time.Minute)
		w.set(node("n", born))
		w.wait(time.Hour)
		if patches(w.client) != 0 || len(w.events()) != 0 {
			t.Errorf("%d patches, %d Events", patches(w.client), len(w.events()))
		}
	})
}

func TestATaintThatComesLaterGetsTheWholeGraceTime(t *testing.T) {
	born := time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC)
	story(t, []runtime.Object{node("seen", born), node("unseen", born, ours())}, func(w *world) {
		w.wait(time.Hour)
		w.expect("unseen") // nobody knows since when: the whole time, and no more
		w.set(node("seen", born, ours()))
		w.wait(grace - time.Second)
		w.expect("seen", agent)
		w.wait(2 * time.Second)
		w.expect("seen")
	})
}

func TestAnotherNodeOfTheSameNameStartsAnew(t *testing.T) {
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	story(t, []runtime.Object{node("n", epoch, ours())}, func(w *world) {
		w.wait(14 * time.Minute)
		if err := w.client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		reborn := node("n", time.Now(), ours())
		reborn.UID = "second"
		if _, err := w.client.CoreV1().Nodes().Create(t.Context(), reborn, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.wait(10 * time.Minute)
		w.expect("n", agent)
		w.wait(6 * time.Minute)
		w.expect("n")
	})
}

func TestRefusalsAreTriedAgain(t *testing.T) {
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	refusals := 3
	refuse := func(clienttesting.Action) (bool, runtime.Object, error) {
		refusals--
		return refusals >= 0, nil, apierrors.NewConflict(corev1.Resource("nodes"), "n", nil)
	}
	story(t, []runtime.Object{node("n", epoch, ours())}, func(w *world) {
		w.wait(grace)
		w.expect("n", agent)
		w.wait(time.Minute)
		w.expect("n")
		if len(w.events()) != 1 {
			t.Errorf("%d Events", len(w.events()))
		}
	}, refuse)
}

func patches(client *fake.Clientset) int {
	n := 0
	for _, action := range client.Actions() {
		if action.GetVerb() == "patch" {
			n++
		}
	}
	return n
}
