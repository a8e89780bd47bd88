package herd

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// row is one figure of both runs. better is empty where more or less is neither good nor bad.
type row struct{ what, unpaced, paced, better string }

// WriteTable prints a report for people.
func WriteTable(w io.Writer, r Report) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s\n\n", r.Settings.sentence(r.Machine))
	table := tabwriter.NewWriter(b, 0, 0, 3, ' ', 0)
	fmt.Fprintf(table, "\tUNPACED\tPACED\tTIMES BETTER\n")
	for _, row := range r.rows() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", row.what, row.unpaced, row.paced, row.better)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	b.WriteString("\n")
	for _, line := range r.remarks() {
		fmt.Fprintln(b, line)
	}
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// trimLines removes the blanks that end lines of a table with empty cells.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// sentence says what was run and where.
func (s Settings) sentence(m Machine) string {
	text := fmt.Sprintf("%d pods at once, each with %s of CPU time to start and %s of plugin; %d cores, %s/%s.",
		s.Pods, s.Work, s.PluginTime, m.Cores, m.OS, m.Arch)
	if s.StartupProbe > 0 {
		text += fmt.Sprintf(" A container that is not ready after %s is killed and started again.", s.StartupProbe)
	}
	return text
}

func (r Report) rows() []row {
	u, p := r.Unpaced, r.Paced
	rows := []row{
		{"first pod ready", when(u.First), when(p.First), times(r.Better.First)},
		{"half of the pods ready", when(u.Median), when(p.Median), times(r.Better.Median)},
		{"all pods ready", when(u.All), when(p.All), times(r.Better.All)},
		{"heartbeat delay, median", u.Heartbeat.P50.String(), p.Heartbeat.P50.String(), times(r.Better.HeartbeatP50)},
		{"heartbeat delay, 99th percentile", u.Heartbeat.P99.String(), p.Heartbeat.P99.String(), times(r.Better.HeartbeatP99)},
		{"heartbeat delay, longest", u.Heartbeat.Max.String(), p.Heartbeat.Max.String(), times(r.Better.HeartbeatMax)},
		{"most pods starting at once", fmt.Sprint(u.MostStarting), fmt.Sprint(p.MostStarting), ""},
		{"ADD calls", fmt.Sprint(u.Adds), fmt.Sprint(p.Adds), ""},
	}
	if r.Settings.StartupProbe > 0 {
		rows = append(rows, row{"containers killed by their startup probe", fmt.Sprint(u.Restarts), fmt.Sprint(p.Restarts), ""})
	}
	return rows
}

// busyRemark is the share of other programs, in percent, that makes the comparison unfair.
const busyRemark = 15

// remarks are what else is to be known.
func (r Report) remarks() []string {
	limit := fmt.Sprintf("%d at once", r.Paced.Limit)
	switch r.Settings.Limit {
	case LimitAuto:
		limit += ", the agent's default here"
	case LimitAdaptive:
		limit += " to begin with, adaptive"
	}
	lines := []string{
		fmt.Sprintf("Limit of the paced run: %s. Before the herd the heartbeat took %s (median of %d).", limit, r.Quiet.P50, r.Quiet.Count),
	}
	if r.Settings.StandIn == "" {
		lines = append(lines, "The stand-in was this program, which starts more slowly than evenkeel-cni; see --executable.")
	}
	if r.Machine.Busy > busyRemark {
		lines = append(lines, fmt.Sprintf("Other programs used %.0f %% of this machine's processors before the herd. They take more of them from a few pods than"+
			" from many, so pacing looks worse here than it is.", r.Machine.Busy))
	}
	for _, run := range []Run{r.Unpaced, r.Paced} {
		if run.Ready < len(run.Pods) {
			lines = append(lines, fmt.Sprintf("The %s run ended with %d of %d pods ready.", run.Name, run.Ready, len(run.Pods)))
		}
	}
	if n := r.Paced.Refused; n > 0 {
		lines = append(lines, fmt.Sprintf("ADD calls of the paced run that were told to try again later (CNI error 11): %d.", n))
	}
	return lines
}

// String is the duration for people: "1.2 s", "35 ms".
func (s Seconds) String() string {
	if s < 1 {
		return fmt.Sprintf("%.0f ms", float64(s)*1000)
	}
	return fmt.Sprintf("%.1f s", float64(s))
}

func when(s *Seconds) string {
	if s == nil {
		return "never"
	}
	return s.String()
}

func times(ratio *float64) string {
	if ratio == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", *ratio)
}
