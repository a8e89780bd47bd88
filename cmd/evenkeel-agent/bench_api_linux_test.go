package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube/stub"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

// BenchmarkAgentWithTheAPI measures what an agent process holds in memory with
// everything on: it watches 991 pods of their real size, its node and a
// PacePolicy, writes its NodePace, and tells an Event of each of the 990 pods
// that wait, connected, for longer than maxWait. Before that it is idle, which
// should cost next to no processor time.
func BenchmarkAgentWithTheAPI(b *testing.B) {
	const waiters = 990
	for b.Loop() {
		api := newBenchAPI(waiters + 1)
		server := httptest.NewServer(api)
		a := startProcess(b, "pace: {attempt: 120s, maxWait: 10s, refusalsPerSecond: 1000}\n",
			"--kubeconfig", kubeconfig(b, server.URL), "--node-name", "n1")
		api.eventually(b, "the node's NodePace says that the policy holds", func() bool {
			return api.pace.Status.Policy == "one" && api.pace.Status.Limit == 1
		})
		used := a.processorTime(b)
		time.Sleep(10 * time.Second) // idle, and the end of the agent's recovery
		idle := a.processorTime(b) - used
		alone := a.memory(b)

		holder := a.join(b, "pod-0")
		if !granted(b, holder) || holder.Ack() != nil {
			b.Fatal("the first was not let through")
		}
		for n := range waiters {
			c := a.join(b, fmt.Sprint("pod-", n+1))
			if m, err := c.Next(time.Now().Add(10 * time.Second)); err != nil || m.Type != paceapi.TypeWaiting {
				b.Fatal(m, err)
			}
		}
		worst := a.memory(b)
		for range 40 {
			time.Sleep(500 * time.Millisecond)
			worst = max(worst, a.memory(b))
		}
		api.eventually(b, "the NodePace says who waits", func() bool { return api.pace.Status.Waiting == waiters })
		api.eventually(b, "a pod is told of by an Event", func() bool { return api.events > 0 })

		b.ReportMetric(float64(worst)/1024, "MiB-resident")
		b.ReportMetric(float64(a.peak(b))/1024, "MiB-peak")
		b.ReportMetric(float64(alone)/1024, "MiB-idle")
		b.ReportMetric(float64(idle), "ms-CPU/s-idle") // hundredths of a second in ten seconds
		api.mu.Lock()
		b.ReportMetric(float64(api.events), "events")
		api.mu.Unlock()
		_ = a.cmd.Process.Kill()
		server.CloseClientConnections()
		server.Close()
	}
}

