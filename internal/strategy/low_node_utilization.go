package strategy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// MetricsSource says where measured usage comes from.
type MetricsSource string

// The sources. The empty source means requests, not measurements.
const (
	// KubernetesMetrics is the metrics.k8s.io API: cpu and memory.
	KubernetesMetrics MetricsSource = "KubernetesMetrics"
	// PrometheusMetrics is one Prometheus query with a value per node.
	PrometheusMetrics MetricsSource = "Prometheus"
)

// LowNodeUtilizationArgs are the arguments of LowNodeUtilization.
type LowNodeUtilizationArgs struct {
	// UseDeviationThresholds makes Thresholds and TargetThresholds percentage
	// points below and above the average of all nodes.
	UseDeviationThresholds bool `json:"useDeviationThresholds,omitempty"`
	// Thresholds mark a node as under-used when its usage is at or below every
	// one of them. Required.
	Thresholds Thresholds `json:"thresholds,omitempty"`
	// TargetThresholds mark a node as over-used when its usage is above any of
	// them. Required, for the same resources as Thresholds.
	TargetThresholds Thresholds `json:"targetThresholds,omitempty"`
	// NumberOfNodes is the number of under-used nodes up to which nothing is done.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// MetricsUtilization makes the strategy look at measurements instead of
	// requests.
	MetricsUtilization *MetricsUtilization `json:"metricsUtilization,omitempty"`
	// EvictableNamespaces keeps pods of namespaces where they are: nothing can be
	// included here, only excluded.
	EvictableNamespaces *Namespaces `json:"evictableNamespaces,omitempty"`
	// EvictionLimits caps what this strategy evicts.
	EvictionLimits *EvictionLimits `json:"evictionLimits,omitempty"`
}

// MetricsUtilization says which measurements LowNodeUtilization looks at.
type MetricsUtilization struct {
	// MetricsServer is the old way to write Source KubernetesMetrics. The two
	// exclude each other.
	MetricsServer bool `json:"metricsServer,omitempty"`
	// Source is KubernetesMetrics or Prometheus. Required unless MetricsServer is set.
	Source MetricsSource `json:"source,omitempty"`
	// Prometheus is required for, and only allowed with, source Prometheus.
	Prometheus *PrometheusUtilization `json:"prometheus,omitempty"`
}

// PrometheusUtilization is the query for source Prometheus.
type PrometheusUtilization struct {
	// Query is an instant query that gives a value in [0, 1] for each node, the
	// node's name in the label "instance".
	Query string `json:"query,omitempty"`
}

// EvictionLimits caps the evictions of one strategy in one cycle.
type EvictionLimits struct {
	// Node is the most pods evicted from one node; nil means no limit.
	Node *uint `json:"node,omitempty"`
}

// UsageSource is where LowNodeUtilization takes usage from: the empty source
// for requests. It sees through the old MetricsServer field.
func (a *LowNodeUtilizationArgs) UsageSource() MetricsSource {
	switch m := a.MetricsUtilization; {
	case m == nil:
		return ""
	case m.MetricsServer:
		return KubernetesMetrics
	default:
		return m.Source
	}
}

// Query is the Prometheus query that LowNodeUtilization takes usage from; empty when it takes it from elsewhere.
func (a *LowNodeUtilizationArgs) Query() string {
	if a.UsageSource() != PrometheusMetrics || a.MetricsUtilization.Prometheus == nil {
		return ""
	}
	return a.MetricsUtilization.Prometheus.Query
}

// SetDefaults implements Args; nothing has a default.
func (*LowNodeUtilizationArgs) SetDefaults() {}

// Validate implements Args.
func (a *LowNodeUtilizationArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateEvictableNamespaces(path.Child("evictableNamespaces"), a.EvictableNamespaces)
	errs = append(errs, validateThresholds(path.Child("thresholds"), a.Thresholds)...)
	errs = append(errs, validateThresholds(path.Child("targetThresholds"), a.TargetThresholds)...)
	errs = append(errs, a.validatePairs(path)...)
	return append(errs, a.validateMetrics(path)...)
}

