package kube_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube"
)

func twoNodes() []*cluster.NodeInfo {
	return []*cluster.NodeInfo{{Name: "one"}, {Name: "two"}}
}

func metricsServer(t *testing.T, answers map[string]string) *kube.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	client, err := kube.Connection{Kubeconfig: kubeconfig(t, server.URL)}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestKubernetesMetricsAreReadWithOneListEach(t *testing.T) {
	client := metricsServer(t, map[string]string{
		"/apis/metrics.k8s.io/v1beta1/nodes": `{"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[
			{"metadata":{"name":"one"},"usage":{"cpu":"1500m","memory":"2Gi"}}]}`,
		"/apis/metrics.k8s.io/v1beta1/pods": `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[
			{"metadata":{"namespace":"shop","name":"a"},"containers":[{"name":"x","usage":{"cpu":"250m","memory":"1Mi"}},{"name":"y","usage":{"cpu":"500m"}}]},
			{"metadata":{"namespace":"shop","name":"b"},"containers":[]}]}`,
	})
	got, err := kube.KubernetesMetrics(client)(t.Context(), cluster.NewResources(), twoNodes())
	if err != nil {
		t.Fatal(err)
	}
	want := cluster.Usage{
		Nodes: map[string]cluster.Amounts{"one": {1500, 2 << 30}},
		Pods:  map[string]cluster.Amounts{"shop/a": {750, cluster.Unmeasured}},
		Problems: []string{
			"KubernetesMetrics: there is no measurement of node two",
			"KubernetesMetrics: the measurements of 2 of 2 pods lack cpu or memory, or are negative; these pods are not moved because of what they use",
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMissingMetricsServerIsAProblem(t *testing.T) {
	got, err := kube.KubernetesMetrics(metricsServer(t, nil))(t.Context(), cluster.NewResources(), twoNodes())
	if err != nil || len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "list nodes.metrics.k8s.io") || got.Nodes != nil {
		t.Errorf("got %+v, %v; want one problem that names the API", got, err)
	}
}

func TestNodesWithoutAWholeMeasurementAreCounted(t *testing.T) {
	client := metricsServer(t, map[string]string{
		"/apis/metrics.k8s.io/v1beta1/nodes": `{"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[
			{"metadata":{"name":"two"},"usage":{"cpu":"-1500m","memory":"2Gi"}}, {"metadata":{"name":"one"},"usage":{"memory":"2Gi"}}]}`,
		"/apis/metrics.k8s.io/v1beta1/pods": `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","items":[]}`,
	})
	got, err := kube.KubernetesMetrics(client)(t.Context(), cluster.NewResources(), twoNodes())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"KubernetesMetrics: 2 of 2 nodes, the first: the measurement of node one lacks cpu or memory, or is negative",
		"KubernetesMetrics: there is no measurement of any pod, so none is moved because of what it uses",
	}
	if d := cmp.Diff(want, got.Problems); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
