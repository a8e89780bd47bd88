package fit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// The codes of the reasons why a pod does not fit. Those after CodeNowhere only Scheduler gives.
const (
	CodeCordoned    = "NodeUnschedulable"
	CodeNotSelected = "NodeNotSelected"
	CodeTainted     = "TaintNotTolerated"
	CodeRepelled    = "AntiAffinity"
	CodeNoRoom      = "NoRoom"
	CodeNowhere     = "FitsNowhere"

	CodeApart   = "AntiAffinityDomain"
	CodeGuarded = "AntiAffinityOfOthers"
	CodeLonely  = "Affinity"
	CodeUneven  = "TopologySpread"
	CodePort    = "HostPort"
	CodeVolume  = "VolumeNodeAffinity"

	// CodeSearchEnded is of pods for which not every node was looked at; see [Effort].
	CodeSearchEnded = "SearchEnded"

	// The scheduler would start it there only if it had to.
	CodeSoftTaint     = "SoftTaint"
	CodeDrawnBack     = "PreferredAffinity"
	CodeLessPreferred = "PreferredNodeAffinity"
)

// obstacle is what keeps a pod off a node, as found: it is put into words only when somebody wants to know. The zero value is none.
type obstacle struct {
	code     string
	other    *cluster.Pod
	resource cluster.ResourceID
	key      string // a topology key or the name of a claim
	value    string
	// A count or a port, the count of another domain, and the most that they may differ by.
	have, least, most int64
}

// reason puts an obstacle into words.
func (o obstacle) reason(v *cluster.View, p *cluster.Pod, n *cluster.Node) plan.Reason {
	r := plan.Reason{Code: o.code}
	say := func(format string, args ...any) { r.Message = fmt.Sprintf("node "+n.Name+" "+format, args...) }
	switch o.code {
	case CodeCordoned:
		say("is cordoned")
	case CodeNotSelected:
		say("does not match the pod's node selector or required node affinity")
	case CodeTainted:
		taint, _ := Untolerated(n.Taints, p.Spec.Placement.Tolerations, HardTaint)
		say("has the taint %s, which the pod does not tolerate", taint.ToString())
	case CodeRepelled:
		say("runs %s, which the pod's anti-affinity keeps it away from", o.other.Key())
	case CodeNoRoom:
		name := v.Resources.Name(o.resource)
		want, free := p.Spec.Requests.Get(o.resource), n.Allocatable.Get(o.resource)-v.Used(n).Get(o.resource)
		wanted, left := cluster.Quantity(name, want), cluster.Quantity(name, free)
		say("has %s of %s left, the pod requests %s", left.String(), name, wanted.String())
		r.Numbers = plan.Numbers{"requested": float64(want), "free": float64(free)}
	case CodeApart:
		say("is in a domain (%s) with a pod that the pod's anti-affinity keeps it away from", o.key)
	case CodeGuarded:
		say("is in a domain (%s) with a pod whose anti-affinity keeps the pod away", o.key)
	case CodeLonely:
		say("is in a domain (%s) without a pod that the pod's affinity asks for", o.key)
	case CodeUneven:
		if o.value == "" {
			say("would break the pod's spread over %s: it lacks that label", o.key)
			break
		}
		say("would break the pod's spread over %s: %s would have %d pods, another domain %d; maxSkew is %d", o.key, o.value, o.have, o.least, o.most)
		r.Numbers = plan.Numbers{"pods": float64(o.have), "fewest": float64(o.least), "maxSkew": float64(o.most)}
	case CodePort:
		say("has host port %d in use", o.have)
		r.Numbers = plan.Numbers{"port": float64(o.have)}
	case CodeSoftTaint:
		say("has %d PreferNoSchedule taints that the pod does not tolerate, its own node %d: the scheduler would put it back", o.have, o.least)
		r.Numbers = plan.Numbers{"softTaints": float64(o.have), "own": float64(o.least)}
	case CodeDrawnBack:
		say("has fewer of the pods that the pod prefers to be near than its own node has: the scheduler would put it back")
		r.Numbers = plan.Numbers{"weight": float64(o.have), "own": float64(o.most)}
	case CodeLessPreferred:
		say("has weight %d in the pod's preferred node affinity, its own node %d: the scheduler would put it back", o.have, o.most)
		r.Numbers = plan.Numbers{"weight": float64(o.have), "own": float64(o.most)}
	case CodeVolume:
		say("can't use the volume of claim %s", o.key)
	}
	return r
}

// fitsNowhere sums up the codes of the single nodes.
func fitsNowhere(counts map[string]int) plan.Reason {
	words := map[string]string{
		CodeCordoned: "cordoned", CodeNotSelected: "not selected by the pod", CodeTainted: "with a taint it does not tolerate",
		CodeRepelled: "kept away by its anti-affinity", CodeNoRoom: "without room",
		CodeApart: "kept away by its anti-affinity", CodeGuarded: "kept away by the anti-affinity of others", CodeLonely: "without a pod it wants to be near",
		CodeUneven: "where its spread would break", CodePort: "with its host port in use", CodeVolume: "that its volume can't follow to",
		CodeSoftTaint: "that the scheduler would avoid for a soft taint", CodeDrawnBack: "farther from the pods it prefers to be near",
		CodeLessPreferred: "that its preferred node affinity likes less",
	}
	var parts []string
	total, numbers := 0, plan.Numbers{}
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		if counts[code] == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[code], words[code]))
		numbers[code] = float64(counts[code])
		total += counts[code]
	}
	message := "there is no other node"
	if total > 0 {
		message = "fits no other node: " + strings.Join(parts, ", ")
	}
	return plan.Reason{Code: CodeNowhere, Message: message, Numbers: numbers}
}
