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
		message = fmt.Sprintf("fits none of the %d other nodes: %s", total, strings.Join(parts, ", "))
	}
	return plan.Reason{Code: CodeNowhere, Message: message, Numbers: numbers}
}
