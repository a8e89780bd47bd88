package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/test/harness"
)

// pile makes a namespace with a Deployment whose n replicas all sit on one node, and then a second node. It returns the
// namespace; the nodes have the label group=GROUP, and only they take the pods. Pods get the annotations, given as keys and values.
func pile(t *testing.T, c *harness.Cluster, group string, n int32, annotations ...string) string {
	t.Helper()
	inGroup := func(node *corev1.Node) { node.Labels["group"] = group }
	c.FakeNode(t, group+"-a", inGroup)
	namespace := c.Namespace(t)
	c.Deployment(t, namespace, "web", n, func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.NodeSelector = map[string]string{"group": group}
		d.Spec.Template.Annotations = map[string]string{}
		for i := 0; i+1 < len(annotations); i += 2 {
			d.Spec.Template.Annotations[annotations[i]] = annotations[i+1]
		}
	})
	c.AwaitReady(t, namespace, "app=web", int(n))
	c.FakeNode(t, group+"-b", inGroup)
	return namespace
}

func spread(t *testing.T, c *harness.Cluster, namespace string) map[string]int {
	t.Helper()
	return harness.PerNode(c.Pods(t, namespace, "app=web"))
}

func TestReplicasMoveOntoANodeThatJoined(t *testing.T) {
	c := harness.ControlPlane(t)
	namespace := pile(t, c, "joined", 4)
	policy, binary := evenReplicas(t, "joined", namespace), descheduler(t)
	run := func() *program {
		t.Helper()
		p := launchProgram(t, binary, nil, "--policy-config-file="+policy, "--client-connection-kubeconfig="+c.Kubeconfig, "--secure-port=0", "--v=3")
		if code := p.wait(t, time.Minute); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		c.AwaitReady(t, namespace, "app=web", 4)
		return p
	}
	want := map[string]int{"joined-a": 2, "joined-b": 2}
	for range 2 { // one replica of four at a time
		run()
	}
	if got := spread(t, c, namespace); !maps.Equal(got, want) {
		t.Errorf("after two runs: %v, want %v", got, want)
	}
	before := c.Pods(t, namespace, "app=web")
	if log := run().stderr.String(); !strings.Contains(log, "success=0") {
		t.Error("a run on an even cluster evicted something")
	}
	for i, p := range c.Pods(t, namespace, "app=web") {
		if p.UID != before[i].UID {
			t.Errorf("pod %s was replaced although the cluster was even", before[i].Name)
		}
	}

	events, err := c.Client.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, e := range events.Items {
		if e.ReportingController == "sigs.k8s.io.descheduler" && e.Reason == "RemoveDuplicates" && e.Action == "Descheduled" && e.Regarding.Kind == "Pod" {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d Events tell of evictions, want 2", told)
	}
}

func TestDryRunMovesNothingAndPrintsThePlan(t *testing.T) {
	c := harness.ControlPlane(t)
	namespace := pile(t, c, "dry", 4)
	p := launchProgram(t, descheduler(t), nil, "--dry-run", "--policy-config-file="+evenReplicas(t, "dry", namespace), "--client-connection-kubeconfig="+c.Kubeconfig, "--secure-port=0")
	if code := p.wait(t, time.Minute); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := p.stdout.String(); !strings.Contains(out, "web") || !strings.Contains(out, "RemoveDuplicates") {
		t.Errorf("the plan does not show:\n%s", out)
	}
	if got := spread(t, c, namespace); got["dry-a"] != 4 {
		t.Errorf("pods moved: %v", got)
	}
}

func budget(t *testing.T, c *harness.Cluster, namespace string, minAvailable, allowed int32) {
	t.Helper()
	min := intstr.FromInt32(minAvailable)
	_, err := c.Client.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &min, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	harness.Await(t, time.Minute, "the budget's status", func(ctx context.Context) error {
		b, err := c.Client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (b.Status.DisruptionsAllowed != allowed || b.Status.ObservedGeneration == 0) {
			err = fmt.Errorf("%d disruptions allowed", b.Status.DisruptionsAllowed)
		}
		return err
	})
}

func TestBudgetInTheWayIsAnOutcome(t *testing.T) {
	c := harness.ControlPlane(t)
	// Replacements take longer than the cycle to become ready.
	namespace := pile(t, c, "budget", 6, harness.ReadyAfterAnnotation, "8s")
	budget(t, c, namespace, 5, 1)
	args := []string{"--policy-config-file=" + evenReplicas(t, "budget", namespace), "--client-connection-kubeconfig=" + c.Kubeconfig, "--secure-port=0", "-v=3"}
	// Like the descheduler, which asks although the budget is spent: three moves are wanted, one is allowed.
	p := launchProgram(t, descheduler(t), nil, append(args, "--compat=descheduler")...)
	if code := p.wait(t, time.Minute); code != 0 {
		t.Errorf("exit code %d: a budget in the way is no failure", code)
	}
	if log := p.stderr.String(); !strings.Contains(log, "success=1") || !strings.Contains(log, "blocked=2") || !strings.Contains(log, "disruption budget") {
		t.Errorf("want one eviction and two refusals of the budget in:\n%s", log)
	}
	c.AwaitReady(t, namespace, "app=web", 6)
}

// reader makes a service account that may read what plans are made from, and whatever else is granted.
func reader(t *testing.T, c *harness.Cluster, namespace, rules string) string {
	t.Helper()
	c.KubectlInput(t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [""], resources: [nodes, pods], verbs: [get, list, watch]}
%[2]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{kind: ServiceAccount, name: reader, namespace: %[1]s}]
`, namespace, rules), "apply", "-f", "-")
	t.Cleanup(func() {
		_ = c.Client.RbacV1().ClusterRoleBindings().Delete(context.WithoutCancel(t.Context()), namespace, metav1.DeleteOptions{})
		_ = c.Client.RbacV1().ClusterRoles().Delete(context.WithoutCancel(t.Context()), namespace, metav1.DeleteOptions{})
	})
	return c.KubeconfigFor(t, namespace, "reader")
}

func TestWithoutPermissionToEvictTheCycleFailsAndSaysWhatToGrant(t *testing.T) {
	c := harness.ControlPlane(t)
	namespace := pile(t, c, "noevict", 4)
	kubeconfig := reader(t, c, namespace, "")
	p := launchProgram(t, descheduler(t), nil, "--compat=descheduler", "--policy-config-file="+evenReplicas(t, "noevict", namespace), "--client-connection-kubeconfig="+kubeconfig, "--secure-port=0")
	if code := p.wait(t, time.Minute); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	log := p.stderr.String()
	for _, want := range []string{`create on "pods/eviction"`, "nothing further was evicted", "poddisruptionbudgets.policy were not looked at"} {
		if !strings.Contains(strings.ReplaceAll(log, `\"`, `"`), want) {
			t.Errorf("it does not say %s", want)
		}
	}
	if strings.Count(log, "not evicted") != 1 {
		t.Error("it went on evicting after the first refusal")
	}
	if got := spread(t, c, namespace); got["noevict-a"] != 4 {
		t.Errorf("pods moved: %v", got)
	}
}

func TestTerminationEndsALongLivedProcess(t *testing.T) {
	c := harness.ControlPlane(t)
	p := launchProgram(t, descheduler(t), nil, "--policy-config-file="+evenReplicas(t, "none", "default"), "--client-connection-kubeconfig="+c.Kubeconfig, "--secure-port=0", "--descheduling-interval=1h")
	p.says(t, "cycle done")
	p.terminate(t)
	if code := p.wait(t, 10*time.Second); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestLongLivedProcessSeesANodeJoin(t *testing.T) {
	c := harness.ControlPlane(t)
	inGroup := func(node *corev1.Node) { node.Labels["group"] = "late" }
	c.FakeNode(t, "late-a", inGroup)
	namespace := c.Namespace(t)
	c.Deployment(t, namespace, "web", 4, func(d *appsv1.Deployment) { d.Spec.Template.Spec.NodeSelector = map[string]string{"group": "late"} })
	c.AwaitReady(t, namespace, "app=web", 4)
	p := launchProgram(t, descheduler(t), nil, "--policy-config-file="+evenReplicas(t, "late", namespace), "--client-connection-kubeconfig="+c.Kubeconfig, "--secure-port=0", "--descheduling-interval=1s")
	p.says(t, "only 1 of 1 nodes")
	c.FakeNode(t, "late-b", inGroup)
	harness.Await(t, time.Minute, "replicas on both nodes", func(context.Context) error {
		if got := spread(t, c, namespace); got["late-a"] != 2 || got["late-b"] != 2 {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	c.AwaitReady(t, namespace, "app=web", 4)
	evicted := strings.Count(p.stderr.String(), "msg=evicted")
	if evicted != 2 {
		t.Errorf("%d evictions, want 2: no pod is moved twice, or moved back", evicted)
	}
}

func TestOneOfTwoLeadsAndTheOtherTakesOver(t *testing.T) {
	c := harness.ControlPlane(t)
	namespace := c.Namespace(t)
	binary, policy := descheduler(t), evenReplicas(t, "none", namespace)
	launch := func() *program {
		return launchProgram(t, binary, nil, "--policy-config-file="+policy, "--client-connection-kubeconfig="+c.Kubeconfig, "--secure-port=0", "--descheduling-interval=1s",
			"--leader-elect", "--leader-elect-resource-namespace="+namespace, "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=1s")
	}
	first := launch()
	first.says(t, "cycle done")
	second := launch()
	second.says(t, "the leader is")
	if strings.Contains(second.stderr.String(), "cycle done") {
		t.Error("both act")
	}
	first.terminate(t)
	if code := first.wait(t, 10*time.Second); code != 0 {
		t.Errorf("exit code %d of the leader that was told to stop, want 0", code)
	}
	gone := time.Now()
	second.says(t, "cycle done")
	if took := time.Since(gone); took > 10*time.Second {
		t.Errorf("the other took over after %s: the lease was not given up", took)
	}

	// Somebody else takes the lease away.
	stolen := fmt.Sprintf(`{"spec":{"holderIdentity":"thief","renewTime":%q}}`, time.Now().Add(time.Minute).UTC().Format(metav1.RFC3339Micro))
	_, err := c.Client.CoordinationV1().Leases(namespace).Patch(t.Context(), "descheduler", types.MergePatchType, []byte(stolen), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if code := second.wait(t, 30*time.Second); code != 1 {
		t.Errorf("exit code %d after the lease was lost, want 1", code)
	}
	if log := second.stderr.String(); !strings.Contains(log, "lost the leader lease") {
		t.Error("it does not say why it ended")
	}
}

func TestMetricsAreServedToThoseWhoMayReadThem(t *testing.T) {
	c := harness.ControlPlane(t)
	namespace := c.Namespace(t)
	reader(t, c, namespace, `- {nonResourceURLs: [/metrics], verbs: [get]}`)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	p := launchProgram(t, descheduler(t), nil, "--policy-config-file="+evenReplicas(t, "none", namespace), "--client-connection-kubeconfig="+c.Kubeconfig,
		fmt.Sprint("--secure-port=", port), "--bind-address=127.0.0.1", "--descheduling-interval=1h")
	p.says(t, "cycle done")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(path, token string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", port, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if code, _ := get("/healthz", ""); code != 200 {
		t.Errorf("/healthz: %d", code)
	}
	if code, _ := get("/metrics", ""); code != 401 {
		t.Errorf("/metrics without a token: %d, want 401", code)
	}
	if code, _ := get("/metrics", c.Token(t, namespace, "default")); code != 403 {
		t.Errorf("/metrics for an account without permission: %d, want 403", code)
	}
	code, body := get("/metrics", c.Token(t, namespace, "reader"))
	if code != 200 {
		t.Fatalf("/metrics: %d %s", code, body)
	}
	for _, want := range []string{"descheduler_loop_duration_seconds_count 1", "descheduler_build_info{", `evenkeel_cycles_total{result="ok"} 1`} {
		if !strings.Contains(body, want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
}
