package herd

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"

	"evenkeel.dev/evenkeel/internal/htmlpage"
)

//go:embed page.html
var pageText string

// WritePage writes a report as one HTML page that needs nothing else: no script, no font, no network.
func WritePage(w io.Writer, r Report) error {
	t, err := htmlpage.Parse(pageText, nil)
	if err != nil {
		return err
	}
	return t.Execute(w, newPage(r))
}

// page is what the template draws. Lengths are in the units of the drawings.
type page struct {
	Sentence string
	Tiles    []tile
	Charts   []chart
	Legend   []legend
	Table    [][4]string
	Remarks  []string
}

// legend says what a colour means.
type legend struct{ Class, Text string }

func legends(r Report) []legend {
	seen := map[Phase]bool{}
	for _, run := range []Run{r.Unpaced, r.Paced} {
		for _, p := range run.Pods {
			for _, span := range p.Spans {
				seen[span.Phase] = true
			}
		}
	}
	var list []legend
	for _, l := range []struct {
		phase Phase
		text  string
	}{
		{Waiting, "waiting for its turn"},
		{Away, "told to try again later, away"},
		{Plugin, "network plugin"},
		{Starting, "starting"},
		{BackOff, "killed by its startup probe, waiting to be started again"},
		{Ready, "ready"},
	} {
		if seen[l.phase] {
			list = append(list, legend{string(l.phase), l.text})
		}
	}
	return append(list, legend{"beat", "delay of a heartbeat (dashed: before the herd)"})
}

// tile is one figure of the comparison.
type tile struct{ Figure, What, Detail, Class string }

// chart is one run.
type chart struct {
	Name, Summary string
	Width, Height float64
	PlotLeft      float64
	PlotRight     float64
	PodsBottom    float64
	BeatsTop      float64
	BeatsBottom   float64
	BeatsMiddle   float64 // for the label
	QuietY        float64
	AllReady      *footnote
	Ticks         []tick
	BeatTicks     []tick
	Rows          []podRow
	Beats         []bar
}

// footnote is a line with a label at its foot.
type footnote struct {
	X     float64
	Label string
}

type tick struct {
	At    float64
	Label string
}

type podRow struct {
	Title string
	Label string // empty where there is no room
	TextY float64
	Bars  []bar
}

type bar struct {
	X, Y, W, H float64
	Class      string
	Title      string
}

// The measures of a chart.
const (
	chartWidth  = 960
	plotLeft    = 64
	plotRight   = chartWidth - 16
	plotTop     = 8
	podsHeight  = 340
	minRow      = 3
	maxRow      = 17
	labelledRow = 11 // the lowest row with room for a name
	beatsGap    = 40
	beatsHeight = 84
	footHeight  = 8
)

func newPage(r Report) page {
	p := page{Sentence: r.Settings.sentence(r.Machine), Remarks: r.remarks(), Legend: legends(r)}
	p.Tiles = []tile{
		newTile("half of the pods ready", r.Better.Median, when(r.Unpaced.Median), when(r.Paced.Median), "sooner", "later"),
		newTile("99th percentile of the heartbeat's delay", r.Better.HeartbeatP99,
			r.Unpaced.Heartbeat.P99.String(), r.Paced.Heartbeat.P99.String(), "shorter", "longer"),
		newTile("all pods ready", r.Better.All, when(r.Unpaced.All), when(r.Paced.All), "sooner", "later"),
	}
	for _, row := range r.rows() {
		p.Table = append(p.Table, [4]string{row.what, row.unpaced, row.paced, row.better})
	}
	scale := newScale(r)
	for _, run := range []Run{r.Unpaced, r.Paced} {
		p.Charts = append(p.Charts, scale.chart(run))
	}
	return p
}

// even is how far a ratio may be from 1 and still be called the same.
const even = 0.02

func newTile(what string, ratio *float64, unpaced, paced, better, worse string) tile {
	t := tile{What: what, Detail: unpaced + " unpaced, " + paced + " paced", Figure: "–", Class: "same"}
	switch {
	case ratio == nil || *ratio == 0:
	case *ratio > 1+even:
		t.Figure, t.Class = fmt.Sprintf("%.1f× %s", *ratio, better), "better"
		if *ratio < 1.5 {
			t.Figure = fmt.Sprintf("%.0f %% %s", 100*(1 - 1 / *ratio), better)
		}
	case *ratio < 1-even:
		t.Figure, t.Class = fmt.Sprintf("%.0f %% %s", 100*(1 / *ratio - 1), worse), "worse"
	default:
		t.Figure = "the same"
	}
	return t
}

// scale is what both charts share, so that they can be compared.
type scale struct {
	seconds float64 // at the right end
	delay   float64 // at the top of the heartbeat
	quiet   Seconds
	every   Seconds // from one heartbeat to the next
}

