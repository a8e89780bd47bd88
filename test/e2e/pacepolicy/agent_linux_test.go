package pacepolicy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceobjects"
	"evenkeel.dev/evenkeel/internal/sock"
	"evenkeel.dev/evenkeel/test/harness"
)

// agent is a real agent for a fake node. It has the rights of its manifest and
// no others.
type agent struct {
	cluster *harness.Cluster
	node    string
	config  string
	socket  string
	log     string
}

// startAgent applies the agent's manifest and runs its program as its account would.
func startAgent(t *testing.T, cluster *harness.Cluster, node, config string) *agent {
	t.Helper()
	cluster.Kubectl(t, "apply", "-f", "deploy/kustomize/agent-linux/rbac.yaml", "-n", "kube-system")
	dir, err := os.MkdirTemp("", "ek") // short: it holds a unix socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := &agent{
		cluster: cluster, node: node, config: filepath.Join(dir, "config.yaml"),
		socket: filepath.Join(dir, "run", "agent.sock"), log: filepath.Join(dir, "log"),
	}
	a.configure(t, config)
	log, err := os.Create(a.log)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(harness.Command(t, "evenkeel-agent"), "run", "--config", a.config, "--node-name", node,
		"--kubeconfig", cluster.KubeconfigFor(t, "kube-system", "evenkeel-agent-linux"), "--socket", a.socket, "--listen", "none")
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		log.Close()
		if t.Failed() {
			t.Logf("agent:\n%s", a.said(t))
		}
	})
	harness.Await(t, time.Minute, "the agent listens", func(context.Context) error {
		conn, err := sock.Dial(a.socket, time.Now().Add(time.Second))
		if err == nil {
			conn.Close()
		}
		return err
	})
	return a
}

