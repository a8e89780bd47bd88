package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
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

// codeUnbooked is of moves that are held back because it was not found out where pods that wait will start.
const codeUnbooked = "PendingPods"

// bookPending books room for the pods that wait to be scheduled: the more important first, then the older. The searches have an effort of their own. Where it is used
// up before it is known where one of them can start, nothing is known of the room that it will take: then nothing moves that would need room.
func (c *cycle) bookPending() {
	var waiting []*cluster.Pod
	for _, p := range c.view.Pods {
		if p.NodeName == "" && !p.Terminal() && !p.Deleting && !gated(p) {
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
	c.foresight.Limit(fit.NewEffort(len(c.view.Pods)))
	for _, p := range waiting {
		n, all := c.foresight.ToBook(p)
		switch {
		case n != nil:
			c.view.Expect(p, n)
			c.foresight.Moved(p, n)
		case !all:
			c.unbooked++
		}
	}
	if c.unbooked > 0 {
		c.noteUnbooked()
	}
}

// gated reports whether the scheduler does not look at the pod yet. The API server puts that among the conditions of a pod with scheduling gates.
func gated(p *cluster.Pod) bool {
	return slices.ContainsFunc(p.Conditions, func(c cluster.Condition) bool {
		return c.Type == string(corev1.PodScheduled) && c.Reason == corev1.PodReasonSchedulingGated
	})
}

// noteUnbooked says in the plan that moves are held back, whichever look of the cycle it is.
func (c *cycle) noteUnbooked() {
	const note = "it was not found out where all pods that wait to be scheduled can start, as searches for a node ended early; nothing moves that would need room they may take"
	out := c.plan
	if c.past != nil {
		out = c.past.plan
	}
	if !slices.Contains(out.Summary.Notes, note) {
		out.Summary.Notes = append(out.Summary.Notes, note)
	}
}

// holdUnbooked is the reason for which a move that needs room is held back; ok is true if there is none.
func (c *cycle) holdUnbooked() (reason plan.Reason, ok bool) {
	if c.unbooked == 0 {
		return plan.Reason{}, true
	}
	return plan.Reason{
		Code: codeUnbooked,
		Message: fmt.Sprintf("%d pods that wait to be scheduled may take the room that it would need: the searches of this cycle ended before it was found out where they can start",
			c.unbooked),
		Numbers: plan.Numbers{"waiting": float64(c.unbooked)},
	}, false
}
