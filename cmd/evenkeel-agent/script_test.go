//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"evenkeel-agent": main})
}

// TestScripts runs the program as its users do, with a real stand-in and shell
// scripts as plugins.
func TestScripts(t *testing.T) {
	standIn := filepath.Join(t.TempDir(), "evenkeel-cni")
	build := exec.Command("go", "build", "-o", standIn, "evenkeel.dev/evenkeel/cmd/evenkeel-cni")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the stand-in: %v\n%s", err, out)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("STANDIN", standIn)
			e.Setenv("SOCKET", filepath.Join(e.WorkDir, "none", "agent.sock"))
			return os.Chmod(filepath.Join(e.WorkDir, "bin", "bridge"), 0o755)
		},
	})
}
