package gate

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Starts keeps a cycle from sending a node more pods than it can begin to start: as many as may be starting at once there, less those that are, or that wait. A
// replacement beyond that would only wait on the node, while its application is a replica short. Nodes whose agent reports nothing take any number.
// A nil one allows everything.
type Starts struct {
	reports map[string]cluster.Starts
	busy    map[string]int // pods by node
	coming  map[string]int // replacements by node
}

// NewStarts starts a cycle. It is nil where no agent reports anything.
func NewStarts(s *cluster.Snapshot) *Starts {
	if len(s.Starts) == 0 {
		return nil
	}
	g := &Starts{reports: s.Starts, busy: map[string]int{}, coming: map[string]int{}}
	for name, r := range s.Starts {
		if n := s.Node(name); n != nil {
			g.busy[name] = min(r.Starting+r.Waiting, notUp(n))
		}
	}
	return g
}

// notUp is how many pods of a node are yet to be ready. An agent that is gone can't take back what it last reported; no more pods than these can be starting.
func notUp(n *cluster.Node) int {
	count := 0
	for _, p := range n.Pods {
		if !p.Ready && !p.Terminal() && !p.Deleting {
			count++
		}
	}
	return count
}

// Check asks whether a further replacement may start on n.
func (g *Starts) Check(n *cluster.Node) (plan.Reason, bool) {
	if g == nil {
		return plan.Reason{}, true
	}
	r, known := g.reports[n.Name]
	busy, coming := g.busy[n.Name], g.coming[n.Name]
	if !known || busy+coming < r.Limit {
		return plan.Reason{}, true
	}
	return plan.Reason{
		Code:    "NodeStarts",
		Message: fmt.Sprintf("node %s starts %d pods at a time: starting or waiting there %d, replacements to come %d", n.Name, r.Limit, busy, coming),
		Numbers: plan.Numbers{"limit": float64(r.Limit), "busy": float64(busy), "coming": float64(coming)},
	}, false
}

// Add counts replacements that are to start on the node of that name; a negative number takes some back.
func (g *Starts) Add(node string, replacements int) {
	if g != nil {
		g.coming[node] += replacements
	}
}
