package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Executables that were let through by lock files say so to an agent that comes
// back. Those that cannot, as they are stopped here, count by their locks.
func TestAReturningAgentCountsTheHoldersOfLocks(t *testing.T) {
	t.Parallel()
	n := newNode(t, herdConfig)
	n.pluginTime = 2 * time.Second
	n.start()
	n.ready()
	n.kill()
	ended := make(chan error, 3)
	for _, pod := range []string{"held-0", "held-1"} {
		go func() { ended <- n.startPod(pod) }()
	}
	n.eventually("two plugins run by locks", func() bool { return n.adds().all == 2 })
	standIns := n.standIns()
	if len(standIns) != 2 {
		t.Fatalf("%d stand-ins run, want 2", len(standIns))
	}
	n.signal(standIns, syscall.SIGSTOP)
	t.Cleanup(func() { n.signal(standIns, syscall.SIGKILL) })
	n.start()
	n.ready()
	go func() { ended <- n.startPod("late") }()
	n.eventually("the late pod waits", func() bool {
		return strings.Contains(n.status(), `"lockHolders": 2`) && strings.Contains(n.status(), "late")
	})
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if a := n.adds(); a.all != 2 { // the first turns of an agent are given after 5 s
			t.Fatalf("a third pod was let through beside two locks: %+v", a)
		}
	}
	n.signal(standIns, syscall.SIGCONT)
	for range 3 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// standIns are the processes that run as the plugin's file.
func (n *node) standIns() []int {
	n.t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	n.must(err)
	var found []int
	for _, folder := range folders {
		if program, err := os.Readlink(filepath.Join(folder, "exe")); err == nil && program == n.plugin {
			pid, err := strconv.Atoi(filepath.Base(folder))
			n.must(err)
			found = append(found, pid)
		}
	}
	return found
}

func (n *node) signal(processes []int, s syscall.Signal) {
	for _, p := range processes {
		_ = syscall.Kill(p, s)
	}
}

// Pods that get along by lock files while the agent hangs are no longer waiting
// when it goes on, and no slot is kept for any of them.
func TestAHungAgentThatGoesOnDoesNotWaitForWhoHasStarted(t *testing.T) {
	t.Parallel()
	n := newNode(t, strings.Replace(herdConfig, "attempt: 6s", "attempt: 20s", 1))
	n.pluginTime = time.Second
	n.start()
	n.ready()
	agent := []int{n.process.Process.Pid}
	time.AfterFunc(2*time.Second, func() { n.signal(agent, syscall.SIGSTOP) })
	t.Cleanup(func() { n.signal(agent, syscall.SIGCONT) })
	n.herd(8)
	n.signal(agent, syscall.SIGCONT)
	n.eventually("the agent answers", func() bool { return strings.Contains(n.status(), `"agent": {`) })
	if !strings.Contains(n.log.String(), "this agent did nothing for a while") {
		t.Errorf("it does not say that it hung:\n%s", n.log)
	}
	began := time.Now()
	n.eventually("nobody waits", func() bool { return strings.Contains(n.status(), `"waiting": []`) })
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("pods that had started were waited for for %s:\n%s", took, n.log)
	}
	n.eventually("no slot is held", func() bool { return strings.Contains(n.status(), `"holding": []`) })
	for _, wrong := range []string{"SlotKept", "Expired"} {
		if strings.Contains(n.log.String(), wrong) {
			t.Errorf("a slot was kept for, or held by, a pod that had started (%s):\n%s", wrong, n.log)
		}
	}
}
