package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/standin"
)

func TestInstallKeepsTheOriginalUnderItsOwnNameInTheSubFolder(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.wantInstalled(program("v1"))
	want := []string{".evenkeel", ".evenkeel/" + pluginName(), ".evenkeel/install", ".evenkeel/install/lock", pluginName()}
	if diff := cmp.Diff(want, n.listing()); diff != "" {
		t.Fatalf("folder (-want +got):\n%s", diff)
	}
}

func TestInstallTwiceChangesNothing(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	before, err := os.Stat(n.Target.PluginPath())
	n.must(err)
	n.install(Nothing)
	after, err := os.Stat(n.Target.PluginPath())
	n.must(err)
	if !unchanged(before, after) {
		t.Fatal("the second installation rewrote the stand-in")
	}
	n.wantInstalled(program("v1"))
}

func TestUninstallRestoresThePluginAndLeavesNothing(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	gate := filepath.Join(n.Target.OriginalDir(), "gate")
	n.must(os.Mkdir(gate, 0o755))
	n.write(filepath.Join(gate, "lock-1"), []byte("state of the stand-in"))
	n.uninstall(Restored)
	n.wantBare(program("v1"))
	n.uninstall(Nothing)
	n.wantBare(program("v1"))
}

func TestUninstallOfOnePluginLeavesTheOtherInstalled(t *testing.T) {
	n := newNode(t)
	other := n
	other.Target.Plugin = "second-" + pluginName()
	n.write(other.Target.PluginPath(), program("other"))
	n.install(Installed)
	other.install(Installed)
	n.uninstall(Restored)
	other.wantInstalled(program("other"))
	other.uninstall(Restored)
	if diff := cmp.Diff([]string{pluginName(), other.Target.Plugin}, n.listing()); diff != "" {
		t.Fatalf("folder (-want +got):\n%s", diff)
	}
}

// clearing is a disk on which something in the folder is in use for a while, as Windows says of a stand-in that runs.
type clearing struct {
	tries int    // that fail
	then  func() // before the first that does not
}

func (c *clearing) Do(s Step) error {
	if s.Op == Clear {
		if c.tries--; c.tries >= 0 {
			if c.tries == 0 {
				defer c.then()
			}
			return errors.New("in use")
		}
	}
	return Disk{}.Do(s)
}

func TestUninstallThatHasToWaitLeavesANewerInstallationAlone(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	installed := make(chan error, 1)
	u := n.Installer
	u.Patience = time.Minute
	u.Disk = &clearing{tries: 3, then: func() {
		go func() { // waits for the lock
			_, err := n.Install()
			installed <- err
		}()
	}}
	// The lock is free between two tries only, and either may have it first.
	_, err := u.Uninstall()
	n.must(err)
	n.must(<-installed)
	n.wantInstalled(program("v1"))
}

func TestUninstallWaitsUntilAllOfItCanGo(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	u := n.Installer
	u.Patience, u.Disk = time.Minute, &clearing{tries: 3, then: func() {}}
	r, err := u.Uninstall()
	n.must(err)
	if r.Action != Restored || len(r.Leftovers) > 0 {
		t.Errorf("%+v", r)
	}
	n.wantBare(program("v1"))
}

func TestUninstallOfOnePluginKeepsTheOtherOriginalThatCannotRunNow(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	other := n
	other.Target.Plugin = "other-" + pluginName()
	n.write(other.Target.PluginPath(), program("other"))
	other.install(Installed)
	n.write(other.Target.OriginalPath(), program("other")[:20]) // cut short
	n.uninstall(Restored)
	if got := n.content(other.Target.OriginalPath()); got != string(program("other")[:20]) {
		t.Errorf("got %q", got)
	}
	n.write(other.Target.OriginalPath(), program("other")) // mended
	other.uninstall(Restored)
	if diff := cmp.Diff([]string{pluginName(), other.Target.Plugin}, n.listing()); diff != "" {
		t.Fatalf("folder (-want +got):\n%s", diff)
	}
}

