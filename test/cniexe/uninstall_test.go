package cniexe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/install"
)

// Who waits while somebody uninstalls is let through like everybody else, and
// runs the plugin in its own place.
func TestWhoWaitsThroughAnUninstallationRunsThePluginInItsOwnPlace(t *testing.T) {
	n := newNode(t, cni.Settings{})
	a := n.startAgent(nil)
	r := n.begin(n.add("waits"))
	a.await("request waits")

	i := install.Installer{Target: install.Target{BinDir: n.bin, Plugin: filepath.Base(n.plugin()), SubDir: cni.OriginalDir}, Disk: install.Disk{}}
	if result, err := i.Uninstall(); err != nil || result.Action != install.Restored {
		t.Fatalf("%+v, %v", result, err)
	}
	a.peer("waits").Grant()
	if exit := n.end(r); exit != 0 {
		t.Errorf("exit code %d: %s", exit, n.read(r.stdout))
	}
	ran := n.started()
	if len(ran) != 1 || ran[0].Command != "ADD" || !strings.EqualFold(ran[0].Program, n.plugin()) {
		t.Errorf("ran %+v, want %s once", ran, n.plugin())
	}
	eventually(t, "nothing of ours is left", func() bool {
		_, err := i.Uninstall() // on Windows the stand-in's file could not go while it ran
		entries, readErr := os.ReadDir(n.bin)
		return err == nil && readErr == nil && len(entries) == 1
	})
}
