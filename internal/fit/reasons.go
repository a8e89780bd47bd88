package fit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// The codes of the reasons why a pod does not fit.
const (
	CodeCordoned    = "NodeUnschedulable"
	CodeNotSelected = "NodeNotSelected"
	CodeTainted     = "TaintNotTolerated"
	CodeRepelled    = "AntiAffinity"
	CodeNoRoom      = "NoRoom"
	CodeNowhere     = "FitsNowhere"
)

func cordoned(n *cluster.Node) plan.Reason {
	return plan.Reason{Code: CodeCordoned, Message: fmt.Sprintf("node %s is cordoned", n.Name)}
}

func notSelected(n *cluster.Node) plan.Reason {
	return plan.Reason{Code: CodeNotSelected, Message: fmt.Sprintf("node %s does not match the pod's node selector or required node affinity", n.Name)}
}

func tainted(n *cluster.Node, t corev1.Taint) plan.Reason {
	return plan.Reason{Code: CodeTainted, Message: fmt.Sprintf("node %s has the taint %s, which the pod does not tolerate", n.Name, t.ToString())}
}

func repelled(n *cluster.Node, other *cluster.Pod) plan.Reason {
	return plan.Reason{Code: CodeRepelled, Message: fmt.Sprintf("node %s runs %s, which the pod's anti-affinity keeps it away from", n.Name, other.Key())}
}

func noRoom(n *cluster.Node, name corev1.ResourceName, requested, free int64) plan.Reason {
	want, left := cluster.Quantity(name, requested), cluster.Quantity(name, free)
	return plan.Reason{
		Code:    CodeNoRoom,
		Message: fmt.Sprintf("node %s has %s of %s left, the pod requests %s", n.Name, left.String(), name, want.String()),
		Numbers: plan.Numbers{"requested": float64(requested), "free": float64(free)},
	}
}

// fitsNowhere sums up the codes of the single nodes.
func fitsNowhere(counts map[string]int) plan.Reason {
	words := map[string]string{
		CodeCordoned: "cordoned", CodeNotSelected: "not selected by the pod", CodeTainted: "with a taint it does not tolerate",
		CodeRepelled: "kept away by its anti-affinity", CodeNoRoom: "without room",
		CodeApart: "kept away by its anti-affinity", CodeGuarded: "kept away by the anti-affinity of others", CodeLonely: "without a pod it wants to be near",
		CodeUneven: "where its spread would break", CodePort: "with its host port in use", CodeVolume: "that its volume can't follow to",
	}
	var parts []string
	total, numbers := 0, plan.Numbers{}
	for _, code := range slices.Sorted(maps.Keys(counts)) {
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

// The codes of the reasons that only Scheduler gives.
const (
	CodeApart   = "AntiAffinityDomain"
	CodeGuarded = "AntiAffinityOfOthers"
	CodeLonely  = "Affinity"
	CodeUneven  = "TopologySpread"
	CodePort    = "HostPort"
	CodeVolume  = "VolumeNodeAffinity"
)

func apart(n *cluster.Node, key string) plan.Reason {
	return plan.Reason{Code: CodeApart, Message: fmt.Sprintf("node %s is in a domain (%s) with a pod that the pod's anti-affinity keeps it away from", n.Name, key)}
}

func guarded(n *cluster.Node, key string) plan.Reason {
	return plan.Reason{Code: CodeGuarded, Message: fmt.Sprintf("node %s is in a domain (%s) with a pod whose anti-affinity keeps the pod away", n.Name, key)}
}

func lonely(n *cluster.Node, key string) plan.Reason {
	return plan.Reason{Code: CodeLonely, Message: fmt.Sprintf("node %s is in a domain (%s) without a pod that the pod's affinity asks for", n.Name, key)}
}

func uneven(n *cluster.Node, key, detail string) plan.Reason {
	return plan.Reason{Code: CodeUneven, Message: fmt.Sprintf("node %s would break the pod's spread over %s: %s", n.Name, key, detail)}
}

func portInUse(n *cluster.Node, port int32) plan.Reason {
	return plan.Reason{Code: CodePort, Message: fmt.Sprintf("host port %d is in use on node %s", port, n.Name), Numbers: plan.Numbers{"port": float64(port)}}
}

func volumeTied(n *cluster.Node, claim string) plan.Reason {
	return plan.Reason{Code: CodeVolume, Message: fmt.Sprintf("the volume of claim %s can't be used on node %s", claim, n.Name)}
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
