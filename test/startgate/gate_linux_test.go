package startgate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const account = "evenkeel-agent-linux"

// gate is a node with an agent.
type gate struct {
	t          *testing.T
	cluster    *harness.Cluster
	node       *harness.Node
	agent      *harness.Process
	program    string
	standIn    string
	kubeconfig string
	config     string
}

func newGate(t *testing.T, name, config string) *gate {
	c := harness.ControlPlane(t)
	c.Kubectl(t, "apply", "-n", "kube-system", "-f", "deploy/kustomize/agent-linux/rbac.yaml")
	g := &gate{
		t: t, cluster: c, node: c.Node(t, name), program: harness.Command(t, "evenkeel-agent"),
		standIn: harness.Command(t, "evenkeel-cni"), kubeconfig: c.KubeconfigFor(t, "kube-system", account),
	}
	g.config = filepath.Join(g.node.Dir, "agent.yaml")
	g.configure(config)
	g.start()
	g.ready()
	return g
}

func (g *gate) configure(text string) {
	g.t.Helper()
	g.must(os.WriteFile(g.config, []byte(text), 0o644))
}

func (g *gate) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *gate) start() {
	g.t.Helper()
	g.agent = g.node.Start(g.t, "agent", g.program, "run", "--config", g.config, "--kubeconfig", g.kubeconfig, "--node-name", g.node.Name,
		"--bin-dir", g.node.PluginDir, "--plugin", "bridge", "--executable", g.standIn, "--listen", "none")
}

// ready waits until the agent says that it is.
func (g *gate) ready() {
	g.t.Helper()
	harness.Await(g.t, 2*time.Minute, "the agent is ready", func(context.Context) error {
		s, err := g.status()
		if err == nil && !s.Agent.Ready {
			err = fmt.Errorf("status %+v", s)
		}
		return err
	})
}

type status struct {
	Agent struct {
		Ready bool
		Queue struct{ Limit int }
	}
	Problems []string
}

func (g *gate) status() (status, error) {
	var s status
	out, err := g.node.Command(g.program, "status", "-o", "json").Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	return s, err
}

// awaitSome waits until at least so many pods are ready, and gives those.
func (g *gate) awaitSome(namespace string, n int) []corev1.Pod {
	g.t.Helper()
	var ready []corev1.Pod
	harness.Await(g.t, 2*time.Minute, fmt.Sprintf("%d pods are ready", n), func(context.Context) error {
		ready = slices.DeleteFunc(g.cluster.Pods(g.t, namespace, "app=web"), func(p corev1.Pod) bool { return !harness.IsReady(&p) })
		if len(ready) < n {
			return fmt.Errorf("%d", len(ready))
		}
		return nil
	})
	return ready
}

// witness counts, by what the API server says in its order, how many pods of a
// namespace were starting at the same time: with a sandbox and not ready.
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

// wantAtMost also wants the limit to have been reached: a gate that starts one
// pod at a time has not been tested.
func (w *witness) wantAtMost(t *testing.T, limit int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.most > limit || w.most < min(limit, 2) {
		t.Errorf("%d pods were starting at once, want at most %d and as many where there are", w.most, limit)
	}
}

func (g *gate) dump() {
	if g.t.Failed() {
		data, _ := os.ReadFile(g.agent.Log)
		lines := bytes.Split(data, []byte("\n"))
		g.t.Logf("agent:\n%s", bytes.Join(lines[max(0, len(lines)-60):], []byte("\n")))
	}
}

func config(limit int, attempt string) string {
	return fmt.Sprintf("pace: {limits: {maxConcurrent: %d}, attempt: %s, maxWait: 10s}\npods: {startedWhen: Ready}\n", limit, attempt)
}

func TestTwentyPodsStartThreeAtATimeAndDeletionsDoNotWait(t *testing.T) {
	g := newGate(t, "twenty", config(3, "60s"))
	defer g.dump()
	namespace := g.cluster.Namespace(t)
	w := g.watch(namespace)
	g.node.RunPods(t, namespace, "web", 20, harness.Work{Delay: time.Second}, nil)
	first := g.awaitSome(namespace, 1)[0]
	began := time.Now()
	g.cluster.Kubectl(t, "delete", "pod", first.Name, "-n", namespace, "--wait=true")
	t.Logf("a pod was deleted in %s beside those that wait", time.Since(began).Round(time.Millisecond))
	g.cluster.AwaitReady(t, namespace, "app=web", 19)
	w.wantAtMost(t, 3)
}

