package install

import (
	"context"
	"fmt"
	"strings"
)

// Runner runs a program to its end and gives its combined output.
type Runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// ExcludeFromDefender tells Windows Defender not to scan the files that an
// installation of t adds to the start of every pod: AKS excludes the plugin by
// its path, and the original has a new one. It is for Windows nodes. A failure
// means slower pods, nothing worse.
func ExcludeFromDefender(ctx context.Context, run Runner, t Target) error {
	return preference(ctx, run, "Add-MpPreference", t)
}

// IncludeInDefender takes the exclusions back.
func IncludeInDefender(ctx context.Context, run Runner, t Target) error {
	return preference(ctx, run, "Remove-MpPreference", t)
}

func preference(ctx context.Context, run Runner, verb string, t Target) error {
	script := fmt.Sprintf("$ErrorActionPreference = 'Stop'; %s -ExclusionProcess %s -ExclusionPath %s", verb,
		quotePowerShell(t.OriginalPath()), quotePowerShell(t.sub()))
	out, err := run(ctx, "powershell.exe", "-NoProfile", "-NonInteractive", "-Command", script)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", verb, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func quotePowerShell(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
