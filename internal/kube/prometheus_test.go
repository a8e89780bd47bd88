package kube_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube"
)

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
		nodes    map[string]float64
		failed   string
		problems []string
	}{
		{name: "a value for each node", body: answer(value("one", "0.25"), value("two", "1")), nodes: map[string]float64{"one": .25, "two": 1}},
		{
			name: "a node is missing, and another is not ours", body: answer(value("one", "0"), value("10.0.0.1:9100", "0.5")),
			nodes:    map[string]float64{"one": 0},
			problems: []string{"no measurement of node two", `the label instance of 1 values is not the name of a node, such as "10.0.0.1:9100"`},
		},
		{
			name: "two values for one node are none", body: answer(value("one", "0.1"), value("one", "0.2"), value("two", "0.3")),
			nodes:    map[string]float64{"two": .3},
			problems: []string{"several values for node one"},
		},
		{
			name: "values that are no shares", body: answer(value("one", "NaN"), value("two", "37")),
			nodes: map[string]float64{},
			problems: []string{
				"2 of 2 nodes, the first: node one: the value NaN is not between 0 and 1",
			},
		},
		{name: "an empty vector", body: answer(), nodes: map[string]float64{}, problems: []string{"2 of 2 nodes, the first: there is no measurement of node one"}},
		{name: "a matrix", body: `{"status":"success","data":{"resultType":"matrix","result":[]}}`, failed: `the answer is a "matrix"`},
		{name: "a bad query", code: 400, body: `{"status":"error","errorType":"bad_data","error":"parse error at char 3"}`, failed: "HTTP status 400: parse error at char 3"},
		{name: "a refused token", code: 401, body: "Unauthorized", failed: "HTTP status 401"},
		{name: "a broken server", code: 500, failed: "HTTP status 500"},
		{name: "a web page", body: "<html>", failed: "the answer is not that of a Prometheus query"},
		{name: "redirects without an end", code: 307, failed: "gave up after 10 redirects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				if c.code != 0 {
					w.WriteHeader(c.code)
				}
				fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			got, problems := ask(t, &kube.Prometheus{URL: server.URL})
			if d := cmp.Diff(c.nodes, got.Nodes); d != "" {
				t.Errorf("values (-want +got):\n%s", d)
			}
			if (c.failed == "") != (got.Failed == "") || !strings.Contains(got.Failed, c.failed) {
				t.Errorf("failed with %q, want %q", got.Failed, c.failed)
			}
			if len(problems) != len(c.problems) {
				t.Fatalf("problems %q, want %d", problems, len(c.problems))
			}
			for i, want := range c.problems {
				if !strings.Contains(problems[i], want) || !strings.Contains(problems[i], `query "q"`) {
					t.Errorf("problem %q does not say %q and the query", problems[i], want)
				}
			}
		})
	}
}

// ask asks the query "q".
func ask(t *testing.T, p *kube.Prometheus) (cluster.Answer, []string) {
	t.Helper()
	p.Queries = []string{"q"}
	usage, err := p.Usage(t.Context(), nil, twoNodes())
	if err != nil {
		t.Fatal(err)
	}
	got, ok := usage.Queries["q"]
	if !ok || len(usage.Queries) != 1 {
		t.Fatalf("answers %v, want one to the query q", usage.Queries)
	}
	return got, usage.Problems
}

// guarded is a Prometheus that answers those who bring the token of the moment.
func guarded(t *testing.T, token func() string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := "Bearer " + token(); r.Header.Get("Authorization") != want {
			http.Error(w, "want "+want, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, answer(value("one", "0"), value("two", "0")))
	}))
	t.Cleanup(server.Close)
	return server
}

func TestEachQueryHasItsOwnAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.FormValue("query") {
		case "cpu":
			fmt.Fprint(w, answer(value("one", "0.1"), value("two", "0.2")))
		case "memory":
			fmt.Fprint(w, answer(value("one", "0.3"), value("two", "0.4")))
		default:
			http.Error(w, "no", http.StatusBadRequest)
		}
	}))
	defer server.Close()
	p := &kube.Prometheus{URL: server.URL + "/prefix", Queries: []string{"cpu", "memory", "disk"}}
	got, err := p.Usage(t.Context(), nil, twoNodes())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]cluster.Answer{
		"cpu":    {Nodes: map[string]float64{"one": .1, "two": .2}},
		"memory": {Nodes: map[string]float64{"one": .3, "two": .4}},
		"disk":   {Failed: "Prometheus " + p.URL + ": HTTP status 400"},
	}
	if d := cmp.Diff(want, got.Queries); d != "" || len(got.Problems) > 0 {
		t.Errorf("problems %q, answers (-want +got):\n%s", got.Problems, d)
	}
}

