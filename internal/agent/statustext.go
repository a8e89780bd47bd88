package agent

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"evenkeel.dev/evenkeel/internal/install"
	"evenkeel.dev/evenkeel/internal/pace"
)

func (r statusReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	if st := r.Install; st != nil {
		fmt.Fprintf(t, "PLUGIN\t%s\n", st.InPlace.Path)
		fmt.Fprintf(t, "INSTALLED\t%s\n", yes(st.Installed))
		fmt.Fprintf(t, "IN PLACE\t%s\n", describe(st.InPlace))
		fmt.Fprintf(t, "ORIGINAL\t%s\n", describe(st.Original))
	}
	if a := r.Agent; a != nil {
		a.print(t)
	} else {
		fmt.Fprintf(t, "AGENT\tnone\n")
	}
	if u := r.Unattended; u != nil {
		fmt.Fprintf(t, "BY LOCK FILES\t%d plugins run, limit %d; %d pods queue for their turn%s\n", u.Running, u.Limit, u.Waiting, since(u.First))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(t, "PROBLEM\t%s\n", p)
	}
	return t.Flush()
}

func (s Status) print(w io.Writer) {
	q := s.Queue
	fmt.Fprintf(w, "AGENT\t%s, up %s, %s (%d pods known from %s)\n", s.Version,
		time.Since(s.Started).Round(time.Second), readiness(s.Conditions), s.Pods.Known, s.Pods.Source)
	fmt.Fprintf(w, "LIMIT\t%d, by %s%s%s%s\n", q.Limit, q.LimitedBy, shortOf(q), of(s.Policy), modes(q))
	if q.PluginP99 > 0 {
		fmt.Fprintf(w, "PLUGIN RUNS\thalf of the last ones within %s, 99 %% within %s\n", short(q.PluginMedian), short(q.PluginP99))
	}
	fmt.Fprintf(w, "STARTING\t%d\n", len(q.Holding)+q.LockHolders)
	for _, h := range q.Holding {
		fmt.Fprintf(w, "\t%s/%s\t%s\t%s\t%s\n", h.Namespace, h.Name, h.Phase, h.For.Std().Round(time.Second), s.WaitsFor[h.UID])
	}
	if q.LockHolders > 0 {
		fmt.Fprintf(w, "\t%d under a lock file, from when no agent was there\n", q.LockHolders)
	}
	fmt.Fprintf(w, "WAITING\t%d\n", len(q.Waiting))
	for n, p := range q.Waiting {
		fmt.Fprintf(w, "\t%d. %s/%s\t%s\twaited %s\n", n+1, p.Namespace, p.Name, waiterState(p), p.Waited.Std().Round(time.Second))
	}
	for i, n := range s.Recent {
		head := ""
		if i == 0 {
			head = "RECENT"
		}
		fmt.Fprintf(w, "%s\t%s  %s\n", head, n.At.UTC().Format(time.RFC3339), n.Text)
	}
}

// of names the policy, if it is not the file alone that holds.
func of(p PolicyStatus) string {
	if p.Name == "" {
		return ""
	}
	return " of PacePolicy " + p.Name
}

func readiness(c Conditions) string {
	if c.ready() {
		return "ready"
	}
	return "not ready: " + strings.Join(c.missing(), ", ")
}

// shortOf says what the node is short of.
func shortOf(q pace.Snapshot) string {
	if q.LimitedBy != "pressure" {
		return ""
	}
	list := []string{}
	for _, s := range q.Short {
		list = append(list, fmt.Sprintf("%s %.0f %%, above %g", s.Of, s.Now, s.Above))
	}
	if len(list) == 0 {
		return " that is past: it rises again"
	}
	return " (" + strings.Join(list, ", ") + ")"
}

func short(d pace.Duration) string { return d.Std().Round(10 * time.Millisecond).String() }

func modes(q pace.Snapshot) string {
	text := ""
	if q.NextStart > 0 {
		text += "; the rate allows the next start in " + short(q.NextStart)
	}
	if q.Recovering {
		text += "; recovering after a restart"
	}
	if q.Maintenance {
		text += "; nobody is let through while the plugin is replaced"
	}
	return text
}

func waiterState(w pace.Waiter) string {
	switch {
	case w.SlotKept:
		return "a slot is kept for it"
	case w.Overdue:
		return "overdue"
	case w.Present:
		return "present"
	}
	return "between two attempts"
}

func describe(f install.FileStatus) string {
	if f.Kind == install.Absent {
		return "none"
	}
	what := "not ours"
	if f.StandIn {
		what = "stand-in " + f.Version
	}
	if f.LinkTo != "" {
		what += ", link to " + f.LinkTo
	}
	return fmt.Sprintf("%s, %d bytes, sha256 %.12s", what, f.Size, f.SHA256)
}

func since(first time.Time) string {
	if first.IsZero() {
		return ""
	}
	return fmt.Sprintf(", the first for %s", time.Since(first).Round(time.Second))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