func TestAHerdThatLastsManyDeadlinesLosesNobody(t *testing.T) {
	g := newGate(t, "deadlines", config(2, "10s"))
	defer g.dump()
	for _, c := range []struct {
		name    string
		unpaced bool // for a moment: between the overwriting and its adoption nobody is paced
		midway  func(t *testing.T)
	}{
		{"undisturbed", false, func(*testing.T) {}},
		{"agent killed", false, func(t *testing.T) {
			g.agent.Kill(t)
			time.Sleep(2 * time.Second)
			g.start()
		}},
		{"plugin overwritten", true, func(t *testing.T) { g.upgradePlugin() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			namespace := g.cluster.Namespace(t)
			w := g.watch(namespace)
			g.node.RunPods(t, namespace, "web", 12, harness.Work{Delay: 4 * time.Second}, nil)
			g.awaitSome(namespace, 3)
			c.midway(t)
			g.cluster.AwaitReady(t, namespace, "app=web", 12)
			g.ready()
			w.stop()
			g.wantEvent(namespace, "HeldLong")
			if !c.unpaced {
				w.wantAtMost(t, 2)
			}
		})
	}
}

// wantEvent wants an Event of the agent's on some pod of the namespace.
func (g *gate) wantEvent(namespace, reason string) {
	g.t.Helper()
	harness.Await(g.t, 30*time.Second, "an event "+reason, func(context.Context) error {
		events, err := g.cluster.Client.CoreV1().Events(namespace).List(g.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err == nil && !slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Source.Component == "evenkeel-agent" }) {
			err = fmt.Errorf("%d events, none of the agent's", len(events.Items))
		}
		return err
	})
}

// upgradePlugin replaces the plugin's file by another version, as an installer
// does, and waits until that has become the original.
func (g *gate) upgradePlugin() {
	g.t.Helper()
	original := filepath.Join(g.node.PluginDir, "evenkeel", "bridge")
	data, err := os.ReadFile(original)
	g.must(err)
	path := filepath.Join(g.node.PluginDir, "bridge")
	g.must(os.WriteFile(path+".new", append(data, "a newer version"...), 0o755))
	g.must(os.Rename(path+".new", path))
	harness.Await(g.t, time.Minute, "the new plugin is adopted", func(context.Context) error {
		now, err := os.ReadFile(original)
		if err == nil && !strings.HasSuffix(string(now), "a newer version") {
			err = fmt.Errorf("the original is %d bytes", len(now))
		}
		return err
	})
}

func TestALimitChangedMidwayHolds(t *testing.T) {
	g := newGate(t, "limit", config(2, "60s"))
	defer g.dump()
	namespace := g.cluster.Namespace(t)
	w := g.watch(namespace)
	g.node.RunPods(t, namespace, "web", 16, harness.Work{Delay: 3 * time.Second}, nil)
	g.awaitSome(namespace, 2)
	w.wantAtMost(t, 2)
	g.configure(config(5, "60s"))
	g.cluster.AwaitReady(t, namespace, "app=web", 16)
	w.wantAtMost(t, 5)
	if s, err := g.status(); err != nil || s.Agent.Queue.Limit != 5 {
		t.Fatalf("limit %d (%v)", s.Agent.Queue.Limit, err)
	}
	if w.most <= 2 {
		t.Errorf("the new limit was never used")
	}
}

func TestARebootedNodeIsPacedAlthoughTheAPIStillShowsItReady(t *testing.T) {
	g := newGate(t, "reboot", config(2, "20s"))
	defer g.dump()
	namespace := g.cluster.Namespace(t)
	g.node.RunPods(t, namespace, "web", 10, harness.Work{Delay: 2 * time.Second}, nil)
	before := containers(g.cluster.AwaitReady(t, namespace, "app=web", 10))

	g.node.PowerOff(t)
	g.node.Boot(t)
	for _, pod := range g.cluster.Pods(t, namespace, "app=web") {
		if !harness.IsReady(&pod) {
			t.Fatalf("pod %s is not shown ready any more: the test shows nothing", pod.Name)
		}
	}
	g.node.StartContainerd(t)
	g.node.StartKubelet(t)
	w := g.watch(namespace)
	time.Sleep(8 * time.Second) // the agent is late
	g.start()
	harness.Await(t, 5*time.Minute, "all pods are ready with new containers", func(context.Context) error {
		pods := g.cluster.Pods(t, namespace, "app=web")
		ready := 0
		for i := range pods {
			if harness.IsReady(&pods[i]) && !slices.ContainsFunc(containers(pods[i:i+1]), func(id string) bool { return slices.Contains(before, id) }) {
				ready++
			}
		}
		if ready < 10 {
			return fmt.Errorf("%d of 10", ready)
		}
		return nil
	})
	w.wantAtMost(t, 2)
}

func containers(pods []corev1.Pod) []string {
	var ids []string
	for _, pod := range pods {
		for _, s := range pod.Status.ContainerStatuses {
			ids = append(ids, s.ContainerID)
		}
	}
	return ids
}
