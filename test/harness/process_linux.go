package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a program that runs in a node, in the background. It ends with
// the node at the latest.
type Process struct {
	// Log is the path of its standard output and error.
	Log string

	enter *exec.Cmd // nsenter, whose one child is the program
	pid   int
	done  chan struct{}
	state error
}

// Start starts a program in the node. Its log is in the node's state folder
// under the name, and goes on where an earlier one of that name ended.
func (n *Node) Start(t testing.TB, name, program string, args ...string) *Process {
	t.Helper()
	p := &Process{Log: filepath.Join(n.Dir, "log", name+".log"), enter: n.Command(program, args...), done: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.enter.Stdout, p.enter.Stderr = log, log
	if err := p.enter.Start(); err != nil {
		t.Fatalf("starting %s in node %s: %v", name, n.Name, err)
	}
	go func() {
		p.state = p.enter.Wait()
		close(p.done)
	}()
	p.pid, err = onlyChild(p.enter.Process.Pid, p.done)
	if err != nil {
		t.Fatalf("starting %s in node %s: %v\n%s", name, n.Name, err, p.tail())
	}
	return p
}

// PID is the process's number outside of the node.
func (p *Process) PID() int { return p.pid }

// Running says whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the process as a crash would, and returns when it is gone.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.end(t, unix.SIGKILL, 10*time.Second)
}

// Stop asks the process to end (SIGTERM) and waits at most a minute for it.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.end(t, unix.SIGTERM, time.Minute)
}

func (p *Process) end(t testing.TB, signal syscall.Signal, patience time.Duration) {
	t.Helper()
	if !p.Running() {
		return
	}
	if err := unix.Kill(p.pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		t.Fatalf("sending %v to process %d: %v", signal, p.pid, err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("process %d still runs %v after %v\n%s", p.pid, patience, signal, p.tail())
	}
}

// tail returns the end of the log.
func (p *Process) tail() string {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-15):], []byte("\n")))
}

// onlyChild waits until the process has a child and returns its number.
func onlyChild(parent int, ended <-chan struct{}) (int, error) {
	path := fmt.Sprintf("/proc/%d/task/%d/children", parent, parent)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		data, err := os.ReadFile(path)
		if fields := strings.Fields(string(data)); err == nil && len(fields) > 0 {
			return strconv.Atoi(fields[0])
		}
		select {
		case <-ended:
			return 0, errors.New("it ended at once")
		case <-time.After(5 * time.Millisecond):
		}
	}
	return 0, fmt.Errorf("process %d has no child", parent)
}
