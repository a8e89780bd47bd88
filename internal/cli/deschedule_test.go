package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/internal/cli"
	"evenkeel.dev/evenkeel/internal/kube/stub"
)

// pile is a cluster with two nodes, and four replicas on the first.
func pile() map[string]stub.Objects {
	var pods, nodes stub.Slice
	for _, name := range []string{"one", "two"} {
		nodes = append(nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
			Status: corev1.NodeStatus{
				Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Allocatable: corev1.ResourceList{},
			},
		})
	}
	for i := range 4 {
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprint("web-", i), UID: types.UID(fmt.Sprint("uid-", i)),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: new(true)}},
			},
			Spec:   corev1.PodSpec{NodeName: "one", Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		})
	}
	return map[string]stub.Objects{"pods": pods, "nodes": nodes}
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const duplicates = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: even
  pluginConfig: [{name: RemoveDuplicates}]
  plugins: {balance: {enabled: [RemoveDuplicates]}}
`

// deschedule runs a program called "descheduler" against the stub with the policy, and returns its exit code and what it wrote.
func deschedule(t *testing.T, s *stub.Server, policy string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return deschedulerAt(t, s.Start(t), policy, args...)
}

func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	return file(t, "kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}`, url))
}

func deschedulerAt(t *testing.T, url, policy string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	kubeconfig := kubeconfigOf(t, url)
	all := append([]string{"descheduler", "--client-connection-kubeconfig=" + kubeconfig, "--secure-port=0", "--policy-config-file=" + file(t, "policy.yaml", policy)}, args...)
	var out, err bytes.Buffer
	code = cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &err}, all)
	return code, out.String(), err.String()
}

func evictions(s *stub.Server) (names []string) {
	for _, o := range s.Posted() {
		if e, ok := o.(*policyv1.Eviction); ok {
			names = append(names, e.Name)
		}
	}
	return names
}

func TestDescheduleEvictsWhatThePlanSays(t *testing.T) {
	s := stub.New(pile())
	code, _, log := deschedule(t, s, duplicates, "--compat=descheduler")
	if got := evictions(s); code != 0 || len(got) != 2 {
		t.Errorf("exit code %d, evicted %q; want 0 and two of four pods\n%s", code, got, log)
	}
}

func TestDryRunEvictsNothingAndPrintsThePlan(t *testing.T) {
	s := stub.New(pile())
	code, out, log := deschedule(t, s, duplicates, "--compat=descheduler", "--dry-run", "-o", "json")
	if got := evictions(s); code != 0 || len(got) != 0 {
		t.Fatalf("exit code %d, evicted %q; want 0 and nothing\n%s", code, got, log)
	}
	var plan struct {
		Kind  string
		Moves []any
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil || plan.Kind != "Plan" || len(plan.Moves) != 2 {
		t.Errorf("got %s, %v; want a plan with two moves", out, err)
	}
}

func TestBadPolicyAsksTheAPIServerNothing(t *testing.T) {
	for name, c := range map[string]struct{ policy, want string }{
		"unknown argument": {strings.Replace(duplicates, "{name: RemoveDuplicates}", "{name: RemoveDuplicates, args: {nonsense: 1}}", 1), "nonsense"},
		"old version":      {strings.Replace(duplicates, "v1alpha2", "v1alpha1", 1), "v1alpha1"},
		"empty":            {"", "policy"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stub.New(pile())
			code, _, log := deschedule(t, s, c.policy)
			if code != 1 || !strings.Contains(log, c.want) || len(s.Requests()) != 0 {
				t.Errorf("exit code %d, %d requests, want 1, none and a message with %q:\n%s", code, len(s.Requests()), c.want, log)
			}
		})
	}
}

func TestUnknownPriorityClassEvictsNothing(t *testing.T) {
	s := stub.New(pile())
	policy := strings.Replace(duplicates, "[{name: RemoveDuplicates}]", "[{name: RemoveDuplicates}, {name: DefaultEvictor, args: {priorityThreshold: {name: nobody}}}]", 1)
	code, _, log := deschedule(t, s, policy)
	if got := evictions(s); code != 1 || len(got) != 0 || !strings.Contains(log, "nobody") {
		t.Errorf("exit code %d, evicted %q:\n%s", code, got, log)
	}
}

func TestAPIServerThatIsNotThereIsAnError(t *testing.T) {
	code, _, log := deschedulerAt(t, "http://127.0.0.1:1", duplicates)
	if code != 1 || !strings.Contains(log, "http://127.0.0.1:1") {
		t.Errorf("exit code %d, want 1 and the address:\n%s", code, log)
	}
}

func TestRefusedCredentialsAreAnError(t *testing.T) {
	s := stub.New(pile())
	s.Answer = func(*http.Request) *apierrors.StatusError { return apierrors.NewUnauthorized("who are you?") }
	if code, _, log := deschedule(t, s, duplicates); code != 1 || !strings.Contains(log, "does not accept the credentials") {
		t.Errorf("exit code %d:\n%s", code, log)
	}
}

func TestServerWithoutTheEvictionAPIIsAnError(t *testing.T) {
	s := stub.New(pile())
	s.Answer = func(r *http.Request) *apierrors.StatusError {
		if r.URL.Path == "/api/v1" {
			return apierrors.NewServiceUnavailable("not yet")
		}
		return nil
	}
	if code, _, log := deschedule(t, s, duplicates); code != 1 || len(evictions(s)) != 0 {
		t.Errorf("exit code %d:\n%s", code, log)
	}
}

