package cniexe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceserver"
)

func TestF11OriginalDoesNotRunBeforeTheGrant(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(nil)
	r := n.begin(n.add("cart-0"))
	a.await("request cart-0")
	time.Sleep(300 * time.Millisecond)
	if got := len(n.started()); got != 0 {
		t.Fatalf("%d originals ran before the grant", got)
	}
	a.peer("cart-0").Grant()
	if exit := n.end(r); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	a.await("ack cart-0")
	a.await("done cart-0 0")
	a.await("gone cart-0")
}

func TestRequestSaysWhoAsksAndForHowLong(t *testing.T) {
	n := newNode(t, cni.Settings{Attempt: paceapi.Millis(40 * time.Second)})
	a := n.startAgent(grant)
	if exit := n.do(n.add("cart-0")); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	a.await("gone cart-0")
	got := a.requests[0]
	if got.Remaining > paceapi.Millis(40*time.Second) || got.Remaining < paceapi.Millis(35*time.Second) {
		t.Errorf("remaining %v of 40s", time.Duration(got.Remaining))
	}
	got.Remaining, got.Waited, got.SinceFirst = 0, 0, 0
	want := paceapi.Request{
		UID: "uid-cart-0", Namespace: "shop", Name: "cart-0", Container: "c1", IfName: "eth0",
		NetNS: "9f2c1a7e-0000-4000-8000-1f0e3d5b7a99", Attempt: 1,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRefusalIsCNIError11WithThePlaceInTheQueue(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(func(_ paceapi.Request, p *paceserver.Peer) {
		p.Refuse(paceapi.Place{Rank: 12, Length: 40, Reason: "3 pods are starting, limit 3"})
	})
	r := n.add("cart-0")
	exit := n.do(r)
	want := cniError{CNIVersion: "0.3.0", Code: 11, Msg: "paced: 12th of 40 on this node: 3 pods are starting, limit 3"}
	if got := n.errorOf(r); exit != 1 || got != want {
		t.Errorf("exit code %d, %+v, want %+v", exit, got, want)
	}
	a.await("gone cart-0")
	if len(n.started()) != 0 {
		t.Error("the original ran")
	}
}

// F10: whatever happened to ADD, the DEL that follows reaches the original.
func TestF10RefusedPodComesBackWithItsHistory(t *testing.T) {
	n := newNode(t, cni.Settings{})
	refuse := func(_ paceapi.Request, p *paceserver.Peer) { p.Refuse(paceapi.Place{Reason: "not yet"}) }
	a := n.startAgent(refuse)
	for range 2 {
		if exit := n.do(n.add("cart-0")); exit != 1 {
			t.Fatalf("exit code %d, want a refusal", exit)
		}
		n.same("DEL after a refusal", "DEL", podArgs("cart-0"))
	}
	a.stop()
	a = n.startAgent(grant)
	if exit := n.do(n.add("cart-0")); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	a.await("gone cart-0")
	if r := a.requests[0]; r.Attempt != 3 || r.SinceFirst <= r.Waited {
		t.Errorf("a new agent is told attempt %d, since first %v, waited %v", r.Attempt, time.Duration(r.SinceFirst), time.Duration(r.Waited))
	}
	// Its turn came: the next start of the same pod is a first attempt again.
	if exit := n.do(n.add("cart-0")); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	a.await("done cart-0 0")
	eventually(t, "second request", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return len(a.requests) == 2 })
	if r := a.requests[1]; r.Attempt != 1 {
		t.Errorf("attempt %d after a start, want 1", r.Attempt)
	}
}

func TestKilledWhileWaitingIsACancel(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(nil)
	r := n.begin(n.add("cart-0"))
	a.await("request cart-0")
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait()
	a.await("gone cart-0")
	if a.saw("ack cart-0") || len(n.started()) != 0 {
		t.Error("a cancelled start went on")
	}
}

func TestF16FailureIsReportedAtOnceWithItsDuration(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(grant)
	n.env = []string{"STUB_HOLD=400ms", "STUB_EXIT=1"}
	if exit := n.do(n.add("cart-0")); exit != 1 {
		t.Errorf("exit code %d", exit)
	}
	a.await("done cart-0 1")
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := time.Duration(a.ends[0].Duration); d < 400*time.Millisecond || d > patience {
		t.Errorf("reported a duration of %v for 400ms", d)
	}
}

func TestF5NoTimeoutOfOursEndsAnOriginalThatHangs(t *testing.T) {
	n := newNode(t, cni.Settings{Attempt: paceapi.Millis(time.Second)})
	a := n.startAgent(grant)
	n.env = []string{"STUB_ACT=hang"}
	r := n.begin(n.add("cart-0"))
	a.await("ack cart-0")
	eventually(t, "the original runs", func() bool { return len(n.started()) == 1 })
	time.Sleep(1500 * time.Millisecond) // past every deadline of the attempt
	if !running(n.started()[0].PID) || a.saw("gone cart-0") {
		t.Error("the original was not left alone")
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	a.await("gone cart-0")
	if a.saw("done cart-0 -1") || a.saw("done cart-0 137") {
		t.Error("a killed stand-in reported an end that it cannot know")
	}
}

// With everybody at once the store lock times out; in a queue it does not.
func TestF2LockThatTimesOutUnderTheHerdHoldsBehindTheGate(t *testing.T) {
	newNode(t, cni.Settings{}).failsOnlyAtOnce("STUB_LOCK=1200ms", "STUB_HOLD=1s")
}

// EKS on Windows and Calico: endpoints that are created at the same time exist
// already, or are stuck. Any plugin is held under its own name.
func TestF15AnotherPluginThatFailsUnderTheHerdStartsBehindTheGate(t *testing.T) {
	newNodeWith(t, "vpc-bridge", cni.Settings{}).failsOnlyAtOnce("STUB_ACT=alone", "STUB_HOLD=300ms")
}

func TestF34CalicoThatFailsUnderTheHerdStartsBehindTheGate(t *testing.T) {
	newNodeWith(t, "calico", cni.Settings{}).failsOnlyAtOnce("STUB_ACT=alone", "STUB_HOLD=300ms")
}

// failsOnlyAtOnce starts a plugin that behaves like env says for many pods at
// once: some must fail without us, and none behind the gate.
func (n *node) failsOnlyAtOnce(env ...string) {
	n.t.Helper()
	const pods = 5
	var line oneByOne
	n.startAgent(line.decide, line.next)
	n.env = env
	failures := func(program string) int {
		runs := make([]*run, pods)
		for i := range runs {
			runs[i] = n.begin(n.call(program, "ADD", podArgs(fmt.Sprint("pod-", i))))
		}
		failed := 0
		for _, r := range runs {
			if n.end(r) != 0 {
				failed++
			}
		}
		return failed
	}
	if got := failures(n.bare()); got == 0 {
		n.t.Fatal("the herd without us did no harm: the test proves nothing")
	}
	bare := len(n.started())
	if got := failures(n.plugin()); got != 0 {
		n.t.Errorf("%d of %d ADDs failed behind the gate", got, pods)
	}
	ran := n.started()[bare:]
	if len(ran) != pods {
		n.t.Errorf("%d originals ran for %d pods", len(ran), pods)
	}
	original := filepath.Join(n.original(), exe(n.name))
	for _, r := range ran {
		if r.Args[0] != n.plugin() || !strings.EqualFold(r.Program, original) {
			n.t.Errorf("ran %s as %s, want %s as %s", r.Program, r.Args[0], original, n.plugin())
		}
	}
}

func TestNextAgentIsToldSinceWhenAPodWaits(t *testing.T) {
	n := newNode(t, cni.Settings{Absent: paceapi.Millis(20 * time.Second)})
	a := n.startAgent(nil)
	r := n.begin(n.add("cart-0"))
	a.await("request cart-0")
	time.Sleep(300 * time.Millisecond)
	a.stop()
	b := n.startAgent(grant)
	if exit := n.end(r); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	b.await("done cart-0 0")
	if got := b.requests[0]; got.Running || got.Attempt != 1 || got.Waited < paceapi.Millis(300*time.Millisecond) || got.SinceFirst < got.Waited {
		t.Errorf("the next agent is told %+v", got)
	}
}

func TestNextAgentIsToldWhoIsRunning(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(grant)
	n.env = []string{"STUB_HOLD=4s"}
	r := n.begin(n.add("cart-0"))
	a.await("ack cart-0")
	a.stop()
	b := n.startAgent(nil)
	if exit := n.end(r); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	b.await("running cart-0")
	b.await("done cart-0 0")
	if got := b.requests[0]; got.RunningFor == 0 || got.Degraded {
		t.Errorf("the next agent is told %+v", got)
	}
	if d := time.Duration(b.ends[0].Duration); d < 4*time.Second {
		t.Errorf("duration %v is not the whole of it", d)
	}
}

func TestAgentThatSpeaksAnotherVersionCountsAsAbsent(t *testing.T) {
	n := newNode(t, cni.Settings{Absent: paceapi.Millis(200 * time.Millisecond), AbsentBoot: paceapi.Millis(200 * time.Millisecond)})
	n.oddAgent(`{"v":99,"type":"error","reason":"speak 99"}` + "\n")
	if exit := n.do(n.add("cart-0")); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
}

// F23: a file in use can be renamed on Windows, not overwritten.
func TestF23PluginFileCanBeReplacedWhilePodsWait(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(nil)
	r := n.begin(n.add("cart-0"))
	a.await("request cart-0")
	aside := n.plugin() + ".aside"
	if err := os.Rename(n.plugin(), aside); err != nil {
		t.Fatal(err)
	}
	n.put("stubplugin", n.plugin()) // somebody's newer plugin, which is not ours to wait for
	if exit := n.do(n.call(n.plugin(), "DEL", podArgs("cart-0"))); exit != 0 {
		t.Errorf("DEL of the new plugin: exit code %d", exit)
	}
	a.peer("cart-0").Grant()
	if exit := n.end(r); exit != 0 {
		t.Errorf("the waiting ADD: exit code %d", exit)
	}
}

func TestPingThroughTheInstalledPath(t *testing.T) {
	n := newNode(t, cni.Settings{})
	ping := func() (int, cni.Pong) {
		r := n.call(n.plugin(), cni.PingCommand, "")
		exit := n.do(r)
		pong, err := cni.ParsePong([]byte(n.read(r.stdout)))
		if err != nil {
			t.Errorf("%v: %s", err, n.read(r.stdout))
		}
		return exit, pong
	}
	if exit, pong := ping(); exit != 1 || pong.Problem == "" {
		t.Errorf("without an agent: exit code %d, %+v", exit, pong)
	}
	a := n.startAgent(grant)
	exit, pong := ping()
	if exit != 0 || pong.Agent != "v-test" || pong.Problem != "" || filepath.Base(pong.Original) != exe("azure-vnet") {
		t.Errorf("with an agent: exit code %d, %+v", exit, pong)
	}
	if len(a.requests) != 0 || len(n.records()) != 0 {
		t.Error("a ping started something")
	}
	r := n.call(n.bare(), cni.PingCommand, "")
	n.do(r)
	if _, err := cni.ParsePong([]byte(n.read(r.stdout))); err == nil {
		t.Error("a plugin that is not ours passed for a stand-in")
	}
}

func TestAliasesOfAPluginKeepTheNameTheyAreCalledBy(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("plugin folders on Windows hold no links")
	}
	n := newNode(t, cni.Settings{})
	alias := filepath.Join(n.bin, "azure-vnet-ipam")
	if err := os.Symlink("azure-vnet", alias); err != nil {
		t.Fatal(err)
	}
	if exit := n.do(n.call(alias, "DEL", podArgs("cart-0"))); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	if got := n.started()[0].Args[0]; got != alias {
		t.Errorf("argv[0] is %q, want %q", got, alias)
	}
	elsewhere := filepath.Join(filepath.Dir(n.bin), "opt")
	if err := os.Symlink(n.bin, elsewhere); err != nil {
		t.Fatal(err)
	}
	if exit := n.do(n.call(filepath.Join(elsewhere, "azure-vnet"), "DEL", podArgs("cart-0"))); exit != 0 {
		t.Errorf("plugin folder behind a link: exit code %d", exit)
	}
}

func TestCallWithoutAFolderFindsTheOriginal(t *testing.T) {
	n := newNode(t, cni.Settings{})
	r := n.call(n.plugin(), "", "", "-v")
	r.cmd.Args[0] = "azure-vnet"
	if exit := n.do(r); exit != 0 || !strings.HasPrefix(n.read(r.stdout), "Azure CNI Version") {
		t.Errorf("exit code %d: %s", exit, n.read(r.stdout))
	}
}

func TestNothingOfTheRequestIsTakenFromStdin(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.startAgent(grant)
	n.stdin = []byte("this is { not JSON")
	if got := n.same("ADD", "ADD", podArgs("cart-0")); got.Length != len(n.stdin) {
		t.Errorf("the original read %d bytes, want %d", got.Length, len(n.stdin))
	}
	var v any
	if json.Unmarshal(n.stdin, &v) == nil {
		t.Fatal("the test proves nothing")
	}
}
