package engine

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/gate"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// keeper is the Gatekeeper of one strategy of one profile.
type keeper struct {
	*cycle
	profile *profile
	use     *use
	count   *plan.StrategyCount
	told    bool                                   // something was said about the watched pod
	ended   func(*cluster.Pod) (plan.Reason, bool) // why the turn ended before it came to a pod; nil until something ends it
	hearing hearing                                // about the pod that was last asked about
}

var _ strategy.Gatekeeper = (*keeper)(nil)

// Evictable implements strategy.Gatekeeper.
func (k *keeper) Evictable(p *cluster.Pod) bool { return k.profile.evictor.Evictable(p) }

// PreEviction implements strategy.Gatekeeper.
func (k *keeper) PreEviction(p *cluster.Pod) bool { return k.profile.evictor.PreEviction(p) }

// Try implements strategy.Gatekeeper.
func (k *keeper) Try(p *cluster.Pod, why strategy.Why) plan.Verdict {
	v, to := k.decide(p, why)
	if !v.Accepted {
		k.Refuse(p, v.Gate, v.Reason)
		k.end(p, v)
		return v
	}
	m := plan.Move{Pod: refOf(p), Node: p.NodeName, Profile: k.profile.name, Strategy: k.use.name, Reason: why.Reason}
	if o := p.Owner(); o != nil {
		m.Owner = &plan.OwnerRef{Kind: o.Kind, Name: o.Name}
	}
	k.accept(p, m, to)
	k.count.Moves++
	k.Tell(p, func() plan.Reason {
		return plan.Reason{Code: "Moved", Message: "chosen to move: " + why.Reason.Message, Numbers: why.Reason.Numbers}
	})
	return v
}

// end keeps what ended the turn for the stories of pods that it did not come to, be it for all or for those of a node.
func (k *keeper) end(p *cluster.Pod, v plan.Verdict) {
	if k.watched == nil || k.ended != nil && v.Stop != plan.ThisCycle {
		return
	}
	switch v.Stop {
	case plan.ThisCycle:
		k.ended = func(*cluster.Pod) (plan.Reason, bool) { return v.Reason, true }
	case plan.ThisNode:
		k.ended = func(other *cluster.Pod) (plan.Reason, bool) { return v.Reason, other.Node == p.Node }
	}
}

// decide asks every gate, cheapest and most binding first. For an accepted move it also returns the node where room is to be booked for the
// replacement, if any.
func (k *keeper) decide(p *cluster.Pod, why strategy.Why) (plan.Verdict, *cluster.Node) {
	if k.view.Gone(p) {
		return refusal(GateMoved, plan.Reason{Code: "Moved", Message: "it moves already in this cycle"}, plan.ThisPod)
	}
	if reason, ok := k.profile.evictor.Filter(p); !ok {
		return refusal(GateEvictor, reason, plan.ThisPod)
	}
	if k.opts.Self.Name != "" && p.Namespace == k.opts.Self.Namespace && p.Name == k.opts.Self.Name {
		return refusal(GateSelf, plan.Reason{Code: "Self", Message: "this process runs in it"}, plan.ThisPod)
	}
	if k.opts.Background && leaving(p) {
		return refusal(GateLeaving, plan.Reason{Code: "Leaving", Message: "another controller is evicting it already"}, plan.ThisPod)
	}
	if reason, ok := k.profile.evictor.PreFilter(p); !ok {
		return refusal(GateNodeFit, reason, plan.ThisPod)
	}
	if reason, scope, ok := k.limits.Check(p); !ok && !k.past.again(p) {
		return refusal(GateLimit, reason, scope)
	}
	if k.opts.Compat {
		return plan.Verdict{Accepted: true}, nil
	}
	k.allowed.wanted(k.use, p)
	return k.decideGently(p, why)
}

// decideGently asks the gates that the peer does not have.
func (k *keeper) decideGently(p *cluster.Pod, why strategy.Why) (plan.Verdict, *cluster.Node) {
	if k.past.again(p) {
		return k.decidePlace(p, why)
	}
	if reason, starting := gate.Starting(p, k.view.TakenAt); starting && !why.EvenStarting {
		return refusal(GateStarting, reason, plan.ThisPod)
	}
	budget, reason, ok := k.budgets.Check(p)
	if !ok {
		return refusal(GateBudget, reason, plan.ThisPod)
	}
	if reason, ok := k.gentle.Check(p); !ok {
		return refusal(GateGentle, reason, plan.ThisPod)
	}
	v, to := k.decidePlace(p, why)
	if !v.Accepted {
		return v, nil
	}
	if reason, ok := k.allowed.check(k.use.name); !ok {
		return refusal(GateLimit, reason, plan.ThisCycle)
	}
	k.budgets.Take(budget)
	k.gentle.Add(p)
	return v, to
}

// decidePlace asks where a replacement could start, if one is to.
func (k *keeper) decidePlace(p *cluster.Pod, why strategy.Why) (plan.Verdict, *cluster.Node) {
	if p.Owner() == nil || p.Terminal() || why.Anywhere && k.starts == nil {
		return plan.Verdict{Accepted: true}, nil
	}
	if why.Anywhere {
		to, v := k.paced(p)
		return v, to
	}
	if reason, ok := k.holdUnbooked(); !ok {
		return refusal(GateForesight, reason, plan.ThisPod)
	}
	to, v := k.place(p, why)
	return v, to
}

// Note implements strategy.Gatekeeper.
func (k *keeper) Note(remark string) {
	if k.past != nil {
		return // said in the first look
	}
	k.plan.Summary.Notes = append(k.plan.Summary.Notes, fmt.Sprintf("profile %s: %s: %s", k.profile.name, k.use.name, remark))
}

// Refuse implements strategy.Gatekeeper.
func (k *keeper) Refuse(p *cluster.Pod, by string, reason plan.Reason) {
	k.refuse(plan.Refusal{Pod: refOf(p), Node: p.NodeName, Profile: k.profile.name, Strategy: k.use.name, Gate: by, Reason: reason})
	k.count.Refusals++
	k.Tell(p, func() plan.Reason {
		return plan.Reason{Code: reason.Code, Message: fmt.Sprintf("not moved, gate %s: %s", by, reason.Message), Numbers: reason.Numbers}
	})
}

func refusal(by string, reason plan.Reason, stop plan.Scope) (plan.Verdict, *cluster.Node) {
	return plan.Verdict{Gate: by, Reason: reason, Stop: stop}, nil
}
