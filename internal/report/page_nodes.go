package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/simulate"
)

// How many nodes the page lists.
const (
	fewNodes   = 24  // so many are all listed, also those that do not change
	shownNodes = 20  // without unfolding
	mostNodes  = 300 // the others are in the charts only
	drawnNodes = 8   // beyond so many, charts show all of them
)

type nodesPart struct {
	Charts []chart
	Rows   rows[nodeRow]
	Left   string
}

type nodeRow struct {
	Name   string
	Badges []string
	Loads  []loadCell
}

// loadCell is one measure of a node before and after: in words, and as bars in percent of their length.
type loadCell struct {
	What, Text    string
	Bar           bool
	Before, After float64
}

func newNodesPart(c *simulate.Comparison) *nodesPart {
	if len(c.Nodes) == 0 {
		return nil
	}
	part := &nodesPart{}
	if len(c.Nodes) > drawnNodes {
		part.Charts = charts(c.Nodes)
	}
	changed := changing(c.Nodes)
	list := changed
	if len(c.Nodes) <= fewNodes {
		list = slices.Clone(c.Nodes)
	}
	slices.SortStableFunc(list, func(a, b simulate.NodeChange) int { return cmp.Compare(swing(b), swing(a)) })
	full := fullest(c.Nodes)
	var made []nodeRow
	for _, n := range list[:min(len(list), mostNodes)] {
		made = append(made, newNodeRow(n, full))
	}
	part.Rows = fold(made, cmp.Or(foldAt(len(made)), shownNodes))
	part.Left = leftNodes(len(list)-len(made), len(c.Nodes)-len(list))
	return part
}

// foldAt is how many of n rows are shown when folding the rest would save next to nothing: all. Else 0.
func foldAt(n int) int {
	if n <= fewNodes {
		return n
	}
	return 0
}

func leftNodes(changed, same int) string {
	var parts []string
	if changed > 0 {
		parts = append(parts, counted(changed, "more node")+" "+verb(changed, "changes", "change")+", less than these.")
	}
	if same > 0 {
		parts = append(parts, counted(same, "node")+" "+verb(same, "does", "do")+" not change.")
	}
	return strings.Join(parts, " ")
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func newNodeRow(n simulate.NodeChange, full scale) nodeRow {
	row := nodeRow{Name: Printable(n.Node.Name)}
	if !n.Node.Ready {
		row.Badges = append(row.Badges, "not ready")
	}
	if n.Node.Unschedulable {
		row.Badges = append(row.Badges, "cordoned")
	}
	pods := func(n int) float64 { return length(float64(n) / float64(full.pods)) }
	row.Loads = []loadCell{
		{What: "pods", Text: change(n.Before.Pods, n.After.Pods), Bar: true, Before: pods(n.Before.Pods), After: pods(n.After.Pods)},
		shareCell("cpu", n, cluster.CPU, full.cpu),
		shareCell("memory", n, cluster.Memory, full.memory),
	}
	return row
}

func shareCell(what string, n simulate.NodeChange, id cluster.ResourceID, full float64) loadCell {
	before, ok := n.Before.Share(n.Node, id)
	if !ok {
		return loadCell{What: what, Text: "has none"}
	}
	after, _ := n.After.Share(n.Node, id)
	text := percent(before)
	if then := percent(after); then != text {
		text = strings.TrimSuffix(text, " %") + " → " + then
	}
	return loadCell{What: what, Text: text, Bar: true, Before: length(before / full), After: length(after / full)}
}

// length is a share in percent of the full length, to a tenth.
func length(share float64) float64 {
	return math.Round(1000*max(0, min(1, share))) / 10
}

// scale is what a full bar stands for.
type scale struct {
	pods        int
	cpu, memory float64 // shares
}

// fullest is the load of the fullest node, before or after, and at least one pod and all of what a node has.
func fullest(nodes []simulate.NodeChange) scale {
	s := scale{1, 1, 1}
	for _, n := range nodes {
		for _, l := range []simulate.Load{n.Before, n.After} {
			s.pods = max(s.pods, l.Pods)
			cpu, _ := l.Share(n.Node, cluster.CPU)
			memory, _ := l.Share(n.Node, cluster.Memory)
			s.cpu, s.memory = max(s.cpu, cpu), max(s.memory, memory)
		}
	}
	return s
}

// changing are the nodes with another load after than before.
func changing(all []simulate.NodeChange) []simulate.NodeChange {
	var list []simulate.NodeChange
	for _, n := range all {
		if n.Before.Pods != n.After.Pods || swing(n) > 0 {
			list = append(list, n)
		}
	}
	return list
}

// swing is how much a node changes: the largest change of a share of it.
func swing(n simulate.NodeChange) float64 {
	most := 0.0
	for _, id := range []cluster.ResourceID{cluster.Pods, cluster.CPU, cluster.Memory} {
		before, _ := n.Before.Share(n.Node, id)
		after, _ := n.After.Share(n.Node, id)
		most = max(most, math.Abs(after-before))
	}
	return most
}
