package main

import (
	"bytes"
	"errors"
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
)

// BenchmarkGrantAfterRelease measures an agent process with a thousand waiting
// executables: how long after one pod gives its slot back the next one hears of
// its turn, and how much memory the agent holds.
func BenchmarkGrantAfterRelease(b *testing.B) {
	const waiters = 990 // with those that hang up and come back not quite the thousand that are served
	a := startProcess(b, "pace: {limits: {maxConcurrent: 1}, attempt: 120s, refusalsPerSecond: 1000}\n")
	var queue []waiter
	join := func(pod string) {
		w := waiter{paceapi.NewClient(a.dial(b)), pod}
		if err := w.Request(paceapi.Request{UID: pod, Namespace: "shop", Name: pod, Container: "c", Remaining: paceapi.Millis(2 * time.Minute)}); err != nil {
			b.Fatal(err)
		}
		queue = append(queue, w)
		if m, err := w.Next(time.Now().Add(10 * time.Second)); err != nil || m.Type != paceapi.TypeWaiting {
			b.Fatal(m, err)
		}
	}
	time.Sleep(5500 * time.Millisecond) // the agent's recovery, in which nobody is let through
	for n := range waiters + 1 {
		a.know(b, fmt.Sprintf("pod-%d", n))
	}
	time.Sleep(time.Second) // in which the agent reads them
	holder := waiter{paceapi.NewClient(a.dial(b)), "pod-0"}
	if err := holder.Request(paceapi.Request{UID: "pod-0", Namespace: "shop", Name: "pod-0", Remaining: paceapi.Millis(time.Minute)}); err != nil {
		b.Fatal(err)
	}
	if !granted(b, holder.Client) {
		b.Fatal("the first was told to come back")
	}
	if err := holder.Ack(); err != nil {
		b.Fatal(err)
	}
	for n := range waiters {
		join(fmt.Sprintf("pod-%d", n+1))
	}
	rss := a.memory(b)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := holder.Done(paceapi.Done{Exit: 1}); err != nil { // a failed plugin gives the slot back at once
			b.Fatal(err)
		}
		for !granted(b, queue[0].Client) { // the farthest are told to come back after 36 s
			queue, began = queue[1:], time.Time{}
		}
		if !began.IsZero() {
			took = append(took, time.Since(began))
		}
		_ = holder.Close()
		join(holder.pod) // at the back
		holder, queue = queue[0], queue[1:]
		if err := holder.Ack(); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/median")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs/p99")
	b.ReportMetric(float64(max(rss, a.memory(b)))/1024, "MiB-resident")
}

type waiter struct {
	*paceapi.Client
	pod string
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
	pods   string // the folder of its pods
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// startProcess starts an agent on a folder of pods, or as args say.
func startProcess(tb testing.TB, config string, args ...string) *process {
	tb.Helper()
	dir, err := os.MkdirTemp("", "ek")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	program, _ := programs(tb)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		tb.Fatal(err)
	}
	p := &process{socket: filepath.Join(dir, "run", "agent.sock"), pods: filepath.Join(dir, "pods")}
	if err := os.Mkdir(p.pods, 0o755); err != nil {
		tb.Fatal(err)
	}
	if len(args) == 0 {
		args = []string{"--source", p.pods}
	}
	p.cmd = exec.Command(program, append([]string{"run", "--config", file, "--socket", p.socket, "--listen", "none"}, args...)...)
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", p.socket)
		if err == nil {
			_ = conn.Close()
			return p
		}
		if time.Now().After(deadline) {
			tb.Fatal(err)
		}
	}
}

// know tells the agent about a pod.
func (p *process) know(tb testing.TB, name string) {
	tb.Helper()
	text := fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":%q}}`, name, name)
	if err := os.WriteFile(filepath.Join(p.pods, name+".json"), []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func (p *process) dial(tb testing.TB) net.Conn {
	tb.Helper()
	conn, err := net.Dial("unix", p.socket)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// memory is how many KiB are resident now.
func (p *process) memory(tb testing.TB) int {
	tb.Helper()
	return p.status(tb, "VmRSS:")
}

// peak is how many KiB were resident at the worst moment.
func (p *process) peak(tb testing.TB) int {
	tb.Helper()
	return p.status(tb, "VmHWM:")
}

func (p *process) status(tb testing.TB, key string) int {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == key {
			kb, err := strconv.Atoi(f[1])
			if err != nil {
				tb.Fatal(err)
			}
			return kb
		}
	}
	tb.Fatalf("no %s", key)
	return 0
}

// processorTime is what the process has used so far, in hundredths of a second.
func (p *process) processorTime(tb testing.TB) int {
	tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err := errors.Join(err1, err2); err != nil {
		tb.Fatal(err)
	}
	return user + system
}
