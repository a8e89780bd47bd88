package snapfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/snapfile"
)

// readText reads a snapshot from a text.
func readText(t *testing.T, text string) (*cluster.Snapshot, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := snapfile.Read([]string{path}, snapfile.Options{})
	return s, err
}

const twoDocuments = `{apiVersion: v1, kind: Node, metadata: {name: one}}
---
`

func podWith(spec string) string {
	return twoDocuments + "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: x}, spec: {" + spec + "}}"
}

// TestConstraintsThatNoAPIServerTakesAreRefused names the field, the value and what was expected.
func TestConstraintsThatNoAPIServerTakesAreRefused(t *testing.T) {
	const (
		node      = "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [%s]}}}"
		nodeAt    = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		nodeWants = "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{%s}]}}"
		wantsAt   = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
		apart     = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{%s}]}}"
		apartAt   = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
		near      = "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{%s}]}}"
		nearAt    = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
		spread    = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, %s}]"
		spreadAt  = "spec.topologySpreadConstraints[0]"
		expecting = "tolerations: [{%s}]"
		tolerAt   = "spec.tolerations[0]"
	)
	for _, c := range []struct{ form, fill, at, want string }{
		{node, ``, nodeAt, "empty; expected at least one term"},
		{node, `{matchExpressions: [{key: a, operator: Bad, values: [b]}]}`, nodeAt + "[0].matchExpressions[0].operator", `"Bad": expected In, NotIn, Exists, DoesNotExist, Gt or Lt`},
		{node, `{matchExpressions: [{key: a, operator: In}]}`, nodeAt + "[0].matchExpressions[0].values", "empty; expected at least one value"},
		{node, `{matchExpressions: [{key: a, operator: Exists, values: [b]}]}`, nodeAt + "[0].matchExpressions[0].values", "expected none"},
		{node, `{matchExpressions: [{key: a, operator: Gt, values: ["1", "2"]}]}`, nodeAt + "[0].matchExpressions[0].values", "expected exactly one value"},
		{node, `{matchExpressions: [{key: "a b", operator: Exists}]}`, nodeAt + "[0].matchExpressions[0].key", `"a b": expected the key of a label`},
		{node, `{}, {matchFields: [{key: metadata.name, operator: Exists}]}`, nodeAt + "[1].matchFields[0].operator", `"Exists": expected In or NotIn`},
		{node, `{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}`, nodeAt + "[0].matchFields[0].values", "expected exactly one value"},
		{node, `{matchFields: [{key: spec.name, operator: In, values: [a]}]}`, nodeAt + "[0].matchFields[0].key", `"spec.name": expected metadata.name`},
		{nodeWants, `weight: 0, preference: {}`, wantsAt + ".weight", "0: expected a number from 1 to 100"},
		{nodeWants, `weight: 1, preference: {matchExpressions: [{key: a, operator: in}]}`, wantsAt + ".preference.matchExpressions[0].operator", `"in": expected In,`},
		{apart, `topologyKey: ""`, apartAt + ".topologyKey", "empty; expected the key of a node label"},
		{apart, `topologyKey: "a b"`, apartAt + ".topologyKey", `"a b": expected the key of a label`},
		{apart, `topologyKey: zone, namespaceSelector: {matchExpressions: [{key: a, operator: Bad}]}`, apartAt + ".namespaceSelector", `"Bad" is not a valid label selector operator`},
		{apart, `topologyKey: zone, matchLabelKeys: [a]`, apartAt + ".matchLabelKeys", "needs labelSelector"},
		{apart, `topologyKey: zone, mismatchLabelKeys: [a]`, apartAt + ".mismatchLabelKeys", "needs labelSelector"},
		{near, `weight: 101, podAffinityTerm: {topologyKey: zone}`, nearAt + ".weight", "101: expected a number from 1 to 100"},
		{near, `weight: 1, podAffinityTerm: {}`, nearAt + ".podAffinityTerm.topologyKey", "empty"},
		{spread, `whenUnsatisfiable: Foo`, spreadAt + ".whenUnsatisfiable", `"Foo": expected DoNotSchedule or ScheduleAnyway`},
		{spread, `labelSelector: {}`, spreadAt + ".whenUnsatisfiable", `"": expected DoNotSchedule or ScheduleAnyway`},
		{spread, `whenUnsatisfiable: DoNotSchedule, minDomains: -1`, spreadAt + ".minDomains", "-1: expected at least 1"},
		{spread, `whenUnsatisfiable: ScheduleAnyway, minDomains: 2`, spreadAt + ".minDomains", "2: expected at least 1, and that whenUnsatisfiable is DoNotSchedule"},
		{spread, `whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Maybe`, spreadAt + ".nodeTaintsPolicy", `"Maybe": expected Honor or Ignore`},
		{spread, `whenUnsatisfiable: DoNotSchedule, nodeAffinityPolicy: honor`, spreadAt + ".nodeAffinityPolicy", `"honor": expected Honor or Ignore`},
		{spread, `whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [a]`, spreadAt + ".matchLabelKeys", "needs labelSelector"},
		{spread, `whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule`, "spec.topologySpreadConstraints[1]", "{zone, DoNotSchedule}: another constraint"},
		{expecting, `key: a, operator: Like`, tolerAt + ".operator", `"Like": expected Equal, Exists, Lt or Gt`},
		{expecting, `operator: Equal`, tolerAt + ".operator", `"Equal": expected Exists where there is no key`},
		{expecting, `key: a, operator: Exists, value: b`, tolerAt + ".value", `"b": expected none`},
		{expecting, `key: a, effect: noschedule`, tolerAt + ".effect", `"noschedule": expected NoSchedule, PreferNoSchedule or NoExecute`},
	} {
		_, err := readText(t, podWith(fmt.Sprintf(c.form, c.fill)))
		var mistake *snapfile.Error
		if !errors.As(err, &mistake) || mistake.Object != "Pod x/p" || mistake.Field != c.at || !strings.Contains(err.Error(), c.at+": "+c.want) {
			t.Errorf("%s\n got %v\nwant %s: %s", c.fill, err, c.at, c.want)
		}
	}
}

