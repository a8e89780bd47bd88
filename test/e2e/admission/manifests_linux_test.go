package admission_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/admission"
	"evenkeel.dev/evenkeel/test/harness"
)

// TestServiceAccountsMayDoTheirWorkAndNoMore asks with the accounts' own tokens. That what is granted is enough, the other tests show: they
// run the programs with nothing else.
func TestServiceAccountsMayDoTheirWorkAndNoMore(t *testing.T) {
	cluster := harness.ControlPlane(t)
	applyOverlay(t, cluster, "webhook")
	applyOverlay(t, cluster, "controller")
	const registration = "admissionregistration.k8s.io"
	for account, questions := range map[string][]struct {
		verb, group, resource, name string
		allowed                     bool
	}{
		"evenkeel-webhook": {
			{"create", "", "secrets", "", true},
			{"get", "", "secrets", "evenkeel-webhook", true},
			{"update", "", "secrets", "evenkeel-webhook", true},
			{"get", "", "secrets", "another", false},
			{"update", "", "secrets", "another", false},
			{"list", "", "secrets", "", false},
			{"delete", "", "secrets", "evenkeel-webhook", false},
			{"patch", registration, "mutatingwebhookconfigurations", "evenkeel-bootstrap-taint", true},
			{"patch", registration, "mutatingwebhookconfigurations", "another", false},
			{"create", registration, "mutatingwebhookconfigurations", "", false},
			{"get", "", "nodes", "", false},
			{"patch", "", "nodes", "", false},
			{"get", "", "pods", "", false},
		},
		"evenkeel-controller": {
			{"watch", "", "nodes", "", true},
			{"patch", "", "nodes", "", true},
			{"create", "", "events", "", true},
			{"update", "coordination.k8s.io", "leases", "evenkeel-controller", true},
			{"update", "coordination.k8s.io", "leases", "another", false},
			{"update", "", "nodes", "", false},
			{"delete", "", "nodes", "", false},
			{"patch", "", "nodes/status", "", false},
			{"get", "", "pods", "", false},
			{"get", "", "secrets", "", false},
		},
	} {
		client := cluster.ClientFor(t, "kube-system", account)
		for _, q := range questions {
			resource, subresource, _ := strings.Cut(q.resource, "/")
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: "kube-system", Verb: q.verb, Group: q.group, Resource: resource, Subresource: subresource, Name: q.name,
				}},
			}, metav1.CreateOptions{})
			must(t, err)
			if answer.Status.Allowed != q.allowed {
				t.Errorf("%s: %s %s %s: %v, want %v", account, q.verb, q.resource, q.name, answer.Status.Allowed, q.allowed)
			}
		}
	}
}

func deployments(t *testing.T, cluster *harness.Cluster) []*appsv1.Deployment {
	t.Helper()
	applyOverlay(t, cluster, "webhook")
	applyOverlay(t, cluster, "controller")
	var found []*appsv1.Deployment
	for _, name := range []string{"evenkeel-webhook", "evenkeel-controller"} {
		d, err := cluster.Client.AppsV1().Deployments("kube-system").Get(t.Context(), name, metav1.GetOptions{})
		must(t, err)
		found = append(found, d)
	}
	return found
}

func TestPodsPassTheRestrictedPodSecurityStandard(t *testing.T) {
	cluster := harness.ControlPlane(t)
	restricted := cluster.Namespace(t)
	cluster.Kubectl(t, "label", "namespace", restricted, "pod-security.kubernetes.io/enforce=restricted")
	for _, d := range deployments(t, cluster) {
		spec := d.Spec.Template.Spec
		spec.ServiceAccountName, spec.DeprecatedServiceAccount = "default", "default"
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: restricted}, Spec: spec}
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		if _, err := cluster.Client.CoreV1().Pods(restricted).Create(t.Context(), pod, dry); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
		pod.Spec.SecurityContext.RunAsNonRoot = new(bool)
		if _, err := cluster.Client.CoreV1().Pods(restricted).Create(t.Context(), pod, dry); err == nil {
			t.Errorf("%s: the namespace does not enforce the standard", d.Name)
		}
	}
}

func TestTwoReplicasAreSpreadOverLinuxNodesAndKeptApartFromTheTaint(t *testing.T) {
	cluster := harness.ControlPlane(t)
	for _, d := range deployments(t, cluster) {
		spec := d.Spec.Template.Spec
		ours := corev1.Taint{Key: admission.DefaultKey, Effect: corev1.TaintEffectNoSchedule}
		tolerates := slices.ContainsFunc(spec.Tolerations, func(tol corev1.Toleration) bool {
			return tol.Key == ours.Key && tol.Operator == corev1.TolerationOpExists && tol.Effect == ""
		})
		if *d.Spec.Replicas != 2 || !tolerates || len(spec.TopologySpreadConstraints) == 0 || spec.NodeSelector[corev1.LabelOSStable] != "linux" {
			t.Errorf("%s: %d replicas, tolerations %v, spread %v, nodes %v", d.Name, *d.Spec.Replicas, spec.Tolerations, spec.TopologySpreadConstraints, spec.NodeSelector)
		}
		if !slices.Contains(spec.Containers[0].Args, "--taint="+admission.Default().String()) {
			t.Errorf("%s: arguments %v", d.Name, spec.Containers[0].Args)
		}
	}
	budget, err := cluster.Client.PolicyV1().PodDisruptionBudgets("kube-system").Get(t.Context(), "evenkeel-webhook", metav1.GetOptions{})
	must(t, err)
	if budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("budget %v", budget.Spec)
	}
}

// TestConfigurationsFailOpen holds what keeps a dead webhook from keeping nodes away.
func TestConfigurationsFailOpen(t *testing.T) {
	for _, overlay := range []string{"webhook", "worker"} {
		t.Run(overlay, func(t *testing.T) {
			cluster := harness.ControlPlane(t)
			applyOverlay(t, cluster, overlay)
			found, err := cluster.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "evenkeel-bootstrap-taint", metav1.GetOptions{})
			must(t, err)
			hook := found.Webhooks[0]
			rule := hook.Rules[0]
			if len(found.Webhooks) != 1 || len(hook.Rules) != 1 || *hook.FailurePolicy != "Ignore" || *hook.TimeoutSeconds != 2 || *hook.SideEffects != "None" ||
				*hook.ReinvocationPolicy != "Never" || *hook.MatchPolicy != "Equivalent" || hook.ObjectSelector.MatchLabels[corev1.LabelOSStable] != "windows" ||
				!slices.Equal(rule.Resources, []string{"nodes"}) || len(rule.Operations) != 1 || rule.Operations[0] != "CREATE" ||
				found.Annotations["admissions.enforcer/disabled"] != "true" {
				t.Errorf("configuration %+v", found)
			}
		})
	}
}
