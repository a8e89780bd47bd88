package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

func pod(name, uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid)}, Spec: corev1.PodSpec{NodeName: "n1"}}
}

// listen runs a source and gives its changes as text.
func listen(t *testing.T, s Source) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	changes, done := make(chan string, 100), make(chan error, 1)
	go func() {
		done <- s.Run(ctx, func(c Change) {
			text := string(c.Kind)
			if c.Pod != nil {
				text += fmt.Sprintf(" %s/%s", c.Pod.Name, c.Pod.UID)
			}
			changes <- text
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return changes
}

func expect(t *testing.T, changes <-chan string, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case c := <-changes:
			got = append(got, c)
		case <-time.After(10 * time.Second):
			t.Fatalf("got %q, then nothing; want %q", got, want)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
}

func TestPodsOfTheAPIAreSeenUntilTheyAreGone(t *testing.T) {
	client := fake.NewSimpleClientset(pod("a", "1"))
	changes := listen(t, API{Client: client, Node: "n1"})
	expect(t, changes, "seen a/1", "synced")
	pods := client.CoreV1().Pods("shop")
	if _, err := pods.Create(t.Context(), pod("b", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "seen b/2")
	if err := pods.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "gone a/1")
}

func TestAReplacedPodIsReportedGoneFirst(t *testing.T) {
	var got []string
	tell := func(c Change) { got = append(got, fmt.Sprint(c.Kind, " ", c.Pod.UID)) }
	seen(tell, pod("a", "1"), pod("a", "2"))
	gone(tell, cache.DeletedFinalStateUnknown{Key: "shop/a", Obj: pod("a", "2")})
	gone(tell, cache.DeletedFinalStateUnknown{Key: "shop/a"})
	if diff := cmp.Diff([]string{"gone 1", "seen 2", "gone 2"}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestPodFilesAreReadAndTheirRemovalIsADeletion(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		tmp := filepath.Join(dir, name+".tmp")
		if err := os.WriteFile(tmp, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	put("a.json", `{"metadata":{"namespace":"shop","name":"a","uid":"1"}}`)
	changes := listen(t, Dir{Folder: dir})
	expect(t, changes, "seen a/1", "synced")
	put("b.json", `{"metadata":{"namespace":"shop"`)
	expect(t, changes, "trouble")
	put("b.json", `{"metadata":{"namespace":"shop","name":"b","uid":"2"}}`)
	expect(t, changes, "seen b/2", "fine")
	put("a.json", `{"metadata":{"namespace":"shop","name":"a","uid":"9"}}`)
	expect(t, changes, "gone a/1", "seen a/9")
	if err := os.Remove(filepath.Join(dir, "a.json")); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "gone a/9")
}

func TestAFolderThatIsMissingIsTroubleNotAnEnd(t *testing.T) {
	expect(t, listen(t, Dir{Folder: filepath.Join(t.TempDir(), "none")}), "trouble", "synced")
}

func TestAnOutageOfTheAPIIsTroubleUntilItIsOver(t *testing.T) {
	client := fake.NewSimpleClientset(pod("a", "1"))
	var down atomic.Bool
	down.Store(true)
	client.PrependReactor("list", "pods", func(ktesting.Action) (bool, runtime.Object, error) {
		if down.Load() {
			return true, nil, errors.New("connection refused")
		}
		return false, nil, nil
	})
	changes := listen(t, API{Client: client, Node: "n1"})
	expect(t, changes, "trouble")
	down.Store(false)
	for {
		if c := <-changes; c == "fine" {
			break
		}
	}
	expect(t, changes, "seen a/1", "synced")
}
