package strategy

import (
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// candidates lists the pods on n that a strategy wants to move and that the filters let pass, as they are at this moment: what
// later moves free does not turn a pod that fitted nowhere into a candidate, as with the peer. Those that the filters hold back are
// put on record with the case that why makes for them.
func (c *Cycle) candidates(n *cluster.Node, want func(*cluster.Pod) bool, why func(*cluster.Pod) Why) []*cluster.Pod {
	var list []*cluster.Pod
	for p := range c.View.PodsOn(n) {
		if !want(p) {
			continue
		}
		if c.Evictable(p) && c.PreEviction(p) {
			list = append(list, p)
		} else {
			c.Try(p, why(p))
		}
	}
	return list
}

// tryAll proposes pods of one node in order, until something reaches further than the pod. It reports how far.
func (c *Cycle) tryAll(pods []*cluster.Pod, why func(*cluster.Pod) Why) plan.Scope {
	for _, p := range pods {
		if v := c.Try(p, why(p)); !v.Accepted && (v.Stop == plan.ThisNode || v.Stop == plan.ThisCycle) {
			return v.Stop
		}
	}
	return plan.ThisPod
}

// age is how long ago the pod was created, in whole seconds, as the peer counts. A pod without a creation time is infinitely old to the peer;
// by default its age is not known, and nothing follows from it.
func (c *Cycle) age(p *cluster.Pod) (seconds uint, known bool) {
	switch {
	case p.Created.IsZero():
		return ^uint(0), c.Compat
	case p.Created.After(c.Now):
		return 0, false
	}
	return uint(c.Now.Sub(p.Created) / time.Second), true
}

// states lists the reasons for which the pod's containers of the given kinds wait or ended.
func containerReasons(p *cluster.Pod, kinds ...cluster.ContainerKind) []string {
	var list []string
	for i := range p.Containers {
		s := &p.Containers[i]
		for _, k := range kinds {
			if s.Kind != k {
				continue
			}
			if s.Waiting != "" {
				list = append(list, s.Waiting)
			}
			if s.Terminated != "" {
				list = append(list, s.Terminated)
			}
		}
	}
	return list
}

// exitCodes lists the codes with which the pod's containers of the given kinds have ended.
func exitCodes(p *cluster.Pod, kinds ...cluster.ContainerKind) []int32 {
	var list []int32
	for i := range p.Containers {
		s := &p.Containers[i]
		for _, k := range kinds {
			if s.Kind == k && s.HasExit {
				list = append(list, s.ExitCode)
			}
		}
	}
	return list
}

func anyOf[T comparable](have, wanted []T) bool {
	_, found := firstOf(have, wanted)
	return found
}

func regularAnd(kind cluster.ContainerKind, also bool) []cluster.ContainerKind {
	if also {
		return []cluster.ContainerKind{cluster.RegularContainer, kind}
	}
	return []cluster.ContainerKind{cluster.RegularContainer}
}
