package cniexe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
)

// buildVariable names a folder with the programs evenkeel-cni, stubplugin and
// noop (with .exe) already built; without it they are built here.
const buildVariable = "EVENKEEL_CNIEXE_PROGRAMS"

// patience is how long something may take that must happen.
const patience = 30 * time.Second

var build = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(buildVariable); dir != "" {
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "cniexe")
	if err != nil {
		return "", err
	}
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", dir + string(filepath.Separator)}
	cmd := exec.Command("go", append(args, "evenkeel.dev/evenkeel/cmd/evenkeel-cni", "./stubplugin", "./noop")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped: static
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(buildVariable) == "" {
		if dir, _ := build(); dir != "" {
			_ = os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

// programs is the folder of the programs under test.
func programs(t testing.TB) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func exe(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// node is a folder with a plugin that we stand in for.
type node struct {
	t      testing.TB
	name   string // of the plugin
	bin    string // plugin folder
	dir    string // working directory of the runtime
	socket string
	record string
	stdin  []byte
	env    []string
}

var nodeCount atomic.Int64

// newNode installs the stand-in in front of the stub, as azure-vnet, with the
// settings given and an address of its own where nobody listens yet.
func newNode(t testing.TB, s cni.Settings) *node {
	t.Helper()
	return newNodeWith(t, "azure-vnet", s)
}

// newNodeWith is newNode with a plugin of another name.
func newNodeWith(t testing.TB, plugin string, s cni.Settings) *node {
	t.Helper()
	root, err := os.MkdirTemp("", "node") // short, for the socket's sake
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(t, root) })
	n := &node{
		t: t, name: plugin, bin: filepath.Join(root, "bin"), dir: filepath.Join(root, "k"), record: filepath.Join(root, "record"),
		socket: filepath.Join(root, "run", "agent.sock"), stdin: conf(t, "overlay"),
	}
	if runtime.GOOS == "windows" {
		n.socket = fmt.Sprintf(`\\.\pipe\evenkeel-test-%d-%d`, os.Getpid(), nodeCount.Add(1))
	}
	for _, d := range []string{n.original(), n.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.put("evenkeel-cni", n.plugin())
	n.put("stubplugin", filepath.Join(n.original(), exe(n.name)))
	n.settings(s)
	return n
}

// removeAll is patient: Windows keeps files of processes that are just ending.
func removeAll(t testing.TB, dir string) {
	err := errors.New("")
	for start := time.Now(); err != nil && time.Since(start) < patience; time.Sleep(20 * time.Millisecond) {
		err = os.RemoveAll(dir)
	}
	if err != nil {
		t.Error(err)
	}
}

func conf(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(b)
}

func (n *node) plugin() string   { return filepath.Join(n.bin, exe(n.name)) }
func (n *node) original() string { return filepath.Join(n.bin, cni.OriginalDir) }

func (n *node) put(program, path string) {
	n.t.Helper()
	b, err := os.ReadFile(filepath.Join(programs(n.t), exe(program)))
	if err == nil {
		err = os.WriteFile(path, b, 0o755)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) settings(s cni.Settings) {
	n.t.Helper()
	s.Socket = n.socket
	if err := cni.WriteSettings(n.original(), s); err != nil {
		n.t.Fatal(err)
	}
}

// run is one call of a program as a plugin.
type run struct {
	cmd            *exec.Cmd
	stdout, stderr *os.File
	start          time.Time
	took           time.Duration
}

// podArgs is CNI_ARGS for a pod.
func podArgs(name string) string {
	return "K8S_POD_NAME=" + name + ";IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_INFRA_CONTAINER_ID=c-" + name + ";K8S_POD_UID=uid-" + name
}

// call prepares program for a command; args are CNI_ARGS. The streams are
// files, so that nothing waits for whoever inherits them.
func (n *node) call(program, command, args string, argv ...string) *run {
	n.t.Helper()
	r := &run{cmd: exec.Command(program, argv...)}
	r.cmd.Dir = n.dir
	r.cmd.Stdin = bytes.NewReader(n.stdin)
	r.cmd.Env = append(os.Environ(), "CNI_PATH="+n.bin, "CNI_CONTAINERID=c1", "CNI_IFNAME=eth0",
		"CNI_NETNS=9f2c1a7e-0000-4000-8000-1f0e3d5b7a99", "STUB_RECORD="+n.record)
	if command != "" {
		r.cmd.Env = append(r.cmd.Env, "CNI_COMMAND="+command)
	}
	if args != "" {
		r.cmd.Env = append(r.cmd.Env, "CNI_ARGS="+args)
	}
	r.cmd.Env = append(r.cmd.Env, n.env...)
	for _, f := range []**os.File{&r.stdout, &r.stderr} {
		var err error
		if *f, err = os.CreateTemp(filepath.Dir(n.bin), "stream"); err != nil {
			n.t.Fatal(err)
		}
		n.t.Cleanup(func() { _ = (*f).Close() })
	}
	r.cmd.Stdout, r.cmd.Stderr = r.stdout, r.stderr
	return r
}

// add prepares an ADD of a pod through the stand-in.
func (n *node) add(pod string) *run { return n.call(n.plugin(), "ADD", podArgs(pod)) }

// begin starts the call.
func (n *node) begin(r *run) *run {
	n.t.Helper()
	r.start = time.Now()
	if err := r.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	return r
}

// end waits for the call and gives its exit code, -1 if a signal ended it.
func (n *node) end(r *run) int {
	n.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = r.cmd.Process.Kill() })
	defer timer.Stop()
	err := r.cmd.Wait()
	r.took = time.Since(r.start)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		n.t.Fatal(err)
	}
	if !timer.Stop() {
		n.t.Errorf("%v did not end by itself", r.cmd.Args)
	}
	return r.cmd.ProcessState.ExitCode()
}

func (n *node) do(r *run) int { n.t.Helper(); return n.end(n.begin(r)) }

func (n *node) read(f *os.File) string {
	n.t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		n.t.Fatal(err)
	}
	return string(b)
}

