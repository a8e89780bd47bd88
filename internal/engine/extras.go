package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/gate"
)

// Extras are what a cycle can do beyond the peer, and does only when asked to: they can lead to moves, or hold moves back, where
// the peer would not. They have no effect in the compatible mode.
type Extras struct {
	// WorkloadReplicas makes RemoveDuplicates even the pods of a Deployment as a whole, whichever of its ReplicaSets and images they are of, so that
	// a rollout does not count as two workloads.
	WorkloadReplicas bool
	// PendingPods books room for the pods that wait to be scheduled before anything is moved, so that nothing is moved onto the room they will take.
	PendingPods bool
	// NotReadyNodes makes PodLifeTime look at the pods of nodes that are not ready, too.
	NotReadyNodes bool
	// PreferredAntiAffinity makes RemovePodsViolatingInterPodAntiAffinity act on preferred terms, too, where a node can take the pod that is better by them.
	PreferredAntiAffinity bool
	// DrainEmptiest makes HighNodeUtilization empty the node that is used least where all nodes are under-used.
	DrainEmptiest bool
	// SoftTaints makes a PreferNoSchedule taint of the node to move to no reason to stay: for schedulers whose profile gives such taints little weight.
	SoftTaints bool
}

// extraNames are the names of extras on the command line.
func extraNames() []string {
	return []string{"workload-replicas", "pending-pods", "not-ready-nodes", "preferred-anti-affinity", "drain-emptiest", "soft-taints"}
}

// ExtrasHelp describes the names for a flag's help.
func ExtrasHelp() string {
	return "comma-separated `EXTRAS` beyond the descheduler: workload-replicas (RemoveDuplicates evens a Deployment across its ReplicaSets), " +
		"pending-pods (keep room for pods that wait to be scheduled), not-ready-nodes (PodLifeTime looks at them, too), preferred-anti-affinity (is acted on, too), " +
		"drain-emptiest (HighNodeUtilization, where all nodes are under-used), " +
		"soft-taints (PreferNoSchedule taints keep nothing from moving)"
}

// ParseExtras reads a list of names.
func ParseExtras(names []string) (Extras, error) {
	var e Extras
	for _, name := range names {
		switch name {
		case "workload-replicas":
			e.WorkloadReplicas = true
		case "pending-pods":
			e.PendingPods = true
		case "not-ready-nodes":
			e.NotReadyNodes = true
		case "preferred-anti-affinity":
			e.PreferredAntiAffinity = true
		case "drain-emptiest":
			e.DrainEmptiest = true
		case "soft-taints":
			e.SoftTaints = true
		default:
			return e, fmt.Errorf("%q is not one of %s", name, strings.Join(extraNames(), ", "))
		}
	}
	return e, nil
}

// bookPending books room for the pods that wait to be scheduled: the more important first, then the older.
func (c *cycle) bookPending() {
	var waiting []*cluster.Pod
	for _, p := range c.view.Pods {
		if p.NodeName == "" && !p.Terminal() && !p.Deleting {
			waiting = append(waiting, p)
		}
	}
	priority := func(p *cluster.Pod) int32 {
		if p.Spec.Priority == nil {
			return 0
		}
		return *p.Spec.Priority
	}
	slices.SortStableFunc(waiting, func(a, b *cluster.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), a.Created.Compare(b.Created))
	})
	for _, p := range waiting {
		if n, _, ok := c.foresight.Place(p, gate.Targets{}); ok {
			c.view.Expect(p, n)
			c.foresight.Moved(p, n)
		}
	}
}
