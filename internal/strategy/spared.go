package strategy

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// telling makes the story of a pod that want leaves alone say why, in the words of spared. All other pods cost a comparison.
func (c *Cycle) telling(want func(*cluster.Pod) bool, spared func(*cluster.Pod) plan.Reason) func(*cluster.Pod) bool {
	var looked *cluster.Pod
	reason := func() plan.Reason { return spared(looked) }
	return func(p *cluster.Pod) bool {
		if want(p) {
			return true
		}
		looked = p
		c.Tell(p, reason)
		return false
	}
}

// spared says why a strategy does not want a pod: code and message as of a plan.Reason.
func spared(code, format string, args ...any) plan.Reason {
	return plan.Reason{Code: code, Message: fmt.Sprintf(format, args...)}
}

func filteredOut() plan.Reason {
	return spared("FilteredOut", "the strategy's namespaces or labelSelector leave it out")
}

func wrongOwner() plan.Reason {
	return spared("OwnerLeftOut", "the strategy leaves out the kind of its owner")
}

// tooYoung names the limit, an argument, that the pod's age does not reach.
func (c *Cycle) tooYoung(p *cluster.Pod, argument string, limit uint) plan.Reason {
	age, known := c.age(p)
	if !known {
		return spared("AgeUnknown", "its age is not known, so %s %d is not reached", argument, limit)
	}
	r := spared("TooYoung", "it was created %s ago; %s is %d", seconds(age), argument, limit)
	r.Numbers = plan.Numbers{"ageSeconds": float64(age), argument: float64(limit)}
	return r
}

// firstOf returns the first of what there is that is wanted.
func firstOf[T comparable](have, wanted []T) (match T, found bool) {
	for _, h := range have {
		for _, w := range wanted {
			if h == w {
				return h, true
			}
		}
	}
	return match, false
}
