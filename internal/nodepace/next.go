package nodepace

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/pace"
)

// Observation is what there is to report.
type Observation struct {
	Agent      string // its version
	Queue      pace.Snapshot
	Executable *v1alpha1.Executable // nil: nothing is installed by this agent
	// What readiness is made of, and what keeps each from being true, in words, "" if not known.
	Installed, Tested, Listening, PodsKnown State
	Policy                                  Policy
}

// State is whether something is so, and if not why.
type State struct {
	Is  bool
	Why string
}

// Policy is where the settings in force come from.
type Policy struct {
	Name       string // of the PacePolicy; "" for the agent's file alone
	Generation int64
	Rivals     []string // of equal priority, that lost by name
	// Problem is why that is not what the API says; "" when it is.
	Problem string
}

// jitter is how far apart two figures for the same beginning may lie.
const jitter = 2 * time.Second

// Next is the status for what was observed now, given the one before. It is equal to the one before when nothing worth
// writing has changed.
func Next(before v1alpha1.NodePaceStatus, o Observation, now time.Time) v1alpha1.NodePaceStatus {
	now = now.Truncate(time.Second)
	status := v1alpha1.NodePaceStatus{
		Limit:            int32(o.Queue.Limit),
		LimitedBy:        o.Queue.LimitedBy,
		LimitChange:      before.LimitChange,
		Starting:         int32(len(o.Queue.Holding) + o.Queue.LockHolders),
		Waiting:          int32(len(o.Queue.Waiting)),
		WaitingSince:     waitingSince(before.WaitingSince, o.Queue.Waiting, now),
		Policy:           o.Policy.Name,
		PolicyGeneration: o.Policy.Generation,
		Executable:       o.Executable,
		Agent:            o.Agent,
	}
	if before.Limit != 0 && before.Limit != status.Limit {
		status.LimitChange = &v1alpha1.LimitChange{
			Time: metav1.NewTime(now), From: before.Limit, To: status.Limit,
			Reason: whyChanged(before, status),
		}
	}
	status.Conditions = slices.Clone(before.Conditions)
	for _, c := range conditions(o) {
		c.LastTransitionTime = metav1.NewTime(now)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

// waitingSince is when the longest wait began.
func waitingSince(before *metav1.Time, waiting []pace.Waiter, now time.Time) *metav1.Time {
	var longest time.Duration
	for _, w := range waiting {
		longest = max(longest, w.Waited.Std())
	}
	if len(waiting) == 0 {
		return nil
	}
	since := metav1.NewTime(now.Add(-longest).Truncate(time.Second))
	if before != nil && since.Sub(before.Time).Abs() <= jitter {
		return before
	}
	return &since
}

// whyChanged tells from two statuses why their limits differ.
func whyChanged(before, after v1alpha1.NodePaceStatus) string {
	switch {
	case before.Policy != after.Policy && after.Policy == "":
		return fmt.Sprintf("no PacePolicy holds any more; the agent's file does, %s", by(after.LimitedBy))
	case before.Policy != after.Policy || before.PolicyGeneration != after.PolicyGeneration:
		return fmt.Sprintf("PacePolicy %s, generation %d, %s", after.Policy, after.PolicyGeneration, by(after.LimitedBy))
	case after.LimitedBy == "pressure" && after.Limit < before.Limit:
		return "the node is short of processor, memory or I/O"
	case before.LimitedBy == "pressure":
		return "the node is no longer as short of processor, memory or I/O"
	case after.LimitedBy == "adaptive" && after.Limit < before.Limit:
		return "the plugin failed or was slow, or the node was short of something"
	case after.LimitedBy == "adaptive":
		return "starts are quick and the node is well"
	}
	return "the configuration changed, " + by(after.LimitedBy)
}

func by(limitedBy string) string { return "limited by " + limitedBy }

func conditions(o Observation) []metav1.Condition {
	parts := []struct {
		kind string
		State
	}{
		{v1alpha1.ConditionInstalled, o.Installed},
		{v1alpha1.ConditionTested, o.Tested},
		{v1alpha1.ConditionListening, o.Listening},
		{v1alpha1.ConditionPodsKnown, o.PodsKnown},
	}
	ready := condition(v1alpha1.ConditionReady, true, "AllWell", "")
	list := make([]metav1.Condition, 0, len(parts)+2)
	for _, p := range parts {
		if !p.Is && ready.Status == metav1.ConditionTrue {
			ready = condition(v1alpha1.ConditionReady, false, "Not"+p.kind, p.Why)
		}
		if p.Is {
			list = append(list, condition(p.kind, true, p.kind, ""))
		} else {
			list = append(list, condition(p.kind, false, "Not"+p.kind, p.Why))
		}
	}
	return append([]metav1.Condition{ready}, append(list, applied(o.Policy))...)
}

func applied(p Policy) metav1.Condition {
	switch {
	case p.Problem != "":
		return condition(v1alpha1.ConditionPolicyApplied, false, "NotApplied", p.Problem)
	case p.Name == "":
		return condition(v1alpha1.ConditionPolicyApplied, true, "FileAlone", "no PacePolicy selects this node; the agent's file holds")
	case len(p.Rivals) > 0:
		return condition(v1alpha1.ConditionPolicyApplied, true, "FirstByName",
			fmt.Sprintf("PacePolicy %s holds because its name comes before those of the same priority: %s", p.Name, naming(p.Rivals)))
	}
	return condition(v1alpha1.ConditionPolicyApplied, true, "PolicyHolds", "PacePolicy "+p.Name+" holds")
}

// naming names a few.
func naming(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s, %s, %s and %d more", names[0], names[1], names[2], len(names)-3)
	}
	text := names[0]
	for _, n := range names[1:] {
		text += ", " + n
	}
	return text
}

func condition(kind string, is bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}
