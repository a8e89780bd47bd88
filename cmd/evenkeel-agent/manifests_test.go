package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/agentconfig"
)

// documents reads the YAML documents of a manifest, strictly, by their kind.
func documents(t *testing.T, path string, kinds map[string]func() any) []any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		var head struct{ Kind string }
		if err := yaml.Unmarshal([]byte(text), &head); err != nil {
			t.Fatal(err)
		}
		if kinds[head.Kind] == nil {
			t.Fatalf("%s: unexpected kind %q", path, head.Kind)
		}
		object := kinds[head.Kind]()
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, object)
	}
	return all
}

func TestManifestsAreWhatTheAgentExpects(t *testing.T) {
	for _, goos := range []string{"linux", "windows"} {
		dir := filepath.Join("..", "..", "deploy", "kustomize", "agent-"+goos)
		config, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := agentconfig.Parse(config, goos); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		ds := documents(t, filepath.Join(dir, "daemonset.yaml"), map[string]func() any{
			"DaemonSet": func() any { return &appsv1.DaemonSet{} },
		})[0].(*appsv1.DaemonSet)
		checkDaemonSet(t, ds, goos)
		for _, o := range documents(t, filepath.Join(dir, "rbac.yaml"), map[string]func() any{
			"ServiceAccount":     func() any { return &corev1.ServiceAccount{} },
			"ClusterRole":        func() any { return &rbacv1.ClusterRole{} },
			"ClusterRoleBinding": func() any { return &rbacv1.ClusterRoleBinding{} },
		}) {
			if role, ok := o.(*rbacv1.ClusterRole); ok {
				checkRole(t, role)
			}
		}
	}
}

func checkDaemonSet(t *testing.T, ds *appsv1.DaemonSet, goos string) {
	t.Helper()
	pod := ds.Spec.Template.Spec
	if !pod.HostNetwork || pod.NodeSelector["kubernetes.io/os"] != goos {
		t.Errorf("%s: the agent must not be gated by itself, and only run on %s nodes", ds.Name, goos)
	}
	if surge := ds.Spec.UpdateStrategy.RollingUpdate.MaxSurge; surge.IntValue() != 0 {
		t.Errorf("%s: maxSurge %s: two agents would want one socket", ds.Name, surge)
	}
	if goos == "windows" && !*pod.SecurityContext.WindowsOptions.HostProcess {
		t.Errorf("%s: not a HostProcess pod", ds.Name)
	}
	for k, v := range ds.Spec.Selector.MatchLabels {
		if ds.Spec.Template.Labels[k] != v {
			t.Errorf("%s: selector %s=%s does not match the template", ds.Name, k, v)
		}
	}
}

// checkRole asserts the least that the agent needs and nothing more.
func checkRole(t *testing.T, role *rbacv1.ClusterRole) {
	t.Helper()
	allowed := map[string]string{
		"pods": "get list watch", "events": "create patch", "nodes": "get list watch",
		"pacepolicies": "get list watch", "nodepaces": "get create", "nodepaces/status": "patch",
	}
	granted := map[string][]string{}
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			granted[resource] = append(granted[resource], rule.Verbs...)
		}
	}
	for resource, verbs := range granted {
		if got := strings.Join(verbs, " "); got != allowed[resource] {
			t.Errorf("%s: %s may be %q, want %q", role.Name, resource, got, allowed[resource])
		}
	}
}
