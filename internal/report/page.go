package report

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/htmlpage"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/simulate"
)

var (
	//go:embed page.html
	pageText string
	// pageScript filters rows. Without it the page has the same content.
	//go:embed page.js
	pageScript string
)

// writePage writes a plan as one HTML page: no network, no script but its own. Its size has a bound, whatever the plan's.
func writePage(w io.Writer, p *plan.Plan, s *cluster.Snapshot, o Options) error {
	t, err := htmlpage.Parse(pageText, map[string]string{"script": pageScript})
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	if err := t.Execute(b, newPage(p, s, o)); err != nil {
		return err
	}
	return b.Flush()
}

// page is what the template shows. What comes from the cluster or a file is [Printable] in it; the template escapes it.
type page struct {
	ScriptHash string // all that the page's policy lets a browser run
	Title      string
	Policy     string
	Compat     string
	At         string
	Eligible   string
	Notices    []notice
	Tiles      []tile
	Sections   []sectionLink
	Story      *storyPart
	Strategies []stacked
	Gates      []stacked
	Nodes      *nodesPart
	Workloads  *workloadsPart
	Moves      *movesPart
	Refusals   []gateGroup
	Remarks    []string
}

type sectionLink struct{ ID, Name string }

// tile is one figure of the summary.
type tile struct{ Figure, What, Detail string }

// rows is a list of which the first are shown, and some more can be unfolded.
type rows[T any] struct{ Shown, More []T }

// Label says what can be unfolded.
func (r rows[T]) Label() string { return "and " + grouped(len(r.More)) + " more" }

// fold shows the first of list.
func fold[T any](list []T, shown int) rows[T] {
	shown = min(shown, len(list))
	return rows[T]{list[:shown], list[shown:]}
}

func newPage(p *plan.Plan, s *cluster.Snapshot, o Options) *page {
	sum := sha256.Sum256([]byte(pageScript))
	out := &page{
		ScriptHash: "sha256-" + base64.StdEncoding.EncodeToString(sum[:]),
		Title:      fmt.Sprintf("%s of %s pods on %s", counted(p.Summary.Moves, "move"), grouped(p.Summary.Pods), counted(p.Summary.Nodes, "node")),
		Policy:     Printable(o.Policy),
		Compat:     Printable(p.Compat),
		At:         p.TakenAt.UTC().Format(time.RFC3339),
		Eligible:   counted(p.Summary.EligibleNodes, "node") + " ready and selected",
		Story:      newStoryPart(p.Story),
		Strategies: strategyBars(p),
		Refusals:   refusalGroups(p),
		Remarks:    []string{"The same snapshot, policy and flags give the same page. Everything that was decided, with its numbers, is in -o json."},
	}
	out.Gates = gateBars(out.Refusals)
	var c *simulate.Comparison
	var after *simulate.Result
	if s != nil {
		after = simulate.Apply(s, p, false)
		c = after.Compare()
		out.Nodes = newNodesPart(c)
		out.Workloads = newWorkloadsPart(c)
	}
	out.Moves = newMovesPart(p, s, after)
	out.Notices = notices(p, c, o.Warnings)
	out.Tiles = tiles(p, c)
	out.Sections = out.sections()
	return out
}

func (p *page) sections() []sectionLink {
	var list []sectionLink
	for _, l := range []struct {
		there    bool
		id, name string
	}{
		{p.Story != nil, "story", "Story"},
		{len(p.Strategies)+len(p.Gates) > 0, "why", "Summary"},
		{p.Nodes != nil, "nodes", "Nodes"},
		{p.Workloads != nil, "replicas", "Replicas"},
		{p.Moves != nil, "moves", "Moves"},
		{len(p.Refusals) > 0, "refusals", "Not moved"},
	} {
		if l.there {
			list = append(list, sectionLink{l.id, l.name})
		}
	}
	return list
}

