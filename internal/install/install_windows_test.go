package install

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"
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
	n.write(n.Executable, runnable(t, append(marker(), '1')))

	stopPlugin := start(t, n.Target.PluginPath())
	first := n.install(Installed)
	if first.Gap <= 0 {
		t.Fatal("a running plugin cannot have been replaced in one step")
	}
	stopStandIn := start(t, n.Target.PluginPath())
	n.write(n.Executable, runnable(t, append(marker(), '2')))
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
	n.write(n.Executable, runnable(t, append(marker(), '1')))
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
