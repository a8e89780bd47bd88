package cniexe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/sock/listen"
)

// impatient settings: nobody waits long for an agent.
func impatient(limit int, attempt time.Duration) cni.Settings {
	short := paceapi.Millis(200 * time.Millisecond)
	return cni.Settings{Limit: limit, Attempt: paceapi.Millis(attempt), Absent: short, AbsentBoot: short}
}

// oddAgent answers the first line of every connection with text.
func (n *node) oddAgent(text string) {
	n.t.Helper()
	l, err := listen.On(deadline(n.t), n.socket)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				_, _ = bufio.NewReader(conn).ReadString('\n')
				_, _ = io.WriteString(conn, text)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}(conn)
		}
	}()
}

// kubelet starts pods until each has started, as the kubelet does: after a
// failure it calls DEL and comes back a little later.
func (n *node) kubelet(pods int, back time.Duration) (attempts int) {
	n.t.Helper()
	type result struct {
		attempts int
		err      error
	}
	results := make(chan result, pods)
	for i := range pods {
		pod := fmt.Sprint("pod-", i)
		go func() {
			for attempt := 1; ; attempt++ {
				r := n.add(pod)
				var err error
				if err = r.cmd.Run(); err == nil {
					results <- result{attempt, nil}
					return
				}
				out, _ := os.ReadFile(r.stdout.Name())
				if !strings.Contains(string(out), `"code":11`) {
					results <- result{attempt, fmt.Errorf("%s: %w: %s", pod, err, out)}
					return
				}
				del := n.call(n.plugin(), "DEL", podArgs(pod))
				if err := del.cmd.Run(); err != nil {
					results <- result{attempt, fmt.Errorf("DEL of %s: %w", pod, err)}
					return
				}
				time.Sleep(back)
			}
		}()
	}
	for range pods {
		select {
		case r := <-results:
			attempts += r.attempts
			if r.err != nil {
				n.t.Error(r.err)
			}
		case <-time.After(3 * patience):
			n.t.Fatal("a pod was lost")
		}
	}
	return attempts
}

// upTo fails the test unless as many originals as the limit ran at once, and no
// more: a gate that starts one pod after the other would be no gate either.
func (n *node) upTo(limit int) {
	n.t.Helper()
	if most := mostAtOnce(n.records(), "ADD"); most != limit {
		n.t.Errorf("%d originals ran at once, want %d", most, limit)
	}
}

func TestF1WithoutAnAgentTheHerdIsAQueue(t *testing.T) {
	n := newNode(t, impatient(3, time.Minute))
	n.env = []string{"STUB_HOLD=500ms"}
	if attempts := n.kubelet(15, 0); attempts != 15 {
		t.Errorf("%d attempts for 15 pods with a long deadline", attempts)
	}
	n.upTo(3)
}

func TestF17HerdThatLastsManyDeadlinesLosesNobody(t *testing.T) {
	n := newNode(t, impatient(2, 1500*time.Millisecond))
	n.env = []string{"STUB_HOLD=500ms"}
	attempts := n.kubelet(12, 300*time.Millisecond)
	n.upTo(2)
	if attempts == 12 {
		t.Error("no attempt was refused: the test proves nothing")
	}
	t.Logf("%d attempts for 12 pods", attempts)
}

func TestAgentKilledWhilePodsWaitLeavesAQueue(t *testing.T) {
	n := newNode(t, impatient(2, time.Minute))
	a := n.startAgent(nil)
	n.env = []string{"STUB_HOLD=500ms"}
	var runs []*run
	for i := range 8 {
		runs = append(runs, n.begin(n.add(fmt.Sprint("pod-", i))))
		a.await(fmt.Sprint("request pod-", i))
	}
	a.stop()
	for _, r := range runs {
		if exit := n.end(r); exit != 0 {
			t.Errorf("exit code %d: %s", exit, n.read(r.stdout))
		}
	}
	n.upTo(2)
}

func TestF28AgentThatComesLateTakesOver(t *testing.T) {
	n := newNode(t, impatient(1, time.Minute))
	n.env = []string{"STUB_HOLD=2s"}
	first := n.begin(n.add("pod-0"))
	eventually(t, "the first runs by a lock", func() bool { return len(n.started()) == 1 })
	if held, err := cni.CountHeldLocks(n.original()); err != nil || held != 1 {
		t.Errorf("%d locks held, %v: want 1", held, err)
	}
	second := n.begin(n.add("pod-1"))
	a := n.startAgent(grant)
	if exit := n.end(second); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	if exit := n.end(first); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	a.await("done pod-1 0")
	a.await("running pod-0")
	a.await("done pod-0 0")
	for _, r := range a.requests {
		if r.Name == "pod-0" && !r.Degraded {
			t.Errorf("%s was let through by a lock, and says %+v", r.Name, r)
		}
	}
	if held, err := cni.CountHeldLocks(n.original()); err != nil || held != 0 {
		t.Errorf("%d locks held at the end, %v", held, err)
	}
}