func TestPrometheusThatCantBeReachedFailsTheQuery(t *testing.T) {
	for name, p := range map[string]*kube.Prometheus{
		"nobody there": {URL: "http://user:secret@127.0.0.1:1"},
		"no token":     {URL: "http://127.0.0.1:1", Token: func(context.Context) (string, error) { return "", errors.New("no Secret") }},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := ask(t, p)
			if !strings.HasPrefix(got.Failed, "Prometheus http") || strings.Contains(got.Failed, "secret") || len(problems) > 0 {
				t.Errorf("%q does not name the source, or tells its password; problems %q", got.Failed, problems)
			}
		})
	}
}

func TestPrometheusThatDoesNotAnswerIsGivenUp(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	got, _ := ask(t, &kube.Prometheus{URL: server.URL, Timeout: 50 * time.Millisecond})
	if !strings.Contains(got.Failed, "no answer within 50ms") {
		t.Errorf("failed with %q, want that there was no answer in time", got.Failed)
	}
}

func TestOnlyTrustedServersAreAsked(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, answer(value("one", "0"), value("two", "0")))
	}))
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, data, 0o600); err != nil {
		t.Fatal(err)
	}
	token := func(context.Context) (string, error) { return "secret", nil }

	got, _ := ask(t, &kube.Prometheus{URL: server.URL, Token: token})
	if !strings.Contains(got.Failed, "certificate") || asked != 0 {
		t.Errorf("failed with %q, asked %d times; want an untrusted server to be asked nothing", got.Failed, asked)
	}
	got, _ = ask(t, &kube.Prometheus{URL: server.URL, Token: token, CAFiles: []string{filepath.Join(t.TempDir(), "none"), authority}})
	if got.Failed != "" || asked != 1 {
		t.Errorf("failed with %q, asked %d times; want a server of a named authority to be asked", got.Failed, asked)
	}
}

// project lays out a projected volume as the kubelet does: the file is a link through "..data", which is switched at once.
func project(t *testing.T, dir, version, token string) {
	t.Helper()
	write := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	write(os.Mkdir(filepath.Join(dir, version), 0o700))
	write(os.WriteFile(filepath.Join(dir, version, "token"), []byte(token+"\n"), 0o600))
	write(os.Symlink(version, filepath.Join(dir, "..data_tmp")))
	write(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if err := os.Symlink(filepath.Join("..data", "token"), filepath.Join(dir, "token")); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

func TestARotatedServiceAccountTokenIsUsedAtOnce(t *testing.T) {
	var token atomic.Value
	server := guarded(t, func() string { return token.Load().(string) })
	dir := t.TempDir()
	p := &kube.Prometheus{URL: server.URL, Token: kube.FileToken(filepath.Join(dir, "token"))}
	for i, text := range []string{"first", "second"} {
		token.Store(text)
		project(t, dir, fmt.Sprintf("..v%d", i), text)
		if got, _ := ask(t, p); got.Failed != "" {
			t.Errorf("with the %s token: %s", text, got.Failed)
		}
	}
}

func TestWithoutATokenFileNoneIsSent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, answer())
	}))
	defer server.Close()
	if got, _ := ask(t, &kube.Prometheus{URL: server.URL, Token: kube.FileToken(filepath.Join(t.TempDir(), "token"))}); got.Failed != "" {
		t.Error(got.Failed)
	}
}

func TestASecretThatChangesIsUsedAtOnce(t *testing.T) {
	var token atomic.Value
	server := guarded(t, func() string { return token.Load().(string) })
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: "prometheus"}, Data: map[string][]byte{"prometheusAuthToken": []byte("first")}}
	api := fake.NewClientset(secret)
	p := &kube.Prometheus{URL: server.URL, Token: kube.SecretToken(&kube.Client{Read: api}, "monitoring", "prometheus")}
	for _, text := range []string{"first", "second"} {
		token.Store(text)
		secret.Data["prometheusAuthToken"] = []byte(text + "\n")
		if _, err := api.CoreV1().Secrets("monitoring").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, _ := ask(t, p); got.Failed != "" {
			t.Errorf("with the %s token: %s", text, got.Failed)
		}
	}
	secret.Data = map[string][]byte{"token": []byte("second")}
	if _, err := api.CoreV1().Secrets("monitoring").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := ask(t, p); !strings.Contains(got.Failed, `Secret monitoring/prometheus: it has no key "prometheusAuthToken"`) {
		t.Errorf("failed with %q, want the Secret and the key", got.Failed)
	}
}
