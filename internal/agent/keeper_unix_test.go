//go:build unix

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestASelfTestLeavesNothingBehind has a plugin in place again at the moment of
// the test, which writes a file into its working directory, as azure-vnet does.
func TestASelfTestDoesNotWaitForWhatAPluginLeavesRunning(t *testing.T) {
	k := newTestKeeper(t, []byte("#!/bin/sh\nsleep 60 &\n"))
	if err := os.Mkdir(k.installer.Target.OriginalDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); k.selfTest(t.Context()) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the self-test waits for the plugin's child")
	}
}

func TestASelfTestLeavesNothingBehind(t *testing.T) {
	k := newTestKeeper(t, []byte("#!/bin/sh\npwd >\"$OLDPWD_FILE\"\necho log >azure-vnet.log\n"))
	dir := k.installer.Target.OriginalDir()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	work, where := t.TempDir(), filepath.Join(t.TempDir(), "where")
	t.Chdir(work)
	t.Setenv("OLDPWD_FILE", where)
	for range 2 {
		k.selfTest(t.Context())
		if k.snapshot().tested || k.problems.get("selftest") == "" {
			t.Error("a plugin passed for the stand-in")
		}
		ran, err := os.ReadFile(where)
		if err != nil || filepath.Dir(strings.TrimSpace(string(ran))) != dir {
			t.Errorf("ran in %s (%v), want a folder of its own in %s", ran, err, dir)
		}
		for _, folder := range []string{work, dir} {
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("left in %s: %v (%v)", folder, left, err)
			}
		}
	}
}