func TestNodesAndVolumesThatNoAPIServerTakesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: Node, metadata: {name: one}, spec: {taints: [{key: a, effect: Never}]}}`:                                          `(Node one): spec.taints[0].effect: "Never": expected NoSchedule`,
		`{apiVersion: v1, kind: Node, metadata: {name: one}, spec: {taints: [{effect: NoSchedule}]}}`:                                             `(Node one): spec.taints[0].key: empty`,
		twoDocuments + `{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {nodeAffinity: {required: {nodeSelectorTerms: []}}}}`: `(PersistentVolume v): spec.nodeAffinity.required.nodeSelectorTerms: empty`,
	} {
		if _, err := readText(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestGtWithAWordIsNoted: an API server takes it, and a scheduler makes nothing of it.
func TestGtWithAWordIsNoted(t *testing.T) {
	one := `spec: {affinity: {nodeAffinity: {%s}}}}`
	term := `{matchExpressions: [{key: a, operator: Gt, values: [many]}]}`
	for _, c := range []struct{ affinity, at string }{
		{"requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + term + "]}", "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"},
		{"preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: " + term + "}]", "preferredDuringSchedulingIgnoredDuringExecution[0].preference"},
	} {
		pod := "---\n{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: x}, " + fmt.Sprintf(one, c.affinity) + "\n"
		s, err := readText(t, "{apiVersion: v1, kind: Node, metadata: {name: one}}\n"+fmt.Sprintf(pod, 1)+fmt.Sprintf(pod, 2))
		if err != nil {
			t.Fatal(err)
		}
		want := `Pod x/p1: spec.affinity.nodeAffinity.` + c.at + `.matchExpressions[0].values[0]: "many": expected a whole number`
		notes := strings.Join(s.Notes, "\n")
		if !strings.Contains(notes, want) || !strings.Contains(notes, "in 1 more pods") {
			t.Errorf("notes %q, want %q, and 1 more", s.Notes, want)
		}
	}
}

func TestMeasurementsOfNodesThatAreNotThereAreNoted(t *testing.T) {
	s, err := readText(t, twoDocuments+`{kind: Snapshot, apiVersion: evenkeel.dev/v1alpha1, takenAt: "2026-11-30T00:00:00Z",
queries: [{query: load, nodes: {one: 0.1, two: 0.2, "10.0.0.1:9100": 0.3}}, {query: disk, nodes: {one: 0.1}}]}
---
{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: three}, usage: {cpu: 1}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"NodeMetrics: measurements of nodes that are not in the snapshot: 1, the first of three",
		`Prometheus query "load": measurements of nodes that are not in the snapshot: 2, the first of 10.0.0.1:9100`,
	}
	for _, text := range want {
		if !slices.Contains(s.Notes, text) {
			t.Errorf("no note %q in %q", text, s.Notes)
		}
	}
	if strings.Contains(strings.Join(s.Notes, "\n"), "disk") {
		t.Errorf("notes %q, want none of the query disk", s.Notes)
	}
}
