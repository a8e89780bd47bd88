package report

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/simulate"
)

// The largest matrix that is shown; beyond it, only the nodes that change most.
const (
	matrixNodes     = 8
	matrixWorkloads = 20
)

// replicas writes how many pods each touched workload has on each node, before and after.
func (t *table) replicas() {
	after := simulate.Apply(t.snapshot, t.plan, false)
	before, then := t.tally(after)
	nodes := t.changedNodes(before, then)
	fmt.Fprintf(t.w, "\n%s (after: where the scheduler would most likely start the replacements)\n", t.bold("Replicas per node, before and after"))
	rows := [][]string{{"WORKLOAD"}}
	for _, n := range nodes {
		rows[0] = append(rows[0], strings.ToUpper(clip(n.Name, 24)))
	}
	keys := sortedKeys(before)
	for i, key := range keys {
		if i == matrixWorkloads && !t.wide {
			rows = append(rows, []string{fmt.Sprintf("… and %d more", len(keys)-i)})
			break
		}
		row := []string{key}
		for _, n := range nodes {
			row = append(row, change(before[key][n], then[key][n]))
		}
		rows = append(rows, row)
	}
	total := []string{"all pods"}
	for _, n := range nodes {
		total = append(total, change(before[""][n], then[""][n]))
	}
	t.grid(append(rows, total))
	if lost := t.pending(after); lost > 0 {
		fmt.Fprintf(t.w, "%s would find no room, or have no owner to replace them\n", t.red(Count(lost, "pod")))
	}
}

type tally map[string]map[*cluster.Node]int

func (t tally) add(key string, n *cluster.Node, by int) {
	if t[key] == nil {
		t[key] = map[*cluster.Node]int{}
	}
	t[key][n] += by
}

// tally counts the pods of the touched workloads, and of all under "", before and after.
func (t *table) tally(r *simulate.Result) (before, after tally) {
	before, after = tally{}, tally{}
	touched := map[string]bool{}
	for p := range r.Landed {
		touched[t.workload(p)] = true
	}
	for _, n := range t.snapshot.Nodes {
		for _, p := range n.Pods {
			if p.Terminal() {
				continue
			}
			keys := []string{""}
			if key := t.workload(p); touched[key] {
				keys = append(keys, key)
			}
			for _, key := range keys {
				before.add(key, n, 1)
				if !r.View.Gone(p) {
					after.add(key, n, 1)
				}
			}
		}
	}
	for p, n := range r.Landed {
		if n != nil {
			after.add("", n, 1)
			after.add(t.workload(p), n, 1)
		}
	}
	return before, after
}

func (t *table) workload(p *cluster.Pod) string {
	o := t.snapshot.Top(p.PodInfo)
	if o == nil {
		return "Pod " + p.Key()
	}
	return fmt.Sprintf("%s %s/%s", o.Kind, p.Namespace, o.Name)
}

// changedNodes are the nodes to show: all when they are few, else those whose number of pods changes most.
func (t *table) changedNodes(before, after tally) []*cluster.Node {
	nodes := slices.Clone(t.snapshot.Nodes)
	if len(nodes) <= matrixNodes {
		return nodes
	}
	by := func(n *cluster.Node) int {
		d := after[""][n] - before[""][n]
		return max(d, -d)
	}
	slices.SortStableFunc(nodes, func(a, b *cluster.Node) int { return by(b) - by(a) })
	nodes = nodes[:matrixNodes]
	slices.SortFunc(nodes, func(a, b *cluster.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

func (t *table) pending(r *simulate.Result) int {
	n := 0
	for _, to := range r.Landed {
		if to == nil {
			n++
		}
	}
	return n
}

func change(before, after int) string {
	if before == after {
		return fmt.Sprint(before)
	}
	return fmt.Sprintf("%d → %d", before, after)
}

func sortedKeys(t tally) []string {
	var keys []string
	for k := range t {
		if k != "" {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
