package manifests

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

const (
	namespace = "kube-system"
	account   = "descheduler-sa"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}

// overlay is one way to run the rebalancer.
type overlay struct {
	name string
	// template finds the pod template of the applied workload.
	template func(*testing.T, *harness.Cluster) corev1.PodTemplateSpec
}

func overlays() []overlay {
	return []overlay{{
		name: "cronjob",
		template: func(t *testing.T, cluster *harness.Cluster) corev1.PodTemplateSpec {
			return cronJob(t, cluster).Spec.JobTemplate.Spec.Template
		},
	}, {
		name: "job",
		template: func(t *testing.T, cluster *harness.Cluster) corev1.PodTemplateSpec {
			job, err := cluster.Client.BatchV1().Jobs(namespace).Get(t.Context(), "descheduler-job", metav1.GetOptions{})
			fatal(t, err)
			return job.Spec.Template
		},
	}, {
		name: "deployment",
		template: func(t *testing.T, cluster *harness.Cluster) corev1.PodTemplateSpec {
			deployment, err := cluster.Client.AppsV1().Deployments(namespace).Get(t.Context(), "descheduler", metav1.GetOptions{})
			fatal(t, err)
			return deployment.Spec.Template
		},
	}}
}

// apply does what a user does, and undoes it after the test.
func (o overlay) apply(t *testing.T) *harness.Cluster {
	t.Helper()
	cluster := harness.ControlPlane(t)
	folder := "deploy/kustomize/" + o.name
	cluster.Kubectl(t, "apply", "-k", folder)
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "-k", folder, "--wait=true") })
	return cluster
}

func cronJob(t *testing.T, cluster *harness.Cluster) *batchv1.CronJob {
	t.Helper()
	found, err := cluster.Client.BatchV1().CronJobs(namespace).Get(t.Context(), "descheduler-cronjob", metav1.GetOptions{})
	fatal(t, err)
	return found
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCronJobRunsEveryFiveMinutesAndNeverRepeatsAFailedRun(t *testing.T) {
	found := cronJob(t, overlays()[0].apply(t))
	if found.Spec.Schedule != "*/5 * * * *" {
		t.Errorf("schedule: %q", found.Spec.Schedule)
	}
	if found.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		t.Errorf("concurrencyPolicy: %s", found.Spec.ConcurrencyPolicy)
	}
	job := found.Spec.JobTemplate.Spec
	if job.BackoffLimit == nil || *job.BackoffLimit != 0 {
		t.Error("backoffLimit is not 0: a failed run would be repeated at once, and evict again")
	}
	if job.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("restartPolicy: %s", job.Template.Spec.RestartPolicy)
	}
}

func TestDeploymentIsProbedAndElectsALeader(t *testing.T) {
	deployment := overlays()[2]
	container := deployment.template(t, deployment.apply(t)).Spec.Containers[0]
	probe := container.LivenessProbe
	if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Scheme != corev1.URISchemeHTTPS || probe.HTTPGet.Path != "/healthz" {
		t.Errorf("liveness probe: %+v, want GET https /healthz", probe)
	}
	if !slices.Contains(container.Args, "--leader-elect=true") {
		t.Error("no leader election: two replicas, or the two pods of a rolling update, would both evict")
	}
}

