package cli_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"evenkeel.dev/evenkeel/internal/cli"
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

// twoQueries has a profile for each of two queries, and one that needs none.
const twoQueries = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders: [{source: Prometheus, prometheus: {url: %q}}]
profiles:
- name: by-cpu
  pluginConfig:
  - name: LowNodeUtilization
    args: &args
      thresholds: {MetricResource: 30}
      targetThresholds: {MetricResource: 50}
      metricsUtilization: {source: Prometheus, prometheus: {query: cpu}}
  plugins: &plugins {balance: {enabled: [LowNodeUtilization]}}
- name: by-disk
  pluginConfig:
  - name: LowNodeUtilization
    args: {<<: *args, metricsUtilization: {source: Prometheus, prometheus: {query: disk}}}
  plugins: *plugins
- name: even
  pluginConfig: [{name: RemoveDuplicates}]
  plugins: {balance: {enabled: [RemoveDuplicates]}}
`

// ended is what a plan says of each strategy.
type ended struct {
	Summary struct {
		ByStrategy []struct {
			Profile, Strategy, Error string
			Moves                    int
		}
	}
}

// TestAQueryThatFailsStopsNothingElse has two Prometheus queries of which one fails, or both for want of a provider.
func TestAQueryThatFailsStopsNothingElse(t *testing.T) {
	const hot = `{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{"instance":"one"},"value":[1,"0.9"]},{"metric":{"instance":"two"},"value":[1,"0.1"]}]}}`
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("query") != "cpu" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, hot)
	}))
	defer prometheus.Close()
	both := fmt.Sprintf(twoQueries, prometheus.URL)
	noProvider := strings.Replace(both, "metricsProviders:", "#", 1)
	const nobody = "metricsProviders of the policy names no Prometheus that could be asked"
	const byCPU, byDisk = `the Prometheus query "cpu": `, `the Prometheus query "disk": `
	for _, c := range []struct {
		name, policy string
		errors       []string // of each profile's strategy
		failed       string
	}{
		{"one fails", both, []string{"", byDisk + "Prometheus " + prometheus.URL + ": HTTP status 500", ""}, "strategiesFailed=1"},
		{"no provider", noProvider, []string{byCPU + nobody, byDisk + nobody, ""}, "strategiesFailed=2"},
	} {
		for _, args := range [][]string{{"-o=json"}, {"-o=json", "--compat=descheduler"}} {
			t.Run(c.name+strings.Join(args[1:], ""), func(t *testing.T) {
				s := stub.New(roomy())
				code, out, log := deschedule(t, s, c.policy, args...)
				var got ended
				if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Summary.ByStrategy) != len(c.errors) {
					t.Fatalf("exit code %d, %v, plan %s\n%s", code, err, out, log)
				}
				for i, s := range got.Summary.ByStrategy {
					if s.Error != c.errors[i] {
						t.Errorf("%s/%s ended with %q, want %q", s.Profile, s.Strategy, s.Error, c.errors[i])
					}
					if s.Error != "" && !strings.Contains(log, fmt.Sprintf("profile=%s strategy=%s", s.Profile, s.Strategy)) {
						t.Errorf("the log does not name %s/%s:\n%s", s.Profile, s.Strategy, log)
					}
				}
				if len(evictions(s)) == 0 || !strings.Contains(log, c.failed) {
					t.Errorf("evicted %q, want some, and %s in\n%s", evictions(s), c.failed, log)
				}
			})
		}
	}
}

// TestASnapshotAnswersTheQueriesItHolds plans from a snapshot that was taken with one query, by a policy with two.
func TestASnapshotAnswersTheQueriesItHolds(t *testing.T) {
	snapshot := file(t, "snapshot.yaml", `
kind: Snapshot
apiVersion: evenkeel.dev/v1alpha1
takenAt: "2026-11-30T12:00:00Z"
queries: [{query: cpu, nodes: {one: 0.9, two: 0.1}}]
`)
	cluster := file(t, "cluster.yaml", `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: one}, status: {allocatable: {cpu: 4, pods: 110}, conditions: [{type: Ready, status: "True"}]}}
- {apiVersion: v1, kind: Node, metadata: {name: two}, status: {allocatable: {cpu: 4, pods: 110}, conditions: [{type: Ready, status: "True"}]}}
- {apiVersion: v1, kind: Pod, metadata: {name: p, uid: p, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r, controller: true}]},
   spec: {nodeName: one, containers: [{image: i}]}, status: {phase: Running}}
`)
	policy := file(t, "policy.yaml", fmt.Sprintf(twoQueries, "http://127.0.0.1:1"))
	code, out, errs := run(t, "plan", "--snapshot", snapshot, "--snapshot", cluster, "--policy-config-file", policy, "-o", "json")
	var got ended
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	const none = `there is no answer to the Prometheus query "disk", only to "cpu"`
	if by := got.Summary.ByStrategy; by[0].Moves != 1 || by[0].Error != "" || by[1].Moves != 0 || by[1].Error != none {
		t.Errorf("got %+v, want one move by cpu, and %q", by, none)
	}
}

// TestTheTokenOfASecretIsReadForEachCycle runs two cycles, between which the token in the Secret changes, and Prometheus takes the new one alone.
func TestTheTokenOfASecretIsReadForEachCycle(t *testing.T) {
	var current, refused atomic.Int32 // current counts the cycles that Prometheus has answered
	token := func() string { return fmt.Sprint("token-", current.Load()) }
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token() {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		current.Add(1)
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[
			{"metric":{"instance":"one"},"value":[1,"0.4"]},{"metric":{"instance":"two"},"value":[1,"0.4"]}]}}`)
	}))
	defer prometheus.Close()
	s := stub.New(roomy())
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/monitoring/secrets/prometheus" {
			s.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Secret","data":{"prometheusAuthToken":%q}}`, base64.StdEncoding.EncodeToString([]byte(token())))
	}))
	defer api.Close()
	policy := strings.Replace(fmt.Sprintf(byQuery, prometheus.URL), "prometheus: {url:", "prometheus: {authToken: {secretReference: {namespace: monitoring, name: prometheus}}, url:", 1)
	ctx, stop := context.WithCancel(t.Context())
	log := &stopAfter{cycles: 2, stop: stop}
	cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: log}, []string{
		"descheduler", "--client-connection-kubeconfig=" + kubeconfigOf(t, api.URL), "--secure-port=0", "--descheduling-interval=1ms",
		"--policy-config-file=" + file(t, "policy.yaml", policy),
	})
	if text := log.text.String(); current.Load() < 2 || refused.Load() > 0 || strings.Contains(text, "could not run") {
		t.Errorf("Prometheus answered %d times, want 2, and refused a token %d times, want 0:\n%s", current.Load(), refused.Load(), text)
	}
}