// validatePairs holds thresholds against target thresholds, resource by resource.
func (a *LowNodeUtilizationArgs) validatePairs(path *field.Path) field.ErrorList {
	if len(a.Thresholds) == 0 || len(a.TargetThresholds) == 0 {
		return nil
	}
	var errs field.ErrorList
	for _, name := range sortedKeys(a.Thresholds) {
		low, at := a.Thresholds[name], path.Child("thresholds").Key(string(name))
		high, ok := a.TargetThresholds[name]
		switch {
		case !ok:
			errs = append(errs, field.Invalid(at, low, "has no counterpart in targetThresholds"))
		case low > high && !a.UseDeviationThresholds:
			errs = append(errs, field.Invalid(at, low, fmt.Sprintf("is greater than the target threshold, %v", high)))
		}
	}
	for _, name := range sortedKeys(a.TargetThresholds) {
		if _, ok := a.Thresholds[name]; !ok {
			errs = append(errs, field.Invalid(path.Child("targetThresholds").Key(string(name)),
				a.TargetThresholds[name], "has no counterpart in thresholds"))
		}
	}
	return errs
}

func (m *MetricsUtilization) validateSource(path *field.Path) field.ErrorList {
	switch {
	case m.Source == "" && !m.MetricsServer:
		return field.ErrorList{field.Required(path, "set KubernetesMetrics or Prometheus, or leave out metricsUtilization to go by requests")}
	case m.Source != "" && m.Source != KubernetesMetrics && m.Source != PrometheusMetrics:
		return field.ErrorList{field.NotSupported(path, m.Source, []MetricsSource{KubernetesMetrics, PrometheusMetrics})}
	}
	return nil
}

func (a *LowNodeUtilizationArgs) validateMetrics(path *field.Path) field.ErrorList {
	m := a.MetricsUtilization
	if m == nil {
		return nil
	}
	at := path.Child("metricsUtilization")
	errs := m.validateSource(at.Child("source"))
	if m.Source == KubernetesMetrics && m.MetricsServer {
		errs = append(errs, field.Forbidden(at.Child("metricsServer"), "cannot be combined with source KubernetesMetrics, which says the same"))
	}
	if m.Source == KubernetesMetrics && m.Prometheus != nil {
		errs = append(errs, field.Forbidden(at.Child("prometheus"), "cannot be combined with source KubernetesMetrics"))
	}
	if m.Source != PrometheusMetrics {
		return errs
	}
	if m.Prometheus == nil || m.Prometheus.Query == "" {
		errs = append(errs, field.Required(at.Child("prometheus", "query"), "source Prometheus needs a query"))
	}
	for _, f := range []struct {
		name string
		t    Thresholds
	}{{"thresholds", a.Thresholds}, {"targetThresholds", a.TargetThresholds}} {
		if _, ok := f.t[MetricResource]; len(f.t) > 0 && (!ok || len(f.t) != 1) {
			errs = append(errs, field.Invalid(path.Child(f.name), sortedKeys(f.t),
				"source Prometheus takes exactly one resource, "+string(MetricResource)))
		}
	}
	return errs
}

// lowNodeUtilization moves pods off nodes that use more than the target thresholds of some resource, as long as there are nodes
// that use no more than the thresholds of every resource. See [nodeBalance] for the choice of pods.
type lowNodeUtilization struct {
	args     *LowNodeUtilizationArgs
	excluded map[string]bool
}

func newLowNodeUtilization(a *LowNodeUtilizationArgs) (*lowNodeUtilization, error) {
	for _, t := range []Thresholds{a.Thresholds, a.TargetThresholds} {
		if _, ok := t[MetricResource]; a.UsageSource() == PrometheusMetrics && (!ok || len(t) != 1) {
			return nil, fmt.Errorf("thresholds and targetThresholds must each have the one resource %q when usage comes from %s", MetricResource, PrometheusMetrics)
		}
	}
	return &lowNodeUtilization{args: a, excluded: excludedNamespaces(a.EvictableNamespaces)}, nil
}

