package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/test/harness"
)

// means are the ways to put the taint on.
func means() map[string]func(*testing.T, *harness.Cluster) {
	return map[string]func(*testing.T, *harness.Cluster){
		"policy":  policy,
		"webhook": func(t *testing.T, cluster *harness.Cluster) { webhook(t, cluster) },
		"worker":  worker,
		"policy and webhook": func(t *testing.T, cluster *harness.Cluster) {
			server := webhook(t, cluster)
			policy(t, cluster)
			awaitPolicyFirst(t, cluster, server)
		},
	}
}

// awaitPolicyFirst waits until the webhook finds nothing left to do.
func awaitPolicyFirst(t *testing.T, cluster *harness.Cluster, server *process) {
	t.Helper()
	n := 0
	harness.Await(t, time.Minute, "the policy acts before the webhook", func(ctx context.Context) error {
		n++
		name := fmt.Sprintf("probe-%d-end", n)
		if _, err := dryRun(ctx, cluster, name); err != nil {
			return err
		}
		if strings.Contains(server.log.String(), name) {
			return errors.New("the webhook put the taint on")
		}
		return nil
	})
}

func TestNewNodeTakesNoPodsUntilItsAgentIsReady(t *testing.T) {
	for name, begin := range means() {
		t.Run(name, func(t *testing.T) {
			cluster := harness.ControlPlane(t)
			begin(t, cluster)
			const host = "win-new"
			registered := register(t, cluster, windowsNode(host))
			if ours(registered) != 1 {
				t.Fatalf("taints of the new node: %v, want ours once", registered.Spec.Taints)
			}
			pod := pendingPod(t, cluster, host)

			own, _ := agent(t, cluster, "kube-system", "evenkeel-agent-windows", host)
			must(t, takeAway(t.Context(), own, cluster, host))
			awaitRunning(t, cluster, pod)

			// The kubelet starts again: its node is there already, and stays as it is.
			_, err := kubelet(t, cluster, host).CoreV1().Nodes().Create(t.Context(), windowsNode(host), metav1.CreateOptions{})
			if !apierrors.IsAlreadyExists(err) {
				t.Errorf("registering again: %v", err)
			}
			if found := node(t, cluster, host); ours(found) != 0 {
				t.Errorf("the node that registered again has taints %v", found.Spec.Taints)
			}

			// The machine is replaced: a new node of the same name is tainted.
			cluster.DeleteNode(t, host)
			if again := register(t, cluster, windowsNode(host)); ours(again) != 1 {
				t.Errorf("taints of the node in its place: %v", again.Spec.Taints)
			}
		})
	}
}

