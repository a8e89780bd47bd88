package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked is what PowerShell was told to do, "" for a failure of the test's own.
func asked(t *testing.T, change func(context.Context, Runner, Target) error, target Target) string {
	t.Helper()
	var script string
	run := func(_ context.Context, name string, args ...string) ([]byte, error) {
		if name != "powershell.exe" {
			t.Errorf("ran %s", name)
		}
		script = args[len(args)-1]
		return []byte("no such service\n"), errors.New("exit status 1")
	}
	if err := change(t.Context(), run, target); err == nil || !strings.Contains(err.Error(), "exit status 1: no such service") {
		t.Errorf("error %v", err)
	}
	return script
}

func TestDefenderIsToldOfTheNewPaths(t *testing.T) {
	agent, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	target := Target{BinDir: filepath.Join(t.TempDir(), "it's"), Plugin: "calico.exe", SubDir: "evenkeel"}
	list := func(paths ...string) string {
		quoted := strings.ReplaceAll(strings.Join(paths, "\n"), "'", "''")
		return "'" + strings.ReplaceAll(quoted, "\n", "','") + "'"
	}
	for verb, c := range map[string]struct {
		change           func(context.Context, Runner, Target) error
		processes, paths string
	}{
		"Add-MpPreference": {
			ExcludeFromDefender,
			list(target.OriginalPath(), agent, target.PluginPath()), list(target.OriginalDir(), agent, target.PluginPath()),
		},
		// The plugin's own path may be excluded for somebody else, too.
		"Remove-MpPreference": {IncludeInDefender, list(target.OriginalPath(), agent), list(target.OriginalDir(), agent)},
	} {
		want := "$ErrorActionPreference = 'Stop'; " + verb + " -ExclusionProcess " + c.processes + " -ExclusionPath " + c.paths
		if diff := cmp.Diff(want, asked(t, c.change, target)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verb, diff)
		}
	}
}