func TestANewerStandInReplacesTheOlderAndKeepsTheOriginal(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.write(n.Executable, standIn("2"))
	n.install(Upgraded)
	n.wantInstalled(program("v1"))
}

func TestAnOverwrittenStandInIsInstalledAgainBeforeTheNewPlugin(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.write(n.Target.PluginPath(), program("v2"))
	n.install(Adopted)
	n.wantInstalled(program("v2"))
	n.uninstall(Restored)
	n.wantBare(program("v2"))
}

func TestUninstallKeepsAPluginThatWasWrittenOverTheStandIn(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.write(n.Target.PluginPath(), program("v2"))
	n.uninstall(Cleared)
	n.wantBare(program("v2"))
}

func TestAMissingPluginIsReinstatedFromItsOriginal(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.must(os.Remove(n.Target.PluginPath()))
	n.install(Reinstated)
	n.wantInstalled(program("v1"))
}

func TestTheContainerRuntimesConfigurationIsNeverTouched(t *testing.T) {
	n := newNode(t)
	conf := filepath.Join(n.root, "netconf")
	before, err := os.Stat(conf)
	n.must(err)
	file, err := os.Stat(filepath.Join(conf, "10-azure.conflist"))
	n.must(err)
	n.install(Installed)
	n.write(n.Target.PluginPath(), program("v2"))
	n.install(Adopted)
	n.uninstall(Restored)
	after, err := os.Stat(conf)
	n.must(err)
	again, err := os.Stat(filepath.Join(conf, "10-azure.conflist"))
	n.must(err)
	if !unchanged(before, after) || !unchanged(file, again) {
		t.Fatal("the configuration folder changed")
	}
}

func TestInstallRefusesWhatWouldLeaveTheNodeWithoutPlugin(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(n node)
		want   string
	}{
		"plugin missing":        {func(n node) { os.Remove(n.Target.PluginPath()) }, "does not exist"},
		"plugin is a folder":    {func(n node) { os.Remove(n.Target.PluginPath()); os.Mkdir(n.Target.PluginPath(), 0o755) }, "not a regular file"},
		"plugin is text":        {func(n node) { n.write(n.Target.PluginPath(), []byte("not a program")) }, "not a complete"},
		"plugin is empty":       {func(n node) { n.write(n.Target.PluginPath(), nil) }, "empty"},
		"plugin is cut short":   {func(n node) { n.write(n.Target.PluginPath(), program("v1")[:70]) }, ""},
		"executable missing":    {func(n node) { os.Remove(n.Executable) }, "--executable"},
		"executable not ours":   {func(n node) { n.write(n.Executable, program("v1")) }, "not evenkeel-cni"},
		"executable is foreign": {func(n node) { n.write(n.Executable, append(programFor(elsewhere(), ""), standin.Mark()...)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			c.break_(n)
			before := n.listing()
			_, err := n.Install()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if diff := cmp.Diff(before, n.listing()); diff != "" {
				t.Fatalf("the folder changed (-want +got):\n%s", diff)
			}
		})
	}
}

func elsewhere() platform {
	if thisPlatform().goarch == "arm64" {
		return platform{thisPlatform().goos, "amd64"}
	}
	return platform{thisPlatform().goos, "arm64"}
}

func TestAStandInIsNeverTakenForAnOriginal(t *testing.T) {
	n := newNode(t)
	n.write(n.Target.PluginPath(), standIn("0"))
	if _, err := n.Install(); err == nil || !strings.Contains(err.Error(), "is a stand-in, but its original") {
		t.Fatalf("error %v, want the refusal to wrap a stand-in", err)
	}
	n.write(n.Target.PluginPath(), program("v1"))
	n.install(Installed)
	n.write(n.Target.PluginPath(), standIn("0")) // some older version of ours is copied over it
	n.install(Upgraded)
	n.wantInstalled(program("v1"))
}

func TestInstallersTakeTurns(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := n.Install(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n.wantInstalled(program("v1"))
}