func TestFewerThanTwoNodesIsNoFailure(t *testing.T) {
	objects := pile()
	objects["nodes"] = objects["nodes"].(stub.Slice)[:1]
	s := stub.New(objects)
	if code, _, log := deschedule(t, s, duplicates); code != 0 || len(evictions(s)) != 0 || !strings.Contains(log, "skipped=") {
		t.Errorf("exit code %d:\n%s", code, log)
	}
}

func TestOldAndWrongFlagsAreUsageErrorsWithAHint(t *testing.T) {
	for _, c := range []struct{ flag, want string }{
		{"--evict-local-storage-pods", "evictLocalStoragePods"},
		{"--no-such-flag", "--help"},
		{"--leader-elect", "--descheduling-interval"},
		{"--output=xml", "xml"},
	} {
		s := stub.New(pile())
		code, _, log := deschedule(t, s, duplicates, c.flag)
		if code != 2 || !strings.Contains(log, c.want) || len(s.Requests()) != 0 {
			t.Errorf("%s: exit code %d, want 2 and a message with %q:\n%s", c.flag, code, c.want, log)
		}
	}
}

func TestUnderscoresInFlagsAreDashes(t *testing.T) {
	s := stub.New(pile())
	if code, _, log := deschedule(t, s, duplicates, "--dry_run"); code != 0 || len(evictions(s)) != 0 {
		t.Errorf("exit code %d:\n%s", code, log)
	}
}

func TestOwnPodIsNotEvicted(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "shop")
	for _, name := range []string{"web-0", "web-1", "web-2", "web-3"} {
		t.Setenv("POD_NAME", name)
		s := stub.New(pile())
		if code, _, log := deschedule(t, s, duplicates, "--compat=descheduler"); code != 0 || slices.Contains(evictions(s), name) {
			t.Errorf("exit code %d, evicted %q from within %s:\n%s", code, evictions(s), name, log)
		}
	}
}

func TestStoppingInTheMiddleFinishesOneEvictionAndSaysWhatWasLeft(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := stub.New(pile())
	s.Evict = func(string, *policyv1.Eviction) *apierrors.StatusError {
		stop()
		return nil
	}
	var out, log bytes.Buffer
	code := cli.Run(ctx, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &log}, []string{
		"descheduler", "--client-connection-kubeconfig=" + kubeconfigOf(t, s.Start(t)), "--secure-port=0",
		"--policy-config-file=" + file(t, "policy.yaml", duplicates), "--compat=descheduler",
	})
	if code != 130 || len(evictions(s)) != 1 || !strings.Contains(log.String(), "success=1 skipped=1") {
		t.Errorf("exit code %d, evicted %q; want 130, one pod, and the other skipped:\n%s", code, evictions(s), log.String())
	}
}

// traces is a collector of OpenTelemetry spans.
type traces struct {
	collector.UnimplementedTraceServiceServer
	mu       sync.Mutex
	names    []string
	services []string // service.name of each resource
}

func (c *traces) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range r.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				c.services = append(c.services, a.Value.GetStringValue())
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.names = append(c.names, span.Name)
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestTracesAreSentToTheCollector(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, got := grpc.NewServer(), &traces{}
	collector.RegisterTraceServiceServer(server, got)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	s := stub.New(pile())
	endpoint := "--otel-collector-endpoint=" + listener.Addr().String()
	if code, _, log := deschedule(t, s, duplicates, "--compat=descheduler", endpoint, "--otel-service-name=even"); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, log)
	}
	slices.Sort(got.names)
	if want := []string{"cycle", "eviction", "eviction", "execute", "plan", "snapshot", "strategy"}; !slices.Equal(got.names, want) {
		t.Errorf("spans %q, want %q", got.names, want)
	}
	if got.services = slices.Compact(got.services); !slices.Equal(got.services, []string{"even"}) {
		t.Errorf("services %q, want that of --otel-service-name", got.services)
	}
}

func TestCollectorThatCantBeSetUp(t *testing.T) {
	s := stub.New(pile())
	args := []string{"--otel-collector-endpoint=127.0.0.1:1", "--otel-transport-ca-cert=" + file(t, "ca.crt", "nonsense")}
	if code, _, log := deschedule(t, s, duplicates, args...); code != 1 || len(evictions(s)) != 0 || !strings.Contains(log, "--otel-transport-ca-cert") {
		t.Errorf("exit code %d:\n%s", code, log)
	}
	if code, _, log := deschedule(t, s, duplicates, append(args, "--otel-fallback-no-op-on-error", "--compat=descheduler")...); code != 0 || len(evictions(s)) == 0 {
		t.Errorf("with the fallback: exit code %d:\n%s", code, log)
	}
}

func TestPlanReadsALiveCluster(t *testing.T) {
	s := stub.New(pile())
	kubeconfig := kubeconfigOf(t, s.Start(t))
	var out, log bytes.Buffer
	code := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &log},
		[]string{"evenkeel", "plan", "--kubeconfig=" + kubeconfig, "--policy-config-file=" + file(t, "policy.yaml", duplicates), "-o", "json"})
	if code != 0 || !strings.Contains(out.String(), `"web-`) || len(s.Posted()) != 0 {
		t.Errorf("exit code %d, posted %d objects:\n%s%s", code, len(s.Posted()), out.String(), log.String())
	}
}