func (a *agent) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(a.config, []byte("install: {enabled: false}\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (a *agent) said(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(a.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (a *agent) awaitSaid(t *testing.T, text string) {
	t.Helper()
	harness.Await(t, time.Minute, "the agent says "+text, func(context.Context) error {
		if !strings.Contains(a.said(t), text) {
			return fmt.Errorf("it said:\n%s", a.said(t))
		}
		return nil
	})
}

// start is one pod's start, as the stand-in asks for it. It is in the queue, or let through, when add returns.
type start struct {
	*paceapi.Client
	answered chan paceapi.Message
}

func (a *agent) add(t *testing.T, name string) *start {
	t.Helper()
	conn, err := sock.Dial(a.socket, time.Now().Add(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := &start{Client: paceapi.NewClient(conn), answered: make(chan paceapi.Message, 1)}
	err = s.Request(paceapi.Request{
		UID: "uid-" + name, Namespace: "shop", Name: name, Container: "sandbox-" + name,
		IfName: "eth0", Remaining: paceapi.Millis(2 * time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Next(time.Now().Add(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	go s.await(first)
	return s
}

func (s *start) await(m paceapi.Message) {
	for m.Type == paceapi.TypeWaiting {
		next, err := s.Next(time.Now().Add(2 * time.Minute))
		if err != nil {
			return
		}
		m = next
	}
	if m.Type == paceapi.TypeGrant {
		_ = s.Ack()
	}
	s.answered <- m
}

func (s *start) granted(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case m := <-s.answered:
		if m.Type != paceapi.TypeGrant {
			t.Fatalf("answered %+v, want a grant", m)
		}
	case <-time.After(within):
		t.Fatalf("not granted within %s", within)
	}
}

func (s *start) waits(t *testing.T) {
	t.Helper()
	select {
	case m := <-s.answered:
		t.Fatalf("answered %+v, want it to wait", m)
	default:
	}
}

// nodePace awaits that the node's NodePace is as want says.
func (a *agent) nodePace(t *testing.T, what string, want func(v1alpha1.NodePaceStatus) bool) v1alpha1.NodePace {
	t.Helper()
	client, err := paceobjects.New(a.cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	var last v1alpha1.NodePace
	harness.Await(t, time.Minute, "NodePace: "+what, func(ctx context.Context) error {
		n, err := client.Paces.Get(ctx, a.node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		last = *n
		if !want(n.Status) {
			return fmt.Errorf("it is %+v", n.Status)
		}
		return nil
	})
	return last
}

// policy applies a PacePolicy that goes with the test.
func policy(t *testing.T, cluster *harness.Cluster, name, spec string) {
	t.Helper()
	manifest := fmt.Sprintf("apiVersion: evenkeel.dev/v1alpha1\nkind: PacePolicy\nmetadata: {name: %s}\nspec: %s\n", name, spec)
	cluster.KubectlInput(t, manifest, "apply", "-f", "-")
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "pacepolicy", name, "--ignore-not-found") })
}

func holds(name string, limit int32) func(v1alpha1.NodePaceStatus) bool {
	return func(s v1alpha1.NodePaceStatus) bool { return s.Policy == name && s.Limit == limit }
}

func applied(s v1alpha1.NodePaceStatus) metav1.Condition {
	for _, c := range s.Conditions {
		if c.Type == v1alpha1.ConditionPolicyApplied {
			return c
		}
	}
	return metav1.Condition{}
}

func TestAChangedPolicyReachesTheAgentInSecondsAndKeepsWhoWaits(t *testing.T) {
	cluster := harness.ControlPlane(t)
	installCRDs(t, cluster)
	node := cluster.FakeNode(t, "paced", nil)
	policy(t, cluster, "paced", "{nodeSelector: {matchLabels: {kubernetes.io/hostname: paced}}, pace: {limits: {maxConcurrent: 1}}}")
	a := startAgent(t, cluster, "paced", "pace: {limits: {maxConcurrent: 7}}\n")
	a.nodePace(t, "the policy holds", holds("paced", 1))

	starts := []*start{a.add(t, "a"), a.add(t, "b"), a.add(t, "c"), a.add(t, "d")}
	starts[0].granted(t, time.Minute)
	report := a.nodePace(t, "one starts and three wait", func(s v1alpha1.NodePaceStatus) bool {
		return s.Starting == 1 && s.Waiting == 3 && s.WaitingSince != nil
	})
	if owner := report.OwnerReferences; len(owner) != 1 || owner[0].Kind != "Node" || owner[0].UID != node.UID {
		t.Errorf("owner: %+v", owner)
	}
	for _, s := range starts[1:] {
		s.waits(t)
	}

	changed := time.Now()
	policy(t, cluster, "paced", "{nodeSelector: {matchLabels: {kubernetes.io/hostname: paced}}, pace: {limits: {maxConcurrent: 3}}}")
	starts[1].granted(t, 15*time.Second)
	starts[2].granted(t, 15*time.Second)
	t.Logf("two more were let through %s after kubectl began", time.Since(changed).Round(time.Millisecond))
	report = a.nodePace(t, "three start", func(s v1alpha1.NodePaceStatus) bool { return s.Limit == 3 && s.Starting == 3 && s.Waiting == 1 })
	starts[3].waits(t)
	if c := report.Status.LimitChange; c == nil || c.From != 1 || c.To != 3 || !strings.Contains(c.Reason, "PacePolicy paced, generation 2") {
		t.Errorf("last change of the limit: %+v", c)
	}

	// without the policy the file holds, and nobody is lost either
	cluster.Kubectl(t, "delete", "pacepolicy", "paced")
	starts[3].granted(t, 15*time.Second)
	a.nodePace(t, "the file holds", holds("", 7))
}

func TestThePolicyFollowsTheNodesLabelsAndItsPriority(t *testing.T) {
	cluster := harness.ControlPlane(t)
	installCRDs(t, cluster)
	cluster.FakeNode(t, "moved", nil)
	policy(t, cluster, "b-second", "{nodeSelector: {matchLabels: {ring: one}}, pace: {limits: {maxConcurrent: 2}}}")
	policy(t, cluster, "a-first", "{nodeSelector: {matchLabels: {ring: one}}, pace: {limits: {maxConcurrent: 3}}}")
	policy(t, cluster, "no-node", "{nodeSelector: {matchLabels: {ring: none}}, priority: 50, pace: {limits: {maxConcurrent: 9}}}")
	a := startAgent(t, cluster, "moved", "pace: {limits: {maxConcurrent: 7}}\n")
	a.nodePace(t, "no policy selects the node", holds("", 7))

	cluster.Kubectl(t, "label", "node", "moved", "ring=one")
	report := a.nodePace(t, "the first by name holds", holds("a-first", 3))
	if c := applied(report.Status); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "b-second") {
		t.Errorf("%+v", c)
	}
	policy(t, cluster, "b-second", "{nodeSelector: {matchLabels: {ring: one}}, priority: 1, pace: {limits: {maxConcurrent: 2}}}")
	a.nodePace(t, "the higher priority holds", holds("b-second", 2))
	cluster.Kubectl(t, "label", "node", "moved", "ring-")
	a.nodePace(t, "no policy selects the node any more", holds("", 7))
}

func TestAPolicyThatIsWrongWithTheFileIsLeftOutAndNamed(t *testing.T) {
	cluster := harness.ControlPlane(t)
	installCRDs(t, cluster)
	cluster.FakeNode(t, "strict", nil)
	policy(t, cluster, "long", "{nodeSelector: {matchLabels: {kubernetes.io/hostname: strict}}, pace: {attempt: 100s, limits: {maxConcurrent: 2}}}")
	a := startAgent(t, cluster, "strict", "pace: {limits: {maxConcurrent: 7}, runtimeBudget: 60s, attempt: 20s}\n")
	report := a.nodePace(t, "the file holds", func(s v1alpha1.NodePaceStatus) bool { return applied(s).Status == metav1.ConditionFalse })
	if s := report.Status; s.Limit != 7 || s.Policy != "" || !strings.Contains(applied(s).Message, "pace.attempt: 1m40s: want at most half of runtimeBudget") {
		t.Errorf("%+v", s)
	}
	a.configure(t, "pace: {limits: {maxConcurrent: 7}}\n") // the operator mends the file
	report = a.nodePace(t, "the policy holds", holds("long", 2))
	if c := applied(report.Status); c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", c)
	}
}

func TestWithoutCRDsTheAgentGoesByItsFileAndSaysSo(t *testing.T) {
	cluster := harness.Start(t, harness.Options{})
	cluster.FakeNode(t, "bare", nil)
	a := startAgent(t, cluster, "bare", "pace: {limits: {maxConcurrent: 2}, attempt: 120s}\n")
	a.awaitSaid(t, "PacePolicy is not installed; the configuration file holds alone")
	starts := []*start{a.add(t, "a"), a.add(t, "b"), a.add(t, "c")}
	starts[0].granted(t, time.Minute)
	starts[1].granted(t, time.Minute)
	starts[2].waits(t)

	// installed later, they are found without a restart
	installCRDs(t, cluster)
	policy(t, cluster, "everywhere", "{pace: {limits: {maxConcurrent: 3}}}")
	starts[2].granted(t, 90*time.Second)
	harness.Await(t, 2*time.Minute, "the report comes", func(context.Context) error {
		if rows := cluster.Kubectl(t, "get", "nodepaces", "--no-headers", "--ignore-not-found"); !strings.Contains(rows, "everywhere") {
			return fmt.Errorf("%q", rows)
		}
		return nil
	})
}
