package snapfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/snapfile"
)

// server is a cluster that answers lists in pages. The continue token is the index of the next object.
type server struct {
	objects map[string][]string // by path
	fail    func(path, token string) error
	calls   []string
}

func (s *server) ListPage(_ context.Context, path string, limit int64, token string) ([]byte, error) {
	s.calls = append(s.calls, path+" "+token)
	if s.fail != nil {
		if err := s.fail(path, token); err != nil {
			return nil, err
		}
	}
	from := 0
	if token != "" {
		from, _ = strconv.Atoi(token)
	}
	all := s.objects[path]
	to := min(from+int(limit), len(all))
	next := ""
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return fmt.Appendf(nil, `{"kind":"AnyList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":%q},"items":[%s]}`,
		next, strings.Join(all[from:to], ",")), nil
}

const secretPod = `{"metadata":{"name":"web-1","namespace":"shop","uid":"p1","creationTimestamp":"2026-11-30T07:00:00Z",
 "labels":{"app":"web"},
 "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hush","descheduler.alpha.kubernetes.io/evict":"true","evenkeel.dev/a":"kept"},
 "managedFields":[{"manager":"hush"}],
 "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-abc","uid":"r1","controller":true}]},
"spec":{"nodeName":"a","serviceAccountName":"hush","hostname":"hush","imagePullSecrets":[{"name":"hush"}],
 "containers":[{"name":"c","image":"registry.example/web:1","command":["hush"],"args":["hush"],
  "env":[{"name":"PASSWORD","value":"hush"},{"name":"B","valueFrom":{"secretKeyRef":{"name":"hush","key":"hush"}}}],
  "envFrom":[{"configMapRef":{"name":"hush"}}],
  "livenessProbe":{"exec":{"command":["hush"]}},
  "ports":[{"containerPort":80,"hostPort":8080,"protocol":"TCP"}],
  "resources":{"requests":{"cpu":"250m","memory":"64Mi"}}}],
 "volumes":[{"name":"hush","secret":{"secretName":"hush"}},{"name":"cm","configMap":{"name":"hush"}},
  {"name":"csi","csi":{"driver":"x","nodePublishSecretRef":{"name":"hush"},"volumeAttributes":{"a":"hush"}}},
  {"name":"proj","projected":{"sources":[{"secret":{"name":"hush"}}]}},
  {"name":"host","hostPath":{"path":"/hush"}},{"name":"data","persistentVolumeClaim":{"claimName":"data"}}],
 "tolerations":[{"key":"k","operator":"Exists"}]},
"status":{"phase":"Running","podIP":"10.0.0.1","message":"hush","qosClass":"Burstable","conditions":[{"type":"Ready","status":"True","message":"hush"}],
 "containerStatuses":[{"name":"c","restartCount":3,"containerID":"hush","state":{"waiting":{"reason":"CrashLoopBackOff","message":"hush"}},
  "lastState":{"terminated":{"exitCode":1,"message":"hush"}}}]}}`

func testServer() *server {
	s := &server{objects: map[string][]string{
		"/api/v1/namespaces": {`{"metadata":{"name":"shop","annotations":{"a":"hush"},"labels":{"team":"x"}}}`},
		"/api/v1/nodes": {
			`{"metadata":{"name":"a","uid":"n1","annotations":{"a":"hush"},"labels":{"zone":"1"}},"spec":{"providerID":"hush"},
			  "status":{"allocatable":{"cpu":"4","memory":"8Gi"},"images":[{"names":["hush"]}],"addresses":[{"address":"hush"}]}}`,
			`{"metadata":{"name":"b","uid":"n2"},"status":{"allocatable":{"cpu":"4","memory":"8Gi"}}}`,
		},
		"/apis/policy/v1/poddisruptionbudgets": {
			`{"metadata":{"name":"web","namespace":"shop","annotations":{"a":"hush"}},"spec":{"selector":{"matchLabels":{"app":"web"}},"minAvailable":1},
			  "status":{"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1}}`,
		},
		"/apis/apps/v1/replicasets": {
			`{"metadata":{"name":"web-abc","namespace":"shop","uid":"r1","labels":{"hush":"hush"},
			  "ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"d1","controller":true}]},
			  "spec":{"replicas":2,"template":{"spec":{"containers":[{"env":[{"name":"A","value":"hush"}]}]}}}}`,
		},
		"/api/v1/persistentvolumeclaims": {`{"metadata":{"name":"data","namespace":"shop"},"spec":{"storageClassName":"fast","volumeName":"pv-1"}}`},
		"/api/v1/persistentvolumes": {
			`{"metadata":{"name":"pv-1","labels":{"topology.kubernetes.io/zone":"1","team":"hush"}},"spec":{"csi":{"volumeHandle":"hush","nodeStageSecretRef":{"name":"hush"}},
			  "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["1"]}]}]}}}}`,
		},
		"/apis/metrics.k8s.io/v1beta1/nodes":    {`{"metadata":{"name":"a"},"timestamp":"2026-11-30T07:59:00Z","usage":{"cpu":"1500m","memory":"1Gi"}}`},
		"/apis/evenkeel.dev/v1alpha1/nodepaces": {`{"metadata":{"name":"a","annotations":{"a":"hush"}},"status":{"limit":3,"starting":1,"executable":{"path":"hush"}}}`},
	}}
	pods := []string{secretPod}
	for i := range 6 {
		pods = append(pods, fmt.Sprintf(`{"metadata":{"name":"p-%d","namespace":"shop","uid":"q%d"},"spec":{"nodeName":"b"}}`, i, i))
	}
	s.objects["/api/v1/pods"] = pods
	return s
}

