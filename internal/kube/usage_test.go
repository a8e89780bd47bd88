package kube_test

import (
	"context"
	"errors"
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

func value(node, v string) string {
	return fmt.Sprintf(`{"metric":{"instance":%q},"value":[1700000000.1,%q]}`, node, v)
}

func answer(samples ...string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(samples, ",") + `]}}`
}

func TestPrometheusAnswers(t *testing.T) {
	for _, c := range []struct {
		name     string
		code     int
		body     string
		query    map[string]float64
		problems []string
	}{
		{"a value for each node", 200, answer(value("one", "0.25"), value("two", "1")), map[string]float64{"one": .25, "two": 1}, nil},
		{
			"a node is missing, and another is not ours", 200, answer(value("one", "0"), value("10.0.0.1:9100", "0.5")),
			map[string]float64{"one": 0},
			[]string{"the label instance of 1 values is not the name of a node", "no measurement of node two"},
		},
		{
			"two values for one node are none", 200, answer(value("one", "0.1"), value("one", "0.2"), value("two", "0.3")),
			map[string]float64{"two": .3},
			[]string{"several values for node one", "no measurement of node one"},
		},
		{
			"values that are no shares", 200, answer(value("one", "NaN"), value("two", "37")),
			map[string]float64{},
			[]string{"node one: the value NaN is not between 0 and 1", "node two: the value 37 is not", "no measurement of node one", "no measurement of node two"},
		},
		{"an empty vector", 200, answer(), map[string]float64{}, []string{"node one", "node two"}},
		{"a matrix", 200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, nil, []string{`the answer is a "matrix"`}},
		{"a bad query", 400, `{"status":"error","errorType":"bad_data","error":"parse error at char 3"}`, nil, []string{"HTTP status 400: parse error at char 3"}},
		{"a refused token", 401, "Unauthorized", nil, []string{"HTTP status 401"}},
		{"a broken server", 500, "", nil, []string{"HTTP status 500"}},
		{"a web page", 200, "<html>", nil, []string{"the answer is not that of a Prometheus query"}},
		{"a redirect is not followed with the token", 302, "", nil, []string{"HTTP status 302"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.code)
				fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			p := &kube.Prometheus{URL: server.URL, Query: "q"}
			got, err := p.Usage(t.Context(), nil, twoNodes())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.query, got.Query); d != "" {
				t.Errorf("values (-want +got):\n%s", d)
			}
			if len(got.Problems) != len(c.problems) {
				t.Fatalf("problems %q, want %d", got.Problems, len(c.problems))
			}
			for i, want := range c.problems {
				if !strings.Contains(got.Problems[i], want) {
					t.Errorf("problem %q does not say %q", got.Problems[i], want)
				}
			}
		})
	}
}

func TestPrometheusIsAskedWithTheTokenOfTheMoment(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization")+" "+r.URL.Path+" "+r.FormValue("query"))
		fmt.Fprint(w, answer(value("one", "0"), value("two", "0")))
	}))
	defer server.Close()
	n := 0
	p := &kube.Prometheus{URL: server.URL + "/prefix", Query: "sum(x)", Token: func(context.Context) (string, error) {
		n++
		return fmt.Sprint("token-", n), nil
	}}
	for range 2 {
		if _, err := p.Usage(t.Context(), nil, twoNodes()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"Bearer token-1 /prefix/api/v1/query sum(x)", "Bearer token-2 /prefix/api/v1/query sum(x)"}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPrometheusThatCantBeReachedIsAProblem(t *testing.T) {
	for name, p := range map[string]*kube.Prometheus{
		"nobody there":         {URL: "http://user:secret@127.0.0.1:1", Query: "q"},
		"a self-signed server": {URL: selfSigned(t), Query: "q"},
		"no token":             {URL: "http://127.0.0.1:1", Query: "q", Token: func(context.Context) (string, error) { return "", errors.New("no Secret") }},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := p.Usage(t.Context(), nil, twoNodes())
			if err != nil || len(got.Problems) != 1 || got.Query != nil {
				t.Fatalf("got %+v, %v; want one problem", got, err)
			}
			if !strings.HasPrefix(got.Problems[0], "Prometheus http") || strings.Contains(got.Problems[0], "secret") {
				t.Errorf("%q does not name the source, or tells its password", got.Problems[0])
			}
		})
	}
}

func selfSigned(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL
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
		Nodes:    map[string]cluster.Amounts{"one": {1500, 2 << 30}},
		Pods:     map[string]cluster.Amounts{"shop/a": {750, 1 << 20}},
		Problems: []string{"KubernetesMetrics: there is no measurement of node two"},
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
