package engine

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/strategy"
)

func newStory(asked plan.PodRef, p *cluster.Pod) *plan.Story {
	if p == nil {
		return &plan.Story{Pod: asked}
	}
	return &plan.Story{Pod: refOf(p), Node: p.NodeName, Found: true}
}

// Tell implements strategy.Gatekeeper.
func (k *keeper) Tell(p *cluster.Pod, reason func() plan.Reason) {
	if k.watched == nil || p != k.watched {
		return
	}
	k.told = true
	k.tell(k.profile.name+"/"+k.use.name, reason())
}

// closeStory says so when a strategy had nothing to say about the watched pod.
func (k *keeper) closeStory() {
	if k.watched == nil || k.told {
		return
	}
	k.tell(k.profile.name+"/"+k.use.name, k.spared(k.watched))
}

// spared is why a strategy that said nothing about a pod leaves it alone.
func (k *keeper) spared(p *cluster.Pod) plan.Reason {
	switch {
	case k.view.Gone(p):
		return plan.Reason{Code: "Moved", Message: "did not ask to move it: it moves already in this cycle"}
	case p.Node != nil && !slices.Contains(k.nodes, p.Node):
		return plan.Reason{Code: "NodeLeftOut", Message: "did not look at it: its node is not ready, or the policy does not select it"}
	case p.Node != nil && k.ended != nil:
		if r, here := k.ended(p); here {
			return plan.Reason{Code: r.Code, Message: "its turn ended before it came to this pod: " + r.Message, Numbers: r.Numbers}
		}
	}
	if s, ok := k.use.strategy.(strategy.Sparing); ok && p.Node != nil {
		return s.Spared(k.forStrategy(k), p)
	}
	return plan.Reason{Code: "NotWanted", Message: "did not ask to move it"}
}

func (c *cycle) tell(about string, reason plan.Reason) {
	c.plan.Story.Lines = append(c.plan.Story.Lines, plan.Chapter{About: about, Reason: reason})
}

func (c *cycle) tellSkipped(why string) {
	if c.watched != nil {
		c.tell("cycle", plan.Reason{Code: "Skipped", Message: why})
	}
}

// tellGates ends the watched pod's story with what each profile's filters make of it, and where it could run.
func (c *cycle) tellGates(profiles []profile) {
	if c.watched == nil {
		return
	}
	if c.watched.Node == nil {
		c.tell("cycle", plan.Reason{Code: "NotPlaced", Message: "it is not on a node of the snapshot, so no strategy looks at it"})
		return
	}
	for i := range profiles {
		p := &profiles[i]
		reasons := p.evictor.FilterAll(c.watched)
		for _, r := range reasons {
			c.tell(p.name+"/DefaultEvictor", plan.Reason{Code: r.Code, Message: "protected: " + r.Message, Numbers: r.Numbers})
		}
		if len(reasons) == 0 {
			c.tell(p.name+"/DefaultEvictor", plan.Reason{Code: "Evictable", Message: "no rule protects it"})
		}
	}
	if len(profiles) > 0 {
		c.tellFit(profiles[0].evictor.Fit().Nodes(), profiles)
	}
}

func (c *cycle) tellFit(nodes []*cluster.Node, profiles []profile) {
	checker := profiles[0].evictor.Fit()
	for _, n := range nodes {
		if n == c.watched.Node {
			continue
		}
		reason, ok := checker.Why(c.watched, n)
		if ok {
			reason = plan.Reason{Code: "Fits", Message: fmt.Sprintf("node %s could take it", n.Name)}
		}
		c.tell("node fit", reason)
	}
}
