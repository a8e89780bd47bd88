package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/cli"
	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/kube/stub"
	"evenkeel.dev/evenkeel/internal/snapfile"
)

const example = "../../examples/snapshots/node-joined.yaml"

// run runs the program and returns its exit status and what it printed.
func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, append([]string{"evenkeel"}, args...))
	return code, stdout.String(), stderr.String()
}

// liveCluster serves two nodes and some pods, and returns a kubeconfig for it. A request that fail has an error for gets that.
func liveCluster(t *testing.T, pods int, fail func(r *http.Request) *apierrors.StatusError) (kubeconfig string, server *stub.Server) {
	t.Helper()
	var list stub.Slice
	for i := range pods {
		list = append(list, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)},
			Spec: corev1.PodSpec{NodeName: "one", Containers: []corev1.Container{
				{Name: "web", Image: "web:1", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hush"}}},
			}},
		})
	}
	server = stub.New(map[string]stub.Objects{
		"pods":  list,
		"nodes": stub.Slice{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "two"}}},
	})
	server.Answer = func(r *http.Request) *apierrors.StatusError {
		if strings.HasPrefix(r.URL.Path, "/apis/metrics.k8s.io/") {
			return apierrors.NewNotFound(schema.GroupResource{Group: "metrics.k8s.io", Resource: "nodes"}, "")
		}
		if fail != nil {
			return fail(r)
		}
		return nil
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: %q}}]\n",
		server.Start(t))
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, server
}

func forbidden(path string) func(r *http.Request) *apierrors.StatusError {
	return func(r *http.Request) *apierrors.StatusError {
		if r.URL.Path == path {
			return apierrors.NewForbidden(schema.GroupResource{Resource: filepath.Base(path)}, "", errors.New("no RBAC rule"))
		}
		return nil
	}
}

func TestSnapshotOfALiveClusterIsTakenInPages(t *testing.T) {
	kubeconfig, server := liveCluster(t, 7, forbidden("/apis/policy/v1/poddisruptionbudgets"))
	file := filepath.Join(t.TempDir(), "snapshot.json.gz")
	code, _, errs := run(t, "snapshot", "-o", file, "--kubeconfig", kubeconfig, "--page-size", "3", "--redact")
	if code != cli.ExitOK {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	for _, want := range []string{"Pod                    7", "PodDisruptionBudget    0        not listed: poddisruptionbudgets is forbidden", "wrote " + file} {
		if !strings.Contains(errs, want) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	pages := 0
	for _, r := range server.Requests() {
		if r == "GET /api/v1/pods" {
			pages++
		}
	}
	if pages != 1+3 { // a look whether they may be listed, and 3 pages
		t.Errorf("%d requests for pods", pages)
	}
	s, report, err := snapfile.Read([]string{file}, snapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pods) != 7 || len(s.Nodes) != 2 || !report.Header.Redacted || s.TakenAt.IsZero() {
		t.Errorf("%d pods, %d nodes, header %+v", len(s.Pods), len(s.Nodes), report.Header)
	}
}

func TestSnapshotToStandardOutputIsAllThatIsPrintedThere(t *testing.T) {
	kubeconfig, _ := liveCluster(t, 2, nil)
	code, out, errs := run(t, "snapshot", "-o", "-", "--kubeconfig", kubeconfig)
	if code != cli.ExitOK || !strings.HasPrefix(out, `{"apiVersion":"v1","kind":"List","items":[`) || !strings.Contains(out, "hush") {
		t.Errorf("exit status %d, out %s, errors %s", code, out, errs)
	}
}

func TestSnapshotThatFailsLeavesTheOldFile(t *testing.T) {
	for _, path := range []string{"/api/v1/nodes", "/api/v1/pods"} {
		kubeconfig, _ := liveCluster(t, 2, forbidden(path))
		file := filepath.Join(t.TempDir(), "snapshot.json")
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, _, errs := run(t, "snapshot", "-o", file, "--kubeconfig", kubeconfig)
		if code != cli.ExitError || !strings.Contains(errs, "list "+path) || !strings.Contains(errs, "forbidden") {
			t.Errorf("%s: exit status %d: %s", path, code, errs)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != "old" {
			t.Errorf("%s: the old file is now %q (%v)", path, data, err)
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
			t.Errorf("%s: left behind: %v (%v)", path, left, err)
		}
	}
}

func TestSnapshotSaysWhatTheServerSaidOrDidNotSay(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(r *http.Request) *apierrors.StatusError
		want string
	}{
		"credentials refused": {func(*http.Request) *apierrors.StatusError { return apierrors.NewUnauthorized("no token") }, "no token"},
		"broken": {func(*http.Request) *apierrors.StatusError {
			return apierrors.NewInternalError(errors.New("etcd is gone"))
		}, "etcd is gone"},
		"slow": {func(r *http.Request) *apierrors.StatusError {
			<-r.Context().Done()
			return nil
		}, "deadline exceeded"},
	} {
		kubeconfig, _ := liveCluster(t, 2, c.fail)
		file := filepath.Join(t.TempDir(), "snapshot.json")
		code, _, errs := run(t, "snapshot", "-o", file, "--kubeconfig", kubeconfig, "--timeout", "200ms")
		if code != cli.ExitError || !strings.Contains(errs, "list /api/v1/namespaces: ") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit status %d: %s", name, code, errs)
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v (%v)", name, left, err)
		}
	}
}

func TestARedactedCopyGivesTheSamePlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copy.json")
	if code, _, errs := run(t, "snapshot", "--from", example, "-o", file, "--redact"); code != cli.ExitOK {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	code, want, errs := run(t, "plan", "--snapshot", example, "-o", "json")
	if code != cli.ExitOK || !strings.Contains(want, `"moves"`) {
		t.Fatalf("exit status %d: %s%s", code, want, errs)
	}
	if _, got, errs := run(t, "plan", "--snapshot", file, "-o", "json"); got != want {
		t.Errorf("the plan of the copy differs: %s%s", got, errs)
	}
}

func TestSnapshotCommandLineMistakesAreUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "--output is required"},
		{[]string{"-o", "x.json", "--page-size", "0"}, "--page-size 0"},
		{[]string{"-o", "x.json", "--timeout", "0s"}, "--timeout 0s"},
		{[]string{"-o", "x.json", "--now", "2026-11-30T12:00:00Z"}, "--now needs --from"},
		{[]string{"-o", "x.json", "--from", example, "--now", "noon"}, `--now "noon"`},
	} {
		if code, _, errs := run(t, append([]string{"snapshot"}, c.args...)...); code != cli.ExitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit status %d: %s", c.args, code, errs)
		}
	}
}

