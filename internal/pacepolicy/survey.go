package pacepolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Node is what matters of a node.
type Node struct {
	Name   string
	Labels map[string]string
}

// Standing is how a policy does over all nodes.
type Standing struct {
	// Selected is how many nodes the policy selects, Held on how many of them it holds.
	Selected, Held int
	// Rivals have the same priority and select a node that this policy selects and none of a higher priority does.
	// Sorted.
	Rivals []string
	// Contested is how many nodes that is so on, and Example the first of them by name.
	Contested int
	Example   string
}

// Survey returns the standing of every policy, by name. Policies whose selector cannot be read select nothing.
func Survey(policies []v1alpha1.PacePolicy, nodes []Node) map[string]Standing {
	standings := make(map[string]Standing, len(policies))
	for _, p := range policies {
		standings[p.Name] = Standing{}
	}
	list, _ := rank(policies)
	for _, node := range nodes {
		surveyNode(standings, list, node)
	}
	return standings
}

func surveyNode(standings map[string]Standing, list []ranked, node Node) {
	var selecting []*v1alpha1.PacePolicy
	for _, r := range list {
		if r.selector.Matches(labels.Set(node.Labels)) {
			selecting = append(selecting, r.policy)
		}
	}
	top := 0
	for top < len(selecting) && selecting[top].Spec.Priority == selecting[0].Spec.Priority {
		top++
	}
	for i, p := range selecting {
		s := standings[p.Name]
		s.Selected++
		if i == 0 {
			s.Held++
		}
		if i < top && top > 1 {
			s.contest(selecting[:top], p, node.Name)
		}
		standings[p.Name] = s
	}
}

func (s *Standing) contest(top []*v1alpha1.PacePolicy, self *v1alpha1.PacePolicy, node string) {
	s.Contested++
	if s.Example == "" || node < s.Example {
		s.Example = node
	}
	for _, rival := range top {
		if at, found := slices.BinarySearch(s.Rivals, rival.Name); !found && rival != self {
			s.Rivals = slices.Insert(s.Rivals, at, rival.Name)
		}
	}
}

// Status returns the policy's status as it should be. Conditions that have not changed keep their times.
func (s Standing) Status(p *v1alpha1.PacePolicy, now time.Time) v1alpha1.PacePolicyStatus {
	status := v1alpha1.PacePolicyStatus{
		ObservedGeneration: p.Generation,
		SelectedNodes:      int32(s.Selected),
		HeldNodes:          int32(s.Held),
		Conditions:         slices.Clone(p.Status.Conditions),
	}
	for _, c := range []metav1.Condition{s.matches(), s.conflicting(p)} {
		c.ObservedGeneration = p.Generation
		c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

func (s Standing) matches() metav1.Condition {
	if s.Selected == 0 {
		return metav1.Condition{
			Type: v1alpha1.ConditionMatchesNodes, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonNoNodeSelected, Message: "no node has labels that spec.nodeSelector selects",
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionMatchesNodes, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonNodesSelected, Message: fmt.Sprintf("selects %s and holds on %d", count(s.Selected, "node"), s.Held),
	}
}

func (s Standing) conflicting(p *v1alpha1.PacePolicy) metav1.Condition {
	if s.Contested == 0 {
		return metav1.Condition{
			Type: v1alpha1.ConditionConflicting, Status: metav1.ConditionFalse,
			Reason: v1alpha1.ReasonNoRival, Message: "no other policy of its priority decides on the same nodes",
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionConflicting, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonEqualPriority,
		Message: fmt.Sprintf("priority %d is also that of %s, on %s, such as %s; the first by name holds there: change a priority or a selector",
			p.Spec.Priority, naming(s.Rivals), count(s.Contested, "node"), s.Example),
	}
}

// naming lists a few of the names: a condition's message is read by people.
func naming(names []string) string {
	const few = 5
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
