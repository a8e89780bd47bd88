package engine

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
)

// allowance is how many pods a cycle may move where the policy limits those of a node or a namespace. By default strategies choose other pods than the peer's
// do, on other nodes and in other namespaces, so that such a limit may hold back the peer's and not theirs; but no more are to move than the
// peer would move. RemoveDuplicates may move more than the peer (docs/parity.md), and is left out on both sides.
type allowance struct {
	most, moved int
}

const withoutAllowance = "RemoveDuplicates"

// newAllowance plays the peer's part. It is nil, and everything is allowed, without such limits, with opted-in extras, whose moves are not the peer's, and where a
// strategy of the peer's gives up that would go on by default.
func newAllowance(s *cluster.Snapshot, p *policy.Policy, o Options) (*allowance, error) {
	if o.Compat || o.Extras != (Extras{}) || p.MaxNoOfPodsToEvictPerNode == nil && p.MaxNoOfPodsToEvictPerNamespace == nil {
		return nil, nil
	}
	o.Compat, o.Around, o.Why = true, nil, plan.PodRef{}
	peer, err := look(s, p, o, nil)
	if err != nil {
		return nil, err
	}
	a := &allowance{}
	for _, c := range peer.plan.Summary.ByStrategy {
		if c.Error != "" {
			return nil, nil
		}
		if c.Strategy != withoutAllowance {
			a.most += c.Moves
		}
	}
	return a, nil
}

// check asks whether the strategy may move one more pod.
func (a *allowance) check(strategy string) (plan.Reason, bool) {
	if a == nil || strategy == withoutAllowance || a.moved < a.most {
		return plan.Reason{}, true
	}
	return plan.Reason{
		Code:    "PeersLimit",
		Message: fmt.Sprintf("within the limits of the policy the descheduler would move no more than %d, and so many move already", a.most),
		Numbers: plan.Numbers{"limit": float64(a.most)},
	}, false
}

// add counts a move.
func (a *allowance) add(strategy string) {
	if a != nil && strategy != withoutAllowance {
		a.moved++
	}
}
