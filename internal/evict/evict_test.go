package evict_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/internal/evict"
	"evenkeel.dev/evenkeel/internal/kube/stub"
	"evenkeel.dev/evenkeel/internal/plan"
)

func moves(names ...string) *plan.Plan {
	p := &plan.Plan{}
	for i, n := range names {
		p.Moves = append(p.Moves, plan.Move{
			Seq: i + 1, Pod: plan.PodRef{Namespace: "shop", Name: n, UID: "uid-" + n}, Node: "one",
			Profile: "p", Strategy: "RemoveDuplicates", Reason: plan.Reason{Message: "3 replicas on one node"},
		})
	}
	return p
}

func executor(t *testing.T, s *stub.Server) (*evict.Executor, kubernetes.Interface) {
	t.Helper()
	set, err := kubernetes.NewForConfig(&rest.Config{Host: s.Start(t), QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return &evict.Executor{API: evict.NewAPI(set, set), Recent: evict.NewRecent(), Log: slog.New(slog.DiscardHandler)}, set
}

// results are "name=result" of each outcome.
func results(outcomes []plan.Outcome) []string {
	var out []string
	for _, o := range outcomes {
		out = append(out, o.Move.Pod.Name+"="+string(o.Result))
	}
	return out
}

func evictions(s *stub.Server) []*policyv1.Eviction {
	var out []*policyv1.Eviction
	for _, o := range s.Posted() {
		if e, ok := o.(*policyv1.Eviction); ok {
			out = append(out, e)
		}
	}
	return out
}

func TestEvictionCarriesUIDReasonAndGracePeriod(t *testing.T) {
	s := stub.New(nil)
	e, _ := executor(t, s)
	grace := int64(7)
	if _, err := e.Execute(t.Context(), moves("a"), evict.Options{GracePeriodSeconds: &grace}); err != nil {
		t.Fatal(err)
	}
	sent := evictions(s)
	if len(sent) != 1 {
		t.Fatalf("%d evictions, want 1", len(sent))
	}
	want := map[string]string{"requested-by": "sigs.k8s.io/descheduler", "reason": "triggered by p/RemoveDuplicates: 3 replicas on one node"}
	if d := cmp.Diff(want, sent[0].Annotations); d != "" {
		t.Errorf("annotations (-want +got):\n%s", d)
	}
	o := sent[0].DeleteOptions
	if *o.GracePeriodSeconds != 7 || string(*o.Preconditions.UID) != "uid-a" {
		t.Errorf("delete options %v, want a grace period of 7 s and the UID uid-a", o)
	}
}

func TestRefusalsOfTheAPIServerAreOutcomes(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	s := stub.New(nil)
	s.Evict = func(_ string, e *policyv1.Eviction) *apierrors.StatusError {
		switch e.Name {
		case "budget":
			err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 2 healthy pods and has 2 currently"}}
			return err
		case "gone":
			return apierrors.NewNotFound(pods, e.Name)
		case "replaced":
			return apierrors.NewConflict(pods, e.Name, errors.New("the UID in the precondition (uid-replaced) does not match the UID in record (x)"))
		case "ending":
			err := apierrors.NewForbidden(pods, e.Name, errors.New("namespace shop is being terminated"))
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			return err
		case "two-budgets":
			return apierrors.NewInternalError(errors.New("more than one PodDisruptionBudget"))
		}
		return nil
	}
	e, _ := executor(t, s)
	started := time.Now()
	outcomes, err := e.Execute(t.Context(), moves("budget", "gone", "replaced", "ending", "two-budgets", "fine"), evict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"budget=blocked", "gone=gone", "replaced=gone", "ending=gone", "two-budgets=error", "fine=success"}
	if d := cmp.Diff(want, results(outcomes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !strings.Contains(outcomes[0].Message, "web needs 2 healthy pods") {
		t.Errorf("%q does not name the budget", outcomes[0].Message)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("took %s: the executor waited for Retry-After", took)
	}
}

func TestMissingPermissionStopsTheCycle(t *testing.T) {
	s := stub.New(nil)
	s.Evict = func(_ string, e *policyv1.Eviction) *apierrors.StatusError {
		if e.Name == "b" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods/eviction"}, e.Name, errors.New("no RBAC rule"))
		}
		return nil
	}
	e, _ := executor(t, s) // the stub's review says "not allowed": it sends back what it got
	outcomes, err := e.Execute(t.Context(), moves("a", "b", "c"), evict.Options{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `create on "pods/eviction"`) {
		t.Errorf("got %v, want an error that says what to grant", err)
	}
	if d := cmp.Diff([]string{"a=success", "b=forbidden", "c=skipped"}, results(outcomes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// guarded is an API whose evictions of one pod are refused by an admission webhook.
type guarded struct{ pod string }

func (g guarded) Evict(_ context.Context, r evict.Request) error {
	if r.Pod.Name == g.pod {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, g.pod, errors.New(`admission webhook "guard" denied the request`))
	}
	return nil
}

func (guarded) MayEvict(context.Context, string) (bool, error) { return true, nil }

func TestWebhookThatGuardsOnePodDoesNotStopTheCycle(t *testing.T) {
	e := &evict.Executor{API: guarded{pod: "a"}, Recent: evict.NewRecent(), Log: slog.New(slog.DiscardHandler)}
	outcomes, err := e.Execute(t.Context(), moves("a", "b"), evict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a=forbidden", "b=success"}, results(outcomes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestServerThatIsGoneStopsTheCycle(t *testing.T) {
	set, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1", QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	e := &evict.Executor{API: evict.NewAPI(set, set), Recent: evict.NewRecent(), Log: slog.New(slog.DiscardHandler)}
	outcomes, err := e.Execute(t.Context(), moves("a", "b", "c", "d"), evict.Options{})
	if err == nil {
		t.Error("no error")
	}
	if d := cmp.Diff([]string{"a=error", "b=error", "c=error", "d=skipped"}, results(outcomes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestStoppingFinishesTheCallInFlight(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := stub.New(nil)
	s.Evict = func(string, *policyv1.Eviction) *apierrors.StatusError {
		cancel()
		time.Sleep(20 * time.Millisecond) // were the call cut off, the answer would not be seen
		return nil
	}
	e, _ := executor(t, s)
	outcomes, err := e.Execute(ctx, moves("a", "b"), evict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a=success", "b=skipped"}, results(outcomes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNothingIsEvictedTwiceInFlight(t *testing.T) {
	s := stub.New(nil)
	e, _ := executor(t, s)
	for _, want := range []string{"a=success", "a=skipped"} {
		outcomes, err := e.Execute(t.Context(), moves("a"), evict.Options{})
		if err != nil || results(outcomes)[0] != want {
			t.Errorf("got %v, %v; want %s", results(outcomes), err, want)
		}
	}
	if n := len(evictions(s)); n != 1 {
		t.Errorf("%d evictions were sent, want 1", n)
	}
	if e.Recent.Has("uid-a", time.Now().Add(11*time.Minute)) {
		t.Error("an eviction of 11 minutes ago is still remembered")
	}
}

func TestOwnPodIsNeverEvicted(t *testing.T) {
	s := stub.New(nil)
	e, _ := executor(t, s)
	outcomes, err := e.Execute(t.Context(), moves("a", "me"), evict.Options{Self: plan.PodRef{Namespace: "shop", Name: "me"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a=success", "me=skipped"}, results(outcomes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestEventsTellOfEvictionsAndOnRequestOfRefusals(t *testing.T) {
	for _, failures := range []bool{false, true} {
		t.Run(fmt.Sprintf("failures=%t", failures), func(t *testing.T) {
			s := stub.New(nil)
			s.Evict = func(_ string, e *policyv1.Eviction) *apierrors.StatusError {
				if e.Name == "b" {
					return apierrors.NewTooManyRequests("budget", 0)
				}
				return nil
			}
			e, set := executor(t, s)
			events := evict.NewEvents(set, "host", slog.New(slog.DiscardHandler))
			e.Events = events
			p := moves("a", "b")
			p.Refusals = []plan.Refusal{
				{Pod: plan.PodRef{Namespace: "shop", Name: "c", UID: "uid-c"}, Node: "one", Gate: "limit", Reason: plan.Reason{Message: "the limit of the cycle is reached"}},
				{Pod: plan.PodRef{Namespace: "shop", Name: "d", UID: "uid-d"}, Node: "one", Gate: "evictor"},
			}
			if _, err := e.Execute(t.Context(), p, evict.Options{FailureEvents: failures}); err != nil {
				t.Fatal(err)
			}
			events.Close(10 * time.Second)

			var got []string
			for _, o := range s.Posted() {
				if ev, ok := o.(*eventsv1.Event); ok {
					got = append(got, fmt.Sprintf("%s %s %s %s %s: %s", ev.Type, ev.Reason, ev.Action, ev.ReportingController, ev.Regarding.UID, ev.Note))
				}
			}
			want := []string{"Normal RemoveDuplicates Descheduled sigs.k8s.io.descheduler uid-a: pod eviction from one node by sigs.k8s.io/descheduler: 3 replicas on one node"}
			if failures {
				limit := "Warning EvictionFailed Descheduled sigs.k8s.io.descheduler uid-c: pod eviction from one node by sigs.k8s.io/descheduler failed: the limit of the cycle is reached"
				want = append([]string{limit}, want...)
				want = append(want, "Warning EvictionFailed Descheduled sigs.k8s.io.descheduler uid-b: pod eviction from one node by sigs.k8s.io/descheduler failed: budget")
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestRefusedCredentialsStopTheCycle(t *testing.T) {
	s := stub.New(nil)
	s.Answer = func(*http.Request) *apierrors.StatusError { return apierrors.NewUnauthorized("token expired") }
	e, _ := executor(t, s)
	outcomes, err := e.Execute(t.Context(), moves("a", "b"), evict.Options{})
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("got %v, want unauthorized", err)
	}
	if d := cmp.Diff([]string{"a=error", "b=skipped"}, results(outcomes)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
