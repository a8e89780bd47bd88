package startgate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const account = "evenkeel-agent-linux"

// herdPatience is how long a herd may take: several times what it needs.
const herdPatience = 6 * time.Minute

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

// newGate boots a node, installs the stand-in over its plugin and waits until
// the agent is ready. When the test ends nothing has changed under the container
// runtime's CNI configuration.
func newGate(t *testing.T, name, config string) *gate {
	c := harness.ControlPlane(t)
	c.Kubectl(t, "apply", "--server-side", "-n", "kube-system", "-f", "deploy/kustomize/agent-linux/rbac.yaml") // tests that run at the same time may both create it
	g := &gate{
		t: t, cluster: c, node: c.Node(t, name), program: harness.Command(t, "evenkeel-agent"),
		standIn: harness.Command(t, "evenkeel-cni"), kubeconfig: c.KubeconfigFor(t, "kube-system", account),
	}
	g.must(os.Mkdir(g.witnessed("."), 0o755))
	g.must(os.Rename(filepath.Join(g.node.PluginDir, "bridge"), g.witnessed("bridge")))
	g.writePlugin("")
	before := g.runtimeConfig()
	t.Cleanup(func() { g.wantRuntimeConfig(before) })
	g.config = filepath.Join(g.node.Dir, "agent.yaml")
	g.configure(config)
	g.start()
	g.ready()
	return g
}

func config(limit int, attempt string) string {
	return fmt.Sprintf("pace: {limits: {maxConcurrent: %d}, attempt: %s}\npods: {startedWhen: Ready}\n", limit, attempt)
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

// writePlugin puts a version of the plugin in its place, as an installer does.
func (g *gate) writePlugin(version string) {
	g.t.Helper()
	data, err := os.ReadFile(harness.Build(g.t, "./test/startgate/bridge"))
	g.must(err)
	path := filepath.Join(g.node.PluginDir, "bridge")
	g.must(os.WriteFile(path+".new", append(data, version...), 0o755))
	g.must(os.Rename(path+".new", path))
}

// entry is what a change of a file or folder would show in.
type entry struct {
	Mode    fs.FileMode
	ModTime time.Time
	Content string
}

// runtimeConfig is all that is under the container runtime's CNI configuration.
func (g *gate) runtimeConfig() map[string]entry {
	g.t.Helper()
	found := map[string]entry{}
	g.must(filepath.WalkDir(g.node.ConfigDir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		e := entry{Mode: info.Mode(), ModTime: info.ModTime()}
		if e.Mode.IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			e.Content = string(data)
		}
		found[path] = e
		return nil
	}))
	return found
}

func (g *gate) wantRuntimeConfig(before map[string]entry) {
	g.t.Helper()
	if diff := cmp.Diff(before, g.runtimeConfig()); diff != "" {
		g.t.Errorf("the container runtime's CNI configuration changed (-before +after):\n%s", diff)
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
	g.awaitStatus(2*time.Minute, "the agent is ready", func(s status) bool { return s.Agent.Ready })
}

func (g *gate) awaitStatus(patience time.Duration, what string, ok func(status) bool) {
	g.t.Helper()
	harness.Await(g.t, patience, what, func(context.Context) error {
		s, err := g.status()
		if err == nil && !ok(s) {
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
	harness.Await(g.t, herdPatience, fmt.Sprintf("%d pods are ready", n), func(context.Context) error {
		ready = slices.DeleteFunc(g.cluster.Pods(g.t, namespace, "app=web"), func(p corev1.Pod) bool { return !harness.IsReady(&p) })
		if len(ready) < n {
			return fmt.Errorf("%d", len(ready))
		}
		return nil
	})
	return ready
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

// awaitOriginal waits until a version of the plugin is what the stand-in runs,
// and the stand-in is back in front of it.
func (g *gate) awaitOriginal(version string) {
	g.t.Helper()
	standIn, err := os.ReadFile(g.standIn)
	g.must(err)
	harness.Await(g.t, time.Minute, "the new plugin is adopted", func(context.Context) error {
		original, err := os.ReadFile(filepath.Join(g.node.PluginDir, "evenkeel", "bridge"))
		if err != nil {
			return err
		}
		if !strings.HasSuffix(string(original), version) {
			return fmt.Errorf("the original is %d bytes", len(original))
		}
		inPlace, err := os.ReadFile(filepath.Join(g.node.PluginDir, "bridge"))
		if err == nil && !bytes.Equal(inPlace, standIn) {
			err = errors.New("the stand-in is not in place")
		}
		return err
	})
}

func (g *gate) dump() {
	if g.t.Failed() {
		data, _ := os.ReadFile(g.agent.Log)
		lines := bytes.Split(data, []byte("\n"))
		g.t.Logf("agent:\n%s", bytes.Join(lines[max(0, len(lines)-60):], []byte("\n")))
	}
}
