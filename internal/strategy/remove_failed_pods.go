package strategy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// defaultMinPodLifetimeSeconds leaves a failed pod alone for an hour, so that
// somebody can look at it.
const defaultMinPodLifetimeSeconds = 3600

// RemoveFailedPodsArgs are the arguments of RemoveFailedPods.
type RemoveFailedPodsArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// ExcludeOwnerKinds leaves out pods that have an owner of one of these kinds.
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds,omitempty"`
	// MinPodLifetimeSeconds leaves out pods created less long ago. Default 3600.
	MinPodLifetimeSeconds *uint `json:"minPodLifetimeSeconds,omitempty"`
	// Reasons limits the strategy to these reasons of the pod's status, or for
	// which a container is waiting or terminated; without entries any will do.
	Reasons []string `json:"reasons,omitempty"`
	// ExitCodes limits the strategy to pods with a container terminated with one
	// of these codes; without entries any will do.
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// IncludingInitContainers makes Reasons and ExitCodes look at init containers.
	IncludingInitContainers bool `json:"includingInitContainers,omitempty"`
}

// SetDefaults implements Args.
func (a *RemoveFailedPodsArgs) SetDefaults() {
	if a.MinPodLifetimeSeconds == nil {
		seconds := uint(defaultMinPodLifetimeSeconds)
		a.MinPodLifetimeSeconds = &seconds
	}
}

// Validate implements Args.
func (a *RemoveFailedPodsArgs) Validate(path *field.Path) field.ErrorList {
	return append(
		validateNamespaces(path.Child("namespaces"), a.Namespaces),
		validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
}

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

// PodByPod implements PodByPod.
func (*removeFailedPods) PodByPod() {}

// Run implements Strategy.
func (s *removeFailedPods) Run(c *Cycle) error {
	why := func(p *cluster.Pod) Why { return Why{Reason: s.reason(c, p), Anywhere: true} }
	want := c.telling(func(p *cluster.Pod) bool { return s.wants(c, p) }, func(p *cluster.Pod) plan.Reason { return s.spared(c, p) })
	for _, n := range c.Nodes {
		pods := c.candidates(n, want, why)
		if c.tryAll(pods, why) == plan.ThisCycle {
			return nil
		}
	}
	return nil
}

func (s *removeFailedPods) wants(c *Cycle, p *cluster.Pod) bool {
	return p.Phase == "Failed" && s.filter.Selects(p) && s.rightOwner(p) && s.oldEnough(c, p) && s.hasReason(p) &&
		(len(s.args.ExitCodes) == 0 || anyOf(exitCodes(p, s.kinds...), s.args.ExitCodes))
}

// spared names the first filter that a pod does not pass.
func (s *removeFailedPods) spared(c *Cycle, p *cluster.Pod) plan.Reason {
	switch {
	case p.Phase != "Failed":
		return spared("NotFailed", "it has not failed: its phase is %s", p.Phase)
	case !s.filter.Selects(p):
		return filteredOut()
	case !s.rightOwner(p):
		return wrongOwner()
	case !s.oldEnough(c, p):
		return c.tooYoung(p, "minPodLifetimeSeconds", *s.args.MinPodLifetimeSeconds)
	case !s.hasReason(p):
		return spared("OtherReason", "it has failed for none of the reasons %s", strings.Join(s.args.Reasons, ", "))
	default:
		return spared("OtherExitCode", "no container has ended with one of the exit codes %v", s.args.ExitCodes)
	}
}

func (s *removeFailedPods) rightOwner(p *cluster.Pod) bool {
	return !slices.ContainsFunc(s.excludeKinds, p.OwnedBy)
}

func (s *removeFailedPods) oldEnough(c *Cycle, p *cluster.Pod) bool {
	if s.args.MinPodLifetimeSeconds == nil {
		return true
	}
	age, known := c.age(p)
	return known && age >= *s.args.MinPodLifetimeSeconds
}

func (s *removeFailedPods) hasReason(p *cluster.Pod) bool {
	return len(s.args.Reasons) == 0 || anyOf(s.reasons(p), s.args.Reasons)
}

// reasons lists what can be named in the argument of that name.
func (s *removeFailedPods) reasons(p *cluster.Pod) []string {
	return append(containerReasons(p, s.kinds...), p.Reason)
}

// reason names what the policy asked for, and otherwise what the pod's status says.
func (s *removeFailedPods) reason(c *Cycle, p *cluster.Pod) plan.Reason {
	r := plan.Reason{Code: "Failed", Message: "it has failed", Numbers: plan.Numbers{}}
	var details []string
	if match, found := firstOf(s.reasons(p), s.args.Reasons); found {
		details = append(details, match)
	} else if p.Reason != "" {
		details = append(details, p.Reason)
	}
	if code, found := firstOf(exitCodes(p, s.kinds...), s.args.ExitCodes); found {
		details = append(details, fmt.Sprintf("exit code %d", code))
		r.Numbers["exitCode"] = float64(code)
	}
	if len(details) > 0 {
		r.Message += ": " + strings.Join(details, ", ")
	}
	if age, known := c.age(p); known && !p.Created.IsZero() {
		r.Message += fmt.Sprintf(", and was created %s ago", seconds(age))
		r.Numbers["ageSeconds"] = float64(age)
	}
	if len(r.Numbers) == 0 {
		r.Numbers = nil
	}
	return r
}