func TestHungAgentCountsAsAbsent(t *testing.T) {
	n := newNode(t, impatient(2, time.Minute))
	n.hungAgent()
	r := n.add("pod-0")
	if exit := n.do(r); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	if r.took < paceapi.FirstAnswer || r.took > 3*paceapi.FirstAnswer {
		t.Errorf("took %v, want a little over %v", r.took, paceapi.FirstAnswer)
	}
}

func TestDeadlineWithoutAnAgentIsError11(t *testing.T) {
	n := newNode(t, impatient(1, time.Second))
	n.env = []string{"STUB_ACT=hang"}
	holder := n.begin(n.add("pod-0"))
	eventually(t, "the holder runs", func() bool { return len(n.started()) == 1 })
	r := n.add("pod-1")
	exit := n.do(r)
	want := "paced without the node agent: 1st of 1 on this node: no node agent, and the plugin runs for others, 1 at once at most"
	if got := n.errorOf(r); exit != 1 || got.Code != 11 || got.Msg != want {
		t.Errorf("exit code %d, %+v, want %q", exit, got, want)
	}
	if r.took < time.Second || r.took > 10*time.Second {
		t.Errorf("took %v for a deadline of 1s", r.took)
	}
	_ = holder.cmd.Process.Kill()
	_ = holder.cmd.Wait()
}

func TestOverduePodsGoOneAtATimeBesideTheLimit(t *testing.T) {
	s := impatient(1, time.Minute)
	s.MaxWait = paceapi.Millis(500 * time.Millisecond)
	n := newNode(t, s)
	n.env = []string{"STUB_HOLD=1500ms"}
	var runs []*run
	for i := range 4 {
		runs = append(runs, n.begin(n.add(fmt.Sprint("pod-", i))))
	}
	for _, r := range runs {
		if exit := n.end(r); exit != 0 {
			t.Errorf("exit code %d: %s", exit, n.read(r.stdout))
		}
	}
	if most := mostAtOnce(n.records(), "ADD"); most != 2 {
		t.Errorf("%d originals ran at once, want the limit of 1 and one overdue", most)
	}
}

func TestLockOfAKilledStandInIsFree(t *testing.T) {
	n := newNode(t, impatient(1, time.Minute))
	n.env = []string{"STUB_ACT=hang"}
	holder := n.begin(n.add("pod-0"))
	eventually(t, "the holder runs", func() bool { return len(n.started()) == 1 })
	n.env = nil
	r := n.begin(n.add("pod-1"))
	_ = holder.cmd.Process.Kill()
	_ = holder.cmd.Wait()
	if exit := n.end(r); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	if n.started()[1].At.Sub(n.started()[0].At) > patience {
		t.Error("the lock was held too long")
	}
}

// Telemetry outlives the ADD; it must not take the lock along.
func TestLockIsNotInheritedByTheOriginalsChildren(t *testing.T) {
	n := newNode(t, impatient(1, time.Minute))
	alive := n.telemetry()
	for i := range 2 {
		if exit := n.do(n.add(fmt.Sprint("pod-", i))); exit != 0 {
			t.Errorf("exit code %d", exit)
		}
		eventually(t, "telemetry runs", alive)
	}
}

func TestExcludedNamespacesStartWithoutAnAgent(t *testing.T) {
	n := newNode(t, cni.Settings{ExcludeNamespaces: []string{"shop"}})
	r := n.add("pod-0")
	if exit := n.do(r); exit != 0 || r.took > 5*time.Second {
		t.Errorf("exit code %d after %v, want 0 at once", exit, r.took)
	}
	n.env = []string{"STUB_HOLD=2s"}
	var runs []*run
	for i := range 4 { // more than the limit
		runs = append(runs, n.begin(n.add(fmt.Sprint("pod-", i))))
	}
	for _, r := range runs {
		if exit := n.end(r); exit != 0 {
			t.Errorf("exit code %d: %s", exit, n.read(r.stdout))
		}
	}
	n.upTo(len(runs))
}

// A file in the place of our folder stands for a full or read-only disk, on
// which root could write all the same in a test.
func TestFolderThatCannotBeUsedLeavesOneAtATime(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.brokenFolder()
	n.env = []string{"STUB_HOLD=300ms"}
	if attempts := n.kubelet(3, 0); attempts != 3 {
		t.Errorf("%d attempts for 3 pods", attempts)
	}
	n.upTo(1)
}

// brokenFolder puts a file where our folder would be. The default address is
// then dialled, where the machine of a test has no agent, after 10 s or 30 s.
func (n *node) brokenFolder() {
	n.t.Helper()
	gate := filepath.Join(n.original(), "gate")
	err := errors.Join(os.RemoveAll(gate), os.WriteFile(gate, nil, 0o644))
	if err != nil {
		n.t.Fatal(err)
	}
}
