package strategy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// RemovePodsHavingTooManyRestartsArgs are the arguments of
// RemovePodsHavingTooManyRestarts.
type RemovePodsHavingTooManyRestartsArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// PodRestartThreshold is the sum of its containers' restarts from which on a
	// pod is evicted. Required, at least 1.
	PodRestartThreshold int32 `json:"podRestartThreshold,omitempty"`
	// IncludingInitContainers adds the restarts of init containers, sidecars
	// among them.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
	// States limits the strategy to pods in phase Running or with a container
	// waiting in CrashLoopBackOff; without entries any state will do.
	States []string `json:"states,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemovePodsHavingTooManyRestartsArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemovePodsHavingTooManyRestartsArgs) Validate(path *field.Path) field.ErrorList {
	errs := validateNamespaces(path.Child("namespaces"), a.Namespaces)
	errs = append(errs, validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
	if a.PodRestartThreshold < 1 {
		errs = append(errs, field.Invalid(path.Child("podRestartThreshold"), a.PodRestartThreshold, "must be at least 1"))
	}
	return append(errs, validateOneOf(path.Child("states"), a.States, []string{"CrashLoopBackOff", "Running"})...)
}

// tooManyRestarts moves pods whose containers have restarted often, those with most restarts on a node first: another node may
// suit them better.
type tooManyRestarts struct {
	filter Filter
	args   *RemovePodsHavingTooManyRestartsArgs
	kinds  []cluster.ContainerKind
}

func newTooManyRestarts(a *RemovePodsHavingTooManyRestartsArgs) (*tooManyRestarts, error) {
	f, err := NewFilter(a.Namespaces, a.LabelSelector)
	return &tooManyRestarts{filter: f, args: a, kinds: regularAnd(cluster.InitContainer, a.IncludingInitContainers)}, err
}

// PodByPod implements PodByPod.
func (*tooManyRestarts) PodByPod() {}

// Run implements Strategy.
func (s *tooManyRestarts) Run(c *Cycle) error {
	why := func(p *cluster.Pod) Why { return Why{Reason: s.reason(p), Anywhere: true, EvenStarting: true} }
	want := c.telling(s.wants, s.spared)
	for _, n := range c.Nodes {
		pods := c.candidates(n, want, why)
		slices.SortStableFunc(pods, func(a, b *cluster.Pod) int { return int(s.restarts(b) - s.restarts(a)) })
		if c.tryAll(pods, why) == plan.ThisCycle {
			return nil
		}
	}
	return nil
}

func (s *tooManyRestarts) wants(p *cluster.Pod) bool {
	return s.filter.Selects(p) && s.restarts(p) >= int64(s.args.PodRestartThreshold) && s.inState(p)
}

// spared names the first filter that a pod does not pass.
func (s *tooManyRestarts) spared(p *cluster.Pod) plan.Reason {
	switch {
	case !s.filter.Selects(p):
		return filteredOut()
	case s.restarts(p) < int64(s.args.PodRestartThreshold):
		r := s.reason(p)
		r.Code = "FewRestarts"
		return r
	default:
		return spared("OtherState", "it is in none of the states %s", strings.Join(s.args.States, ", "))
	}
}

func (s *tooManyRestarts) restarts(p *cluster.Pod) int64 {
	var sum int64
	for i := range p.Containers {
		if slices.Contains(s.kinds, p.Containers[i].Kind) {
			sum += int64(p.Containers[i].Restarts)
		}
	}
	return sum
}

func (s *tooManyRestarts) inState(p *cluster.Pod) bool {
	if len(s.args.States) == 0 {
		return true
	}
	have := []string{}
	if p.Phase == corev1.PodRunning {
		have = append(have, string(p.Phase))
	}
	for i := range p.Containers {
		if slices.Contains(s.kinds, p.Containers[i].Kind) {
			have = append(have, p.Containers[i].Waiting)
		}
	}
	return anyOf(have, s.args.States)
}

func (s *tooManyRestarts) reason(p *cluster.Pod) plan.Reason {
	return plan.Reason{
		Code:    "TooManyRestarts",
		Message: fmt.Sprintf("its containers have restarted %d times; podRestartThreshold is %d", s.restarts(p), s.args.PodRestartThreshold),
		Numbers: plan.Numbers{"restarts": float64(s.restarts(p)), "threshold": float64(s.args.PodRestartThreshold)},
	}
}
