package gate

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Limits cap the moves of one cycle. Nil means no limit, 0 means no move at all.
type Limits struct {
	Total        *uint
	PerNode      *uint
	PerNamespace *uint
}

// Counter counts moves against limits.
type Counter struct {
	limits Limits
	total  uint
	nodes  map[string]uint
	spaces map[string]uint
}

// NewCounter starts a cycle.
func NewCounter(l Limits) *Counter {
	return &Counter{limits: l, nodes: map[string]uint{}, spaces: map[string]uint{}}
}

// Check looks at the limits in the peer's order: cycle, node, namespace. Scope tells how far the first one that is
// reached goes.
func (c *Counter) Check(p *cluster.Pod) (reason plan.Reason, scope plan.Scope, ok bool) {
	switch {
	case reached(c.total, c.limits.Total):
		return limit("CycleLimit", "of the cycle", "maxNoOfPodsToEvictTotal", *c.limits.Total), plan.ThisCycle, false
	case reached(c.nodes[p.NodeName], c.limits.PerNode):
		return limit("NodeLimit", "of node "+p.NodeName, "maxNoOfPodsToEvictPerNode", *c.limits.PerNode), plan.ThisNode, false
	case reached(c.spaces[p.Namespace], c.limits.PerNamespace):
		return limit("NamespaceLimit", "of namespace "+p.Namespace, "maxNoOfPodsToEvictPerNamespace", *c.limits.PerNamespace), plan.ThisNamespace, false
	}
	return plan.Reason{}, plan.ThisPod, true
}

// Add counts a move.
func (c *Counter) Add(p *cluster.Pod) {
	c.total++
	c.nodes[p.NodeName]++
	c.spaces[p.Namespace]++
}

func reached(have uint, limit *uint) bool { return limit != nil && have+1 > *limit }

func limit(code, what, field string, max uint) plan.Reason {
	return plan.Reason{
		Code:    code,
		Message: fmt.Sprintf("the limit %s is reached: %s is %d", what, field, max),
		Numbers: plan.Numbers{"limit": float64(max)},
	}
}
