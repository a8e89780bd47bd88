package harness_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/test/harness"
)

func TestPodProcessSeesWhatItsManifestSays(t *testing.T) {
	cluster := harness.ControlPlane(t)
	namespace := cluster.Namespace(t)
	cluster.Kubectl(t, "create", "serviceaccount", "mover", "-n", namespace)
	_, err := cluster.Client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "policy"}, Data: map[string]string{"policy.yaml": "kind: DeschedulerPolicy"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	user := int64(65532)
	spec := corev1.PodSpec{
		ServiceAccountName: "mover",
		SecurityContext:    &corev1.PodSecurityContext{RunAsUser: &user, RunAsGroup: &user},
		Volumes: []corev1.Volume{
			{Name: "policy", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "policy"}}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		Containers: []corev1.Container{{
			Name: "main", Command: []string{"/bin/inpod"}, Args: []string{"--in=$(NAMESPACE)"},
			Env: []corev1.EnvVar{{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "policy", MountPath: "/policy-dir"}, {Name: "scratch", MountPath: "/scratch"},
			},
		}},
	}
	output, err := cluster.Pod(t, namespace, spec, map[string]string{"/bin/inpod": harness.Build(t, "./test/harness/testdata/inpod")}).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	want := strings.Join([]string{
		"args --in=" + namespace,
		"user 65532 65532",
		"policy kind: DeschedulerPolicy <nil>",
		"root writable false",
		"emptyDir writable true",
		"in cluster as system:serviceaccount:" + namespace + ":mover",
		"",
	}, "\n")
	if diff := cmp.Diff(want, string(output)); diff != "" {
		t.Errorf("what the process saw (-want +got):\n%s", diff)
	}
}
