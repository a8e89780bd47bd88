package startgate

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"evenkeel.dev/evenkeel/test/harness"
)

// witness counts, by what the API server says in its order, how many pods of a
// namespace were starting at the same time: with a sandbox and not ready. It
// misses a pod whose sandbox and readiness the kubelet reports together, which
// the plugin's own witness does not.
type witness struct {
	mu       sync.Mutex
	starting map[string]bool
	most     int
	stop     func()
}

func (g *gate) watch(namespace string) *witness {
	g.t.Helper()
	w := &witness{starting: map[string]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	pods, err := g.cluster.Client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{})
	g.must(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range pods.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				w.see(e.Type, pod)
			}
		}
	}()
	w.stop = sync.OnceFunc(func() { cancel(); pods.Stop(); <-done })
	g.t.Cleanup(w.stop)
	return w
}

func (w *witness) see(what watch.EventType, pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	sandbox := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue
	})
	delete(w.starting, pod.Name)
	if what != watch.Deleted && pod.DeletionTimestamp == nil && sandbox && !harness.IsReady(pod) {
		w.starting[pod.Name] = true
	}
	w.most = max(w.most, len(w.starting))
}

func (w *witness) wantAtMost(t *testing.T, limit int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most > limit {
		t.Errorf("%d pods were starting at once by the API, want at most %d", w.most, limit)
	}
}

// witnessed is a file of the plugin's witness, which test/startgate/bridge is.
func (g *gate) witnessed(name string) string {
	return filepath.Join(g.node.Dir, "cni", "witness", name)
}

// hold makes every ADD of the plugin take that much longer.
func (g *gate) hold(d time.Duration) {
	g.t.Helper()
	g.must(os.WriteFile(g.witnessed("hold.new"), []byte(d.String()), 0o644))
	g.must(os.Rename(g.witnessed("hold.new"), g.witnessed("hold")))
}

// run is one run of the plugin. It is of a pod that starts until End.
type run struct {
	Pod        string // its UID
	Command    string
	Paced      bool // called by the stand-in
	Failed     bool
	Begin, End time.Time
}

// runs gives the runs of the plugin in the order of their beginnings. One that
// still runs, or was killed, has no end.
func (g *gate) runs(command string) []run {
	g.t.Helper()
	data, err := os.ReadFile(g.witnessed("calls"))
	if !os.IsNotExist(err) {
		g.must(err)
	}
	var all []run
	for line := range bytes.Lines(data) {
		var c struct {
			At                  time.Time
			Event, Command, Pod string
			Paced               bool
			Exit                int
		}
		if err := json.Unmarshal(line, &c); err != nil || c.Command != command {
			continue // the last line may be half written
		}
		open := func(r run) bool { return r.Pod == c.Pod && r.End.IsZero() }
		if c.Event == "begin" {
			all = append(all, run{Pod: c.Pod, Command: c.Command, Paced: c.Paced, Begin: c.At})
		} else if i := slices.IndexFunc(all, open); i >= 0 {
			all[i].End, all[i].Failed = c.At, c.Exit != 0
		}
	}
	return all
}

// starts gives the ADDs of these pods, each extended to when its pod was ready.
// The API tells that in whole seconds, rounded down, so a pod counts as starting
// for up to a second less than it was.
func (g *gate) starts(pods []corev1.Pod) []run {
	g.t.Helper()
	ready := map[string]time.Time{}
	for _, pod := range pods {
		ready[string(pod.UID)] = time.Time{}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready[string(pod.UID)] = c.LastTransitionTime.Time
			}
		}
	}
	all := slices.DeleteFunc(g.runs("ADD"), func(r run) bool { _, known := ready[r.Pod]; return !known })
	for i, r := range all {
		if at := ready[r.Pod]; !r.Failed && at.After(r.End) {
			all[i].End = at
		}
	}
	return all
}

// most is the largest number of runs under way when one of them began between
// from and to.
func most(runs []run, from, to time.Time) int {
	most := 0
	for _, r := range runs {
		if r.Begin.Before(from) || !r.Begin.Before(to) {
			continue
		}
		underWay := 0
		for _, other := range runs {
			if !other.Begin.After(r.Begin) && (other.End.IsZero() || other.End.After(r.Begin)) {
				underWay++
			}
		}
		most = max(most, underWay)
	}
	return most
}

// paced leaves the runs out that passed the stand-in by.
func paced(runs []run) []run {
	return slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return !r.Paced })
}

// wantLimit wants never more starts at once than the limit, and the limit
// reached: a gate that starts one pod at a time has not been tested.
func wantLimit(t *testing.T, starts []run, limit int) {
	t.Helper()
	if n := most(starts, time.Time{}, time.Now()); n != limit {
		t.Errorf("%d pods were starting at once by the plugin, want %d", n, limit)
	}
}

// wantEach wants that the plugin ran once for each pod, and that no container
// was restarted.
func wantEach(t *testing.T, pods []corev1.Pod, starts []run) {
	t.Helper()
	adds := map[string]int{}
	for _, s := range starts {
		adds[s.Pod]++
	}
	for _, pod := range pods {
		if n := adds[string(pod.UID)]; n != 1 {
			t.Errorf("the plugin ran %d times for pod %s", n, pod.Name)
		}
		for _, s := range pod.Status.ContainerStatuses {
			if s.RestartCount > 0 {
				t.Errorf("container %s of pod %s was restarted %d times", s.Name, pod.Name, s.RestartCount)
			}
		}
	}
	if n := len(starts); n > 0 {
		t.Logf("%d pods started in %s", n, starts[n-1].Begin.Sub(starts[0].Begin).Round(time.Second))
	}
}
