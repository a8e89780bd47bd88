package live_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/pacepolicy/live"
)

// lists is an API server's share in one kind of objects.
type lists[L any] struct {
	mu      sync.Mutex
	err     error
	list    func() L
	watches []*watch.RaceFreeFakeWatcher
}

// IsWatchListSemanticsUnSupported tells client-go to list and then watch.
func (l *lists[L]) IsWatchListSemanticsUnSupported() bool { return true }

func (l *lists[L]) List(context.Context, metav1.ListOptions) (L, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		var none L
		return none, l.err
	}
	return l.list(), nil
}

func (l *lists[L]) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	w := watch.NewRaceFreeFake()
	l.watches = append(l.watches, w)
	return w, nil
}

// hold makes the server hold what list returns.
func (l *lists[L]) hold(list func() L) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = list
}

// fail makes every call fail, and ends the watches as a server that goes away does; nil ends that.
func (l *lists[L]) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	if err == nil {
		return
	}
	for _, w := range l.watches {
		w.Stop()
	}
	l.watches = nil
}

// send has the watches say something.
func (l *lists[L]) send(say func(*watch.RaceFreeFakeWatcher)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watches {
		say(w)
	}
}

func policy(name string, priority int32, generation int64, pool string) *v1alpha1.PacePolicy {
	return &v1alpha1.PacePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u-" + "1", Generation: generation, ResourceVersion: "1"},
		Spec: v1alpha1.PacePolicySpec{
			Priority:     priority,
			NodeSelector: &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(pool)}},
		},
	}
}

func node(pool string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: "1", Labels: map[string]string{"pool": pool}}}
}

// world is a Source at work in a bubble of fake time.
type world struct {
	policies lists[*v1alpha1.PacePolicyList]
	nodes    lists[*corev1.NodeList]
	mu       sync.Mutex
	found    []string
}

func watching(t *testing.T, prepare, during func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		w.policies.list = func() *v1alpha1.PacePolicyList { return &v1alpha1.PacePolicyList{} }
		w.nodes.list = func() *corev1.NodeList { return &corev1.NodeList{Items: []corev1.Node{*node("a")}} }
		prepare(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		source := live.Source{Policies: &w.policies, Nodes: &w.nodes, Node: "n1"}
		go func() { done <- source.Run(ctx, w.tell) }()
		during(t, w)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (w *world) tell(f live.Finding) {
	text := "file"
	switch {
	case f.Absent:
		text = "absent"
	case !f.Known:
		text = "unknown"
	case f.Policy != nil:
		text = fmt.Sprintf("%s/%d", f.Policy.Name, f.Policy.Generation)
	}
	for _, r := range f.Rivals {
		text += " before " + r
	}
	if f.Err != nil {
		text += " (" + f.Err.Error() + ")"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, text)
}

// expect lets a while pass and compares what was told in it.
func (w *world) expect(t *testing.T, want ...string) {
	t.Helper()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.found, "; "); got != strings.Join(want, "; ") {
		t.Errorf("told %q, want %q", got, strings.Join(want, "; "))
	}
	w.found = nil
}

func one() *v1alpha1.PacePolicyList {
	return &v1alpha1.PacePolicyList{Items: []v1alpha1.PacePolicy{*policy("p", 0, 1, "a")}}
}

func nothing(*testing.T, *world) {}

func TestTellsWhichPolicyHoldsAndEachChange(t *testing.T) {
	watching(t, nothing, func(t *testing.T, w *world) {
		w.expect(t, "file")
		w.policies.send(func(s *watch.RaceFreeFakeWatcher) { s.Add(policy("p", 0, 1, "a")) })
		w.expect(t, "p/1")
		w.policies.send(func(s *watch.RaceFreeFakeWatcher) { s.Modify(policy("p", 0, 2, "a")) })
		w.expect(t, "p/2")
		w.policies.send(func(s *watch.RaceFreeFakeWatcher) { s.Add(policy("q", 0, 1, "a")) })
		w.expect(t, "p/2 before q")
		w.nodes.send(func(s *watch.RaceFreeFakeWatcher) { s.Modify(node("b")) })
		w.expect(t, "file")
		w.nodes.send(func(s *watch.RaceFreeFakeWatcher) { s.Modify(node("a")) })
		w.expect(t, "p/2 before q")
		w.policies.send(func(s *watch.RaceFreeFakeWatcher) { s.Delete(policy("p", 0, 2, "a")) })
		w.expect(t, "q/1")
	})
}

func TestAChangeOfStatusIsNoNews(t *testing.T) {
	watching(t, nothing, func(t *testing.T, w *world) {
		w.expect(t, "file")
		p := policy("p", 0, 1, "a")
		w.policies.send(func(s *watch.RaceFreeFakeWatcher) { s.Add(p) })
		w.expect(t, "p/1")
		p = p.DeepCopy()
		p.Status.SelectedNodes = 7
		w.policies.send(func(s *watch.RaceFreeFakeWatcher) { s.Modify(p) })
		w.expect(t)
	})
}

func TestWithoutTheCRDsTheFileHoldsUntilTheyAreInstalled(t *testing.T) {
	absent := apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{}, "", "", 0, false)
	watching(t, func(_ *testing.T, w *world) { w.policies.fail(absent) }, func(t *testing.T, w *world) {
		w.expect(t, "absent")
		w.policies.hold(one)
		w.policies.fail(nil)
		w.expect(t, "p/1")
		w.policies.fail(absent) // uninstalled under our eyes
		w.expect(t, "absent")
	})
}

func TestAnOutageKeepsWhatIsKnown(t *testing.T) {
	watching(t, func(_ *testing.T, w *world) { w.policies.hold(one) }, func(t *testing.T, w *world) {
		w.expect(t, "p/1")
		w.policies.fail(errors.New("no route to host"))
		w.expect(t, "p/1 (watch pace policies: no route to host)")
		w.policies.fail(nil)
		w.expect(t, "p/1")
	})
}

func TestAnAPIThatWasNeverReachedSaysNothingOfThePolicy(t *testing.T) {
	down := errors.New("no route to host")
	watching(t, func(_ *testing.T, w *world) { w.policies.fail(down) }, func(t *testing.T, w *world) {
		w.expect(t, "unknown (watch pace policies: no route to host)")
	})
}

func TestANodeThatDoesNotExistHasNoLabelsToChooseBy(t *testing.T) {
	watching(t, func(_ *testing.T, w *world) {
		w.nodes.list = func() *corev1.NodeList { return &corev1.NodeList{} }
	}, func(t *testing.T, w *world) {
		w.expect(t, "unknown (node n1 does not exist, so no policy can be chosen by its labels)")
		w.nodes.send(func(s *watch.RaceFreeFakeWatcher) { s.Add(node("a")) })
		w.expect(t, "file")
	})
}
