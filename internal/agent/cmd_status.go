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
	"os"
	"path/filepath"
	"runtime"
	"time"

	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/install"
	"evenkeel.dev/evenkeel/internal/sock"
)

// statusReport is what the status command prints with -o json.
type statusReport struct {
	// Install is nil where no plugin was named and no agent answered.
	Install *install.Status `json:"install"`
	// Agent is nil where none answered; then Unattended is what goes on without.
	Agent      *Status         `json:"agent"`
	Unattended *cni.Unattended `json:"unattended,omitempty"`
	Problems   []string        `json:"problems"`
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
		r.Problems = append(r.Problems, noAgent(agentErr))
		r.lookUnattended()
	}
	return r, nil
}

// noAgent tells an agent that hangs from one that is not there.
func noAgent(err error) string {
	const then = "pods wait for it for a while, then start by lock files"
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Sprintf("the agent hangs: it has not answered for %s; %s", askPatience, then)
	}
	return fmt.Sprintf("no agent answers: %v; %s", err, then)
}

// lookUnattended looks at what the stand-ins do by themselves.
func (r *statusReport) lookUnattended() {
	if !r.Install.Installed {
		return
	}
	u, err := cni.LookUnattended(filepath.Dir(r.Install.Original.Path), time.Now(), runtime.NumCPU())
	if err != nil {
		r.Problems = append(r.Problems, fmt.Sprintf("what starts without an agent cannot be counted: %v", err))
		return
	}
	r.Unattended = &u
}

// askPatience is how long an agent has to answer.
const askPatience = 10 * time.Second

// askAgent asks the agent at socket for its status.
func askAgent(ctx context.Context, socket string) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
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
