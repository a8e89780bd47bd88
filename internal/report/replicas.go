package report

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/simulate"
)

// The largest matrix that is shown; beyond it, only the nodes that change most.
const (
	matrixNodes     = 8
	matrixWorkloads = 20
)

// replicas writes how many pods each touched workload has on each node, before and after.
func (t *table) replicas() {
	c := simulate.Apply(t.snapshot, t.plan, false).Compare()
	nodes := changedNodes(c.Nodes)
	fmt.Fprintf(t.w, "\n%s (after: where the scheduler would most likely start the replacements)\n", t.bold("Replicas per node, before and after"))
	rows := [][]string{{"WORKLOAD"}}
	total := []string{"all pods"}
	for _, n := range nodes {
		rows[0] = append(rows[0], strings.ToUpper(clip(n.Node.Name, 24)))
		total = append(total, change(n.Before.Pods, n.After.Pods))
	}
	for i := range c.Workloads {
		if i == matrixWorkloads && !t.wide {
			rows = append(rows, []string{fmt.Sprintf("… and %d more", len(c.Workloads)-i)})
			break
		}
		row := []string{c.Workloads[i].String()}
		for _, r := range across(&c.Workloads[i], nodes) {
			row = append(row, change(r.Before, r.After))
		}
		rows = append(rows, row)
	}
	t.grid(append(rows, total))
	for _, lost := range unplaced(c) {
		fmt.Fprintln(t.w, t.red(lost))
	}
}

// across are the workload's replicas on each of the nodes.
func across(w *simulate.WorkloadChange, nodes []simulate.NodeChange) []simulate.Replicas {
	list := make([]simulate.Replicas, len(nodes))
	for i, n := range nodes {
		j, ok := slices.BinarySearchFunc(w.Nodes, n.Node.Index, func(r simulate.Replicas, index int) int { return r.Node.Index - index })
		if ok {
			list[i] = w.Nodes[j]
		}
	}
	return list
}

// unplaced says how many pods would not come back, and why.
func unplaced(c *simulate.Comparison) []string {
	var lines []string
	for _, l := range []struct {
		pods int
		text string
	}{
		{c.NoRoom, "would find no room"},
		{c.NoOwner, "without an owner would not be replaced"},
	} {
		if l.pods > 0 {
			lines = append(lines, Count(l.pods, "pod")+" "+l.text)
		}
	}
	return lines
}

// changedNodes are the nodes to show, by name: all when they are few, else those whose number of pods changes most.
func changedNodes(all []simulate.NodeChange) []simulate.NodeChange {
	if len(all) <= matrixNodes {
		return all
	}
	by := func(n simulate.NodeChange) int {
		d := n.After.Pods - n.Before.Pods
		return max(d, -d)
	}
	nodes := slices.Clone(all)
	slices.SortStableFunc(nodes, func(a, b simulate.NodeChange) int { return by(b) - by(a) })
	nodes = nodes[:matrixNodes]
	slices.SortFunc(nodes, func(a, b simulate.NodeChange) int { return a.Node.Index - b.Node.Index })
	return nodes
}

func change(before, after int) string {
	if before == after {
		return fmt.Sprint(before)
	}
	return fmt.Sprintf("%d → %d", before, after)
}
