package cniexe

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceserver"
)

// seen is everything that a caller and the original see of a call.
type seen struct {
	Exit           int
	Stdout, Stderr string
	Args           []string
	Dir            string
	Env            []string
	Stdin          string
	Length         int
}

// through gives what is seen when program is called.
func (n *node) through(program, command, args string, argv ...string) seen {
	n.t.Helper()
	_ = os.Remove(n.record)
	r := n.call(program, command, args, argv...)
	s := seen{Exit: n.do(r), Stdout: n.read(r.stdout), Stderr: n.read(r.stderr)}
	for _, rec := range n.started() {
		env := withoutGuard(rec.Env)
		slices.Sort(env)
		s.Args, s.Dir, s.Env, s.Stdin, s.Length = rec.Args[1:], rec.Dir, env, rec.Stdin, rec.Length
	}
	return s
}

// bare is the plugin at the place where it would be without us.
func (n *node) bare() string {
	n.t.Helper()
	dir := filepath.Join(filepath.Dir(n.bin), "bare")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		n.t.Fatal(err)
	}
	path := filepath.Join(dir, exe(n.name))
	if _, err := os.Stat(path); err != nil {
		n.put("stubplugin", path)
	}
	return path
}

// same fails the test unless a call looks the same with and without us.
func (n *node) same(what, command, args string, argv ...string) seen {
	n.t.Helper()
	want := n.through(n.bare(), command, args, argv...)
	got := n.through(n.plugin(), command, args, argv...)
	if diff := cmp.Diff(want, got); diff != "" {
		n.t.Errorf("%s (-without us +with us):\n%s", what, diff)
	}
	return got
}

