package strategy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// PodLifeTimeArgs are the arguments of PodLifeTime. A pod is evicted when it
// passes every filter that is given; the values of one filter are alternatives.
// At least one of MaxPodLifeTimeSeconds, States, Conditions and ExitCodes is
// needed.
type PodLifeTimeArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// OwnerKinds limits the strategy by the kinds of a pod's owners.
	OwnerKinds *OwnerKinds `json:"ownerKinds,omitempty"`
	// MaxPodLifeTimeSeconds passes pods created longer ago than this.
	MaxPodLifeTimeSeconds *uint `json:"maxPodLifeTimeSeconds,omitempty"`
	// States passes pods by phase, status reason, or the reason a container is
	// waiting or terminated for. PodStates lists the values.
	States []string `json:"states,omitempty"`
	// Conditions passes pods by their status conditions.
	Conditions []PodConditionFilter `json:"conditions,omitempty"`
	// ExitCodes passes pods with a container terminated with one of these codes.
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// IncludingInitContainers makes States and ExitCodes look at init containers.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
	// IncludingEphemeralContainers makes States look at ephemeral containers.
	IncludingEphemeralContainers bool `json:"includingEphemeralContainers,omitempty"`
}

// PodConditionFilter matches a pod condition by every field that is set; at
// least one has to be.
type PodConditionFilter struct {
	// Type is the condition's type, such as "Ready".
	Type string `json:"type,omitempty"`
	// Status is the condition's status: "True", "False" or "Unknown".
	Status string `json:"status,omitempty"`
	// Reason is the condition's reason.
	Reason string `json:"reason,omitempty"`
	// MinTimeSinceLastTransitionSeconds asks that the condition has been as it
	// is for at least this long.
	MinTimeSinceLastTransitionSeconds *uint `json:"minTimeSinceLastTransitionSeconds,omitempty"`
}

// PodStates returns the values that PodLifeTimeArgs.States can hold: phases,
// reasons of a pod's status, and reasons for which a container is waiting or
// terminated.
func PodStates() []string {
	return []string{
		"Running", "Pending", "Succeeded", "Failed", "Unknown",
		"NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
		"PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff",
		"CreateContainerConfigError", "ErrImagePull", "CreateContainerError", "InvalidImageName",
		"OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
	}
}

// SetDefaults implements Args; nothing has a default.
func (*PodLifeTimeArgs) SetDefaults() {}

