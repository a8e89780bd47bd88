package pacepolicy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/pacepolicy"
)

// world is what a scenario file has said so far.
type world struct {
	policies []v1alpha1.PacePolicy
	nodes    []pacepolicy.Node
	file     pacepolicy.Settings
	now      time.Time
}

func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := &world{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "policy":
				return w.policy(t, d)
			case "nodes":
				return w.setNodes(t, d.Input)
			case "file":
				w.file = pacepolicy.Settings{}
				decode(t, d.Input, &w.file)
				return ""
			case "choose":
				return w.choose(t)
			case "survey":
				return w.survey()
			case "merge":
				return w.merge(t, d.Input)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// policy adds or replaces a policy; its priority is an argument and its selector, if any, the input.
func (w *world) policy(t *testing.T, d *datadriven.TestData) string {
	p := v1alpha1.PacePolicy{ObjectMeta: metav1.ObjectMeta{Name: d.CmdArgs[0].Key, Generation: 1}}
	for _, arg := range d.CmdArgs[1:] {
		if arg.Key == "priority" {
			decode(t, arg.Vals[0], &p.Spec.Priority)
		}
	}
	if d.Input != "" {
		p.Spec.NodeSelector = &v1alpha1.NodeSelector{}
		decode(t, d.Input, p.Spec.NodeSelector)
	}
	w.policies = slices.DeleteFunc(w.policies, func(other v1alpha1.PacePolicy) bool { return other.Name == p.Name })
	if !d.HasArg("gone") {
		w.policies = append(w.policies, p)
	}
	return ""
}

func (w *world) setNodes(t *testing.T, input string) string {
	w.nodes = nil
	for _, line := range strings.Split(input, "\n") {
		fields := strings.Fields(line)
		node := pacepolicy.Node{Name: fields[0], Labels: map[string]string{}}
		for _, label := range fields[1:] {
			key, value, _ := strings.Cut(label, "=")
			node.Labels[key] = value
		}
		w.nodes = append(w.nodes, node)
	}
	return ""
}

func (w *world) choose(t *testing.T) string {
	var b strings.Builder
	for _, node := range w.nodes {
		choice := pacepolicy.Choose(w.policies, node.Labels)
		shuffled := slices.Clone(w.policies)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(said(choice), said(pacepolicy.Choose(shuffled, node.Labels))); diff != "" {
			t.Errorf("the order of the policies decides: %s", diff)
		}
		fmt.Fprintf(&b, "%s: %s\n", node.Name, said(choice))
	}
	return b.String()
}

func said(c pacepolicy.Choice) string {
	text := "the file alone"
	if c.Policy != nil {
		text = c.Policy.Name
	}
	if len(c.Rivals) > 0 {
		text += ", before " + strings.Join(c.Rivals, ", ")
	}
	for _, err := range c.Unusable {
		text += "; " + err.Error()
	}
	return text
}

func (w *world) survey() string {
	standings := pacepolicy.Survey(w.policies, w.nodes)
	var b strings.Builder
	for i := range w.policies {
		p := &w.policies[i]
		p.Status = standings[p.Name].Status(p, w.now)
		fmt.Fprintf(&b, "%s: selects %d, holds on %d\n", p.Name, p.Status.SelectedNodes, p.Status.HeldNodes)
		for _, c := range p.Status.Conditions {
			fmt.Fprintf(&b, "  %s=%s since %s %s: %s\n", c.Type, c.Status, c.LastTransitionTime.UTC().Format("15:04"), c.Reason, c.Message)
		}
	}
	w.now = w.now.Add(time.Minute)
	return b.String()
}

func (w *world) merge(t *testing.T, input string) string {
	var spec v1alpha1.PacePolicySpec
	decode(t, input, &spec)
	before, err := yaml.Marshal(w.file)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := pacepolicy.Merge(spec, w.file)
	if err != nil {
		return strings.ReplaceAll(err.Error(), "; ", "\n") + "\n"
	}
	after, _ := yaml.Marshal(w.file)
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the file's settings were changed: %s", diff)
	}
	text, err := yaml.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	if merged.Pods.ExcludeNamespaces != nil && len(merged.Pods.ExcludeNamespaces) == 0 {
		text = append(text, "# no namespace is excluded\n"...)
	}
	return string(text)
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
}