// cniError is what the runtime makes of a failed call's stdout.
type cniError struct {
	CNIVersion string
	Code       int
	Msg        string
}

func (n *node) errorOf(r *run) cniError {
	n.t.Helper()
	var e cniError
	if err := json.Unmarshal([]byte(n.read(r.stdout)), &e); err != nil {
		n.t.Errorf("stdout is not one JSON object: %v\n%s", err, n.read(r.stdout))
	}
	if s := n.read(r.stderr); s != "" {
		n.t.Errorf("stderr: %q, want nothing", s)
	}
	return e
}

// record is what the stub says about one event of its life.
type record struct {
	Event, Command string
	PID            int
	Program        string
	Args           []string
	Dir            string
	Env            []string
	Stdin          string
	Length         int
	At             time.Time
}

func (n *node) records() []record {
	n.t.Helper()
	b, err := os.ReadFile(n.record)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		n.t.Fatal(err)
	}
	var all []record
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		var r record
		if json.Unmarshal(s.Bytes(), &r) == nil { // a killed stub leaves half a line
			all = append(all, r)
		}
	}
	return all
}

// started gives the records of the originals that ran.
func (n *node) started() []record {
	n.t.Helper()
	return slices.DeleteFunc(n.records(), func(r record) bool { return r.Event != "start" })
}

// mostAtOnce is how many originals of a command ran at the same time.
func mostAtOnce(records []record, command string) int {
	type event struct {
		at   time.Time
		step int
	}
	var events []event
	for _, r := range records {
		if r.Command == command {
			step := 1
			if r.Event == "end" {
				step = -1
			}
			events = append(events, event{r.At, step})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.step - b.step
	})
	running, most := 0, 0
	for _, e := range events {
		running += e.step
		most = max(most, running)
	}
	return most
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for start := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("never: %s", what)
		}
	}
}

func withoutGuard(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, cni.GuardVariable+"=")
	})
}

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// bigConf is a configuration far larger than any pipe's buffer.
func bigConf(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"cniVersion":"0.3.0","name":"azure","type":"azure-vnet","padding":"`)
	_, _ = io.CopyN(&b, endless('x'), int64(size))
	b.WriteString(`"}`)
	return b.Bytes()
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