func newScale(r Report) scale {
	s := scale{seconds: 1, delay: 0.1, quiet: r.Quiet.P50, every: r.Settings.Heartbeat}
	for _, run := range []Run{r.Unpaced, r.Paced} {
		for _, p := range run.Pods {
			for _, span := range p.Spans {
				s.seconds = max(s.seconds, float64(span.To))
			}
		}
		s.delay = max(s.delay, float64(run.Heartbeat.Max))
	}
	s.seconds *= 1.01
	s.delay *= 1.05
	return s
}

func (s scale) x(t Seconds) float64 {
	return round(plotLeft + min(1, float64(t)/s.seconds)*(plotRight-plotLeft))
}

func (s scale) chart(r Run) chart {
	rowHeight := math.Max(minRow, math.Min(maxRow, podsHeight/float64(max(1, len(r.Pods)))))
	c := chart{
		Name: r.Name, Summary: r.headline(), Width: chartWidth, PlotLeft: plotLeft, PlotRight: plotRight,
		PodsBottom: round(plotTop + rowHeight*float64(len(r.Pods))),
	}
	for i, p := range r.Pods {
		c.Rows = append(c.Rows, s.podRow(p, plotTop+rowHeight*float64(i), rowHeight))
	}
	for t, step := 0.0, niceStep(s.seconds, 10); t <= s.seconds; t += step {
		c.Ticks = append(c.Ticks, tick{s.x(Seconds(t)), fmt.Sprintf("%g s", round(t))})
	}
	c.BeatsTop = c.PodsBottom + beatsGap
	c.BeatsBottom = c.BeatsTop + beatsHeight
	c.BeatsMiddle = (c.BeatsTop + c.BeatsBottom) / 2
	c.Height = c.BeatsBottom + footHeight
	y := func(d Seconds) float64 { return round(c.BeatsBottom - float64(d)/s.delay*beatsHeight) }
	c.QuietY = y(s.quiet)
	for d, step := 0.0, niceStep(s.delay, 3); d <= s.delay; d += step {
		c.BeatTicks = append(c.BeatTicks, tick{y(Seconds(d)), Seconds(d).String()})
	}
	for _, b := range r.Heartbeat.Beats {
		c.Beats = append(c.Beats, s.beat(b, y(b.Delay), c.BeatsBottom, s.beatWidth()))
	}
	if r.All != nil {
		c.AllReady = &footnote{s.x(*r.All), "all ready " + r.All.String()}
	}
	return c
}

func (r Run) headline() string {
	parts := []string{fmt.Sprintf("at most %d starting at once", r.MostStarting), "half ready after " + when(r.Median)}
	if r.Ready < len(r.Pods) {
		parts = append(parts, fmt.Sprintf("%d of %d ready at the end", r.Ready, len(r.Pods)))
	} else {
		parts = append(parts, "all after "+when(r.All))
	}
	return strings.Join(append(parts, "slowest heartbeat "+r.Heartbeat.Max.String()), " · ")
}

func (s scale) podRow(p Pod, top, height float64) podRow {
	row := podRow{Title: p.title(), TextY: round(top + height/2)}
	if height >= labelledRow {
		row.Label = p.Name
	}
	gap := cmp.Or(math.Floor(height/6), 0.5)
	for _, span := range p.Spans {
		from, to := s.x(span.From), s.x(span.To)
		row.Bars = append(row.Bars, bar{X: from, Y: round(top + gap/2), W: round(to - from), H: round(height - gap), Class: string(span.Phase)})
	}
	return row
}

// title is the pod's story in a line.
func (p Pod) title() string {
	parts := []string{}
	for _, span := range p.Spans {
		if span.Phase == Ready {
			parts = append(parts, "ready after "+span.From.String())
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s", span.Phase, (span.To-span.From)))
	}
	return p.Name + ": " + strings.Join(parts, ", ")
}

// beatWidth is the width of a heartbeat's bar, which leaves some room to the next.
func (s scale) beatWidth() float64 {
	const most, share = 4, 0.7
	return round(min(most, share*(s.x(s.every)-plotLeft)))
}

func (s scale) beat(b Beat, top, bottom, width float64) bar {
	return bar{X: s.x(b.Due), Y: top, W: width, H: round(math.Max(bottom-top, 1)), Title: fmt.Sprintf("due at %s, done %s later", b.Due, b.Delay)}
}

// niceStep divides a range into at most so many steps of 1, 2 or 5 times a power of ten.
func niceStep(length float64, most int) float64 {
	power := math.Pow(10, math.Floor(math.Log10(length/float64(most))))
	for _, factor := range []float64{1, 2, 5} {
		if length/(power*factor) <= float64(most) {
			return power * factor
		}
	}
	return power * 10
}

// round keeps two digits after the point, which is finer than a screen.
func round(x float64) float64 { return math.Round(x*100) / 100 }
