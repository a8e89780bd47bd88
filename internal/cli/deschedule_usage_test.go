package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"evenkeel.dev/evenkeel/internal/kube/stub"
)

const byQuery = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders: [{source: Prometheus, prometheus: {url: %q}}]
profiles:
- name: usage
  pluginConfig:
  - name: LowNodeUtilization
    args:
      thresholds: {MetricResource: 30}
      targetThresholds: {MetricResource: 50}
      metricsUtilization: {source: Prometheus, prometheus: {query: "instance:node_cpu:rate"}}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
`

// roomy is pile with nodes that have room.
func roomy() map[string]stub.Objects {
	objects := pile()
	for _, o := range objects["nodes"].(stub.Slice) {
		o.(*corev1.Node).Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
	return objects
}

func TestMeasurementsOfPrometheusDecide(t *testing.T) {
	const hot = `{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"instance":"one"},"value":[1,"0.9"]},{"metric":{"instance":"two"},"value":[1,"0.1"]}]}}`
	for _, c := range []struct {
		name    string
		code    int
		body    string
		evicted int
		log     string
	}{
		{"one node is hot", 200, hot, 1, "evicted"},
		{"no node is hot", 200, strings.Replace(hot, "0.9", "0.4", 1), 0, "moves=0"},
		{"the hot node's value is missing", 200, strings.Replace(hot, `"one"`, `"elsewhere"`, 1), 0, "no measurement of node one"},
		{"not a number", 200, strings.Replace(hot, "0.9", "NaN", 1), 0, "the value NaN is not between 0 and 1"},
		{"a broken server", 500, "", 0, "HTTP status 500"},
		{"a refused token", 401, "", 0, "HTTP status 401"},
	} {
		t.Run(c.name, func(t *testing.T) {
			prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.code)
				fmt.Fprint(w, c.body)
			}))
			defer prometheus.Close()
			s := stub.New(roomy())
			code, _, log := deschedule(t, s, fmt.Sprintf(byQuery, prometheus.URL))
			if got := evictions(s); code != 0 || len(got) != c.evicted || !strings.Contains(log, c.log) {
				t.Errorf("exit code %d, evicted %q; want 0, %d, and %q in:\n%s", code, got, c.evicted, c.log, log)
			}
		})
	}
}

func TestMissingMetricsServerEvictsNothingAndSaysSo(t *testing.T) {
	policy := strings.NewReplacer(
		"metricsProviders: [{source: Prometheus, prometheus: {url: %q}}]", "metricsProviders: [{source: KubernetesMetrics}]",
		`{source: Prometheus, prometheus: {query: "instance:node_cpu:rate"}}`, "{source: KubernetesMetrics}", "MetricResource", "cpu").Replace(byQuery)
	s := stub.New(roomy())
	code, _, log := deschedule(t, s, policy)
	if got := evictions(s); code != 0 || len(got) != 0 || !strings.Contains(log, "metrics-server") {
		t.Errorf("exit code %d, evicted %q:\n%s", code, got, log)
	}
}
