package kube_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/kube/stub"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func pod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%04d", i), UID: types.UID(fmt.Sprint("uid-", i)), ResourceVersion: fmt.Sprint(i + 1)},
		Spec:       corev1.PodSpec{NodeName: "one", Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func shop(pods int) map[string]stub.Objects {
	var list stub.Slice
	for i := range pods {
		list = append(list, pod(i))
	}
	return map[string]stub.Objects{
		"pods":  list,
		"nodes": stub.Slice{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "two"}}},
	}
}

func connect(t *testing.T, s *stub.Server) *kube.Client {
	t.Helper()
	config := &rest.Config{Host: s.Start(t), QPS: -1}
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &kube.Client{Read: set, Write: set, Config: config}
}

func forbidden(resource string) *apierrors.StatusError {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no RBAC rule"))
}

func asks(r *http.Request, resource string) bool { return strings.HasSuffix(r.URL.Path, "/"+resource) }

func TestListerReadsEveryPage(t *testing.T) {
	s := stub.New(shop(23))
	lister := &kube.Lister{Client: connect(t, s), PageSize: 5}
	snapshot, err := lister.Snapshot(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if len(snapshot.Pods) != 23 || len(snapshot.Nodes) != 2 || !snapshot.TakenAt.Equal(now) {
		t.Errorf("got %d pods, %d nodes, taken at %s; want 23, 2, %s", len(snapshot.Pods), len(snapshot.Nodes), snapshot.TakenAt, now)
	}
	pages := 0
	for _, r := range s.Requests() {
		if r == "GET /api/v1/pods" {
			pages++
		}
	}
	if pages != 5 {
		t.Errorf("pods came in %d pages, want 5", pages)
	}
}

func TestListThatExpiresHalfWayStartsAgain(t *testing.T) {
	s := stub.New(shop(12))
	var expired atomic.Bool
	s.Answer = func(r *http.Request) *apierrors.StatusError {
		if asks(r, "pods") && r.URL.Query().Get("continue") == "10" && expired.CompareAndSwap(false, true) {
			return apierrors.NewResourceExpired("the list is too old")
		}
		return nil
	}
	lister := &kube.Lister{Client: connect(t, s), PageSize: 5}
	snapshot, err := lister.Snapshot(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if !expired.Load() || len(snapshot.Pods) != 12 {
		t.Errorf("expired: %t, pods: %d; want true, 12 and none twice", expired.Load(), len(snapshot.Pods))
	}
}

func TestListThatAlwaysExpiresIsAnError(t *testing.T) {
	s := stub.New(shop(12))
	s.Answer = func(r *http.Request) *apierrors.StatusError {
		if r.URL.Query().Get("continue") != "" {
			return apierrors.NewResourceExpired("the list is too old")
		}
		return nil
	}
	lister := &kube.Lister{Client: connect(t, s), PageSize: 5}
	if _, err := lister.Snapshot(t.Context(), now); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v, want an expired list", err)
	}
}

func TestMissingPermissionForPodsSaysWhatToGrant(t *testing.T) {
	s := stub.New(shop(1))
	s.Answer = func(r *http.Request) *apierrors.StatusError {
		if asks(r, "pods") {
			return forbidden("pods")
		}
		return nil
	}
	lister := &kube.Lister{Client: connect(t, s)}
	_, err := lister.Snapshot(t.Context(), now)
	var read *kube.ReadError
	if !errors.As(err, &read) || read.Kind.Resource != "pods" || !strings.Contains(err.Error(), `get, list and watch on "pods"`) {
		t.Errorf("got %v, want an error that says what to grant", err)
	}
}

func TestMissingPermissionForAnOptionalKindIsNoted(t *testing.T) {
	s := stub.New(shop(1))
	s.Answer = func(r *http.Request) *apierrors.StatusError {
		if asks(r, "poddisruptionbudgets") || asks(r, "replicasets") {
			return forbidden("them")
		}
		return nil
	}
	client := connect(t, s)
	check := func(t *testing.T, source interface {
		Snapshot(context.Context, time.Time) (*snapshot, error)
	},
	) {
		t.Helper()
		got, err := source.Snapshot(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		if got.Has.Budgets || got.Has.Workloads || !got.Has.Claims || !got.Has.Namespaces {
			t.Errorf("has %+v, want all but budgets and workloads", got.Has)
		}
		for _, kind := range []string{"poddisruptionbudgets.policy", "replicasets.apps"} {
			if !slices.ContainsFunc(got.Notes, func(n string) bool { return strings.HasPrefix(n, kind) }) {
				t.Errorf("notes %q do not name %s", got.Notes, kind)
			}
		}
	}
	t.Run("lister", func(t *testing.T) { check(t, &kube.Lister{Client: client}) })
	t.Run("watcher", func(t *testing.T) { check(t, watcher(t, client, kube.Beside{})) })
}

func TestSlowServerIsGivenUp(t *testing.T) {
	s := stub.New(shop(1))
	s.Answer = func(r *http.Request) *apierrors.StatusError {
		if asks(r, "pods") {
			<-r.Context().Done()
		}
		return nil
	}
	lister := &kube.Lister{Client: connect(t, s), PageTimeout: 2 * time.Second}
	_, err := lister.Snapshot(t.Context(), now)
	if err == nil || !strings.Contains(err.Error(), "list pods: the API server did not send a page within 2s") {
		t.Errorf("got %v, want an error that says how long was waited", err)
	}
}

func TestUnreachableServerIsAnError(t *testing.T) {
	client, err := kube.Connection{Kubeconfig: kubeconfig(t, "http://127.0.0.1:1")}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	lister := &kube.Lister{Client: client}
	if _, err := lister.Snapshot(t.Context(), now); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want connection refused", err)
	}
}

func TestEvictedPodIsShownAsLeaving(t *testing.T) {
	s := stub.New(shop(3))
	lister := &kube.Lister{Client: connect(t, s), Beside: kube.Beside{
		Evicted: func(uid string) bool { return uid == "uid-1" }, Assumed: func(uid string) bool { return uid == "uid-2" },
	}}
	snapshot, err := lister.Snapshot(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range snapshot.Pods {
		if p.Deleting != (i == 1) || p.Assumed != (i == 2) {
			t.Errorf("%s: leaving %t, assumed %t", p.Key(), p.Deleting, p.Assumed)
		}
	}
}

func TestWatcherFollowsChanges(t *testing.T) {
	for _, streaming := range []bool{true, false} {
		t.Run(fmt.Sprintf("streaming=%t", streaming), func(t *testing.T) {
			s := stub.New(shop(3))
			s.NoStreaming = !streaming
			w := watcher(t, connect(t, s), kube.Beside{})
			if got := names(t, w); !slices.Equal(got, []string{"web-0000", "web-0001", "web-0002"}) {
				t.Fatalf("at first: %q", got)
			}
			s.Send("pods", watch.Added, pod(7))
			s.Send("pods", watch.Deleted, pod(1))
			want := []string{"web-0000", "web-0002", "web-0007"}
			eventually(t, func() bool { return slices.Equal(names(t, w), want) })
			lists := 0
			for _, r := range s.Requests() {
				if r == "GET /api/v1/pods" {
					lists++
				}
			}
			if streaming && lists != 2 { // a probe of one object, and the stream
				t.Errorf("%d requests for pods, want 2", lists)
			}
		})
	}
}

func TestWatcherWithoutPodsFails(t *testing.T) {
	s := stub.New(shop(3))
	s.Answer = func(r *http.Request) *apierrors.StatusError {
		if asks(r, "pods") {
			return forbidden("pods")
		}
		return nil
	}
	w := watcher(t, connect(t, s), kube.Beside{})
	if _, err := w.Snapshot(t.Context(), now); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want forbidden", err)
	}
}

func TestWatcherSaysWhyItIsNotReady(t *testing.T) {
	s := stub.New(shop(3))
	s.Answer = func(*http.Request) *apierrors.StatusError {
		return apierrors.NewServiceUnavailable("etcd is away")
	}
	w := watcher(t, connect(t, s), kube.Beside{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := w.Snapshot(ctx, now); err == nil || !strings.Contains(err.Error(), "pods are not listed yet") || !strings.Contains(err.Error(), "etcd is away") {
		t.Errorf("got %v, want the reason", err)
	}
}

func watcher(t *testing.T, client *kube.Client, beside kube.Beside) *kube.Watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := kube.Watch(ctx, client, slog.New(slog.DiscardHandler), beside)
	t.Cleanup(func() {
		cancel()
		w.Wait()
	})
	return w
}

func names(t *testing.T, w *kube.Watcher) []string {
	t.Helper()
	snapshot, err := w.Snapshot(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range snapshot.Pods {
		out = append(out, p.Name)
	}
	return out
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to pass within 10 s")
		}
	}
}
