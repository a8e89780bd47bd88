package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
)

// cycleCase is a case that is run as a whole cycle.
type cycleCase struct {
	Plugin         string            `json:"plugin"`
	ExtensionPoint string            `json:"extensionPoint"`
	Args           json.RawMessage   `json:"args"`
	EvictorArgs    json.RawMessage   `json:"evictorArgs"`
	Policy         map[string]any    `json:"policy"`
	PolicyDocument json.RawMessage   `json:"policyDocument"`
	Pod            string            `json:"pod"`
	Objects        []json.RawMessage `json:"objects"`
	Metrics        *struct {
		KubernetesMetrics struct {
			Nodes []json.RawMessage `json:"nodes"`
			Pods  []json.RawMessage `json:"pods"`
		} `json:"kubernetesMetrics"`
		Prometheus []struct {
			Metric map[string]string  `json:"metric"`
			Value  [2]json.RawMessage `json:"value"` // time, number as a string
		} `json:"prometheus"`
	} `json:"metrics"`
	Now      time.Time `json:"now"`
	Expected struct {
		Evictable        *bool    `json:"evictable"`
		Evicted          []string `json:"evicted"`
		EvictedCount     int      `json:"evictedCount"`
		DistinctEvicted  *int     `json:"distinctEvicted"`
		DuplicateEvicted bool     `json:"duplicateEvictions"`
	} `json:"expected"`
	FullCycle struct {
		Expressible  string            `json:"expressible"`
		Why          string            `json:"why"`
		ExtraObjects []json.RawMessage `json:"extraObjects"`
		ArgsOverride map[string]any    `json:"argsOverride"`
		PluginUsed   *struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"pluginUsed"`
	} `json:"fullCycle"`
}

// runCycle runs a case; left is not empty when the case can't be expressed from outside.
func runCycle(data []byte) (left string, err error) {
	var c cycleCase
	if err := json.Unmarshal(data, &c); err != nil {
		return "", err
	}
	// A recorded Prometheus vector is an input like any other here.
	if c.FullCycle.Expressible == "no" && (c.Metrics == nil || len(c.Metrics.Prometheus) == 0) {
		return c.FullCycle.Why, nil
	}
	doc, err := c.document()
	if err != nil {
		return "", err
	}
	p, _, err := policy.Load("case", doc)
	if err != nil {
		return "", fmt.Errorf("policy: %w", err)
	}
	s, err := c.snapshot()
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	out, err := engine.Plan(s, p, engine.Options{Compat: true})
	if err != nil {
		return "", err
	}
	return "", c.compare(out)
}

// document is the policy of the case, built where it is not given.
func (c *cycleCase) document() ([]byte, error) {
	if len(c.PolicyDocument) > 0 {
		return c.PolicyDocument, nil
	}
	name, args, point := c.Plugin, c.Args, c.ExtensionPoint
	if used := c.FullCycle.PluginUsed; used != nil {
		name, args, point = used.Name, used.Args, "deschedule"
	}
	merged := map[string]any{}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &merged); err != nil {
			return nil, err
		}
	}
	for k, v := range c.FullCycle.ArgsOverride {
		merged[k] = v
	}
	doc := map[string]any{
		"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy",
		"profiles": []any{map[string]any{
			"name": "case",
			"pluginConfig": []any{
				map[string]any{"name": "DefaultEvictor", "args": orEmpty(c.EvictorArgs)},
				map[string]any{"name": name, "args": merged},
			},
			"plugins": map[string]any{point: map[string]any{"enabled": []string{name}}},
		}},
	}
	for k, v := range c.Policy {
		doc[k] = v
	}
	switch {
	case c.Metrics == nil:
	case len(c.Metrics.Prometheus) > 0:
		doc["metricsProviders"] = []any{map[string]any{"source": "Prometheus", "prometheus": map[string]any{"url": "https://prometheus.example"}}}
	case len(c.Metrics.KubernetesMetrics.Nodes) > 0:
		doc["metricsProviders"] = []any{map[string]any{"source": "KubernetesMetrics"}}
	}
	return json.Marshal(doc)
}

func orEmpty(raw json.RawMessage) any {
	if len(raw) == 0 {
		return map[string]any{}
	}
	return raw
}

func (c *cycleCase) snapshot() (*cluster.Snapshot, error) {
	conv := cluster.NewConverter()
	parts := cluster.Parts{Resources: conv.Resources}
	for _, raw := range slices.Concat(c.Objects, c.FullCycle.ExtraObjects) {
		if err := addObject(conv, &parts, raw); err != nil {
			return nil, err
		}
	}
	if c.Metrics != nil {
		for _, raw := range slices.Concat(c.Metrics.KubernetesMetrics.Nodes, c.Metrics.KubernetesMetrics.Pods) {
			if err := addObject(conv, &parts, raw); err != nil {
				return nil, err
			}
		}
		if err := c.addQuery(&parts); err != nil {
			return nil, err
		}
	}
	return parts.Snapshot(c.Now)
}

func (c *cycleCase) addQuery(parts *cluster.Parts) error {
	for _, sample := range c.Metrics.Prometheus {
		var text string
		if err := json.Unmarshal(sample.Value[1], &text); err != nil {
			return err
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return err
		}
		if parts.Usage.Queries == nil {
			parts.Usage.Queries = map[string]cluster.Answer{cluster.AnyQuery: {Nodes: map[string]float64{}}}
		}
		parts.Usage.Queries[cluster.AnyQuery].Nodes[sample.Metric["instance"]] = value
	}
	return nil
}

func addObject(conv *cluster.Converter, parts *cluster.Parts, raw json.RawMessage) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Node":
		return add(raw, func(o *corev1.Node) { parts.Nodes = append(parts.Nodes, conv.Node(o)) })
	case "Pod":
		return add(raw, func(o *corev1.Pod) { parts.Pods = append(parts.Pods, conv.Pod(o)) })
	case "Namespace":
		return add(raw, func(o *corev1.Namespace) { parts.Namespaces = append(parts.Namespaces, conv.Namespace(o)) })
	case "PersistentVolumeClaim":
		return add(raw, func(o *corev1.PersistentVolumeClaim) { parts.Claims = append(parts.Claims, conv.Claim(o)) })
	case "NodeMetrics":
		return add(raw, func(o *metricsv1beta1.NodeMetrics) {
			if parts.Usage.Nodes == nil {
				parts.Usage.Nodes = map[string]cluster.Amounts{}
			}
			parts.Usage.Nodes[o.Name] = conv.Resources.Amounts(o.Usage)
		})
	case "PodMetrics":
		return add(raw, func(o *metricsv1beta1.PodMetrics) {
			if parts.Usage.Pods == nil {
				parts.Usage.Pods = map[string]cluster.Amounts{}
			}
			var sum cluster.Amounts
			for i := range o.Containers {
				sum = sum.Plus(conv.Resources.Amounts(o.Containers[i].Usage))
			}
			parts.Usage.Pods[o.Namespace+"/"+o.Name] = sum
		})
	default:
		return fmt.Errorf("kind %q is not expected in a case", kind.Kind)
	}
}

func add[T any](raw json.RawMessage, put func(*T)) error {
	var o T
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	put(&o)
	return nil
}

func (c *cycleCase) compare(out *plan.Plan) error {
	var moved []string
	for _, m := range out.Moves {
		moved = append(moved, m.Pod.String())
	}
	slices.Sort(moved)
	if c.Expected.Evictable != nil {
		if got := slices.Contains(moved, c.Pod); got != *c.Expected.Evictable {
			return fmt.Errorf("%s evictable: got %v, want %v%s", c.Pod, got, *c.Expected.Evictable, tell(out))
		}
		return nil
	}
	want := c.Expected.EvictedCount
	if c.Expected.DistinctEvicted != nil {
		want = *c.Expected.DistinctEvicted
	}
	if len(moved) != want {
		return fmt.Errorf("evicted %d %v, want %d %v%s", len(moved), moved, want, c.Expected.Evicted, tell(out))
	}
	if c.FullCycle.Expressible == "full" {
		expected := slices.Clone(c.Expected.Evicted)
		slices.Sort(expected)
		if !slices.Equal(moved, expected) {
			return fmt.Errorf("evicted %v, want %v%s", moved, expected, tell(out))
		}
	}
	return nil
}

// tell lists what was refused, for whoever has to find out why a case fails.
func tell(out *plan.Plan) string {
	var b strings.Builder
	for _, s := range out.Summary.ByStrategy {
		if s.Error != "" {
			fmt.Fprintf(&b, "; %s: %s", s.Strategy, s.Error)
		}
	}
	for i, r := range out.Refusals {
		if i == 5 {
			fmt.Fprintf(&b, "; …")
			break
		}
		fmt.Fprintf(&b, "; %s: %s: %s", r.Pod, r.Gate, r.Reason.Message)
	}
	if out.Summary.Skipped != "" {
		fmt.Fprintf(&b, "; %s", out.Summary.Skipped)
	}
	return b.String()
}