// Only ADD for a pod may be delayed or answered by us; F21 is the node that
// was dead for 25 days because DEL waited for a socket.
func TestF21EverythingButAddGoesStraightThroughWithoutAnAgent(t *testing.T) {
	n := newNode(t, cni.Settings{})
	for _, command := range []string{"DEL", "CHECK", "GC", "STATUS", "VERSION", "UPDATE", "GET_ENDPOINT_STATE", "add", "ADD ", "SURPRISE", ""} {
		n.same(command, command, podArgs("cart-0"))
	}
	n.same("-v", "", "", "-v")
	n.same("odd arguments", "DEL", podArgs("cart-0"), "", "two words", `quo"te`, `back\slash\`, "ünï")
}

func TestF9DelNeverWaitsForAnAgentThatHangs(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.hungAgent()
	waiting := n.begin(n.add("cart-0"))
	start := time.Now()
	n.same("DEL", "DEL", podArgs("cart-0"))
	if d := time.Since(start); d > paceapi.FirstAnswer && runtime.GOOS != "windows" {
		t.Errorf("two DELs took %v", d)
	}
	_ = waiting.cmd.Process.Kill()
	_ = waiting.cmd.Wait()
}

func TestAddOfEveryNetworkModeReachesTheOriginalByteForByte(t *testing.T) {
	for _, mode := range []string{"nodesubnet", "swift", "overlay", "dualstack", "cilium"} {
		t.Run(mode, func(t *testing.T) {
			n := newNode(t, cni.Settings{})
			n.startAgent(grant)
			n.stdin = conf(t, mode)
			if got := n.same("ADD", "ADD", podArgs("cart-0")); got.Length != len(n.stdin) || got.Exit != 0 {
				t.Errorf("the original read %d bytes and ended with %d, want %d and 0", got.Length, got.Exit, len(n.stdin))
			}
		})
	}
}

func TestBigConfigurationReachesTheOriginalWhole(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.startAgent(grant)
	n.stdin = bigConf(300 << 10)
	for _, command := range []string{"ADD", "DEL"} {
		if got := n.same(command, command, podArgs("cart-0")); got.Length != len(n.stdin) {
			t.Errorf("%s: the original read %d bytes, want %d", command, got.Length, len(n.stdin))
		}
	}
}

func TestAddWithoutKubernetesArgumentsIsNotGated(t *testing.T) {
	n := newNode(t, cni.Settings{})
	for _, args := range []string{"", "IgnoreUnknown=1", "K8S_POD_NAME=cart-0", "K8S_POD_NAMESPACE=shop;K8S_POD_NAME=../../etc", "K8S_POD_NAMESPACE=;K8S_POD_NAME="} {
		n.same(args, "ADD", args)
	}
}

func TestExitCodesArePassedOn(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.startAgent(grant)
	codes := []int{0, 1, 2, 11, 100, 255}
	if runtime.GOOS == "windows" {
		codes = append(codes, 256, 0x40010004, 0xC0000005)
	}
	for _, code := range codes {
		n.env = []string{fmt.Sprintf("STUB_EXIT=%d", code)}
		for _, command := range []string{"ADD", "DEL"} {
			if got := n.same(command, command, podArgs("cart-0")); got.Exit != code {
				t.Errorf("%s: exit code %d, want %d", command, got.Exit, code)
			}
		}
	}
}

func TestF3OriginalThatFailsWithEmptyStdoutStaysSo(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.startAgent(grant)
	n.env = []string{"STUB_ACT=empty"}
	n.same("ADD", "ADD", podArgs("cart-0"))
}

func TestF7TwoJSONDocumentsArePassedOn(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.startAgent(grant)
	n.env = []string{"STUB_ACT=twodocs", "STUB_EXIT=1"}
	n.same("ADD", "ADD", podArgs("cart-0"))
}

func TestF8OriginalsOwnErrorIsPreserved(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(grant)
	n.env = []string{"STUB_ACT=error"}
	if got := n.same("ADD", "ADD", podArgs("cart-0")); !strings.Contains(got.Stdout, `"code":100`) {
		t.Errorf("stdout: %s", got.Stdout)
	}
	a.await("done cart-0 1")
}

func TestOriginalThatCrashesIsReportedAsSuch(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(grant)
	n.env = []string{"STUB_ACT=crash"}
	r := n.add("cart-0")
	if exit := n.do(r); exit != 2 {
		t.Errorf("exit code %d, want Go's 2", exit)
	}
	if s := n.read(r.stderr); !strings.Contains(s, "nil pointer") {
		t.Errorf("stderr: %q", s)
	}
	a.await("done cart-0 2")
}

func TestF12StateStaysInTheCallersDirectory(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.startAgent(grant)
	if exit := n.do(n.add("cart-0")); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	if _, err := os.Stat(filepath.Join(n.dir, "azure-vnet.json")); err != nil {
		t.Error(err)
	}
}

// azure-cns reads stdout and stderr together and wants four words.
func TestSecondCallerReadsCombinedOutput(t *testing.T) {
	n := newNode(t, cni.Settings{})
	for _, c := range []struct{ command, want string }{
		{"", "Azure CNI Version v1.2.3\n"}, {"GET_ENDPOINT_STATE", "{\"ContainerInterfaces\":{}}\n"},
	} {
		r := n.call(n.plugin(), c.command, "")
		if c.command == "" {
			r = n.call(n.plugin(), "", "", "-v")
		}
		r.cmd.Stderr = r.stdout
		if exit := n.do(r); exit != 0 || n.read(r.stdout) != c.want {
			t.Errorf("%q: exit code %d, output %q, want %q", c.command, exit, n.read(r.stdout), c.want)
		}
	}
}

func TestTelemetryThatKeepsTheStreamsOpenHoldsNobodyUp(t *testing.T) {
	n := newNode(t, cni.Settings{})
	n.startAgent(grant)
	alive := n.telemetry()
	for _, command := range []string{"ADD", "DEL"} {
		if exit := n.do(n.call(n.plugin(), command, podArgs("cart-0"))); exit != 0 {
			t.Errorf("%s: exit code %d", command, exit)
		}
		eventually(t, "telemetry runs", alive)
	}
}

// telemetry makes the stub leave a process behind, and gives a function that
// tells whether it lives. It ends with the test.
func (n *node) telemetry() (alive func() bool) {
	n.t.Helper()
	file := filepath.Join(filepath.Dir(n.bin), "telemetry")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		n.t.Fatal(err)
	}
	n.env = append(n.env, "STUB_TELEMETRY="+file)
	n.t.Cleanup(func() {
		_ = os.Remove(file)
		eventually(n.t, "telemetry ends", func() bool { _, err := os.Stat(file + ".pid"); return err != nil })
	})
	return func() bool {
		b, err := os.ReadFile(file + ".pid")
		var pid int
		if err != nil {
			return false
		}
		_, err = fmt.Sscan(string(b), &pid)
		return err == nil && running(pid)
	}
}

func TestF4KillingTheStandInKillsTheOriginalButNotTelemetry(t *testing.T) {
	commands := []string{"ADD"}
	if runtime.GOOS == "windows" {
		commands = append(commands, "DEL") // on Linux, the killed process is the original
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			n := newNode(t, cni.Settings{})
			n.startAgent(grant)
			alive := n.telemetry()
			n.env = append(n.env, "STUB_ACT=hang")
			r := n.begin(n.call(n.plugin(), command, podArgs("cart-0")))
			eventually(t, "the original runs", func() bool { return len(n.started()) == 1 })
			eventually(t, "telemetry runs", alive)
			original := n.started()[0].PID
			if err := r.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = r.cmd.Wait()
			eventually(t, "the original ends", func() bool { return !running(original) })
			if !alive() {
				t.Error("telemetry was killed too")
			}
		})
	}
}

func TestF6DelThatHangsHoldsNoOtherPodUp(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(grant)
	n.env = []string{"STUB_ACT=hang"}
	hanging := n.begin(n.call(n.plugin(), "DEL", podArgs("cart-0")))
	eventually(t, "DEL hangs", func() bool { return len(n.started()) == 1 })
	n.env = nil
	if exit := n.do(n.add("cart-1")); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	a.await("done cart-1 0")
	if a.saw("request cart-0") {
		t.Error("the agent was asked about a DEL")
	}
	_ = hanging.cmd.Process.Kill()
	_ = hanging.cmd.Wait()
}

func TestF33NothingIsWrittenOutsideOurFolder(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(func(_ paceapi.Request, p *paceserver.Peer) { p.Refuse(paceapi.Place{Reason: "not yet"}) })
	n.do(n.add("cart-0"))
	n.do(n.call(n.plugin(), "VERSION", ""))
	a.await("gone cart-0")
	for dir, want := range map[string][]string{n.dir: {}, n.bin: {exe("azure-vnet"), cni.OriginalDir}} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files in %s (-want +got):\n%s", filepath.Base(dir), diff)
		}
	}
}

func TestExecutableIsSmall(t *testing.T) {
	info, err := os.Stat(filepath.Join(programs(t), exe("evenkeel-cni")))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 4<<20 {
		t.Errorf("%d bytes, want at most 4 MiB", info.Size())
	}
}

func TestPluginThatCallsAnotherStandInIsGatedOnce(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(grant)
	n.env = []string{"STUB_CALL=" + n.plugin()}
	if exit := n.do(n.add("cart-0")); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	if got := len(n.started()); got != 2 {
		t.Errorf("%d originals ran, want 2", got)
	}
	a.await("done cart-0 0")
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.requests) != 1 {
		t.Errorf("%d requests, want 1", len(a.requests))
	}
}

func TestStandInInThePlaceOfTheOriginalIsAnErrorNotALoop(t *testing.T) {
	n := newNode(t, cni.Settings{})
	original := filepath.Join(n.original(), exe("azure-vnet"))
	if err := os.Remove(original); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(n.plugin(), original); err != nil {
		t.Fatal(err)
	}
	r := n.call(n.plugin(), "DEL", podArgs("cart-0"))
	exit := n.do(r)
	if e := n.errorOf(r); exit != 1 || e.Code != 11 || !strings.Contains(e.Msg, "original plugin") {
		t.Errorf("exit code %d, %+v", exit, e)
	}
}

func TestMissingOriginalIsAnErrorThatNamesIt(t *testing.T) {
	n := newNode(t, cni.Settings{})
	if err := os.Remove(filepath.Join(n.original(), exe("azure-vnet"))); err != nil {
		t.Fatal(err)
	}
	r := n.call(n.plugin(), "ADD", podArgs("cart-0"))
	exit := n.do(r)
	e := n.errorOf(r)
	if exit != 1 || e.Code != 11 || e.CNIVersion != "0.3.0" || !strings.Contains(e.Msg, filepath.Join(cni.OriginalDir, exe("azure-vnet"))) {
		t.Errorf("exit code %d, %+v", exit, e)
	}
}

func TestOriginalThatIsBeingReplacedIsWaitedFor(t *testing.T) {
	n := newNode(t, cni.Settings{})
	original := filepath.Join(n.original(), exe("azure-vnet"))
	aside := original + ".aside"
	if err := os.Rename(original, aside); err != nil {
		t.Fatal(err)
	}
	r := n.begin(n.call(n.plugin(), "DEL", podArgs("cart-0")))
	time.AfterFunc(200*time.Millisecond, func() { _ = os.Rename(aside, original) })
	if exit := n.end(r); exit != 0 {
		t.Errorf("exit code %d: %s", exit, n.read(r.stdout))
	}
}
