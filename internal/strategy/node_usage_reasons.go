package strategy

import (
	"fmt"
	"strconv"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// gateStrategy is the gate of refusals that a strategy makes itself.
const gateStrategy = "strategy"

// usageNumbers are a node's percentages and the thresholds, by resource: of those that have a threshold, or of which the node uses more than it has.
func (rs usedResources) usageNumbers(u *nodeUsage) plan.Numbers {
	numbers := plan.Numbers{}
	for i := range rs {
		if rs[i].hasThreshold {
			numbers[string(rs[i].name)] = u.percent(i)
			numbers[rs[i].lowName] = rs[i].low
			numbers[rs[i].highName] = rs[i].high
		} else if rs.overCapacityOf(u, i) {
			numbers[string(rs[i].name)] = u.percent(i)
		}
	}
	return numbers
}

// words lists percentages, such as "cpu 83 %, memory 41 %".
func (rs usedResources) words(u *nodeUsage) string {
	return rs.list(func(i int) float64 { return u.percent(i) })
}

func (rs usedResources) thresholdWords(of func(*usedResource) float64) string {
	return rs.list(func(i int) float64 { return of(&rs[i]) })
}

// list puts the percentages of those that have a threshold into words. Nearly every refusal of a large cluster can be one that needs them, so it is done by hand.
func (rs usedResources) list(percent func(i int) float64) string {
	words := make([]byte, 0, 64)
	for i := range rs {
		if !rs[i].hasThreshold {
			continue
		}
		if len(words) > 0 {
			words = append(words, ", "...)
		}
		words = append(append(words, rs[i].name...), ' ')
		words = append(strconv.AppendFloat(words, percent(i), 'g', 4, 64), " %"...)
	}
	return string(words)
}

func lowOf(r *usedResource) float64  { return r.low }
func highOf(r *usedResource) float64 { return r.high }

func (rs usedResources) overUsed(u *nodeUsage) plan.Reason {
	return plan.Reason{
		Code:    "NodeOverUtilized",
		Message: fmt.Sprintf("node %s uses %s; the target is %s%s", u.node.Name, rs.words(u), rs.thresholdWords(highOf), rs.overCapacity(u)),
		Numbers: rs.usageNumbers(u),
	}
}

// overCapacity names, after a comma, what the node has no threshold for and uses more of than it has: that is above its ceiling, too.
func (rs usedResources) overCapacity(u *nodeUsage) string {
	var words strings.Builder
	for i := range rs {
		switch {
		case !rs.overCapacityOf(u, i):
		case u.capacity[i] <= 0:
			fmt.Fprintf(&words, ", and it uses %s, of which it has none", rs[i].name)
		default:
			fmt.Fprintf(&words, ", and it uses %.4g %% of its %s", u.percent(i), rs[i].name)
		}
	}
	return words.String()
}

func (rs usedResources) overCapacityOf(u *nodeUsage, i int) bool {
	return !rs[i].hasThreshold && u.use[i] > u.capacity[i]
}

func (rs usedResources) underUsed(u *nodeUsage) plan.Reason {
	return plan.Reason{
		Code:    "NodeUnderUtilized",
		Message: fmt.Sprintf("node %s uses only %s; the threshold is %s", u.node.Name, rs.words(u), rs.thresholdWords(lowOf)),
		Numbers: rs.usageNumbers(u),
	}
}

// withinTarget says why a node's pods stay: it is not over the thresholds.
func (rs usedResources) withinTarget(u *nodeUsage) plan.Reason {
	return plan.Reason{
		Code:    "NodeWithinTarget",
		Message: fmt.Sprintf("node %s uses %s, not more than the target %s", u.node.Name, rs.words(u), rs.thresholdWords(highOf)),
		Numbers: rs.usageNumbers(u),
	}
}

// notUnder says why a node's pods stay: it is used enough.
func (rs usedResources) notUnder(u *nodeUsage) plan.Reason {
	return plan.Reason{
		Code:    "NodeUsedEnough",
		Message: fmt.Sprintf("node %s uses %s, more than the threshold %s", u.node.Name, rs.words(u), rs.thresholdWords(lowOf)),
		Numbers: rs.usageNumbers(u),
	}
}

// counts says that the numbers of nodes leave nothing to do.
func counts(message string, sources, targets, nodes int) plan.Reason {
	return plan.Reason{
		Code:    "NothingToBalance",
		Message: message,
		Numbers: plan.Numbers{"sources": float64(sources), "targets": float64(targets), "nodes": float64(nodes)},
	}
}

func usageUnknown(err error) plan.Reason {
	return plan.Reason{Code: "UsageUnknown", Message: "the node is left out, its usage is not known: " + err.Error()}
}

func podUsageUnknown(p *cluster.Pod) plan.Reason {
	return plan.Reason{Code: "UsageUnknown", Message: fmt.Sprintf("what pod %s uses was not measured", p.Key())}
}

func namespaceExcluded(p *cluster.Pod) plan.Reason {
	return plan.Reason{Code: "NamespaceExcluded", Message: fmt.Sprintf("namespace %s is excluded by evictableNamespaces", p.Namespace)}
}

// noHelp says that a pod uses nothing of what its node uses too much of.
func (rs usedResources) noHelp(u *nodeUsage) plan.Reason {
	var short []string
	for i := range rs {
		if u.use[i] > u.ceiling[i] {
			short = append(short, string(rs[i].name))
		}
	}
	return plan.Reason{
		Code:    "WouldNotHelp",
		Message: fmt.Sprintf("node %s is over its target in %s, of which the pod uses nothing", u.node.Name, strings.Join(short, ", ")),
		Numbers: rs.usageNumbers(u),
	}
}

// overloads says that no node could take the pod and stay within its ceiling. The numbers are what the pod uses, and the most that
// any of the nodes has left below its ceiling; the words name what is short on all of them, if anything is.
func (rs usedResources) overloads(use, room []int64, nodes int) plan.Reason {
	numbers := plan.Numbers{"targets": float64(nodes)}
	var short []string
	for i := range rs {
		if use[i] == 0 {
			continue
		}
		most := room[i]
		numbers["uses:"+string(rs[i].name)] = float64(use[i])
		numbers["mostLeft:"+string(rs[i].name)] = float64(most)
		if use[i] > most {
			want, left := cluster.Quantity(rs[i].name, use[i]), cluster.Quantity(rs[i].name, most)
			short = append(short, fmt.Sprintf("it uses %s of %s, and at most %s is left", want.String(), rs[i].name, left.String()))
		}
	}
	message := fmt.Sprintf("none of the %d nodes to move to could take it and stay within the target", nodes)
	if len(short) > 0 {
		message += ": " + strings.Join(short, "; ")
	}
	return plan.Reason{Code: "OverloadsAnyNode", Message: message, Numbers: numbers}
}

func toleratesNone(targets int) plan.Reason {
	return plan.Reason{
		Code:    "ToleratesNoTarget",
		Message: fmt.Sprintf("it does not tolerate the taints of any of the %d nodes to move to", targets),
		Numbers: plan.Numbers{"targets": float64(targets)},
	}
}

func notSelected() plan.Reason {
	return plan.Reason{Code: "RequestsNoThresholdResource", Message: "it requests none of the resources that have a threshold"}
}

func heldBack() plan.Reason {
	return plan.Reason{Code: "PreEviction", Message: "the evictor's pre-eviction filter (node fit, namespace labels) holds it back"}
}

func enoughMoved(moved int) plan.Reason {
	return plan.Reason{
		Code:    "EnoughMoved",
		Message: fmt.Sprintf("%d pods of the node move; the nodes to move to have no room for more", moved),
		Numbers: plan.Numbers{"moved": float64(moved)},
	}
}
