// Package engine runs the one cycle of the product: from a snapshot and a policy to a plan. It is a pure function: the
// same input gives the same plan, byte for byte.
package engine

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Options are what a plan depends on besides the snapshot and the policy.
type Options struct {
	// Compat makes the peer's choices: those of the Kubernetes descheduler v0.36.
	Compat bool
	// Self is the pod this process runs in; it is never moved. Zero when it runs in none.
	Self plan.PodRef
	// Background counts pods whose eviction another controller is carrying out (both annotations of the peer's EvictionsInBackground)
	// against the limits, and does not move them again.
	Background bool
	// Around, when set, is called for each strategy in the first look and must call run: it may measure how long that takes. The error says why the
	// strategy could not run, and is in the plan too.
	Around func(profile, strategy string, run func() error)
	// Extras are asked for by name; none is the default.
	Extras Extras
	// Why names a pod whose whole story is wanted. Zero when none is.
	Why plan.PodRef

	mended bool // see strategy.Cycle
}

// Plan decides what to move. The error is about the policy (a priority class that the cluster does not have, a
// strategy that is not built); then nothing is to be moved.
func Plan(s *cluster.Snapshot, p *policy.Policy, o Options) (*plan.Plan, error) {
	first, err := look(s, p, o, nil)
	if err != nil {
		return nil, err
	}
	// 7. What the cluster as it will be asks for on top of that.
	out, err := settle(first, p, o)
	if n := first.effort.Ended(); err == nil && n > 0 {
		out.Summary.Notes = append(out.Summary.Notes, fmt.Sprintf("searches for a node ended early %d times: those of one cycle may look at so many nodes in vain and no more (docs/plan.md)", n))
	}
	return out, err
}

// look decides what to move in the cluster as it is, or as it will be after what earlier looks decided.
func look(s *cluster.Snapshot, p *policy.Policy, o Options, past *course) (*cycle, error) {
	// 1. What the policy asks for, in terms of this cluster.
	profiles, err := compile(s, p, o)
	if err != nil {
		return nil, err
	}
	// 2. The nodes it is about, and how many moves are allowed.
	c := newCycle(s, p, o, past)
	c.measured = measuring(profiles)
	if past == nil {
		if c.allowed, err = newAllowance(s, p, o); err != nil {
			return nil, err
		}
	}
	if !c.begin(profiles) {
		return c, nil
	}
	// 5. Every profile's Deschedule strategies, then every profile's Balance strategies.
	for _, t := range turns(profiles) {
		c.run(t)
	}
	// 6. The plan.
	c.finish(profiles)
	return c, nil
}

// begin prepares the cycle for the strategies. It returns false, and says why, if there is nothing for them to do.
func (c *cycle) begin(profiles []profile) bool {
	if len(c.nodes) < 2 {
		c.skipped(fmt.Sprintf("only %d of %d nodes are ready and selected; moving pods takes two", len(c.nodes), len(c.view.Snapshot.Nodes)))
		return false
	}
	if c.opts.Background && c.past == nil {
		c.countLeaving()
	}
	if c.opts.Extras.PendingPods && !c.opts.Compat {
		c.bookPending()
	}
	// 3. What each profile's filters make of the pods.
	for i := range profiles {
		profiles[i].start(c)
	}
	// 4. Which strategies may object to the moves of the others, and how much searches may take.
	if !c.opts.Compat {
		c.foresight.Limit(c.effort)
		c.hear(profiles)
	}
	return true
}

// eligible are the nodes that are ready and that the policy selects, by name. Cordoned nodes are among them.
func eligible(s *cluster.Snapshot, p *policy.Policy) []*cluster.Node {
	var nodes []*cluster.Node
	for _, n := range s.Nodes {
		if n.Ready && p.NodeSelector.Matches(labels.Set(n.Labels)) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
