// Package strategy holds the plugins of a DeschedulerPolicy: a file for what each
// strategy can be told and does, and one explicit list of them in registry.go.
//
// A strategy is handed a [Cycle]: the view of the cluster, the nodes it may look at, and Try, which takes a move or says why not. It
// has no client, clock, logger or context, and keeps nothing from one cycle to the next.
// A strategy looks at pods and nodes in the order of the view, so that the same cluster always gives the same moves.
package strategy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Strategy is one plugin with its arguments. Run proposes moves; an error says that it could
// not do its work, and never undoes the moves taken before.
type Strategy interface {
	Run(c *Cycle) error
}

// Measuring is a strategy that can go by measurements. What moves change is measured only later.
type Measuring interface {
	// Measures reports whether it does.
	Measures() bool
}

// PodByPod is a strategy that decides about each pod by itself: what else has moved does not make it propose a pod, and by default it proposes
// none that the peer's would not.
type PodByPod interface {
	PodByPod()
}

// Sparing is a strategy that can say why it leaves a pod alone.
type Sparing interface {
	// Spared is asked about a pod on one of the cycle's nodes, after the run, if the strategy has not told anything about it.
	Spared(c *Cycle, p *cluster.Pod) plan.Reason
}

// Gatekeeper decides about proposed moves and keeps every decision.
type Gatekeeper interface {
	// Evictable reports whether the pod passes the profile's filters (DefaultEvictor). It is cheap to ask again.
	Evictable(p *cluster.Pod) bool
	// PreEviction reports whether it passes the profile's pre-eviction filters, node fit among them.
	PreEviction(p *cluster.Pod) bool
	// Try takes the move or refuses it; either is recorded. Every gate is applied, those above included.
	Try(p *cluster.Pod, why Why) plan.Verdict
	// Refuse records that the strategy wanted to move the pod and itself found a reason not to.
	Refuse(p *cluster.Pod, gate string, reason plan.Reason)
	// Tell adds to the story of a pod; reason is called only if the story is wanted.
	Tell(p *cluster.Pod, reason func() plan.Reason)
	// Note adds a remark on the input to the plan's summary: what the strategy left out, and why.
	Note(remark string)
}

// Why is the case for a move.
type Why struct {
	Reason plan.Reason
	// Targets are the nodes on which a replacement would be no worse off than the pod is now, by the strategy's own rule.
	// Nil means any other node, and then Rest, Better and Alike are not looked at. By default a pod is not moved if it could start on none of them. The list may be shared, and is not changed.
	Targets []*cluster.Node
	// Rest, when set, lists them all, the best first: it is asked for when the one in Targets, the best, will not do.
	Rest func() []*cluster.Node
	// Better, when set, picks from Targets those that really are better for this pod.
	Better func(*cluster.Node) bool
	// Alike, when set, is comparable, and equal for pods that are proposed with the same Targets and Better, for all of which the other
	// pods' nodes are no better than their own: what is found out about one need not be found out again about another.
	Alike any
	// Forced says that a rule of the scheduler's own forbids the pod its node. Where by its filters it can't come back, Targets, Better and the objections
	// of other strategies then only pick among the nodes that could take it, and hold nothing back.
	Forced bool
	// EvenStarting says that the strategy is about pods that do not get ready, so that even one that has just started may go.
	EvenStarting bool
	// Anywhere says that the pod is to go even if no replacement can start (it has failed, or is too old).
	Anywhere bool
}

// Cycle is one strategy's view of the world while it runs.
type Cycle struct {
	Gatekeeper
	View *cluster.View
	// Nodes are those the policy selects and that are ready, by name. Pods elsewhere are not looked at.
	Nodes []*cluster.Node
	// NotReady are nodes the policy selects that are not ready, when the user asked for them to be looked at; else none.
	NotReady []*cluster.Node
	// ByWorkload asks for replicas to be counted by what owns their owner: the Deployment, and not each of its ReplicaSets.
	ByWorkload bool
	// PreferredAntiAffinity asks for preferred anti-affinity to be acted on, too.
	PreferredAntiAffinity bool
	// DrainEmptiest asks HighNodeUtilization to empty the node that is used least where all nodes are under-used.
	DrainEmptiest bool
	// MovedOff is how many pods this strategy has moved off a node already in this cycle, before the view was taken.
	MovedOff func(*cluster.Node) int
	// Effort is what searches for a node may take: by default, a strategy that looks at more than a few for a pod counts them, and ends when it is used up.
	Effort *fit.Effort
	// Now is when the snapshot was taken.
	Now time.Time
	// Compat asks for the peer's choices where ours differ.
	Compat bool
	// Mended asks, together with Compat, for the peer without what it misreads and so leaves where it is (marked * in docs/parity.md).
	Mended bool
}

// misreads reports whether terms, taints and measurements are to be read as the peer does where that keeps it from moving pods.
func (c *Cycle) misreads() bool { return c.Compat && !c.Mended }

// Filter selects pods by namespace and label, as most strategies can be told to.
type Filter struct {
	include map[string]bool
	exclude map[string]bool
	labels  labels.Selector // nil: every pod
}

// NewFilter compiles the two arguments; both may be nil. They must have been validated.
func NewFilter(ns *Namespaces, selector *metav1.LabelSelector) (Filter, error) {
	f := Filter{}
	if ns != nil {
		f.include, f.exclude = set(ns.Include), set(ns.Exclude)
	}
	if selector != nil {
		s, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return f, err
		}
		if !s.Empty() {
			f.labels = s
		}
	}
	return f, nil
}

// Selects reports whether the pod is one that the strategy is to look at.
func (f *Filter) Selects(p *cluster.Pod) bool {
	if len(f.include) > 0 && !f.include[p.Namespace] || len(f.exclude) > 0 && f.exclude[p.Namespace] {
		return false
	}
	return f.labels == nil || f.labels.Matches(labels.Set(p.Labels))
}

func set(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, s := range list {
		m[s] = true
	}
	return m
}
