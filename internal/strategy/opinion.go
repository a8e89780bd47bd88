package strategy

import (
	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Opinionated is a strategy with a standing opinion on where pods are, which the moves of other strategies may go against. What one strategy moves for
// its reasons another would move back for its own, for ever, if neither knew of the other; so, by default, a move goes to a node that
// no other enabled strategy objects to, or is not made.
type Opinionated interface {
	// Opinion begins to follow the cycle as it stands. Nil means that there is nothing to object to.
	Opinion(c *Cycle) Opinion
}

// Opinion is what a strategy makes of other strategies' moves. It is asked about many nodes, so it answers from what it has counted.
type Opinion interface {
	// Against says what speaks against a replacement of p on n, p having left its own node: that the strategy would then move it, or another pod, away
	// again. RemoveDuplicates, topology spread and soft taints hold n against the pod's own node, and have nothing against a move that leaves things no worse.
	// The two strategies about node usage look at n alone: a move from one node that is over its target, or to be emptied, to another is objected to as well.
	// Nil when nothing speaks against it.
	Against(p *cluster.Pod, n *cluster.Node) func() plan.Reason
	// Moved is told of each move that is taken, whichever strategy proposed it; to is nil when no replacement is expected.
	Moved(p *cluster.Pod, to *cluster.Node)
}
