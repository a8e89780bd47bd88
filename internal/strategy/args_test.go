package strategy_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/strategy"
)

func TestPluginsAreSortedAndFoundByName(t *testing.T) {
	var names []string
	for _, p := range strategy.Plugins() {
		names = append(names, p.Name)
		found, ok := strategy.LookupPlugin(p.Name)
		if !ok || found.Point != p.Point {
			t.Errorf("%s is not found by its name", p.Name)
		}
		if p.Point != strategy.Deschedule && p.Point != strategy.Balance {
			t.Errorf("%s runs at %q", p.Name, p.Point)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(names)) != 10 {
		t.Errorf("want ten sorted names, got %v", names)
	}
	if _, ok := strategy.LookupPlugin("removeduplicates"); ok {
		t.Error("names have to match exactly")
	}
}

// TestArgsAreStructsOfTheirOwn: arguments are named after their plugin, and two
// profiles never share a value.
func TestArgsAreStructsOfTheirOwn(t *testing.T) {
	for _, p := range strategy.Plugins() {
		a, b := p.NewArgs(), p.NewArgs()
		if a == b {
			t.Errorf("%s: NewArgs returns the same value twice", p.Name)
		}
		if name := reflect.TypeOf(a).Elem().Name(); name != p.Name+"Args" {
			t.Errorf("%s: the arguments' type is %s", p.Name, name)
		}
	}
}

func TestArgumentNamesAreOnesOfFiles(t *testing.T) {
	for _, p := range strategy.Plugins() {
		for f := range reflect.TypeOf(p.NewArgs()).Elem().Fields() {
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || !strings.EqualFold(name, f.Name) || option != "omitempty" {
				t.Errorf("%s.%s is called %q in files", p.Name, f.Name, f.Tag.Get("json"))
			}
		}
	}
}

func TestDefaultsAreSetOnce(t *testing.T) {
	for _, c := range []struct{ plugin, given, want string }{
		{"RemoveFailedPods", `{}`, `{"minPodLifetimeSeconds":3600}`},
		{"RemoveFailedPods", `{"minPodLifetimeSeconds":0}`, `{"minPodLifetimeSeconds":0}`},
		{"RemovePodsViolatingTopologySpreadConstraint", `{}`, `{"constraints":["DoNotSchedule"],"topologyBalanceNodeFit":true}`},
		{"RemovePodsViolatingTopologySpreadConstraint", `{"constraints":["ScheduleAnyway"],"topologyBalanceNodeFit":false}`, `{"constraints":["ScheduleAnyway"],"topologyBalanceNodeFit":false}`},
		{"RemovePodsViolatingNodeTaints", `{}`, `{}`},
		{"RemovePodsViolatingNodeTaints", `{"includedTaints":[]}`, `{"includedTaints":[]}`},
		{"PodLifeTime", `{"maxPodLifeTimeSeconds":0}`, `{"maxPodLifeTimeSeconds":0}`},
	} {
		args := decode(t, c.plugin, c.given)
		args.SetDefaults()
		args.SetDefaults()
		got, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.plugin, c.given, diff)
		}
	}
}

