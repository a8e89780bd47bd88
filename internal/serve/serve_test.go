package serve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"evenkeel.dev/evenkeel/internal/kube/stub"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/serve"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// reviews answers as a cluster would in which alice may get /metrics and bob may not.
func reviews(obj runtime.Object) runtime.Object {
	switch o := obj.(type) {
	case *authenticationv1.TokenReview:
		o.Status.Authenticated = o.Spec.Token == "alice" || o.Spec.Token == "bob"
		o.Status.User.Username = o.Spec.Token
	case *authorizationv1.SubjectAccessReview:
		o.Status.Allowed = o.Spec.User == "alice" && o.Spec.NonResourceAttributes.Path == "/metrics" && o.Spec.NonResourceAttributes.Verb == "get"
	}
	return obj
}

func get(t *testing.T, h http.Handler, method, path, token string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	s := stub.New(nil)
	s.Create = reviews
	set, err := kubernetes.NewForConfig(&rest.Config{Host: s.Start(t), QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	metrics := serve.NewMetrics(serve.Build{Version: "v1"})
	h := serve.Handler(func() error { return nil }, serve.NewReviewer(set, quiet()).Guard(metrics.Handler()))
	for _, c := range []struct {
		name, method, path, token string
		code                      int
	}{
		{"health is open", "GET", "/healthz", "", 200},
		{"no token", "GET", "/metrics", "", 401},
		{"unknown token", "GET", "/metrics", "mallory", 401},
		{"no permission", "GET", "/metrics", "bob", 403},
		{"permission", "GET", "/metrics", "alice", 200},
		{"permission to read is none to reset", "DELETE", "/metrics", "alice", 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			if code, body := get(t, h, c.method, c.path, c.token); code != c.code {
				t.Errorf("got %d %q, want %d", code, body, c.code)
			}
		})
	}
	before := len(s.Requests())
	if code, _ := get(t, h, "GET", "/metrics", "alice"); code != 200 || len(s.Requests()) != before {
		t.Errorf("got %d after %d more requests to the API server; want 200 and none: the answer is kept", code, len(s.Requests())-before)
	}
}

func TestNobodyReadsMetricsWhenTheAPIServerCantBeAsked(t *testing.T) {
	s := stub.New(nil)
	s.Answer = func(*http.Request) *apierrors.StatusError { return apierrors.NewServiceUnavailable("away") }
	set, err := kubernetes.NewForConfig(&rest.Config{Host: s.Start(t), QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	h := serve.NewReviewer(set, quiet()).Guard(http.NotFoundHandler())
	if code, _ := get(t, h, "GET", "/metrics", "alice"); code != 500 {
		t.Errorf("got %d, want 500", code)
	}
}

func TestUnhealthyIsToldWithItsReason(t *testing.T) {
	h := serve.Handler(func() error { return errors.New("no cycle for an hour") }, nil)
	if code, body := get(t, h, "GET", "/healthz", ""); code != 500 || !strings.Contains(body, "no cycle for an hour") {
		t.Errorf("got %d %q", code, body)
	}
	if code, _ := get(t, h, "GET", "/metrics", ""); code != 404 {
		t.Errorf("--disable-metrics: got %d, want 404", code)
	}
}

// start serves until the test ends and returns the address.
func start(t *testing.T, o *serve.Options) string {
	t.Helper()
	o.BindAddress = net.IPv4(127, 0, 0, 1)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Port = free.Addr().(*net.TCPAddr).Port
	_ = free.Close()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := o.Listen(ctx, serve.Handler(func() error { return nil }, nil), quiet())
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return server.Addr().String()
}

func certificateOf(t *testing.T, addr, name string) []byte {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, ServerName: name}) //nolint:gosec // the test looks at the certificate itself
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

func TestSelfSignedCertificateIsKeptInCertDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	first := certificateOf(t, start(t, &serve.Options{CertDir: dir}), "")
	second := certificateOf(t, start(t, &serve.Options{CertDir: dir}), "")
	if string(first) != string(second) {
		t.Error("the certificate changed over a restart")
	}
}

func TestCertificateFilesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	write := func(host string) {
		t.Helper()
		certPEM, keyPEM, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "c"), certPEM, 0o600), os.WriteFile(filepath.Join(dir, "k"), keyPEM, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	addr := start(t, &serve.Options{CertFile: filepath.Join(dir, "c"), KeyFile: filepath.Join(dir, "k")})
	old := certificateOf(t, addr, "")
	write("new")
	for deadline := time.Now().Add(20 * time.Second); string(certificateOf(t, addr, "")) == string(old); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the old certificate is still served")
		}
	}
}

