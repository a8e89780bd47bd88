package install

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"evenkeel.dev/evenkeel/internal/standin"
)

// start runs the file as a process that lasts, the way a waiting stand-in does.
func start(t *testing.T, path string) (stop func()) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), sleeperEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cmd.Process.Kill()
			cmd.Wait()
		}
	}
	t.Cleanup(stop)
	return stop
}

// runnable is this test's own executable with something appended.
func runnable(t *testing.T, suffix []byte) []byte {
	t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	return append(data, suffix...)
}

func TestRunningFilesAreRenamedOutOfTheWay(t *testing.T) {
	n := newNode(t)
	v1 := runnable(t, []byte("v1"))
	n.write(n.Target.PluginPath(), v1)
	n.write(n.Executable, runnable(t, append(standin.Mark(), '1')))

	stopPlugin := start(t, n.Target.PluginPath())
	first := n.install(Installed)
	if first.Gap <= 0 {
		t.Fatal("a running plugin cannot have been replaced in one step")
	}
	stopStandIn := start(t, n.Target.PluginPath())
	n.write(n.Executable, runnable(t, append(standin.Mark(), '2')))
	second := n.install(Upgraded)
	t.Logf("without a plugin for %s at installing and %s at upgrading", first.Gap, second.Gap)
	if first.Gap > time.Second || second.Gap > time.Second {
		t.Fatal("that is too long")
	}
	stopPlugin()
	stopStandIn()
	n.install(Nothing)
	n.wantInstalled(v1)
	n.uninstall(Restored)
	n.wantBare(v1)
}

func TestARunningFileIsReplacedInOneStepOnceItHasEnded(t *testing.T) {
	n := newNode(t)
	v1 := runnable(t, []byte("v1"))
	n.write(n.Target.PluginPath(), v1)
	n.write(n.Executable, runnable(t, append(standin.Mark(), '1')))
	stop := start(t, n.Target.PluginPath())
	n.Idle = time.Minute
	timer := time.AfterFunc(2*time.Second, stop)
	defer timer.Stop()
	if r := n.install(Installed); r.Gap != 0 {
		t.Fatalf("gap of %s", r.Gap)
	}
	n.wantInstalled(v1)
}

// scan opens a file the way a scanner does that lets nobody rename or remove it,
// for so long.
func scan(t *testing.T, path string, d time.Duration) {
	t.Helper()
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(d, func() { windows.CloseHandle(h) })
}

func TestChangesArePatientWithScanners(t *testing.T) {
	for _, s := range []Step{
		{Op: Remove, To: "a"},
		{Op: Move, From: "a", To: "b"},
		{Op: Replace, From: "a", To: "b"}, // nothing is there to be in use
		{Op: Move, From: "a", To: "a"},
		{Op: Write, To: "a", Data: []byte("new")},
		{Op: Save, From: "c", To: "a"},
	} {
		t.Run(string(s.Op)+" "+s.To, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"a", "c"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s.To = filepath.Join(dir, s.To)
			if s.From != "" {
				s.From = filepath.Join(dir, s.From)
			}
			scan(t, filepath.Join(dir, "a"), 300*time.Millisecond)
			began := time.Now()
			if err := (Disk{}).Do(s); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < 200*time.Millisecond {
				t.Errorf("took %s: the scanner was not in the way", took)
			}
		})
	}
}

func TestFilesNotInUseAreReplacedInOneStep(t *testing.T) {
	n := newNode(t)
	if r := n.install(Installed); r.Gap != 0 {
		t.Fatalf("gap of %s", r.Gap)
	}
}

func TestUninstallWaitsForAStandInThatStillRuns(t *testing.T) {
	n := newNode(t)
	v1 := runnable(t, []byte("v1"))
	n.write(n.Target.PluginPath(), v1)
	n.write(n.Executable, runnable(t, append(standin.Mark(), '1')))
	n.install(Installed)
	stop := start(t, n.Target.PluginPath())
	if r := n.uninstall(Restored); len(r.Leftovers) == 0 {
		t.Fatal("a running file cannot have been deleted")
	}
	stop()
	n.Patience = 5 * time.Second
	if r := n.uninstall(Nothing); len(r.Leftovers) != 0 {
		t.Fatalf("left behind: %q", r.Leftovers)
	}
	n.wantBare(v1)
}
