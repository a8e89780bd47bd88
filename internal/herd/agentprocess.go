package herd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/agent"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/cni"
)

const (
	// agentGrace is how long an agent that has just started gives no turns; see package pace.
	agentGrace = 5 * time.Second
	// agentPatience is how long it may take to be ready, and to end.
	agentPatience = 60 * time.Second
	agentPoll     = 250 * time.Millisecond
)

// agentProcess is a running node agent, with its stand-in in the plugin's place.
type agentProcess struct {
	node   *node
	config string
	socket string
	log    string
	limit  int // when it became ready

	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended, with err
	err   error
}

// startAgent starts an agent and waits until pods can be started at its pace.
func startAgent(ctx context.Context, n *node, o Options) (*agentProcess, error) {
	a := &agentProcess{
		node: n, config: filepath.Join(n.dir, "agent.yaml"), log: filepath.Join(n.dir, "agent.log"),
		socket: socketPath(n.dir), ended: make(chan struct{}),
	}
	standIn, err := o.standIn(n.dir)
	if err != nil {
		return nil, err
	}
	if err := a.configure(o, standIn); err != nil {
		return nil, err
	}
	if err := a.start(ctx); err != nil {
		return nil, err
	}
	if err := a.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, a.stop())
	}
	return a, nil
}

// standIn gives the file to install.
func (o Options) standIn(dir string) (string, error) {
	if o.StandIn != "" {
		return filepath.Abs(o.StandIn)
	}
	path := filepath.Join(dir, "evenkeel-cni"+executableSuffix)
	if err := copyProgram(o.Program, path, mark()); err != nil {
		return "", fmt.Errorf("make a stand-in: %w", err)
	}
	return path, nil
}

func (a *agentProcess) configure(o Options, standIn string) error {
	limits, err := o.limits()
	if err != nil {
		return err
	}
	no := false
	text, err := yaml.Marshal(agentconfig.Config{
		Pace:   o.paceConfig(limits),
		Socket: a.socket,
		Listen: agentconfig.NoListen,
		Log:    agentconfig.Log{Format: "text"},
		Install: agentconfig.Install{
			BinDir: a.node.binDir(), Plugin: pluginName, Executable: standIn, DefenderExclusions: &no,
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(a.config, text, 0o644)
}

func (a *agentProcess) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := job{Role: agentRole, Args: args, Plugin: &a.node.plugin}.command(ctx, a.node.program)
	cmd.Dir = a.node.dir
	return cmd
}

func (a *agentProcess) start(ctx context.Context) error {
	logFile, err := os.Create(a.log)
	if err != nil {
		return err
	}
	defer logFile.Close() // the process has its own
	a.cmd = a.command(ctx, "run", "--config", a.config, "--source", a.node.podDir())
	a.cmd.Stderr = logFile
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := a.cmd.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	a.node.processes.Go(func() {
		a.err = a.cmd.Wait()
		close(a.ended)
	})
	return nil
}

// awaitReady waits until the agent says that it is, and gives turns.
func (a *agentProcess) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	for {
		status, err := a.statusOnceInstalled(ctx)
		if err == nil && status.Ready && time.Since(status.Started) > agentGrace {
			a.limit = status.Queue.Limit
			return nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = fmt.Errorf("it says %+v, %q", status.Conditions, status.Problems)
			}
			return fmt.Errorf("the agent did not get ready: %w: %s", errors.Join(context.Cause(ctx), err), tail(a.log))
		case <-a.ended:
			return fmt.Errorf("the agent ended: %w: %s", a.err, tail(a.log))
		case <-time.After(agentPoll):
		}
	}
}

// statusOnceInstalled does not ask before the stand-ins' settings are there, which are written last: answering means reading
// all files, and Windows moves no file that somebody reads.
func (a *agentProcess) statusOnceInstalled(ctx context.Context) (agent.Status, error) {
	if _, err := os.Stat(filepath.Join(a.node.binDir(), cni.OriginalDir, "gate", "settings")); err != nil {
		return agent.Status{}, fmt.Errorf("the stand-in is not installed: %w", err)
	}
	return a.status(ctx)
}

// status asks the agent as the command evenkeel-agent status does.
func (a *agentProcess) status(ctx context.Context) (agent.Status, error) {
	var out, stderr bytes.Buffer
	if agent.Run(ctx, agent.Streams{Out: &out, Err: &stderr}, []string{"status", "-o", "json", "--config", a.config}) != 0 && out.Len() == 0 {
		return agent.Status{}, errors.New(last(stderr.Bytes()))
	}
	var report struct {
		Agent    *agent.Status `json:"agent"`
		Problems []string      `json:"problems"`
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return agent.Status{}, fmt.Errorf("status: %w", err)
	}
	if report.Agent == nil {
		return agent.Status{}, fmt.Errorf("no answer: %q", report.Problems)
	}
	return *report.Agent, nil
}

// stop ends the agent and takes the stand-in out again.
func (a *agentProcess) stop() error {
	_ = a.stdin.Close()
	ctx, cancel := context.WithTimeout(context.Background(), agentPatience)
	defer cancel()
	select {
	case <-a.ended:
	case <-ctx.Done():
		_ = a.cmd.Process.Kill()
		<-a.ended
	}
	uninstall := a.command(ctx, "uninstall", "--config", a.config)
	stdin, err := uninstall.StdinPipe() // its end would be taken for ours
	if err != nil {
		return err
	}
	defer stdin.Close()
	if out, err := uninstall.CombinedOutput(); err != nil {
		return fmt.Errorf("uninstall the stand-in: %w: %s", err, last(out))
	}
	return nil
}
