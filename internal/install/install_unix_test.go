//go:build unix

package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALinkIsReplacedAsALink(t *testing.T) {
	for name, target := range map[string]string{"relative": "../real/calico-1", "absolute": ""} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.must(os.MkdirAll(filepath.Join(n.root, "real"), 0o755))
			file := filepath.Join(n.root, "real", "calico-1")
			if target == "" {
				target = file
			}
			n.write(file, program("linked"))
			n.must(os.Remove(n.Target.PluginPath()))
			n.must(os.Symlink(target, n.Target.PluginPath()))

			n.install(Installed)
			n.wantInstalled(program("linked"))
			if n.content(file) != string(program("linked")) {
				t.Fatal("the file behind the link changed")
			}
			n.install(Nothing)
			n.uninstall(Restored)
			n.wantBare(program("linked"))
			if got, err := os.Readlink(n.Target.PluginPath()); err != nil || got != target {
				t.Fatalf("link %q (%v), want %q", got, err, target)
			}
		})
	}
}

func TestAPluginThatIsNotExecutableIsRefused(t *testing.T) {
	n := newNode(t)
	n.must(os.Chmod(n.Target.PluginPath(), 0o644))
	if _, err := n.Install(); err == nil || !strings.Contains(err.Error(), "not executable") {
		t.Fatalf("error %v", err)
	}
}

func TestAScriptMayBeAPlugin(t *testing.T) {
	n := newNode(t)
	n.write(n.Target.PluginPath(), []byte("#!/bin/sh\n"))
	n.install(Installed)
	n.wantInstalled([]byte("#!/bin/sh\n"))
}

func TestAStandInThatLostItsModeIsReplaced(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.must(os.Chmod(n.Target.PluginPath(), 0o644))
	n.install(Upgraded)
	n.wantInstalled(program("v1"))
}