func takenAt() time.Time { return time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC) }

// take takes a snapshot of the server into a file of that name and returns its path.
func take(t *testing.T, s *server, name string, o snapfile.TakeOptions) (string, []snapfile.Taken, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := snapfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	o.Now = takenAt
	taken, err := snapfile.Take(t.Context(), s, f, o)
	if err != nil {
		if err := f.Abort(); err != nil {
			t.Error(err)
		}
		return path, taken, err
	}
	if _, err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	return path, taken, nil
}

func mustRead(t *testing.T, path string) (*cluster.Snapshot, *snapfile.Report) {
	t.Helper()
	s, report, err := snapfile.Read([]string{path}, snapfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, report
}

func TestTakeReadsInPagesAndTheFileReadsBack(t *testing.T) {
	for _, name := range []string{"snapshot.json", "snapshot.json.gz"} {
		path, taken, err := take(t, testServer(), name, snapfile.TakeOptions{Limit: 3, Header: snapfile.Header{Evenkeel: "v1"}})
		if err != nil {
			t.Fatal(err)
		}
		s, report := mustRead(t, path)
		if len(s.Pods) != 7 || len(s.Nodes) != 2 || !s.TakenAt.Equal(takenAt()) || report.Time != snapfile.TimeFromHeader {
			t.Errorf("%s: %d pods, %d nodes, taken %s from %s", name, len(s.Pods), len(s.Nodes), s.TakenAt, report.Time)
		}
		for _, k := range taken {
			if k.Kind == "Pod" && (k.Objects != 7 || k.Pages != 3) {
				t.Errorf("%s: %+v, want 7 objects in 3 pages", name, k)
			}
		}
		if !s.Has.Volumes || !s.Has.PriorityClasses {
			t.Errorf("%s: kinds without objects were looked at, but: %+v", name, s.Has)
		}
	}
}

func TestTheSameClusterGivesTheSameBytes(t *testing.T) {
	for _, name := range []string{"a.json", "a.json.gz"} {
		var files [2][]byte
		for i := range files {
			path, _, err := take(t, testServer(), name, snapfile.TakeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if files[i], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		if string(files[0]) != string(files[1]) {
			t.Errorf("%s: two files differ", name)
		}
	}
}

func TestAListThatExpiresIsTakenBackAndBegunAgain(t *testing.T) {
	for _, name := range []string{"snapshot.json", "snapshot.json.gz"} {
		s := testServer()
		expired := 0
		s.fail = func(path, token string) error {
			if path == "/api/v1/pods" && token == "4" && expired < 2 {
				expired++
				s.objects[path] = append(s.objects[path], fmt.Sprintf(`{"metadata":{"name":"late-%d","namespace":"shop"}}`, expired))
				return apierrors.NewResourceExpired("the provided continue parameter is too old")
			}
			return nil
		}
		path, _, err := take(t, s, name, snapfile.TakeOptions{Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		snapshot, _ := mustRead(t, path) // fails when a pod is there twice
		if len(snapshot.Pods) != 9 {
			t.Errorf("%s: %d pods, want 7 and 2 that came meanwhile", name, len(snapshot.Pods))
		}
	}
}

func TestAListThatAlwaysExpiresFailsAndLeavesNoFile(t *testing.T) {
	s := testServer()
	s.fail = func(path, token string) error {
		if path == "/api/v1/pods" && token != "" {
			return apierrors.NewResourceExpired("too old")
		}
		return nil
	}
	path, _, err := take(t, s, "snapshot.json", snapfile.TakeOptions{Limit: 2})
	if err == nil || !strings.Contains(err.Error(), "list /api/v1/pods: expired 4 times") {
		t.Errorf("error %v", err)
	}
	left, readErr := os.ReadDir(filepath.Dir(path))
	if readErr != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, readErr)
	}
}

func TestKindsThatMayNotBeListedAreNotedUnlessTheyAreRequired(t *testing.T) {
	forbidden := func(denied string) func(path, token string) error {
		return func(path, _ string) error {
			if path == denied {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))
			}
			return nil
		}
	}
	s := testServer()
	s.fail = forbidden("/apis/policy/v1/poddisruptionbudgets")
	path, _, err := take(t, s, "snapshot.json", snapfile.TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, _ := mustRead(t, path)
	if snapshot.Has.Budgets || len(snapshot.Notes) != 1 || !strings.HasPrefix(snapshot.Notes[0], "PodDisruptionBudget was not listed") {
		t.Errorf("has %+v, notes %q", snapshot.Has, snapshot.Notes)
	}
	for _, required := range []string{"/api/v1/nodes", "/api/v1/pods"} {
		s.fail = forbidden(required)
		if _, _, err := take(t, s, "snapshot.json", snapfile.TakeOptions{}); err == nil || !strings.Contains(err.Error(), "list "+required) {
			t.Errorf("%s: error %v", required, err)
		}
	}
	s.fail = func(path, _ string) error {
		if path == "/apis/policy/v1/poddisruptionbudgets" {
			return apierrors.NewInternalError(errors.New("etcd is gone"))
		}
		return nil
	}
	if _, _, err := take(t, s, "snapshot.json", snapfile.TakeOptions{}); err == nil {
		t.Error("an optional kind that fails for no known reason was left out")
	}
}

func TestOnlyChosenKindsAreTaken(t *testing.T) {
	s := testServer()
	if _, _, err := take(t, s, "snapshot.json", snapfile.TakeOptions{Kinds: []string{"PodDisruptionBudget"}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"/apis/policy/v1/poddisruptionbudgets ", "/api/v1/nodes ", "/api/v1/pods ", "/api/v1/nodes ", "/api/v1/pods "}
	if diff := cmp.Diff(want, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if _, _, err := take(t, s, "snapshot.json", snapfile.TakeOptions{Kinds: []string{"Secret"}}); err == nil || !strings.Contains(err.Error(), "expected one of") {
		t.Errorf("error %v", err)
	}
}

func TestARedactedFileHoldsNoSecretsAndTheSameCluster(t *testing.T) {
	plain, _, err := take(t, testServer(), "snapshot.json", snapfile.TakeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	redacted, _, err := take(t, testServer(), "snapshot.json", snapfile.TakeOptions{Header: snapfile.Header{Redacted: true}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(redacted)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "hush") {
			t.Errorf("a secret: %s", line)
		}
	}
	if text, err := os.ReadFile(plain); err != nil || !strings.Contains(string(text), "hush") || strings.Contains(string(text), "managedFields") {
		t.Errorf("the file that is not redacted should have all but the managed fields (%v)", err)
	}
	a, _ := mustRead(t, plain)
	b, _ := mustRead(t, redacted)
	if diff := cmp.Diff(a, b, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("the cluster differs (-plain +redacted):\n%s", diff)
	}
	if a.Pods[len(a.Pods)-1].Annotations["evenkeel.dev/a"] != "kept" {
		t.Errorf("annotations %v", a.Pods[len(a.Pods)-1].Annotations)
	}
}

func TestAFileInUseStaysUntilTheNewOneIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := snapfile.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("before the end: %q", data)
	}
	if n, err := f.Commit(); err != nil || n != 3 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if data, _ := os.ReadFile(path); string(data) != "new" {
		t.Errorf("after: %q", data)
	}
	if err := f.Abort(); err != nil {
		t.Error(err)
	}
}

func TestDevicesAndDirectoriesAreNotReplaced(t *testing.T) {
	for _, path := range []string{os.DevNull, t.TempDir()} {
		if _, err := snapfile.Create(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

func TestObjectsThatAreNoneAreRefusedWithTheirField(t *testing.T) {
	var b strings.Builder
	w, err := snapfile.NewWriter(&b, snapfile.Header{TakenAt: takenAt(), Redacted: true})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Add("v1", "Pod", []byte(`{"metadata":{"name":"p","namespace":"x"},"spec":{"priority":"high"}}`))
	if want := `write snapshot: Pod x/p: spec.priority: "high": expected a whole number of at most 32 bits`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := w.Add("v1", "Secret", []byte(`{"metadata":{"name":"s"},"data":{"a":"hush"}}`)); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if !json.Valid([]byte(b.String())) || strings.Contains(b.String(), "hush") {
		t.Errorf("wrote %s", b.String())
	}
	if _, err := snapfile.NewWriter(&b, snapfile.Header{}); err == nil {
		t.Error("a snapshot without a time was begun")
	}
}

func TestARedactedHeaderSaysThatSomethingFailedAndNotWhatTheServerSaid(t *testing.T) {
	h := snapfile.Header{
		TakenAt: takenAt(), Redacted: true,
		Missing:       []snapfile.Missing{{Kind: "PriorityClass", Reason: "forbidden: hush"}},
		Queries:       []snapfile.Query{{Query: "load", Failed: "Prometheus https://hush: HTTP status 500: hush"}, {Query: "disk", Nodes: map[string]float64{"a": .5}}},
		UsageProblems: []string{"KubernetesMetrics: hush"},
	}
	var b strings.Builder
	w, err := snapfile.NewWriter(&b, h)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hush") {
		t.Errorf("a secret: %s", b.String())
	}
	for _, want := range []string{`"reason":"forbidden"`, `"query":"load","failed":"it failed`, `"query":"disk","nodes":{"a":0.5}`, `"usageProblems":["not everything`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %s: %s", want, b.String())
		}
	}
	if !strings.Contains(h.Queries[0].Failed, "hush") {
		t.Error("the caller's header was changed")
	}
}
