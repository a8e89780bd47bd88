package engine

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/gate"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// voice is an enabled strategy that may object to the moves of the others.
type voice struct {
	of      *use
	cycle   *strategy.Cycle
	begun   bool
	opinion strategy.Opinion // from begun on; nil: none
}

// hear gathers the voices of the profiles' strategies.
func (c *cycle) hear(profiles []profile) {
	for i := range profiles {
		for j := range profiles[i].uses {
			u := &profiles[i].uses[j]
			if _, ok := u.strategy.(strategy.Opinionated); ok {
				c.voices = append(c.voices, &voice{of: u, cycle: c.forStrategy(&keeper{cycle: c, profile: &profiles[i], use: u})})
			}
		}
	}
}

// against asks the strategy about p on n. It begins to follow the cycle when it is first asked.
func (v *voice) against(p *cluster.Pod, n *cluster.Node) func() plan.Reason {
	if !v.begun {
		v.begun, v.opinion = true, v.of.strategy.(strategy.Opinionated).Opinion(v.cycle)
	}
	if v.opinion == nil {
		return nil
	}
	return v.opinion.Against(p, n)
}

// Searching the nodes for one that nobody objects to is not worth any effort: policies whose strategies contradict each other, such as emptying the nodes
// that others fill up, would have every pod tried on every node. Once so many nodes were objected to for one strategy, its searches end after a few.
const (
	patientFor      = 20_000 // objections
	impatientSearch = 2      // nodes
)

// hearing asks the nodes' agents and the other strategies about the nodes that could take a pod.
type hearing struct {
	k     *keeper
	pod   *cluster.Pod
	deaf  bool // to other strategies
	nodes int  // that were objected to
	by    *voice
	early [2]*cluster.Node // the first that were objected to
	first func() plan.Reason
	paced int // nodes that have as many pods to start as they start at once
	pace  plan.Reason
}

// Against implements gate.Others.
func (h *hearing) Against() int { return h.nodes }

// GoOn implements gate.Others.
func (h *hearing) GoOn() bool { return h.k.use.objections < patientFor || h.nodes < impatientSearch }

// Allow implements gate.Others: nobody is to object to the pod on n. Before the search that asks about each node once, two at most are tried on the off chance.
func (h *hearing) Allow(n *cluster.Node) bool {
	if n == h.early[0] || n == h.early[1] {
		return false
	}
	if reason, ok := h.k.starts.Check(n); !ok {
		if h.count(n); h.paced == 0 {
			h.pace = reason
		}
		h.paced++
		return false
	}
	if h.deaf {
		return true
	}
	for _, v := range h.k.voices {
		if v.of == h.k.use {
			continue
		}
		if against := v.against(h.pod, n); against != nil {
			if h.count(n); h.first == nil {
				h.by, h.first = v, against
			}
			return false
		}
	}
	return true
}

// count counts a node that was objected to.
func (h *hearing) count(n *cluster.Node) {
	h.k.use.objections++
	if h.nodes < len(h.early) {
		h.early[h.nodes] = n
	}
	h.nodes++
}

// paceReason says that the nodes start no more for now.
func (h *hearing) paceReason() plan.Reason {
	r := h.pace
	if h.paced > 1 {
		r.Message = fmt.Sprintf("%d nodes that could take it start no more pods for now, the first: %s", h.paced, r.Message)
	}
	return r
}

// reason is the first objection.
func (h *hearing) reason() plan.Reason {
	r := h.first()
	message := h.by.of.name + " would move pods away again: " + r.Message
	if h.nodes > 1 {
		message = fmt.Sprintf("%d nodes that could take it were asked about, and each is objected to: %s", h.nodes, message)
	}
	return plan.Reason{Code: r.Code, Message: message, Numbers: r.Numbers}
}

// place finds the node to book room on for a replacement of p: one that the strategy calls better and nobody objects to.
func (k *keeper) place(p *cluster.Pod, why strategy.Why) (*cluster.Node, plan.Verdict) {
	k.hearing = hearing{k: k, pod: p}
	h := &k.hearing
	targets := gate.Targets{Nodes: why.Targets, Rest: why.Rest, Better: why.Better, Alike: why.Alike, Others: h}
	n, reason, ok := k.foresight.Place(p, targets)
	if !ok && h.paced == 0 && why.Forced && (h.nodes > 0 || why.Targets != nil) && !k.foresight.ComesBack(p) {
		deaf := &hearing{k: k, pod: p, deaf: true}
		targets.Others = deaf
		if n, reason, ok = k.force(p, targets, h.nodes > 0); deaf.paced > 0 {
			h = deaf
		}
	}
	switch {
	case ok:
		return n, plan.Verdict{Accepted: true}
	case h.paced > 0:
		return nil, plan.Verdict{Gate: GatePace, Reason: h.paceReason()}
	case h.first != nil:
		return nil, plan.Verdict{Gate: GateObjection, Reason: h.reason()}
	}
	return nil, plan.Verdict{Gate: GateForesight, Reason: reason}
}

// force finds a node for a pod that can't come back to its own: one that the strategy calls better, whichever strategy objects, else any.
func (k *keeper) force(p *cluster.Pod, t gate.Targets, objected bool) (*cluster.Node, plan.Reason, bool) {
	if objected && t.Nodes != nil {
		if n, reason, ok := k.foresight.Place(p, t); ok {
			return n, reason, ok
		}
	}
	return k.foresight.Place(p, gate.Targets{Others: t.Others})
}

// paced finds the node on which a replacement is likely to start of a pod that is to go wherever that is, and be it nowhere: its own, if no other can take it.
func (k *keeper) paced(p *cluster.Pod) (*cluster.Node, plan.Verdict) {
	h := &hearing{k: k, pod: p, deaf: true}
	n, _, ok := k.foresight.Place(p, gate.Targets{Others: h})
	if !ok && h.paced == 0 && k.foresight.ComesBack(p) {
		n, ok = p.Node, h.Allow(p.Node)
	}
	if !ok && h.paced > 0 {
		return nil, plan.Verdict{Gate: GatePace, Reason: h.paceReason()}
	}
	return n, plan.Verdict{Accepted: true}
}
