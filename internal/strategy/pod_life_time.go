package strategy

import (
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// podLifeTime moves pods that match every filter it was given: age, state, condition, exit code, kind of owner. The oldest of
// all nodes go first. Ended pods are looked at, too.
type podLifeTime struct {
	filter Filter
	args   *PodLifeTimeArgs
	kinds  []cluster.ContainerKind // whose reasons count as states
}

func newPodLifeTime(a *PodLifeTimeArgs) (*podLifeTime, error) {
	f, err := NewFilter(a.Namespaces, a.LabelSelector)
	kinds := regularAnd(cluster.InitContainer, a.IncludingInitContainers)
	if a.IncludingEphemeralContainers {
		kinds = append(kinds, cluster.EphemeralContainer)
	}
	return &podLifeTime{filter: f, args: a, kinds: kinds}, err
}

// Run implements Strategy.
func (s *podLifeTime) Run(c *Cycle) error {
	why := func(p *cluster.Pod) Why {
		return Why{Reason: s.reason(c, p), Anywhere: true, EvenStarting: s.aboutState()}
	}
	var pods []*cluster.Pod
	for _, n := range slices.Concat(c.Nodes, c.NotReady) {
		pods = append(pods, c.candidates(n, func(p *cluster.Pod) bool { return s.wants(c, p) }, why)...)
	}
	SortOldestFirst(pods)
	for _, p := range pods {
		if v := c.Try(p, why(p)); !v.Accepted && v.Stop == plan.ThisCycle {
			return nil
		}
	}
	return nil
}

// aboutState reports whether the policy names states: then pods that hang while they start may be just what it is about.
func (s *podLifeTime) aboutState() bool {
	return len(s.args.States)+len(s.args.Conditions)+len(s.args.ExitCodes) > 0
}

func (s *podLifeTime) wants(c *Cycle, p *cluster.Pod) bool {
	return s.filter.Selects(p) && s.rightOwner(p) && s.tooOld(c, p) && s.inState(p) && s.inCondition(c, p) &&
		(len(s.args.ExitCodes) == 0 || anyOf(exitCodes(p, regularAnd(cluster.InitContainer, s.args.IncludingInitContainers)...), s.args.ExitCodes))
}

func (s *podLifeTime) rightOwner(p *cluster.Pod) bool {
	kinds := s.args.OwnerKinds
	if kinds == nil {
		return true
	}
	for _, kind := range kinds.Exclude {
		if p.OwnedBy(kind) {
			return false
		}
	}
	for _, kind := range kinds.Include {
		if p.OwnedBy(kind) {
			return true
		}
	}
	return len(kinds.Include) == 0
}

func (s *podLifeTime) tooOld(c *Cycle, p *cluster.Pod) bool {
	if s.args.MaxPodLifeTimeSeconds == nil {
		return true
	}
	age, known := c.age(p)
	return known && age > *s.args.MaxPodLifeTimeSeconds
}

func (s *podLifeTime) inState(p *cluster.Pod) bool {
	return len(s.args.States) == 0 ||
		anyOf([]string{string(p.Phase), p.Reason}, s.args.States) || anyOf(containerReasons(p, s.kinds...), s.args.States)
}

func (s *podLifeTime) inCondition(c *Cycle, p *cluster.Pod) bool {
	if len(s.args.Conditions) == 0 {
		return true
	}
	for i := range s.args.Conditions {
		for j := range p.Conditions {
			if s.args.Conditions[i].matches(&p.Conditions[j], c.Now) {
				return true
			}
		}
	}
	return false
}

func (f *PodConditionFilter) matches(c *cluster.Condition, now time.Time) bool {
	if f.Type != "" && f.Type != c.Type || f.Status != "" && f.Status != c.Status || f.Reason != "" && f.Reason != c.Reason {
		return false
	}
	if f.MinTimeSinceLastTransitionSeconds == nil {
		return true
	}
	// In whole seconds, as with ages: a limit may be any unsigned number, which a duration could not hold.
	since := now.Sub(c.Transition) / time.Second
	return !c.Transition.IsZero() && since >= 0 && uint(since) >= *f.MinTimeSinceLastTransitionSeconds
}

func (s *podLifeTime) reason(c *Cycle, p *cluster.Pod) plan.Reason {
	age, known := c.age(p)
	if s.args.MaxPodLifeTimeSeconds == nil || !known {
		return plan.Reason{Code: "Matched", Message: "its state is one that the policy moves pods for"}
	}
	return plan.Reason{
		Code:    "TooOld",
		Message: fmt.Sprintf("it was created %s ago, more than maxPodLifeTimeSeconds %d", seconds(age), *s.args.MaxPodLifeTimeSeconds),
		Numbers: plan.Numbers{"ageSeconds": float64(age), "maxPodLifeTimeSeconds": float64(*s.args.MaxPodLifeTimeSeconds)},
	}
}

func seconds(n uint) string {
	if n > 1<<32 {
		return "an unknown time"
	}
	return (time.Duration(n) * time.Second).String()
}
