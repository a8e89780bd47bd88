package pacepolicy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/test/harness"
)

// startController runs 'evenkeel controller' with the rights of its manifest.
func startController(t *testing.T, cluster *harness.Cluster) {
	t.Helper()
	cluster.Kubectl(t, "apply", "-k", "deploy/kustomize/admission/controller")
	cluster.Kubectl(t, "scale", "-n", "kube-system", "deployment/evenkeel-controller", "--replicas=0") // ours is the one
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "-k", "deploy/kustomize/admission/controller") })
	run(t, nil, "evenkeel", "controller", "--kubeconfig", cluster.KubeconfigFor(t, "kube-system", "evenkeel-controller"),
		"--leader-elect-resource-namespace=kube-system")
}

// output collects what a program writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// run starts a program of ours that is told to stop with the test, and must then end well.
func run(t *testing.T, out *output, program string, args ...string) {
	t.Helper()
	command := exec.Command(harness.Command(t, program), args...)
	said := &output{}
	command.Stderr = said
	if out != nil {
		command.Stdout = out
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil || t.Failed() {
			t.Logf("%s %s: %v\n%s", program, args[0], err, said)
		}
	})
}

func awaitColumns(t *testing.T, cluster *harness.Cluster, name, want string) {
	t.Helper()
	harness.Await(t, time.Minute, "columns of PacePolicy "+name, func(context.Context) error {
		fields := strings.Fields(cluster.Kubectl(t, "get", "pacepolicy", name, "--no-headers"))
		if len(fields) < 2 || strings.Join(fields[:len(fields)-1], " ") != want { // the last is the age
			return fmt.Errorf("%v, want %s and the age", fields, want)
		}
		return nil
	})
}

func TestTheControllerReportsConflictsAndPoliciesWithoutNodes(t *testing.T) {
	cluster := harness.ControlPlane(t)
	installCRDs(t, cluster)
	startController(t, cluster)
	for _, name := range []string{"r1", "r2"} {
		cluster.FakeNode(t, name, func(n *corev1.Node) { n.Labels["ring"] = "r" })
	}
	policy(t, cluster, "ring-a", "{nodeSelector: {matchLabels: {ring: r}}, priority: 5, pace: {limits: {maxConcurrent: 2}}}")
	policy(t, cluster, "nowhere", "{nodeSelector: {matchLabels: {ring: x}}, pace: {limits: {maxConcurrentPerCore: 0.5}}}")
	awaitColumns(t, cluster, "ring-a", "ring-a 5 2 2 2 False")
	cluster.Kubectl(t, "wait", "--for=condition=MatchesNodes=False", "pacepolicy/nowhere", "--timeout=60s")

	policy(t, cluster, "ring-b", "{nodeSelector: {matchLabels: {kubernetes.io/hostname: r2}}, priority: 5, pace: {limits: {maxConcurrent: 3}}}")
	awaitColumns(t, cluster, "ring-a", "ring-a 5 2 2 2 True")
	awaitColumns(t, cluster, "ring-b", "ring-b 5 3 1 0 True")
	message := cluster.Kubectl(t, "get", "pacepolicy", "ring-b", "-o", `jsonpath={.status.conditions[?(@.type=="Conflicting")].message}`)
	if want := "priority 5 is also that of ring-a, on 1 node, such as r2; the first by name holds there: change a priority or a selector"; message != want {
		t.Errorf("message %q, want %q", message, want)
	}
	policy(t, cluster, "ring-b", "{nodeSelector: {matchLabels: {kubernetes.io/hostname: r2}}, priority: 6, pace: {limits: {maxConcurrent: 3}}}")
	awaitColumns(t, cluster, "ring-a", "ring-a 5 2 2 1 False")
	awaitColumns(t, cluster, "ring-b", "ring-b 6 3 1 1 False")
}

func TestNodesShowsTheQueuesOfACluster(t *testing.T) {
	cluster := harness.ControlPlane(t)
	installCRDs(t, cluster)
	taint := admission.Default()
	for _, name := range []string{"shown", "tainted"} {
		cluster.FakeNode(t, name, func(n *corev1.Node) {
			n.Labels["shown"] = "yes"
			if name == "tainted" {
				n.Spec.Taints = []corev1.Taint{{Key: taint.Key, Effect: taint.Effect}}
			}
		})
	}
	watched := &output{}
	run(t, watched, "evenkeel", "nodes", "--kubeconfig", cluster.Kubeconfig, "-l", "shown=yes", "--watch")
	harness.Await(t, time.Minute, "the table", func(context.Context) error {
		if rows := strings.Join(strings.Fields(watched.String()), " "); !strings.Contains(rows, "shown - - - - - - - 0 tainted yes - - - - - - 0") {
			return fmt.Errorf("%s", watched)
		}
		return nil
	})
	a := startAgent(t, cluster, "shown", "pace: {limits: {maxConcurrent: 1}}\n")
	a.add(t, "a").granted(t, time.Minute)
	a.add(t, "b")
	harness.Await(t, time.Minute, "the queue among the changes", func(context.Context) error {
		if rows := strings.Join(strings.Fields(watched.String()), " "); !strings.Contains(rows, "shown - Ready 1 1 1 ") {
			return fmt.Errorf("%s", watched)
		}
		return nil
	})
	out, err := exec.Command(harness.Command(t, "evenkeel"), "nodes", "--kubeconfig", cluster.Kubeconfig, "-l", "shown=yes", "-o", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Node    string
		Tainted bool
		Waiting *int
		Agent   *string
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Node != "shown" || rows[0].Waiting == nil || *rows[0].Waiting != 1 || !rows[1].Tainted || rows[1].Agent != nil {
		t.Errorf("%s", out)
	}
}

func TestNodesWithoutCRDsShowsWhatThereIsAndSaysSo(t *testing.T) {
	cluster := harness.Start(t, harness.Options{})
	cluster.FakeNode(t, "bare", nil)
	command := exec.Command(harness.Command(t, "evenkeel"), "nodes", "--kubeconfig", cluster.Kubeconfig)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	if !strings.Contains(string(out), "bare") || !strings.Contains(said.String(), "NodePace is not installed") {
		t.Errorf("%s\n%s", out, &said)
	}
}
