package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/kube/stub"
)

// recorded is the answer of a real server; see testdata/recorded/README.md.
func recorded(t *testing.T, server, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "recorded", server, name))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestARecordedPrometheusDecides runs deschedule with the answers of a real Prometheus. Node one is hot by cpu, and node two, which has no pods
// in the cluster of the test, by disk.
func TestARecordedPrometheusDecides(t *testing.T) {
	const unknown = "the usage of 2 of 2 nodes is not known"
	for _, c := range []struct {
		query   string
		file    string
		code    int
		evicted int
		log     string
	}{
		{`1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[15s]))`, "cpu.json", 200, 1, "node one uses MetricResource 90 %; the target is MetricResource 50 %"},
		{`avg by (instance) (node_filesystem_used_ratio)`, "disk.json", 200, 0, "the label instance of 1 values is not the name of a node"},
		{`1 - rate(node_cpu_seconds_total{mode="idle"}[15s])`, "per_cpu.json", 200, 0, "several values for node one; aggregate it by the label instance"},
		{`avg by (instance) (node_filesystem_used_ratio) / avg by (instance) (node_sockets) * 0`, "nan.json", 200, 0, "node one: the value NaN is not between 0 and 1"},
		{`avg(node_filesystem_used_ratio)`, "without_nodes.json", 200, 0, unknown},
		{`no_such_series`, "empty.json", 200, 0, unknown},
		{`node_filesystem_used_ratio[5s]`, "matrix.json", 200, 0, `the answer is a \"matrix\" with status \"success\", expected a vector`},
		{`1`, "scalar.json", 200, 0, `the answer is a \"scalar\" with status \"success\", expected a vector`},
		{`avg by (instance`, "parse_error.json", 400, 0, `HTTP status 400: invalid parameter \"query\": 1:17: parse error: unclosed left parenthesis`},
		{`node_filesystem_used_ratio * on () group_left () node_sockets`, "execution_error.json", 422, 0, "HTTP status 422: found duplicate series"},
	} {
		t.Run(c.file, func(t *testing.T) {
			prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || r.URL.Path != "/api/v1/query" || r.FormValue("query") != c.query {
					http.Error(w, "not what was recorded", http.StatusTeapot)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = w.Write(recorded(t, "prometheus", c.file))
			}))
			defer prometheus.Close()
			policy := strings.Replace(fmt.Sprintf(byQuery, prometheus.URL), `"instance:node_cpu:rate"`, fmt.Sprintf("%q", c.query), 1)
			s := stub.New(roomy())
			code, _, log := deschedule(t, s, policy, "--compat=descheduler")
			if got := evictions(s); code != 0 || len(got) != c.evicted || !strings.Contains(log, c.log) {
				t.Errorf("exit code %d, evicted %q; want 0, %d, and %q in:\n%s", code, got, c.evicted, c.log, log)
			}
		})
	}
}

// byMetrics evens out by what the metrics API says.
const byMetrics = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders: [{source: KubernetesMetrics}]
profiles:
- name: usage
  pluginConfig:
  - name: LowNodeUtilization
    args:
      thresholds: {cpu: 20}
      targetThresholds: {cpu: 50}
      metricsUtilization: {source: KubernetesMetrics}
  plugins: {balance: {enabled: [LowNodeUtilization]}}
`

// TestASourceThatThePolicyDoesNotListIsNotRead has measurements at hand by which pods would move, as they would not with the descheduler.
func TestASourceThatThePolicyDoesNotListIsNotRead(t *testing.T) {
	s := stub.New(roomy())
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource, ok := strings.CutPrefix(r.URL.Path, "/apis/metrics.k8s.io/v1beta1/")
		if !ok {
			s.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
		_, _ = w.Write(recorded(t, "metrics-server", resource+".pb"))
	}))
	defer api.Close()
	code, _, log := deschedulerAt(t, api.URL, strings.Replace(byMetrics, "metricsProviders:", "#", 1), "--compat=descheduler")
	const why = "metricsProviders of the policy does not list it"
	if got := evictions(s); code != 0 || len(got) != 0 || !strings.Contains(log, why) || !strings.Contains(log, "could not run") {
		t.Errorf("exit code %d, evicted %q; want 0, none, and %q in:\n%s", code, got, why, log)
	}
}

// TestARecordedMetricsServerDecides runs deschedule with the answers of a real metrics-server, one for nodes and one for pods: node one uses 90 %
// of its processors, and each of its four pods 0.8 of them, whatever they request.
func TestARecordedMetricsServerDecides(t *testing.T) {
	for _, c := range []struct {
		form, contentType, suffix string
		args                      []string
		evicted                   int
	}{
		{"protobuf", "application/vnd.kubernetes.protobuf", ".pb", []string{"--compat=descheduler"}, 2},
		{"JSON", "application/json", ".json", []string{"--compat=descheduler"}, 2},
		{"gently", "application/vnd.kubernetes.protobuf", ".pb", nil, 1}, // a quarter of the replicas at once
	} {
		t.Run(c.form, func(t *testing.T) {
			s := stub.New(roomy())
			asked := map[string]int{}
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				resource, ok := strings.CutPrefix(r.URL.Path, "/apis/metrics.k8s.io/v1beta1/")
				if !ok {
					s.ServeHTTP(w, r)
					return
				}
				if !strings.Contains(r.Header.Get("Accept"), c.contentType) {
					http.Error(w, "Accept: "+r.Header.Get("Accept"), http.StatusNotAcceptable)
					return
				}
				asked[resource]++
				w.Header().Set("Content-Type", c.contentType)
				_, _ = w.Write(recorded(t, "metrics-server", resource+c.suffix))
			}))
			defer api.Close()
			code, _, log := deschedulerAt(t, api.URL, byMetrics, c.args...)
			if got := evictions(s); code != 0 || len(got) != c.evicted || !strings.Contains(log, "node one uses cpu 90 %") {
				t.Errorf("exit code %d, evicted %q; want 0 and %d:\n%s", code, got, c.evicted, log)
			}
			if asked["nodes"] != 1 || asked["pods"] != 1 || len(asked) != 2 {
				t.Errorf("asked %v, want one list of nodes and one of pods", asked)
			}
		})
	}
}