func excludedNamespaces(n *Namespaces) map[string]bool {
	if n == nil {
		return nil
	}
	return set(n.Exclude)
}

// Run implements Strategy.
func (s *lowNodeUtilization) Run(c *Cycle) error {
	source := s.args.UsageSource()
	rs := newUsedResources(c.View.Resources, s.args.Thresholds, s.args.TargetThresholds, source == PrometheusMetrics)
	meter, err := newMeter(s.args, c.View, rs)
	if err != nil {
		return err
	}
	nodes, missing, errs := measureNodes(c.Nodes, meter, rs)
	if len(errs) > 0 && (c.misreads() || len(nodes) == 0) {
		return fmt.Errorf("the usage of %d of %d nodes is not known: %w", len(missing), len(c.Nodes), errs[0])
	}
	if len(errs) > 0 && s.args.UseDeviationThresholds {
		return fmt.Errorf("the usage of %d of %d nodes is not known, and so the average is not that the thresholds deviate from: %w", len(missing), len(c.Nodes), errs[0])
	}
	if len(errs) > 0 {
		c.Note(fmt.Sprintf("%d of %d nodes are left out, because their usage is not known, the first: %v", len(missing), len(c.Nodes), errs[0]))
	}
	for i, n := range missing {
		tellNode(c, n, func() plan.Reason { return usageUnknown(errs[i]) })
	}
	if s.args.UseDeviationThresholds {
		rs.around(nodes)
	}
	rs.setCeilings(nodes)
	under, over, between := s.classify(c, rs, nodes)
	for _, u := range between {
		tellNode(c, u.node, func() plan.Reason { return rs.withinTarget(u) })
	}
	if message := s.nothingToDo(len(under), len(over), len(nodes)); message != "" {
		tellUsage(c, over, counts(message, len(over), len(under), len(nodes)))
		return nil
	}
	var perNode *uint
	if s.args.EvictionLimits != nil {
		perNode = s.args.EvictionLimits.Node
	}
	b := &nodeBalance{
		c: c, rs: rs, meter: meter, sources: over, targets: under, perNode: perNode, excluded: s.excluded, reason: rs.overUsed,
	}
	b.run(rs.sortByExcess)
	return nil
}

// Measures implements Measuring.
func (s *lowNodeUtilization) Measures() bool { return s.args.UsageSource() != "" }

// classify sorts out the under- and over-used nodes; a node that is both counts as under-used. Cordoned nodes are never under-used.
func (s *lowNodeUtilization) classify(c *Cycle, rs usedResources, nodes []*nodeUsage) (under, over, between []*nodeUsage) {
	for _, u := range nodes {
		switch {
		case !u.node.Unschedulable && rs.below(u):
			under = append(under, u)
		case rs.above(u):
			over = append(over, u)
		default:
			between = append(between, u)
		}
	}
	if !c.Compat {
		between = append(between, under...)
	}
	return under, over, between
}

func (s *lowNodeUtilization) nothingToDo(under, over, nodes int) string {
	switch {
	case under == 0:
		return "no node is under-used, so there is nowhere to move pods to"
	case under <= s.args.NumberOfNodes:
		return fmt.Sprintf("%d nodes are under-used, not more than numberOfNodes %d", under, s.args.NumberOfNodes)
	case under == nodes:
		return "all nodes are under-used"
	case over == 0:
		return "no node is over-used"
	}
	return ""
}

// tellNode tells the story of every pod of a node.
func tellNode(c *Cycle, n *cluster.Node, reason func() plan.Reason) {
	for _, p := range n.Pods {
		c.Tell(p, reason)
	}
}

func tellUsage(c *Cycle, nodes []*nodeUsage, reason plan.Reason) {
	for _, u := range nodes {
		tellNode(c, u.node, func() plan.Reason { return reason })
	}
}
