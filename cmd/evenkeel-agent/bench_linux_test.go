package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/sock"
)

// BenchmarkGrantAfterRelease measures an agent process with a thousand waiting
// executables: how long after one pod gives its slot back the next one hears of
// its turn, and how much memory the agent holds.
func BenchmarkGrantAfterRelease(b *testing.B) {
	const waiters = 900 // a queue of a thousand refuses newcomers, and failed pods keep a place in it for two minutes
	a := startProcess(b, "pace: {limits: {maxConcurrent: 1}, attempt: 120s, refusalsPerSecond: 1000}\n")
	queue := make([]*paceapi.Client, 0, waiters)
	join := func(n int) {
		c := paceapi.NewClient(a.dial(b))
		r := paceapi.Request{UID: fmt.Sprintf("uid-%d", n), Namespace: "shop", Name: fmt.Sprintf("pod-%d", n), Container: "c", Remaining: paceapi.Millis(2 * time.Minute)}
		if err := c.Request(r); err != nil {
			b.Fatal(err)
		}
		queue = append(queue, c)
		// Waiting, or the grant of the first.
		if m, err := c.Next(time.Now().Add(10 * time.Second)); err != nil || m.Type == paceapi.TypeRefuse {
			b.Fatal(m, err)
		}
	}
	time.Sleep(5500 * time.Millisecond) // the agent's recovery, in which nobody is let through
	for n := range waiters + 1 {
		join(n)
	}
	holder := queue[0]
	queue = queue[1:]
	if err := holder.Ack(); err != nil {
		b.Fatal(err)
	}
	rss := a.memory(b)
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		next := queue[0]
		began := time.Now()
		if err := holder.Done(paceapi.Done{Exit: 1}); err != nil { // a failed plugin gives the slot back at once
			b.Fatal(err)
		}
		for !granted(b, next) { // the farthest are told to come back after 36 s
			next, queue, began = queue[1], queue[1:], time.Time{}
		}
		if !began.IsZero() {
			took = append(took, time.Since(began))
		}
		_ = holder.Close()
		if err := next.Ack(); err != nil {
			b.Fatal(err)
		}
		holder, queue = next, queue[1:]
		join(waiters + 1 + n)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/p99")
	b.ReportMetric(float64(max(rss, a.memory(b)))/1024, "MiB-resident")
}

// granted reads up to the answer and reports whether it is a grant.
func granted(tb testing.TB, c *paceapi.Client) bool {
	tb.Helper()
	for {
		m, err := c.Next(time.Now().Add(30 * time.Second))
		if err != nil {
			tb.Fatal(err)
		}
		if m.Type != paceapi.TypeWaiting {
			return m.Type == paceapi.TypeGrant
		}
	}
}

// process is the agent as a process of its own.
type process struct {
	socket string
	cmd    *exec.Cmd
	log    bytes.Buffer
}

func startProcess(tb testing.TB, config string) *process {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ek")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "evenkeel-agent")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		tb.Fatal(err)
	}
	p := &process{socket: filepath.Join(dir, "run", "agent.sock")}
	p.cmd = exec.Command(program, "run", "--config", file, "--source", dir, "--socket", p.socket, "--listen", "none")
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := sock.Dial(tb.Context(), p.socket)
		if err == nil {
			_ = conn.Close()
			return p
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
	}
}

func (p *process) dial(tb testing.TB) net.Conn {
	tb.Helper()
	conn, err := sock.Dial(tb.Context(), p.socket)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

func (p *process) memory(tb testing.TB) int {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == "VmRSS:" {
			kb, err := strconv.Atoi(f[1])
			if err != nil {
				tb.Fatal(err)
			}
			return kb
		}
	}
	tb.Fatal("no VmRSS")
	return 0
}
