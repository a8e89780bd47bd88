package testkit

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/policy"
)

// HardCluster is a kind of cluster that a careless strategy takes too long on, in any size.
type HardCluster struct {
	Name   string
	Policy string // in short; see ParsePolicy
	Extras engine.Extras
	// Constraints is how many different constraints the nodes have to be held against, for each node there is; zero where there are few. One
	// that takes several steps to match counts as several, and one that selects many pods as the pods of a node.
	Constraints int
	// Nodes is the smaller of the two sizes in which it is looked at, 100 where it is zero. More are for what a small cluster does not show.
	Nodes int
	// Resources is how many resources pods may lack, if it is that in which the cluster is hard.
	Resources int
	lines     func(w *lines, nodes int) // with 30 pods to a node, where that is possible
}

// Build makes the cluster with so many nodes, and the policy.
func (h *HardCluster) Build(nodes int) (*cluster.Snapshot, *policy.Policy, error) {
	w := &lines{}
	h.lines(w, nodes)
	b := NewBuilder()
	if err := b.Lines(w.String()); err != nil {
		return nil, nil, err
	}
	s, err := b.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	p, err := ParsePolicy(h.Policy)
	return s, p, err
}

// lines is the text that a cluster is made of.
type lines struct{ strings.Builder }

func (w *lines) add(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// nodes adds nodes in three zones, with words about all of them.
func (w *lines) nodes(n int, words string) {
	for i := range n {
		w.add("node n%d labels=zone=z%d,name=n%d %s", i, i%3, i, words)
	}
}

// leave adds as many tainted nodes, t0 and so on, as others.
func (w *lines) leave(n int, words string) {
	w.nodes(n/2, words)
	for i := range n / 2 {
		w.add("node t%d labels=zone=z%d taint=a=b:NoSchedule cpu=400 pods=3000", i, i%3)
	}
}

const (
	roomy         = "cpu=400 pods=3000" // words about a node
	spreadPolicy  = "RemovePodsViolatingTopologySpreadConstraint\n  constraints: [DoNotSchedule, ScheduleAnyway]\n"
	antiPolicy    = "RemovePodsViolatingInterPodAntiAffinity\n"
	drainPolicy   = "RemovePodsViolatingNodeTaints\n"
	oldPolicy     = "PodLifeTime\n  maxPodLifeTimeSeconds: 60\n"
	restartPolicy = "RemovePodsHavingTooManyRestarts\n  podRestartThreshold: 1\n"
	lowPolicy     = "LowNodeUtilization\n  thresholds: {cpu: 30}\n  targetThresholds: {cpu: 50}\n"
	nodeFitOn     = "evictor\n  nodeFit: true\n"
)

// HardClusters lists them.
func HardClusters() []HardCluster {
	return slices.Concat(hardFit(), hardApart(), hardSpread(), hardOwners(), hardReplacements(), hardSearches(), hardMixes(), hardPending(), hardTerms())
}
