package strategy

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

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
	meter := newMeter(source, c.View, rs)
	nodes, missing, errs := measureNodes(c.Nodes, meter, rs)
	if len(errs) > 0 && (c.Compat || len(nodes) == 0) {
		return fmt.Errorf("the usage of %d of %d nodes is not known: %w", len(missing), len(c.Nodes), errs[0])
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
