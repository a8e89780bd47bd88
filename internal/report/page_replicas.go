package report

import (
	"cmp"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/simulate"
)

// How much the page tells of replicas.
const (
	matrixColumns = 16 // up to so many nodes, all nodes are columns; beyond, each workload lists those that change for it
	matrixRows    = 100
	spreadShown   = 20 // workloads without unfolding
	spreadMost    = 400
	spreadCells   = 12 // nodes of a workload
)

// workloadsPart has either a matrix or rows.
type workloadsPart struct {
	Matrix *matrix
	Rows   rows[workloadRow]
	Left   string
}

type matrix struct {
	Nodes []string
	Rows  []workloadRow
	Total []string
}

type workloadRow struct {
	Name, Kind string
	Also       string // nodes by which the row is found
	Cells      []heat
	Rest       string
}

// heat is a number of replicas before and after, with their colours, 0 to 5.
type heat struct {
	Node                  string
	Before, After         int
	Changed               bool
	HeatBefore, HeatAfter int
}

// newWorkloadsPart shows first what moves most.
func newWorkloadsPart(c *simulate.Comparison) *workloadsPart {
	if len(c.Workloads) == 0 {
		return nil
	}
	list := slices.Clone(c.Workloads)
	slices.SortStableFunc(list, func(a, b simulate.WorkloadChange) int { return cmp.Compare(b.Moved, a.Moved) })
	part := &workloadsPart{}
	shown := min(len(list), spreadMost)
	if len(c.Nodes) <= matrixColumns {
		shown = min(len(list), matrixRows)
		part.Matrix = newMatrix(c, list[:shown])
	} else {
		var made []workloadRow
		for i := range list[:shown] {
			made = append(made, spreadRow(&list[i]))
		}
		part.Rows = fold(made, spreadShown)
	}
	if n := len(list) - shown; n > 0 {
		part.Left = counted(n, "more workload") + " with a pod that moves."
	}
	return part
}

func newMatrix(c *simulate.Comparison, list []simulate.WorkloadChange) *matrix {
	m := &matrix{}
	for _, n := range c.Nodes {
		m.Nodes = append(m.Nodes, Printable(n.Node.Name))
		m.Total = append(m.Total, change(n.Before.Pods, n.After.Pods))
	}
	for i := range list {
		w := &list[i]
		row, most := newWorkloadRow(w)
		var also []string
		for _, r := range w.Nodes {
			also = append(also, Printable(r.Node.Name))
		}
		row.Also = strings.Join(also, " ")
		for _, r := range across(w, c.Nodes) {
			row.Cells = append(row.Cells, newHeat(r, most))
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// spreadRow lists the nodes on which the workload changes, and counts the others.
func spreadRow(w *simulate.WorkloadChange) workloadRow {
	row, most := newWorkloadRow(w)
	same, more := 0, 0
	for _, r := range w.Nodes {
		switch {
		case r.Before == r.After:
			same++
		case len(row.Cells) == spreadCells:
			more++
		default:
			h := newHeat(r, most)
			h.Node = Printable(r.Node.Name)
			row.Cells = append(row.Cells, h)
		}
	}
	var rest []string
	if more > 0 {
		rest = append(rest, counted(more, "more node"))
	}
	if same > 0 {
		rest = append(rest, "as before on "+counted(same, "node"))
	}
	row.Rest = strings.Join(rest, ", ")
	return row
}

// newWorkloadRow is a row without cells, and the most replicas that a node has of the workload.
func newWorkloadRow(w *simulate.WorkloadChange) (workloadRow, int) {
	most := 0
	for _, r := range w.Nodes {
		most = max(most, r.Before, r.After)
	}
	return workloadRow{Name: Printable(w.Namespace + "/" + w.Name), Kind: Printable(w.Kind)}, most
}

func newHeat(r simulate.Replicas, most int) heat {
	const levels = 5
	level := func(n int) int {
		most := max(most, 2) // one alone is not much
		return (levels*n + most - 1) / most
	}
	return heat{Before: r.Before, After: r.After, Changed: r.Before != r.After, HeatBefore: level(r.Before), HeatAfter: level(r.After)}
}