func tiles(p *plan.Plan, c *simulate.Comparison) []tile {
	s := p.Summary
	moves := tile{grouped(s.Moves), noun(s.Moves, "pod") + " to move", ""}
	if s.Moves > 0 {
		moves.Detail = fmt.Sprintf("%s of all pods", percent(float64(s.Moves)/float64(max(1, s.Pods))))
	}
	held := tile{grouped(s.Refusals), "wanted, and not moved", "nothing was held back"}
	if n := len(s.ByGate); n > 0 {
		held.Detail = "held back by " + counted(n, "gate")
	}
	list := []tile{moves, held}
	if c == nil || len(c.Nodes) == 0 {
		return list
	}
	before, after := spread(c.Nodes)
	pods := tile{before, "pods on a node, least to most", "no node changes"}
	if after != before {
		pods.Figure = before + " → " + after
	}
	if changed := len(changing(c.Nodes)); changed > 0 {
		pods.Detail = fmt.Sprintf("%s of %s change", grouped(changed), counted(len(c.Nodes), "node"))
	}
	touched := tile{grouped(len(c.Workloads)), "with a pod that moves", ""}
	touched.What = noun(len(c.Workloads), "workload") + " " + touched.What
	if len(c.Workloads) > 0 {
		touched.Detail = grouped(len(s.WithoutBudget)) + " without a PodDisruptionBudget"
	}
	return append(list, pods, touched)
}

// spread is the least and the most pods on a node, before and after.
func spread(nodes []simulate.NodeChange) (before, after string) {
	least, most := nodes[0], nodes[0]
	for _, n := range nodes[1:] {
		least.Before.Pods, most.Before.Pods = min(least.Before.Pods, n.Before.Pods), max(most.Before.Pods, n.Before.Pods)
		least.After.Pods, most.After.Pods = min(least.After.Pods, n.After.Pods), max(most.After.Pods, n.After.Pods)
	}
	return fmt.Sprintf("%d–%d", least.Before.Pods, most.Before.Pods), fmt.Sprintf("%d–%d", least.After.Pods, most.After.Pods)
}

// notice is something to know before believing the rest.
type notice struct {
	Wrong           bool
	Label, Text     string
	MoreLabel, More string // unfolded on demand
}

// How much of the notices is shown.
const (
	shownNotices    = 12
	shownUnbudgeted = 5
	mostUnbudgeted  = 500
)

func notices(p *plan.Plan, c *simulate.Comparison, warnings []string) []notice {
	var list []notice
	add := func(wrong bool, label, text string) {
		list = append(list, notice{Wrong: wrong, Label: label, Text: Printable(text)})
	}
	if p.Summary.Skipped != "" {
		add(false, "Nothing was considered:", p.Summary.Skipped)
	}
	for _, s := range p.Summary.ByStrategy {
		if s.Error != "" {
			add(true, "Not run:", s.Profile+"/"+s.Strategy+": "+s.Error)
		}
	}
	if c != nil {
		for _, lost := range unplaced(c) {
			add(true, "By this estimate", lost+".")
		}
	}
	if len(p.Summary.WithoutBudget) > 0 {
		list = append(list, unbudgeted(p.Summary.WithoutBudget))
	}
	for _, text := range warnings {
		add(false, "Warning:", text)
	}
	for _, text := range p.Summary.Notes {
		add(false, "Note:", text)
	}
	if n := len(list) - shownNotices; n > 1 {
		var rest []string
		for _, l := range list[shownNotices:] {
			rest = append(rest, l.Text)
		}
		list = append(list[:shownNotices], notice{Label: "More:", MoreLabel: counted(n, "further remark"), More: strings.Join(rest, " · ")})
	}
	return list
}

func unbudgeted(workloads []string) notice {
	shown := min(len(workloads), shownUnbudgeted)
	n := notice{Label: "Moved without a PodDisruptionBudget:", Text: Printable(strings.Join(workloads[:shown], ", "))}
	if more := workloads[shown:]; len(more) > 0 {
		n.MoreLabel = fmt.Sprintf("and %s more", grouped(len(more)))
		n.More = Printable(strings.Join(more[:min(len(more), mostUnbudgeted)], ", "))
		if len(more) > mostUnbudgeted {
			n.More += ", …"
		}
	}
	return n
}

// grouped writes a number with commas: 20,000.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted is [Count] with a grouped number.
func counted(n int, what string) string { return grouped(n) + " " + noun(n, what) }

func noun(n int, what string) string { return verb(n, what, what+"s") }

// percent writes a share; what is more than nothing is never called 0 %.
func percent(share float64) string {
	if share > 0 && share < 0.01 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
