package e2e_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

// world is the cluster as one test has it: to itself, with CronJob, ConfigMap and account of deploy/kustomize/cronjob applied. The policies
// of these tests are about every node and pod there is.
type world struct {
	*harness.Cluster
	namespace string
	workloads []workload
	job       *job
}

// workload is a set of replicas with the label app=name.
type workload struct {
	namespace, name string
	replicas        int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Cluster: harness.ControlPlane(t)}
	w.awaitEmpty(t)
	w.namespace = w.Namespace(t)
	w.install(t, "cronjob")
	// Its pods would take room on the fake nodes and do nothing there.
	w.Kubectl(t, "patch", "cronjob", "descheduler-cronjob", "-n", "kube-system", "-p", `{"spec":{"suspend":true}}`)
	return w
}

// awaitEmpty waits until the last test's nodes and pods are gone.
func (w *world) awaitEmpty(t *testing.T) {
	t.Helper()
	harness.Await(t, 2*time.Minute, "a cluster without nodes and pods", func(ctx context.Context) error {
		nodes, err := w.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		pods, err := w.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(nodes.Items)+len(pods.Items) > 0 {
			return fmt.Errorf("%d nodes and %d pods are there", len(nodes.Items), len(pods.Items))
		}
		return nil
	})
}

// install applies an overlay as a user does, and takes it away with the test.
func (w *world) install(t *testing.T, overlay string) {
	t.Helper()
	w.Kubectl(t, "apply", "-k", "deploy/kustomize/"+overlay)
	t.Cleanup(func() {
		w.tidy(t, "", "delete", "-k", "deploy/kustomize/"+overlay, "--ignore-not-found", "--wait=false")
	})
}

// apply applies a manifest, and takes it away with the test.
func (w *world) apply(t *testing.T, manifest string) {
	t.Helper()
	w.KubectlInput(t, manifest, "apply", "-f", "-")
	t.Cleanup(func() { w.tidy(t, manifest, "delete", "-f", "-", "--ignore-not-found", "--wait=false") })
}

func (w *world) tidy(t *testing.T, input string, args ...string) {
	t.Helper()
	if _, err := w.TryKubectl(t, w.Kubeconfig, input, args...); err != nil {
		t.Errorf("kubectl %s: %v", strings.Join(args, " "), err)
	}
}

// nodes adds fake nodes with so much CPU.
func (w *world) nodes(t *testing.T, cpu string, names ...string) {
	t.Helper()
	for _, name := range names {
		w.FakeNode(t, name, func(node *corev1.Node) {
			node.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(cpu)
			node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu)
		})
	}
}

// everyday starts the workloads of testdata/everyday.yaml and waits until they are ready.
func (w *world) everyday(t *testing.T) {
	t.Helper()
	manifest, err := os.ReadFile("testdata/everyday.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		w.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-%[2]d}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  claimRef: {namespace: %[1]s, name: data-db-%[2]d}
  nfs: {server: nfs.example.invalid, path: /%[2]d}
`, w.namespace, i))
	}
	w.apply(t, strings.ReplaceAll(string(manifest), "NAMESPACE", w.namespace))
	w.workloads = append(w.workloads, workload{w.namespace, "web", 6}, workload{w.namespace, "cache", 5}, workload{w.namespace, "db", 4},
		workload{"kube-system", "dns", 5})
	w.awaitReady(t)
	w.awaitDaemons(t)
}

// start starts a Deployment in the test's namespace and waits until its pods are ready.
func (w *world) start(t *testing.T, name string, replicas int32, change func(*corev1.PodSpec)) {
	t.Helper()
	w.Deployment(t, w.namespace, name, replicas, func(d *appsv1.Deployment) {
		if change != nil {
			change(&d.Spec.Template.Spec)
		}
	})
	w.workloads = append(w.workloads, workload{w.namespace, name, int(replicas)})
	w.AwaitReady(t, w.namespace, "app="+name, int(replicas))
}

// pile starts a Deployment all of whose replicas are on node a, because b joins only then.
func (w *world) pile(t *testing.T, name string, replicas int32) {
	t.Helper()
	w.nodes(t, "4", "a")
	w.start(t, name, replicas, nil)
	w.nodes(t, "4", "b")
}

// awaitReady waits until all replicas of all workloads are ready.
func (w *world) awaitReady(t *testing.T) {
	t.Helper()
	for _, l := range w.workloads {
		w.AwaitReady(t, l.namespace, "app="+l.name, l.replicas)
	}
}

// awaitDaemons waits until each node that is ready has its pod of the DaemonSet.
func (w *world) awaitDaemons(t *testing.T) {
	t.Helper()
	harness.Await(t, 2*time.Minute, "the DaemonSet's pods", func(context.Context) error {
		have := harness.PerNode(w.Pods(t, "kube-system", "app=agent"))
		for _, node := range w.readyNodes(t) {
			if have[node] != 1 {
				return fmt.Errorf("pods per node: %v", have)
			}
		}
		return nil
	})
}

func (w *world) readyNodes(t *testing.T) []string {
	t.Helper()
	list, err := w.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range list.Items {
		if slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}) {
			names = append(names, node.Name)
		}
	}
	return names
}

// spread is how many replicas of the workload each of the ready nodes has.
func (w *world) spread(t *testing.T, l workload) (counts map[string]int, unevenness int) {
	t.Helper()
	have := harness.PerNode(w.Pods(t, l.namespace, "app="+l.name))
	counts = map[string]int{}
	least, most := l.replicas, 0
	for _, node := range w.readyNodes(t) {
		counts[node] = have[node]
		least, most = min(least, have[node]), max(most, have[node])
	}
	return counts, most - least
}

// mustBeUneven sees to it that a test has something to even out in every workload.
func (w *world) mustBeUneven(t *testing.T) {
	t.Helper()
	for _, l := range w.workloads {
		if counts, unevenness := w.spread(t, l); unevenness < 2 {
			t.Fatalf("%s/%s is even from the start: %v", l.namespace, l.name, counts)
		}
	}
}

// checkEven checks that the replicas of every workload are spread over the ready nodes to within one.
func (w *world) checkEven(t *testing.T) {
	t.Helper()
	for _, l := range w.workloads {
		counts, unevenness := w.spread(t, l)
		if unevenness > 1 {
			t.Errorf("%s/%s is uneven: %v", l.namespace, l.name, counts)
		}
		t.Logf("%s/%s: %v", l.namespace, l.name, counts)
	}
}

// uids are the pods of the cluster that are not on their way out, by UID.
func (w *world) uids(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, pod := range w.Pods(t, "", "") {
		names[string(pod.UID)] = pod.Namespace + "/" + pod.Name
	}
	return names
}
