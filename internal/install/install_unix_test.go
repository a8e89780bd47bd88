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

func TestAScriptTakesTheFirstPlaceOrTheOneAnOperatorGivesIt(t *testing.T) {
	first, second := []byte("#!/bin/sh\n"), []byte("#!/bin/sh\nexit 0\n")
	n := newNode(t)
	n.write(n.Target.PluginPath(), first)
	a := &Adopter{Installer: n.Installer}
	look(t, a, 0)
	if o := look(t, a, SettleTime); o.Result.Action != Installed {
		t.Fatalf("the plugin that the configuration names: %+v", o)
	}
	n.wantInstalled(first)

	look(t, a, 2*SettleTime)
	n.write(n.Target.PluginPath(), second)
	look(t, a, 3*SettleTime)
	o := look(t, a, 4*SettleTime)
	if !o.Stuck || !o.Foreign || !strings.Contains(o.Waiting, "a script") || !strings.Contains(o.Waiting, "evenkeel-agent install") {
		t.Fatalf("a script written over the stand-in: %+v", o)
	}

	byHand := &Adopter{Installer: n.Installer, ByHand: true}
	look(t, byHand, 0)
	if o := look(t, byHand, SettleTime); o.Result.Action != Adopted {
		t.Fatalf("the plugin that an operator names: %+v", o)
	}
	n.wantInstalled(second)
	if o := look(t, a, 5*SettleTime); o.Waiting != "" {
		t.Fatalf("afterwards: %+v", o)
	}
}

func TestAStandInThatLostItsModeIsReplaced(t *testing.T) {
	n := newNode(t)
	n.install(Installed)
	n.must(os.Chmod(n.Target.PluginPath(), 0o644))
	n.install(Upgraded)
	n.wantInstalled(program("v1"))
}
