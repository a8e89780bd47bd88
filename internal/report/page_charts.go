package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/simulate"
)

// The measures of a chart, as in the template.
const (
	chartLeft   = 40
	chartRight  = 318
	chartTop    = 8
	chartBottom = 120
	chartSteps  = 139 // finer than that is not to be seen
)

// chart shows one measure of all nodes, each sorted from the emptiest to the fullest, before and after.
type chart struct {
	What, Label, Range string
	Ticks              []tick
	Before, After      string // paths
}

type tick struct {
	At    float64
	Label string
}

// charts draws the measures that there are.
func charts(nodes []simulate.NodeChange) []chart {
	var list []chart
	for _, m := range []struct {
		what, unit string
		of         func(*cluster.Node, simulate.Load) (float64, bool)
	}{
		{"Pods", "", func(_ *cluster.Node, l simulate.Load) (float64, bool) { return float64(l.Pods), true }},
		{"Cpu requested", " %", sharePercent(cluster.CPU)},
		{"Memory requested", " %", sharePercent(cluster.Memory)},
	} {
		var before, after []float64
		for _, n := range nodes {
			if v, ok := m.of(n.Node, n.Before); ok {
				then, _ := m.of(n.Node, n.After)
				before, after = append(before, v), append(after, then)
			}
		}
		if len(before) > 0 {
			list = append(list, newChart(m.what, m.unit, before, after))
		}
	}
	return list
}

func sharePercent(id cluster.ResourceID) func(*cluster.Node, simulate.Load) (float64, bool) {
	return func(n *cluster.Node, l simulate.Load) (float64, bool) {
		share, ok := l.Share(n, id)
		return 100 * share, ok
	}
}

func newChart(what, unit string, before, after []float64) chart {
	slices.Sort(before)
	slices.Sort(after)
	top := roundTop(max(before[len(before)-1], after[len(after)-1]))
	y := func(v float64) float64 {
		return math.Round(10*(chartBottom-max(0, v)/top*(chartBottom-chartTop))) / 10
	}
	c := chart{What: what, Range: ranges(unit, before, after)}
	c.Label = what + " on each node: " + c.Range
	for _, v := range []float64{0, top / 2, top} {
		c.Ticks = append(c.Ticks, tick{y(v), fmt.Sprintf("%g%s", v, strings.TrimSpace(unit))})
	}
	c.Before = fmt.Sprintf("M%d %d%sV%dZ", chartLeft, chartBottom, steps(before, y), chartBottom)
	c.After = fmt.Sprintf("M%d %g%s", chartLeft, y(after[0]), steps(after, y))
	return c
}

// steps is the path over sorted values, from the chart's left to its right.
func steps(sorted []float64, y func(float64) float64) string {
	n := min(len(sorted), chartSteps)
	var b strings.Builder
	last := math.NaN()
	for i := range n {
		if at := y(sorted[(2*i+1)*len(sorted)/(2*n)]); at != last { // the middle of what the step stands for
			if i > 0 {
				fmt.Fprintf(&b, "H%g", stepX(i, n))
			}
			fmt.Fprintf(&b, "V%g", at)
			last = at
		}
	}
	fmt.Fprintf(&b, "H%d", chartRight)
	return b.String()
}

func stepX(i, n int) float64 {
	return math.Round(10*(chartLeft+float64(i)/float64(n)*(chartRight-chartLeft))) / 10
}

// ranges puts the curves into words.
func ranges(unit string, before, after []float64) string {
	var parts []string
	for _, q := range []struct {
		name string
		at   int
	}{{"lowest", 0}, {"median", (len(before) - 1) / 2}, {"highest", len(before) - 1}} {
		text := fmt.Sprintf("%.0f", before[q.at])
		if then := fmt.Sprintf("%.0f", after[q.at]); then != text {
			text += " → " + then
		}
		parts = append(parts, q.name+" "+text+unit)
	}
	return strings.Join(parts, ", ")
}

// roundTop is the next number of 2, 4, 6, 8 or 10 times a power of ten: half of it is round too.
func roundTop(most float64) float64 {
	if most <= 2 {
		return 2
	}
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, factor := range []float64{1, 2, 4, 6, 8} {
		if top := power * factor; most <= top && (power > 1 || factor > 1) {
			return top
		}
	}
	return 10 * power
}
