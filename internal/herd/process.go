package herd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/internal/agent"
	"evenkeel.dev/evenkeel/internal/cni"
)

// jobVariable is the environment variable that makes a process of this program one of the herd.
const jobVariable = "EVENKEEL_HERD_JOB"

// A role is what a process of the herd is.
type role string

const (
	podRole    role = "pod"
	pluginRole role = "plugin"    // or, from a marked file, the stand-in
	beatRole   role = "heartbeat" // one beat
	agentRole  role = "agent"     // with the arguments of evenkeel-agent
)

// job is what a process of the herd has to do.
type job struct {
	Role role          `json:"role"`
	Work rounds        `json:"work,omitempty"`
	Wait time.Duration `json:"wait,omitempty"`
	Args []string      `json:"args,omitempty"` // of the agent
	// Plugin is what a plugin has to do that is called by the agent's self-test.
	Plugin *job `json:"plugin,omitempty"`
}

// command starts program to do j. It is killed when ctx ends.
func (j job) command(ctx context.Context, program string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), j.environment())
	cmd.WaitDelay = time.Second
	detach(cmd)
	return cmd
}

func (j job) environment() string {
	text, err := json.Marshal(j)
	if err != nil {
		return "" // strings and numbers always encode
	}
	return jobVariable + "=" + string(text)
}

// Process does the job of a process of the herd; in any other process it does nothing and returns false. The program
// calls it first of all.
func Process(ctx context.Context) (code int, is bool) {
	text := os.Getenv(jobVariable)
	if text == "" {
		return 0, false
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", jobVariable, err)
		return 2, true
	}
	switch j.Role {
	case podRole:
		return j.pod(), true
	case pluginRole:
		return j.plugin(), true
	case beatRole:
		burn(j.Work, func() bool { return false })
		return 0, true
	case agentRole:
		return j.agent(ctx), true
	}
	fmt.Fprintf(os.Stderr, "%s: unknown role %q\n", jobVariable, j.Role)
	return 2, true
}

// readyLine is what a pod prints when it has started.
const readyLine = "ready\n"

// pod starts, says so and stays until its standard input ends, which it also does if the herd is killed.
func (j job) pod() int {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	burn(j.Work, func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	_, _ = os.Stdout.WriteString(readyLine)
	<-ended
	return 0
}

// agent runs a command of evenkeel-agent until it is done, ctx ends, or standard input does.
func (j job) agent(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if j.Plugin != nil {
		name, value, _ := strings.Cut(j.Plugin.environment(), "=")
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return agent.Run(ctx, agent.Streams{Out: os.Stdout, Err: os.Stderr}, j.Args)
}

// plugin is the network plugin, or the stand-in if its file says that it is one.
func (j job) plugin() int {
	own, err := os.Executable()
	if err == nil && marked(own) {
		return cni.Run(cni.System())
	}
	if os.Getenv("CNI_COMMAND") != "ADD" {
		return 0
	}
	start := time.Now()
	burn(j.Work, func() bool { return false })
	time.Sleep(j.Wait)
	result := addResult{CNIVersion: cniVersion, PluginStart: start.UnixNano()}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return 1
	}
	return 0
}

// cniVersion is the one that network configurations of the herd ask for.
const cniVersion = "1.0.0"

// addResult is what the plugin prints, and the part of an error that is looked at.
type addResult struct {
	CNIVersion string `json:"cniVersion"`
	// PluginStart is when the plugin began, in nanoseconds since 1970.
	PluginStart int64  `json:"herdPluginStart,omitempty"`
	Code        uint   `json:"code,omitempty"`
	Msg         string `json:"msg,omitempty"`
}

// mark is what the installer knows stand-ins by: the import path of their program. It is put together here because
// this program, which is the plugin too, must not hold it.
func mark() []byte {
	return []byte(strings.Join([]string{"evenkeel.dev/evenkeel", "cmd", "evenkeel-cni"}, "/"))
}

// marked reports whether the file ends with the mark.
func marked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	end := make([]byte, len(mark()))
	if _, err := f.Seek(-int64(len(end)), io.SeekEnd); err != nil {
		return false
	}
	_, err = io.ReadFull(f, end)
	return err == nil && bytes.Equal(end, mark())
}

// copyProgram makes an executable copy of a program, with more appended, which loaders ignore.
func copyProgram(from, to string, more []byte) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		_, err = out.Write(more)
	}
	if closeErr := out.Close(); err == nil {
		err = closeErr
	}
	return err
}
