//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the program as its users do, with a real stand-in and shell
// scripts as plugins.
func TestScripts(t *testing.T) {
	_, standIn := programs(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("STANDIN", standIn)
			e.Setenv("SOCKET", filepath.Join(e.WorkDir, "none", "agent.sock"))
			return os.Chmod(filepath.Join(e.WorkDir, "bin", "bridge"), 0o755)
		},
	})
}
