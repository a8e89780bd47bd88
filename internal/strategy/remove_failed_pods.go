package strategy

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// removeFailedPods removes pods that have failed, so that their owners make new ones and their remains do not pile up.
type removeFailedPods struct {
	filter       Filter
	excludeKinds []string
	args         *RemoveFailedPodsArgs
	kinds        []cluster.ContainerKind
}

func newRemoveFailedPods(a *RemoveFailedPodsArgs) (*removeFailedPods, error) {
	f, err := NewFilter(a.Namespaces, a.LabelSelector)
	return &removeFailedPods{
		filter: f, excludeKinds: a.ExcludeOwnerKinds, args: a, kinds: regularAnd(cluster.InitContainer, a.IncludingInitContainers),
	}, err
}

// Run implements Strategy.
func (s *removeFailedPods) Run(c *Cycle) error {
	why := func(p *cluster.Pod) Why { return Why{Reason: failedReason(c, p), Anywhere: true} }
	for _, n := range c.Nodes {
		pods := c.candidates(n, func(p *cluster.Pod) bool { return s.wants(c, p) }, why)
		if c.tryAll(pods, why) == plan.ThisCycle {
			return nil
		}
	}
	return nil
}

func (s *removeFailedPods) wants(c *Cycle, p *cluster.Pod) bool {
	if p.Phase != "Failed" || !s.filter.Selects(p) {
		return false
	}
	for _, kind := range s.excludeKinds {
		if p.OwnedBy(kind) {
			return false
		}
	}
	if minimum := s.args.MinPodLifetimeSeconds; minimum != nil {
		if age, known := c.age(p); !known || age < *minimum {
			return false
		}
	}
	if len(s.args.Reasons) > 0 && !anyOf(append(containerReasons(p, s.kinds...), p.Reason), s.args.Reasons) {
		return false
	}
	return len(s.args.ExitCodes) == 0 || anyOf(exitCodes(p, s.kinds...), s.args.ExitCodes)
}

func failedReason(c *Cycle, p *cluster.Pod) plan.Reason {
	message := "it has failed"
	if p.Reason != "" {
		message += ": " + p.Reason
	}
	r := plan.Reason{Code: "Failed", Message: message}
	if age, known := c.age(p); known && !p.Created.IsZero() {
		r.Message += fmt.Sprintf(", and was created %s ago", seconds(age))
		r.Numbers = plan.Numbers{"ageSeconds": float64(age)}
	}
	return r
}