func TestPlanNamesWhatIsWrongWithASnapshotFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "broken.json")
	text := `[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"x"},"spec":{"nodeName":7}}]`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, "plan", "--snapshot", file)
	want := file + ": document 1, item 1 (Pod x/p): spec.nodeName: 7: expected a string"
	if code != cli.ExitError || out != "" || !strings.Contains(errs, want) {
		t.Errorf("exit status %d: %s%s", code, out, errs)
	}
}

func TestEveryExampleSnapshotHasAPlan(t *testing.T) {
	files, err := filepath.Glob("../../examples/snapshots/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples (%v)", len(files), err)
	}
	for _, file := range files {
		code, out, errs := run(t, "plan", "--snapshot", file)
		if code != cli.ExitOK || errs != "" || !strings.Contains(out, "Moves") {
			t.Errorf("%s: exit status %d: %s%s", file, code, out, errs)
		}
	}
}

func TestTheFirstExampleMovesSomePodsAndRefusesOthersForDifferentReasons(t *testing.T) {
	_, out, _ := run(t, "plan", "--snapshot", example)
	for _, want := range []string{
		"shop/web-6d4b75cb6d", "kube-system/coredns-5f9c8d7b6", "shop/db-1", "shop/cart-59d8c7f6b",
		"PodDisruptionBudget api allows no further disruption", "its annotation descheduler.alpha.kubernetes.io/evict says no",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestASnapshotHoldsWhatThePolicyAsksPrometheusFor(t *testing.T) {
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("query") != "load" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, `{"status":"success","data":{"resultType":"vector","result":[
			{"metric":{"instance":"one"},"value":[1764504000,"0.9"]},{"metric":{"instance":"two"},"value":[1764504000,"0.1"]}]}}`)
	}))
	defer prometheus.Close()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	text := fmt.Sprintf(`apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders:
  - {source: Prometheus, prometheus: {url: %q}}
profiles:
  - name: p
    pluginConfig:
      - name: DefaultEvictor
      - name: LowNodeUtilization
        args: &args
          thresholds: {MetricResource: 20}
          targetThresholds: {MetricResource: 50}
          metricsUtilization: {source: Prometheus, prometheus: {query: load}}
    plugins: {balance: {enabled: [LowNodeUtilization]}}
  - name: q
    pluginConfig:
      - name: LowNodeUtilization
        args: {<<: *args, metricsUtilization: {source: Prometheus, prometheus: {query: disk}}}
    plugins: {balance: {enabled: [LowNodeUtilization]}}
`, prometheus.URL)
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kubeconfig, _ := liveCluster(t, 2, nil)
	file := filepath.Join(t.TempDir(), "snapshot.json")
	failed := "Prometheus " + prometheus.URL + ": HTTP status 500"
	code, _, errs := run(t, "snapshot", "-o", file, "--kubeconfig", kubeconfig, "--policy-config-file", policy)
	if code != cli.ExitOK || !strings.Contains(errs, `note: the Prometheus query "disk": `+failed) {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	s, _, err := snapfile.Read([]string{file}, snapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]cluster.Answer{"load": {Nodes: map[string]float64{"one": 0.9, "two": 0.1}}, "disk": {Failed: failed}}
	if d := cmp.Diff(want, s.Usage.Queries); d != "" || len(s.Usage.Problems) > 0 {
		t.Errorf("usage %+v", s.Usage)
	}
}