// takeAway does what the agent does last.
func takeAway(ctx context.Context, own kubernetes.Interface, cluster *harness.Cluster, host string) error {
	found, err := cluster.Client.CoreV1().Nodes().Get(ctx, host, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch, tainted := admission.Default().RemovePatch(found.Spec.Taints)
	if !tainted {
		return errors.New("the node has no bootstrap taint")
	}
	_, err = own.CoreV1().Nodes().Patch(ctx, host, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// pendingPod makes an ordinary pod for the node, and awaits that the scheduler names the taint as the reason for not placing it.
func pendingPod(t *testing.T, cluster *harness.Cluster, host string) *corev1.Pod {
	t.Helper()
	namespace := cluster.Namespace(t)
	pod, err := cluster.Client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "ordinary"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelHostname: host},
			Containers:   []corev1.Container{{Name: "main", Image: "example.invalid/app:1"}},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	harness.Await(t, time.Minute, "the pod can't be scheduled because of the taint", func(ctx context.Context) error {
		found, err := cluster.Client.CoreV1().Pods(namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && strings.Contains(condition.Message, "taint") {
				return nil
			}
		}
		return fmt.Errorf("on node %q, conditions %v", found.Spec.NodeName, found.Status.Conditions)
	})
	return pod
}

func awaitRunning(t *testing.T, cluster *harness.Cluster, pod *corev1.Pod) {
	t.Helper()
	harness.Await(t, time.Minute, "the pod runs", func(ctx context.Context) error {
		found, err := cluster.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && !harness.IsReady(found) {
			err = fmt.Errorf("on node %q, conditions %v", found.Spec.NodeName, found.Status.Conditions)
		}
		return err
	})
}

func TestOnlyTheTaintIsAddedAndOnlyToTheNodesThatWereChosen(t *testing.T) {
	sku := `{"key":"sku","value":"gpu","effect":"NoExecute"}`
	bootstrap := `{"key":"` + admission.DefaultKey + `","effect":"PreferNoSchedule"}`
	for name, begin := range means() {
		t.Run(name, func(t *testing.T) {
			cluster := harness.ControlPlane(t)
			begin(t, cluster)
			for what, tc := range map[string]struct {
				labels, rest string
				want         int
			}{
				"no spec":             {`"kubernetes.io/os":"windows"`, ``, 1},
				"spec null":           {`"kubernetes.io/os":"windows"`, `,"spec":null`, 1},
				"an empty spec":       {`"kubernetes.io/os":"windows"`, `,"spec":{}`, 1},
				"taints null":         {`"kubernetes.io/os":"windows"`, `,"spec":{"providerID":"azure:///x","taints":null}`, 1},
				"no taints":           {`"kubernetes.io/os":"windows"`, `,"spec":{"podCIDR":"10.1.0.0/24","taints":[]}`, 1},
				"other taints":        {`"kubernetes.io/os":"windows"`, `,"spec":{"unschedulable":true,"taints":[` + sku + `]}`, 1},
				"tainted by kubelet":  {`"kubernetes.io/os":"windows"`, `,"spec":{"taints":[` + bootstrap + `,` + sku + `]}`, 1},
				"Linux":               {`"kubernetes.io/os":"linux"`, `,"spec":{}`, 0},
				"no operating system": {``, ``, 0},
				"a virtual kubelet":   {`"kubernetes.io/os":"windows","type":"virtual-kubelet"`, `,"spec":{}`, 0},
			} {
				body := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"probe","labels":{` + tc.labels + `}}` + tc.rest + `}`
				var with corev1.Node
				must(t, cluster.Client.CoreV1().RESTClient().Post().Resource("nodes").Param("dryRun", "All").
					SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(t.Context()).Into(&with))
				if got := ours(&with); got != tc.want {
					t.Errorf("%s: %d bootstrap taints, want %d: %v", what, got, tc.want, with.Spec.Taints)
				}
				if strings.Contains(body, "sku") && !strings.Contains(fmt.Sprint(with.Spec.Taints), "gpu") ||
					strings.Contains(body, "azure:///x") && with.Spec.ProviderID != "azure:///x" ||
					strings.Contains(body, "podCIDR") && with.Spec.PodCIDR != "10.1.0.0/24" ||
					strings.Contains(body, "unschedulable") != with.Spec.Unschedulable {
					t.Errorf("%s: something else changed: %+v", what, with.Spec)
				}
			}
		})
	}
}

func TestNodesRegisterWhenTheWebhookIsDown(t *testing.T) {
	cluster := harness.ControlPlane(t)
	applyOverlay(t, cluster, "webhook")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	must(t, err)
	defer silent.Close()
	for name, url := range map[string]string{
		"service-without-endpoints": "",
		"nobody-listens":            "https://" + address(freePort(t)) + "/taint",
		"silence":                   "https://" + silent.Addr().String() + "/taint",
	} {
		t.Run(name, func(t *testing.T) {
			if url != "" {
				callURL(t, cluster, url, nil)
			}
			if registered := register(t, cluster, windowsNode("win-"+name)); ours(registered) != 0 {
				t.Errorf("taints %v", registered.Spec.Taints)
			}
		})
	}
}
