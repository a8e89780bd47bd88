package report

import (
	"bufio"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// How much a plain table shows; wide shows all.
const (
	shownRefusals  = 20
	shownWorkloads = 10
)

// table writes a plan for people.
type table struct {
	w        *bufio.Writer
	plan     *plan.Plan
	snapshot *cluster.Snapshot
	color    bool
	wide     bool
}

func (t *table) write() {
	t.head()
	if t.plan.Story != nil {
		t.story()
		return
	}
	t.moves()
	t.refusals()
	if t.snapshot != nil && len(t.plan.Moves) > 0 {
		t.replicas()
	}
	t.foot()
}

func (t *table) head() {
	s := t.plan.Summary
	mode := ""
	if t.plan.Compat != "" {
		mode = ", as the " + t.plan.Compat + " would"
	}
	fmt.Fprintf(t.w, "%s%s: %s of %d pods on %d nodes (%d ready and selected), as of %s\n",
		t.bold("Plan"), mode, Count(s.Moves, "move"), s.Pods, s.Nodes, s.EligibleNodes, t.plan.TakenAt.UTC().Format(time.RFC3339))
	if s.Skipped != "" {
		fmt.Fprintf(t.w, "%s %s\n", t.yellow("Nothing was considered:"), s.Skipped)
	}
	for _, c := range s.ByStrategy {
		if c.Error != "" {
			fmt.Fprintf(t.w, "%s %s/%s: %s\n", t.red("Not run:"), Printable(c.Profile), c.Strategy, Printable(c.Error))
		}
	}
}

func (t *table) moves() {
	if len(t.plan.Moves) == 0 {
		return
	}
	rows := [][]string{{"#", "POD", "OWNER", "FROM", "STRATEGY", "WHY"}}
	for _, m := range t.plan.Moves {
		owner := "-"
		if m.Owner != nil {
			owner = m.Owner.Kind + "/" + m.Owner.Name
		}
		rows = append(rows, []string{fmt.Sprint(m.Seq), m.Pod.String(), owner, m.Node, strategyName(t.plan, m.Profile, m.Strategy), m.Reason.Message})
	}
	fmt.Fprintf(t.w, "\n%s\n", t.bold("Moves"))
	t.grid(rows)
}

func (t *table) refusals() {
	all := t.plan.Refusals
	if len(all) == 0 {
		return
	}
	shown := all
	if !t.wide && len(shown) > shownRefusals {
		shown = shown[:shownRefusals]
	}
	rows := [][]string{{"POD", "NODE", "STRATEGY", "GATE", "WHY NOT"}}
	for _, r := range shown {
		rows = append(rows, []string{r.Pod.String(), r.Node, strategyName(t.plan, r.Profile, r.Strategy), r.Gate, r.Reason.Message})
	}
	fmt.Fprintf(t.w, "\n%s\n", t.bold("Wanted, and not moved"))
	t.grid(rows)
	if n := len(all) - len(shown); n > 0 {
		fmt.Fprintf(t.w, "… and %d more; -o wide shows all\n", n)
	}
}

// strategyName leaves the profile out where there is only one.
func strategyName(p *plan.Plan, profile, name string) string {
	for _, c := range p.Summary.ByStrategy {
		if c.Profile != profile {
			return profile + "/" + name
		}
	}
	return name
}

func (t *table) foot() {
	s := t.plan.Summary
	if len(s.ByGate) > 0 {
		var parts []string
		for _, g := range s.ByGate {
			parts = append(parts, fmt.Sprintf("%s %d", g.Gate, g.Refusals))
		}
		fmt.Fprintf(t.w, "\nNot moved, by gate: %s\n", strings.Join(parts, ", "))
	}
	if list := s.WithoutBudget; len(list) > 0 {
		more := ""
		if n := len(list) - shownWorkloads; n > 0 && !t.wide {
			list, more = list[:shownWorkloads], fmt.Sprintf(" … and %d more", n)
		}
		fmt.Fprintf(t.w, "%s %s%s\n", t.yellow("Moved without a PodDisruptionBudget:"), Printable(strings.Join(list, ", ")), more)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(t.w, "%s %s\n", t.yellow("Note:"), Printable(n))
	}
}

func (t *table) story() {
	s := t.plan.Story
	if !s.Found {
		fmt.Fprintf(t.w, "\nThere is no pod %s in the snapshot.\n", Printable(s.Pod.String()))
		return
	}
	where := "not on a node"
	if s.Node != "" {
		where = "on node " + s.Node
	}
	fmt.Fprintf(t.w, "\n%s %s\n", t.bold(Printable(s.Pod.String())), Printable(where))
	rows := [][]string{{"WHO", "WHAT"}}
	for _, l := range s.Lines {
		rows = append(rows, []string{l.About, l.Reason.Message})
	}
	t.grid(rows)
}

// grid writes aligned columns; the first row is the head.
func (t *table) grid(rows [][]string) {
	w := tabwriter.NewWriter(t.w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = Printable(row[i])
		}
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	_ = w.Flush() // the buffer below keeps the error
}

// Printable takes out what a terminal would obey, which names in a file may hold.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '�'
		}
		return r
	}, s)
}

// Count is "1 move", "2 moves".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (t *table) bold(s string) string   { return t.paint("1", s) }
func (t *table) red(s string) string    { return t.paint("31", s) }
func (t *table) yellow(s string) string { return t.paint("33", s) }

func (t *table) paint(code, s string) string {
	if !t.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// clip shortens s to n characters.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