// Validate implements Args.
func (a *PodLifeTimeArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateNamespaces(path.Child("namespaces"), a.Namespaces)
	errs = append(errs, validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
	if o := a.OwnerKinds; o != nil && len(o.Include) > 0 && len(o.Exclude) > 0 {
		errs = append(errs, field.Forbidden(path.Child("ownerKinds"), "only one of include and exclude can be set"))
	}
	errs = append(errs, validateOneOf(path.Child("states"), a.States, PodStates())...)
	for i, c := range a.Conditions {
		if c == (PodConditionFilter{}) {
			errs = append(errs, field.Required(path.Child("conditions").Index(i),
				"set at least one of type, status, reason and minTimeSinceLastTransitionSeconds"))
		}
	}
	if a.MaxPodLifeTimeSeconds == nil && len(a.States) == 0 && len(a.Conditions) == 0 && len(a.ExitCodes) == 0 {
		errs = append(errs, field.Required(path,
			"set at least one of maxPodLifeTimeSeconds, states, conditions and exitCodes"))
	}
	return errs
}

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

// PodByPod implements PodByPod.
func (*podLifeTime) PodByPod() {}

// Run implements Strategy.
func (s *podLifeTime) Run(c *Cycle) error {
	why := func(p *cluster.Pod) Why {
		return Why{Reason: s.reason(c, p), Anywhere: true, EvenStarting: s.aboutState()}
	}
	want := c.telling(func(p *cluster.Pod) bool { return s.wants(c, p) }, func(p *cluster.Pod) plan.Reason { return s.spared(c, p) })
	var pods []*cluster.Pod
	for _, n := range slices.Concat(c.Nodes, c.NotReady) {
		pods = append(pods, c.candidates(n, want, why)...)
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
	return s.filter.Selects(p) && s.rightOwner(p) && s.tooOld(c, p) && s.inState(p) && s.inCondition(c, p) && s.ended(p)
}

// spared names the first filter that a pod does not pass.
func (s *podLifeTime) spared(c *Cycle, p *cluster.Pod) plan.Reason {
	switch {
	case !s.filter.Selects(p):
		return filteredOut()
	case !s.rightOwner(p):
		return wrongOwner()
	case !s.tooOld(c, p):
		return c.tooYoung(p, "maxPodLifeTimeSeconds", *s.args.MaxPodLifeTimeSeconds)
	case !s.inState(p):
		return spared("OtherState", "it is in none of the states %s", strings.Join(s.args.States, ", "))
	case !s.inCondition(c, p):
		return spared("OtherCondition", "none of its conditions is as conditions asks for, or for long enough")
	default:
		return spared("OtherExitCode", "no container has ended with one of the exit codes %v", s.args.ExitCodes)
	}
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
	return len(s.args.States) == 0 || anyOf(s.states(p), s.args.States)
}

// states lists what can be named in the argument of that name.
func (s *podLifeTime) states(p *cluster.Pod) []string {
	return append(containerReasons(p, s.kinds...), p.Reason, string(p.Phase))
}

func (s *podLifeTime) inCondition(c *Cycle, p *cluster.Pod) bool {
	return len(s.args.Conditions) == 0 || s.condition(c, p) != nil
}

// condition returns the pod's condition that the policy asks for, or nil.
func (s *podLifeTime) condition(c *Cycle, p *cluster.Pod) *cluster.Condition {
	for i := range s.args.Conditions {
		for j := range p.Conditions {
			if s.args.Conditions[i].matches(&p.Conditions[j], c.Now) {
				return &p.Conditions[j]
			}
		}
	}
	return nil
}

func (s *podLifeTime) ended(p *cluster.Pod) bool {
	return len(s.args.ExitCodes) == 0 || anyOf(s.exitCodes(p), s.args.ExitCodes)
}

func (s *podLifeTime) exitCodes(p *cluster.Pod) []int32 {
	return exitCodes(p, regularAnd(cluster.InitContainer, s.args.IncludingInitContainers)...)
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

// reason names what passed every filter there is, in the order of the filters.
func (s *podLifeTime) reason(c *Cycle, p *cluster.Pod) plan.Reason {
	r := plan.Reason{Code: "Matched", Numbers: plan.Numbers{}}
	var parts []string
	if limit := s.args.MaxPodLifeTimeSeconds; limit != nil {
		if age, known := c.age(p); known {
			parts = append(parts, fmt.Sprintf("it was created %s ago, more than maxPodLifeTimeSeconds %d", seconds(age), *limit))
			r.Code, r.Numbers["ageSeconds"], r.Numbers["maxPodLifeTimeSeconds"] = "TooOld", float64(age), float64(*limit)
		}
	}
	if len(s.args.States) > 0 {
		if state, found := firstOf(s.states(p), s.args.States); found {
			parts = append(parts, fmt.Sprintf("its state is %s", state))
		}
	}
	if condition := s.condition(c, p); condition != nil {
		parts = append(parts, describeCondition(condition))
	}
	if len(s.args.ExitCodes) > 0 {
		if code, found := firstOf(s.exitCodes(p), s.args.ExitCodes); found {
			parts = append(parts, fmt.Sprintf("a container ended with exit code %d", code))
			r.Numbers["exitCode"] = float64(code)
		}
	}
	if len(r.Numbers) == 0 {
		r.Numbers = nil
	}
	r.Message = strings.Join(parts, "; ")
	return r
}

func describeCondition(c *cluster.Condition) string {
	message := fmt.Sprintf("its condition %s is %s", c.Type, c.Status)
	if c.Reason != "" {
		message += " for " + c.Reason
	}
	return message
}

func seconds(n uint) string {
	if n > 1<<32 {
		return "an unknown time"
	}
	return (time.Duration(n) * time.Second).String()
}
