package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Runner runs a program to its end and gives its combined output.
type Runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// ExcludeFromDefender tells Windows Defender to leave alone what an installation
// of t adds to the start of every pod: the stand-in, whatever its plugin is
// called, the original, which AKS excludes by its first path alone, and this
// program, as the agent. It is for Windows nodes and may be repeated. A failure
// means slower pods, nothing worse.
func ExcludeFromDefender(ctx context.Context, run Runner, t Target) error {
	ours, err := ownExclusions(t)
	if err != nil {
		return err
	}
	plugin, err := filepath.Abs(t.PluginPath())
	if err != nil {
		return fmt.Errorf("plugin for Windows Defender: %w", err)
	}
	ours.processes = append(ours.processes, plugin)
	ours.paths = append(ours.paths, plugin)
	return ours.preference(ctx, run, "Add-MpPreference")
}

// IncludeInDefender takes back the exclusions of what is ours alone. The plugin's
// own path stays excluded: whether somebody else excluded it, too, as AKS does,
// cannot be told.
func IncludeInDefender(ctx context.Context, run Runner, t Target) error {
	ours, err := ownExclusions(t)
	if err != nil {
		return err
	}
	return ours.preference(ctx, run, "Remove-MpPreference")
}

// exclusions are files that are not scanned (paths), and programs whose files
// are not (processes).
type exclusions struct{ processes, paths []string }

func ownExclusions(t Target) (exclusions, error) {
	agent, err := os.Executable()
	if err != nil {
		return exclusions{}, fmt.Errorf("find this program for Windows Defender: %w", err)
	}
	dir, err := filepath.Abs(t.sub())
	if err != nil {
		return exclusions{}, fmt.Errorf("folder of the originals for Windows Defender: %w", err)
	}
	return exclusions{processes: []string{filepath.Join(dir, t.Plugin), agent}, paths: []string{dir, agent}}, nil
}

func (e exclusions) preference(ctx context.Context, run Runner, verb string) error {
	script := fmt.Sprintf("$ErrorActionPreference = 'Stop'; %s -ExclusionProcess %s -ExclusionPath %s", verb,
		listPowerShell(e.processes), listPowerShell(e.paths))
	out, err := run(ctx, "powershell.exe", "-NoProfile", "-NonInteractive", "-Command", script)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", verb, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func listPowerShell(items []string) string {
	quoted := make([]string, len(items))
	for n, item := range items {
		quoted[n] = "'" + strings.ReplaceAll(item, "'", "''") + "'"
	}
	return strings.Join(quoted, ",")
}
