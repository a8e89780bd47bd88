package podstate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/podstate"
)

func pod(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}}
	for _, change := range changes {
		change(p)
	}
	return p
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

func priority(value int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &value }
}

func owners(refs ...metav1.OwnerReference) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences = refs }
}

func TestClassify(t *testing.T) {
	yes := true
	rules := podstate.Rules{ExcludeNamespaces: []string{"kube-system"}}
	for _, test := range []struct {
		name, namespace string
		uid             string
		pod             *corev1.Pod
		want            pace.Info
	}{
		{name: "ordinary", pod: pod(priority(7)), want: pace.Info{Class: pace.ClassOrdinary, Priority: 7}},
		{name: "not in the cache", want: pace.Info{Class: pace.ClassUnknown}},
		{name: "a namesake", uid: "u2", pod: pod(), want: pace.Info{Class: pace.ClassUnknown}},
		{
			name: "excluded namespace, even unknown", namespace: "kube-system",
			want: pace.Info{Class: pace.ClassUngated, Why: "excluded namespace"},
		},
		{
			name: "skip", pod: pod(annotated("evenkeel.dev/pace", "skip")),
			want: pace.Info{Class: pace.ClassUngated, Why: "annotation evenkeel.dev/pace"},
		},
		{
			name: "any other value does not skip", pod: pod(annotated("evenkeel.dev/pace", "false")),
			want: pace.Info{Class: pace.ClassOrdinary},
		},
		{
			name: "no annotation overrides an excluded namespace", namespace: "kube-system",
			pod:  pod(annotated("evenkeel.dev/pace", "false")),
			want: pace.Info{Class: pace.ClassUngated, Why: "excluded namespace"},
		},
		{
			name: "static pod, by its mirror", uid: "hash", pod: pod(annotated(corev1.MirrorPodAnnotationKey, "hash")),
			want: pace.Info{Class: pace.ClassUrgent, Why: "static pod"},
		},
		{
			name: "host network", pod: pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
			want: pace.Info{Class: pace.ClassUrgent, Why: "host network"},
		},
		{name: "HostProcess", pod: pod(func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{
				WindowsOptions: &corev1.WindowsSecurityContextOptions{HostProcess: &yes},
			}
		}), want: pace.Info{Class: pace.ClassUrgent, Why: "host network"}},
		{
			name: "DaemonSet, not the first owner", pod: pod(owners(
				metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Fleet"},
				metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet"})),
			want: pace.Info{Class: pace.ClassUrgent, Why: "DaemonSet"},
		},
		{
			name: "somebody else's DaemonSet", pod: pod(owners(
				metav1.OwnerReference{APIVersion: "apps.example.org/v1", Kind: "DaemonSet"})),
			want: pace.Info{Class: pace.ClassOrdinary},
		},
		{
			name: "node-critical by class", pod: pod(func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }),
			want: pace.Info{Class: pace.ClassUrgent, Why: "node-critical"},
		},
		{
			name: "node-critical by value", pod: pod(priority(2000001000)),
			want: pace.Info{Class: pace.ClassUrgent, Why: "node-critical", Priority: 2000001000},
		},
		{
			name: "cluster-critical waits, first", pod: pod(priority(2000000000)),
			want: pace.Info{Class: pace.ClassOrdinary, Priority: 2000000000},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			namespace, uid := "shop", "u1"
			if test.namespace != "" {
				namespace = test.namespace
			}
			if test.uid != "" {
				uid = test.uid
			}
			if diff := cmp.Diff(test.want, rules.Classify(namespace, uid, test.pod)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRulesNameEveryProblem(t *testing.T) {
	if problems := (podstate.Rules{}).Validate(); problems != nil {
		t.Errorf("the defaults: %v", problems)
	}
	got := podstate.Rules{
		StartedWhen: "ready", Settle: -1, PullTimeout: 1, InitTimeout: 1 << 62,
		ExcludeNamespaces: []string{"a", ""},
	}.Validate()
	want := pace.Problems{
		{Path: "startedWhen", Value: "ready", Want: "Started, Running or Ready"},
		{Path: "settle", Value: "-1ns", Want: "1ms to 10m0s"},
		{Path: "pullTimeout", Value: "1ns", Want: "1s to 1h0m0s"},
		{Path: "initTimeout", Value: "1281023h53m38.427387904s", Want: "1s to 1h0m0s"},
		{Path: "excludeNamespaces[1]", Value: `""`, Want: "a namespace"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
