package fit

import (
	"fmt"
	"math"

	"evenkeel.dev/evenkeel/internal/plan"
)

// LookAhead is how many nodes are looked at one after the other before those that will do are looked for in other ways. In most clusters the first will.
const LookAhead = 32

// Effort is how much the searches of one cycle may take, in nodes that are looked at in vain: some for each pod, as many as that takes the logarithm of, and
// each node once for each constraint. The nodes that every pod is held against, LookAhead at most, are not counted. When it is used up, those are all that a
// pod is held against. A nil one is without limit.
type Effort struct {
	left, spent, ended int
}

// perPod is the part of the effort that grows with the pods, for each and in terms of the logarithm of their number.
const perPod = 2

// NewEffort is for a cycle with so many pods.
func NewEffort(pods int) *Effort {
	return &Effort{left: int(perPod * float64(pods) * math.Log2(float64(pods)+2))}
}

// Grant allows for so many nodes more.
func (e *Effort) Grant(nodes int) {
	if e != nil {
		e.left += nodes
	}
}

// Spend counts nodes looked at in vain.
func (e *Effort) Spend(nodes int) {
	if e != nil {
		e.left -= nodes
		e.spent += nodes
	}
}

// Spent is how many nodes were looked at in vain so far.
func (e *Effort) Spent() int {
	if e == nil {
		return 0
	}
	return e.spent
}

// Over reports whether it is used up.
func (e *Effort) Over() bool { return e != nil && e.left < 0 }

// End counts a search that ended because it was used up, and says so.
func (e *Effort) End() plan.Reason {
	e.ended++
	return plan.Reason{
		Code:    CodeSearchEnded,
		Message: fmt.Sprintf("none of the nodes that were looked at for it can take it, and not all were: the searches of this cycle have looked at %d nodes in vain, and may not take more", e.spent),
		Numbers: plan.Numbers{"looked": float64(e.spent)},
	}
}

// Ended is how many searches ended because it was used up.
func (e *Effort) Ended() int {
	if e == nil {
		return 0
	}
	return e.ended
}
