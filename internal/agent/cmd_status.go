package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"text/tabwriter"
	"time"

	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/install"
	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/sock"
)

// statusReport is what the status command prints with -o json.
type statusReport struct {
	// Install is nil where no plugin was named and no agent answered.
	Install *install.Status `json:"install"`
	// Agent is nil where none answered.
	Agent    *Status  `json:"agent"`
	Problems []string `json:"problems"`
}

func cmdStatus(ctx context.Context, s Streams, args []string) error {
	var f installFlags
	var socket string
	set := flag.NewFlagSet("evenkeel-agent status", flag.ContinueOnError)
	f.register(set)
	set.StringVar(&socket, "socket", "", "`PATH` of the agent's unix socket or named pipe")
	if err := parse(set, s, args); err != nil {
		return err
	}
	if err := f.checkOutput(); err != nil {
		return err
	}
	conf, wrong := agentconfig.Load(f.config, runtime.GOOS)
	if wrong != nil { // a running agent has another one, and may be where it is by default
		f.config = ""
		var err error
		if conf, err = agentconfig.Load("", runtime.GOOS); err != nil {
			return err
		}
	}
	if socket == "" {
		socket = conf.Socket
	}
	r, err := collect(ctx, f, conf, socket)
	if err != nil {
		return errors.Join(wrong, err)
	}
	if wrong != nil {
		r.Problems = append([]string{wrong.Error()}, r.Problems...)
	}
	if f.output == "json" {
		return printJSON(s.Out, r)
	}
	return r.print(s.Out)
}

// collect asks the agent, and looks for itself where a plugin is named or no
// agent answers.
func collect(ctx context.Context, f installFlags, conf agentconfig.Config, socket string) (statusReport, error) {
	r := statusReport{Problems: []string{}}
	agent, agentErr := askAgent(ctx, socket)
	if agentErr == nil {
		r.Agent, r.Install = &agent, agent.Install
		r.Problems = append(r.Problems, agent.Problems...)
	}
	named := f.plugin != "" || f.binDir != "" || conf.Install.Plugin != ""
	if named && (r.Install == nil || f.plugin != "" || f.binDir != "") {
		i, _, err := f.installer()
		if err != nil {
			return r, err
		}
		if f.executable == "" {
			i.Executable = "" // what would be installed now is not the question
		}
		st, err := i.Status()
		if err != nil {
			return r, err
		}
		r.Install = &st
		r.Problems = append(r.Problems, st.Problems...)
	}
	if agentErr != nil {
		if r.Install == nil {
			return r, fmt.Errorf("no agent answers (%w), and no plugin is named with --bin-dir and --plugin", agentErr)
		}
		r.Problems = append(r.Problems, fmt.Sprintf("no agent answers: %v", agentErr))
	}
	return r, nil
}

// askAgent asks the agent at socket for its status.
func askAgent(ctx context.Context, socket string) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		// With the deadline of the whole, which package http keeps from its dialers.
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dialAgent(ctx, socket) },
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent/status", nil)
	if err != nil {
		return Status{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return Status{}, errors.Unwrap(err) // without the URL, which is none
	}
	defer resp.Body.Close()
	var s Status
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<20)).Decode(&s); err != nil {
		return Status{}, fmt.Errorf("read the agent's status: %w", err)
	}
	return s, nil
}

func dialAgent(ctx context.Context, socket string) (net.Conn, error) {
	until, _ := ctx.Deadline()
	conn, err := sock.Dial(socket, until)
	if err != nil {
		return nil, err
	}
	return httpConn{conn}, nil
}

// httpConn is a connection to the agent with what package http asks of one and
// has no need of here: the end of its request closes it.
type httpConn struct{ sock.Conn }

func (httpConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (httpConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (httpConn) SetDeadline(time.Time) error      { return nil }
func (httpConn) SetWriteDeadline(time.Time) error { return nil }

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
	for _, p := range r.Problems {
		fmt.Fprintf(t, "PROBLEM\t%s\n", p)
	}
	return t.Flush()
}

func (s Status) print(w io.Writer) {
	q := s.Queue
	fmt.Fprintf(w, "AGENT\t%s, up %s, ready %s (%d pods known from %s)\n", s.Version,
		time.Since(s.Started).Round(time.Second), yes(s.Ready), s.Pods.Known, s.Pods.Source)
	fmt.Fprintf(w, "LIMIT\t%d, by %s%s%s\n", q.Limit, q.LimitedBy, of(s.Policy), modes(q))
	fmt.Fprintf(w, "STARTING\t%d\n", len(q.Holding)+q.LockHolders)
	for _, h := range q.Holding {
		fmt.Fprintf(w, "\t%s/%s\t%s\t%s\n", h.Namespace, h.Name, h.Phase, h.For.Std().Round(time.Second))
	}
	if q.LockHolders > 0 {
		fmt.Fprintf(w, "\t%d under a lock file, from when no agent was there\n", q.LockHolders)
	}
	fmt.Fprintf(w, "WAITING\t%d\n", len(q.Waiting))
	for n, p := range q.Waiting {
		fmt.Fprintf(w, "\t%d. %s/%s\t%s\twaited %s\n", n+1, p.Namespace, p.Name, waiterState(p), p.Waited.Std().Round(time.Second))
	}
	if len(s.Recent) > 0 {
		fmt.Fprintf(w, "RECENT\t\n")
	}
	for _, n := range s.Recent {
		fmt.Fprintf(w, "\t%s\t%s\n", n.At.UTC().Format(time.RFC3339), n.Text)
	}
}

// of names the policy, if it is not the file alone that holds.
func of(p PolicyStatus) string {
	if p.Name == "" {
		return ""
	}
	return " of PacePolicy " + p.Name
}

func modes(q pace.Snapshot) string {
	text := ""
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

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