// TestValidateNamesTheField: a mistake is reported at its place, and nothing else
// is.
func TestValidateNamesTheField(t *testing.T) {
	const low = `"thresholds":{"cpu":20},"targetThresholds":{"cpu":50}`
	for _, c := range []struct {
		plugin, given string
		want          []string
	}{
		{"HighNodeUtilization", `{"thresholds":{"cpu":20,"example.com/gpu":0.5}}`, nil},
		{"HighNodeUtilization", `{}`, []string{"args.thresholds"}},
		{"HighNodeUtilization", `{"thresholds":{"cpu":100.1,"memory":-1}}`, []string{"args.thresholds[cpu]", "args.thresholds[memory]"}},
		{"HighNodeUtilization", `{"thresholds":{"cpu":20},"evictionModes":["OnlyThresholdingResources","x"]}`, []string{"args.evictionModes[1]"}},
		{"HighNodeUtilization", `{"thresholds":{"cpu":20},"evictableNamespaces":{"exclude":["a"]}}`, nil},
		{"HighNodeUtilization", `{"thresholds":{"cpu":20},"evictableNamespaces":{"include":["a"]}}`, []string{"args.evictableNamespaces.include"}},

		{"LowNodeUtilization", `{` + low + `}`, nil},
		{"LowNodeUtilization", `{}`, []string{"args.thresholds", "args.targetThresholds"}},
		{"LowNodeUtilization", `{"thresholds":{"cpu":60},"targetThresholds":{"cpu":50}}`, []string{"args.thresholds[cpu]"}},
		{"LowNodeUtilization", `{"thresholds":{"cpu":60},"targetThresholds":{"cpu":50},"useDeviationThresholds":true}`, nil},
		{"LowNodeUtilization", `{"thresholds":{"cpu":20},"targetThresholds":{"memory":50}}`, []string{"args.thresholds[cpu]", "args.targetThresholds[memory]"}},
		{"LowNodeUtilization", `{` + low + `,"metricsUtilization":{"metricsServer":true}}`, nil},
		{"LowNodeUtilization", `{` + low + `,"metricsUtilization":{"metricsServer":true,"source":"KubernetesMetrics"}}`, []string{"args.metricsUtilization.metricsServer"}},
		{"LowNodeUtilization", `{` + low + `,"metricsUtilization":{"source":"KubernetesMetrics","prometheus":{}}}`, []string{"args.metricsUtilization.prometheus"}},
		{"LowNodeUtilization", `{` + low + `,"metricsUtilization":{"source":"Prometheus"}}`, []string{"args.metricsUtilization.prometheus.query", "args.thresholds", "args.targetThresholds"}},
		{"LowNodeUtilization", `{"thresholds":{"MetricResource":20},"targetThresholds":{"MetricResource":50},"metricsUtilization":{"source":"Prometheus","prometheus":{"query":"up"}}}`, nil},

		{"PodLifeTime", `{}`, []string{"args"}},
		{"PodLifeTime", `{"exitCodes":[0]}`, nil},
		{"PodLifeTime", `{"conditions":[{"minTimeSinceLastTransitionSeconds":0}]}`, nil},
		{"PodLifeTime", `{"conditions":[{"type":"Ready"},{}]}`, []string{"args.conditions[1]"}},
		{"PodLifeTime", `{"states":["Running","Nowhere"],"ownerKinds":{"include":["a"],"exclude":["b"]}}`, []string{"args.ownerKinds", "args.states[1]"}},

		{"RemoveDuplicates", `{"namespaces":{"include":["a"]}}`, nil},
		{"RemoveDuplicates", `{"namespaces":{"include":["a"],"exclude":["b"]}}`, []string{"args.namespaces"}},
		{"RemoveFailedPods", `{"labelSelector":{"matchLabels":{"a b":"c"}}}`, []string{"args.labelSelector.matchLabels"}},
		{"RemovePodsHavingTooManyRestarts", `{"podRestartThreshold":1,"states":["Running","CrashLoopBackOff"]}`, nil},
		{"RemovePodsHavingTooManyRestarts", `{"states":["Failed"]}`, []string{"args.podRestartThreshold", "args.states[0]"}},
		{"RemovePodsViolatingInterPodAntiAffinity", `{"labelSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}}`, []string{"args.labelSelector.matchExpressions[0].values"}},
		{"RemovePodsViolatingNodeAffinity", `{}`, []string{"args.nodeAffinityType"}},
		{"RemovePodsViolatingNodeAffinity", `{"nodeAffinityType":["anything"]}`, nil},
		{"RemovePodsViolatingNodeTaints", `{"includedTaints":[],"excludedTaints":["a"]}`, nil},
		{"RemovePodsViolatingNodeTaints", `{"includedTaints":["b"],"excludedTaints":["a"]}`, []string{"args.excludedTaints"}},
		{"RemovePodsViolatingTopologySpreadConstraint", `{"constraints":["DoNotSchedule","foo"]}`, []string{"args.constraints[1]"}},
	} {
		args := decode(t, c.plugin, c.given)
		args.SetDefaults()
		var got []string
		for _, e := range args.Validate(field.NewPath("args")) {
			got = append(got, e.Field)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.plugin, c.given, diff)
		}
	}
}

func TestUsageSourceSeesThroughTheOldField(t *testing.T) {
	for given, want := range map[string]strategy.MetricsSource{
		`{}`:                        "",
		`{"metricsUtilization":{}}`: "",
		`{"metricsUtilization":{"metricsServer":true}}`:         strategy.KubernetesMetrics,
		`{"metricsUtilization":{"source":"KubernetesMetrics"}}`: strategy.KubernetesMetrics,
		`{"metricsUtilization":{"source":"Prometheus"}}`:        strategy.PrometheusMetrics,
	} {
		args := &strategy.LowNodeUtilizationArgs{}
		if err := json.Unmarshal([]byte(given), args); err != nil {
			t.Fatal(err)
		}
		if got := args.UsageSource(); got != want {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}

func decode(t *testing.T, plugin, text string) strategy.Args {
	t.Helper()
	p, ok := strategy.LookupPlugin(plugin)
	if !ok {
		t.Fatalf("there is no plugin %q", plugin)
	}
	args := p.NewArgs()
	if err := json.Unmarshal([]byte(text), args); err != nil {
		t.Fatal(err)
	}
	return args
}