// join is an executable's first line.
func (p *process) join(tb testing.TB, pod string) *paceapi.Client {
	tb.Helper()
	c := paceapi.NewClient(p.dial(tb))
	err := c.Request(paceapi.Request{
		UID: string(uidOf(pod)), Namespace: "shop", Name: pod, Container: strings.Repeat("c", 64), IfName: "eth0",
		NetNS: "/var/run/netns/cni-" + string(uidOf(pod)), Remaining: paceapi.Millis(2 * time.Minute),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func kubeconfig(tb testing.TB, url string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"x","contexts":[{"name":"x","context":{"cluster":"x","user":"x"}}],
		"users":[{"name":"x","user":{}}],"clusters":[{"name":"x","cluster":{"server":%q}}]}`, url)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// benchAPI is an API server with pods, a node, a policy and a NodePace.
type benchAPI struct {
	core   *stub.Server
	policy v1alpha1.PacePolicy

	mu     sync.Mutex
	pace   *v1alpha1.NodePace // nil before it is created
	events int
}

func newBenchAPI(pods int) *benchAPI {
	var list stub.Slice
	for i := range pods {
		list = append(list, realPod(fmt.Sprint("pod-", i)))
	}
	return &benchAPI{
		core: stub.New(map[string]stub.Objects{
			"pods":  list,
			"nodes": stub.Slice{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "node-1", ResourceVersion: "1"}}},
		}),
		policy: v1alpha1.PacePolicy{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "PacePolicy"},
			ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "policy-1", Generation: 1, ResourceVersion: "1"},
			Spec:       v1alpha1.PacePolicySpec{Pace: &v1alpha1.Pace{Limits: &v1alpha1.Limits{MaxConcurrent: 1}}},
		},
		pace: &v1alpha1.NodePace{},
	}
}

func (s *benchAPI) eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		s.mu.Lock()
		is := ok()
		s.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("never happened: %s: %+v, %d events", what, s.pace, s.events)
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *benchAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ours := strings.CutPrefix(r.URL.Path, "/apis/"+v1alpha1.GroupVersion().String()+"/")
	switch resource, _, _ := strings.Cut(path, "/"); {
	case !ours && strings.HasSuffix(r.URL.Path, "/nodes/n1"):
		answer(w, http.StatusOK, &corev1.Node{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "node-1"},
		})
	case !ours:
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events") {
			s.mu.Lock()
			s.events++
			s.mu.Unlock()
		}
		s.core.ServeHTTP(w, r)
	case resource == v1alpha1.PacePolicies:
		s.servePolicies(w, r)
	case resource == v1alpha1.NodePaces:
		s.servePace(w, r)
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, code int, obj any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(obj)
}

// servePolicies lists the one policy, or streams it and then nothing more.
func (s *benchAPI) servePolicies(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "true" {
		answer(w, http.StatusOK, &v1alpha1.PacePolicyList{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "PacePolicyList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []v1alpha1.PacePolicy{s.policy},
		})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		end := v1alpha1.PacePolicy{TypeMeta: s.policy.TypeMeta, ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "1", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": s.policy})
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": end})
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// servePace keeps the node's NodePace.
func (s *benchAPI) servePace(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.pace
	switch {
	case r.Method == http.MethodPost:
		if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		next.ResourceVersion = "1"
	case s.pace.Name == "":
		status := metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		}
		answer(w, http.StatusNotFound, status)
		return
	case r.Method == http.MethodPatch:
		if err := applyPatch(&next, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	next.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion().String(), Kind: "NodePace"}
	s.pace = &next
	answer(w, http.StatusOK, s.pace)
}

func applyPatch(n *v1alpha1.NodePace, r *http.Request) error {
	var patch jsonpatch.Patch
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		return err
	}
	before, err := json.Marshal(n)
	if err != nil {
		return err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return err
	}
	*n = v1alpha1.NodePace{}
	return json.Unmarshal(after, n)
}

func uidOf(pod string) types.UID {
	return types.UID(fmt.Sprintf("%08x-1111-4222-8333-%s", len(pod), strings.Repeat("0", 12-len(pod))+pod))
}

// realPod is a pod as large as they are: two containers with environment,
// volumes, mounts, and the fields of three managers, about 9 kB as JSON.
func realPod(name string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: uidOf(name), ResourceVersion: "1",
			Labels: map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop", "pod-template-hash": "7c9f8b6d5"},
			Annotations: map[string]string{
				"kubectl.kubernetes.io/restartedAt": "2026-11-01T00:00:00Z", "prometheus.io/scrape": "true",
				"cni.projectcalico.org/containerID": strings.Repeat("0123456789abcdef", 4),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-7c9f8b6d5", UID: "owner-" + uidOf(name)}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n1", ServiceAccountName: "default",
			Volumes: slices.Repeat([]corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "config"}},
			}}}, 4),
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"},
			{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		}},
	}
	for _, manager := range []string{"kube-controller-manager", "kube-scheduler", "kubelet"} {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{` + strings.Repeat(`"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{}}},`, 12) + `"f:phase":{}}}`),
		})
	}
	for _, c := range []string{"app", "proxy"} {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: c, Image: "registry.example.org/shop/" + c + ":v1.2.3", ReadinessProbe: &corev1.Probe{PeriodSeconds: 10},
			Env:          slices.Repeat([]corev1.EnvVar{{Name: "SETTING_OF_THE_SHOP", Value: "a value of middling length, as they are"}}, 20),
			VolumeMounts: slices.Repeat([]corev1.VolumeMount{{Name: "config", MountPath: "/etc/shop/config", ReadOnly: true}}, 4),
		})
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c, Image: "registry.example.org/shop/" + c + ":v1.2.3",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		})
	}
	return p
}