// TestPodTemplatesAreWhatTheDeschedulersUsersExpect holds what a drop-in
// depends on in every overlay.
func TestPodTemplatesAreWhatTheDeschedulersUsersExpect(t *testing.T) {
	for _, overlay := range overlays() {
		t.Run(overlay.name, func(t *testing.T) {
			cluster := overlay.apply(t)
			spec := overlay.template(t, cluster).Spec
			container := spec.Containers[0]
			if spec.ServiceAccountName != account || spec.PriorityClassName != "system-cluster-critical" {
				t.Errorf("account %q, priority class %q", spec.ServiceAccountName, spec.PriorityClassName)
			}
			if !slices.Equal(container.Command, []string{"/bin/descheduler"}) || !slices.Contains(container.Args, "--policy-config-file=/policy-dir/policy.yaml") {
				t.Errorf("command %v, arguments %v", container.Command, container.Args)
			}
			if spec.NodeSelector[corev1.LabelOSStable] != "linux" {
				t.Error("the pod could land on a Windows node")
			}
			if !strings.Contains(container.Image, ":v") {
				t.Errorf("image %q is not pinned to a version", container.Image)
			}
			if len(container.Resources.Requests) < 2 {
				t.Errorf("requests: %v", container.Resources.Requests)
			}
			if context := container.SecurityContext; context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
				t.Error("the root filesystem is writable")
			}
			configMap, err := cluster.Client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "descheduler-policy-configmap", metav1.GetOptions{})
			fatal(t, err)
			if !strings.Contains(configMap.Data["policy.yaml"], "kind: DeschedulerPolicy") {
				t.Errorf("policy.yaml in the ConfigMap: %q", configMap.Data["policy.yaml"])
			}
		})
	}
}

// TestPodTemplatesPassTheRestrictedPodSecurityStandard creates each overlay's
// pod in a namespace that enforces it, and one that does not pass, to see that
// the namespace does enforce.
func TestPodTemplatesPassTheRestrictedPodSecurityStandard(t *testing.T) {
	for _, overlay := range overlays() {
		t.Run(overlay.name, func(t *testing.T) {
			cluster := overlay.apply(t)
			restricted := cluster.Namespace(t)
			cluster.Kubectl(t, "label", "namespace", restricted, "pod-security.kubernetes.io/enforce=restricted")
			cluster.Kubectl(t, "create", "serviceaccount", account, "-n", restricted)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: restricted}, Spec: overlay.template(t, cluster).Spec}
			dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
			if _, err := cluster.Client.CoreV1().Pods(restricted).Create(t.Context(), pod, dryRun); err != nil {
				t.Errorf("the pod is refused: %v", err)
			}
			pod.Spec.SecurityContext.RunAsNonRoot = new(bool)
			if _, err := cluster.Client.CoreV1().Pods(restricted).Create(t.Context(), pod, dryRun); err == nil || !strings.Contains(err.Error(), "runAsNonRoot") {
				t.Errorf("a pod that may run as root: got %v, want a refusal", err)
			}
		})
	}
}

// TestOverlaysTakeTheDeschedulersPlace applies over workloads with the names
// and selectors of the descheduler's own manifests: nothing may be immutable.
func TestOverlaysTakeTheDeschedulersPlace(t *testing.T) {
	cluster := harness.ControlPlane(t)
	cluster.KubectlInput(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: descheduler, namespace: kube-system, labels: {app: descheduler}}
spec:
  selector: {matchLabels: {app: descheduler}}
  template:
    metadata: {labels: {app: descheduler}}
    spec: {containers: [{name: descheduler, image: example.invalid/descheduler:1}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: descheduler-policy-configmap, namespace: kube-system}
data: {policy.yaml: "kind: DeschedulerPolicy"}
`, "apply", "-f", "-")
	overlays()[2].apply(t)
}

func TestPrometheusTokenIsReadOnlyByOptingIn(t *testing.T) {
	cluster := harness.ControlPlane(t)
	folder := t.TempDir()
	root := harness.Root(t)
	relative := strings.Repeat("../", strings.Count(folder, "/")) + strings.TrimPrefix(root, "/") + "/deploy/kustomize/"
	kustomization := "resources: [" + relative + "cronjob]\ncomponents: [" + relative + "components/prometheus-token]\n"
	fatal(t, os.WriteFile(folder+"/kustomization.yaml", []byte(kustomization), 0o644))
	cluster.Kubectl(t, "apply", "-k", folder)
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "-k", folder) })
	client := cluster.ClientFor(t, namespace, account)
	checkAccess(t, client, "get", "", "secrets", "prometheus-token", true)
	checkAccess(t, client, "get", "", "secrets", "another", false)
	checkAccess(t, client, "list", "", "secrets", "", false)
}