func TestPortZeroServesNothing(t *testing.T) {
	server, err := (&serve.Options{}).Listen(t.Context(), http.NotFoundHandler(), quiet())
	if server != nil || err != nil {
		t.Errorf("got %v, %v", server, err)
	}
}

func TestTakenPortNamesTheFlag(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	o := &serve.Options{BindAddress: net.IPv4(127, 0, 0, 1), Port: taken.Addr().(*net.TCPAddr).Port}
	if _, err := o.Listen(t.Context(), http.NotFoundHandler(), quiet()); err == nil || !strings.Contains(err.Error(), "--secure-port") {
		t.Errorf("got %v, want an error that names --secure-port", err)
	}
}

func TestHTTPSAnswersHealth(t *testing.T) {
	addr := start(t, serve.NewOptions())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // self-signed
	answer, err := client.Get("https://" + addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); string(body) != "ok" || answer.ProtoMajor != 1 {
		t.Errorf("got %q over HTTP/%d; want ok over HTTP/1: --enable-http2 was not given", body, answer.ProtoMajor)
	}
}

func TestMetricsHaveTheDeschedulersNamesAndWords(t *testing.T) {
	m := serve.NewMetrics(serve.Build{Version: "v1", GitBranch: "main", GitCommit: "abc"})
	move := plan.Move{Pod: plan.PodRef{Namespace: "shop", Name: "a"}, Node: "one", Profile: "p", Strategy: "RemoveDuplicates"}
	m.Outcome(plan.Outcome{Move: move, Result: plan.Evicted})
	m.Outcome(plan.Outcome{Move: move, Result: plan.Blocked})
	m.Outcome(plan.Outcome{Move: move, Result: plan.Skipped})
	m.Planned(&plan.Plan{Refusals: []plan.Refusal{{Pod: move.Pod, Node: "one", Profile: "p", Strategy: "RemoveDuplicates", Reason: plan.Reason{Code: "NodeLimit"}}}})
	want := `# HELP descheduler_pods_evicted_total Pods by how their eviction ended.
# TYPE descheduler_pods_evicted_total counter
descheduler_pods_evicted_total{namespace="shop",node="one",profile="p",result="error",strategy="RemoveDuplicates"} 1
descheduler_pods_evicted_total{namespace="shop",node="one",profile="p",result="maximum number of evicted pods per node reached",strategy="RemoveDuplicates"} 1
descheduler_pods_evicted_total{namespace="shop",node="one",profile="p",result="success",strategy="RemoveDuplicates"} 1
`
	if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader(want), "descheduler_pods_evicted_total"); err != nil {
		t.Error(err)
	}
	if code, body := get(t, m.Handler(), "DELETE", "/metrics", ""); code != 200 {
		t.Errorf("reset: %d %s", code, body)
	}
	if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader(""), "descheduler_pods_evicted_total"); err != nil {
		t.Error(err)
	}
}

func TestStrategiesThatCouldNotRunAreCounted(t *testing.T) {
	m := serve.NewMetrics(serve.Build{})
	for range 2 {
		m.Planned(&plan.Plan{Summary: plan.Summary{ByStrategy: []plan.StrategyCount{
			{Profile: "p", Strategy: "LowNodeUtilization", Error: "no measurements"}, {Profile: "p", Strategy: "RemoveDuplicates"},
		}}})
	}
	want := `# HELP evenkeel_strategy_failures_total Cycles in which a strategy could not run, for example for want of measurements.
# TYPE evenkeel_strategy_failures_total counter
evenkeel_strategy_failures_total{profile="p",strategy="LowNodeUtilization"} 2
evenkeel_strategy_failures_total{profile="p",strategy="RemoveDuplicates"} 0
`
	if err := testutil.GatherAndCompare(m.Gatherer(), strings.NewReader(want), "evenkeel_strategy_failures_total"); err != nil {
		t.Error(err)
	}
}
