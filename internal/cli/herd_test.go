//go:build linux || windows

package cli_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli"
	"evenkeel.dev/evenkeel/internal/herd"
)

// TestMain lets this test's own binary be every process of a herd.
func TestMain(m *testing.M) {
	if code, is := herd.Process(context.Background()); is {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func TestHerdDrawsItsResultAsAPage(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	argv := strings.Fields("evenkeel herd --pods 2 --work 10ms --plugin-time 10ms --heartbeat 500ms -o html")
	if code := cli.Run(t.Context(), cli.Streams{Out: &out, Err: &errs}, argv); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	page := out.String()
	if !strings.HasPrefix(page, "<!DOCTYPE html>") || strings.Count(page, "<svg") < 2 || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
		t.Errorf("not a page with a drawing of each run:\n%s", page)
	}
}

// What a herd does is tested with package herd, whose tests can be its processes.
func TestHerdRefusesWhatMakesNoSenseBeforeItStartsAnything(t *testing.T) {
	for args, want := range map[string]string{
		"--pods 0 --limit x":             "--pods 0: want 1 to 500\n--limit \"x\": want auto, adaptive, or a number",
		"-o yaml":                        `--output "yaml": want table, json or html`,
		"--heartbeat 1ms":                "--heartbeat 1ms: want 50ms to 1m0s",
		"--attempt 3m":                   "--attempt 3m0s: want 1s to 2m0s",
		"--wrk 1s":                       "unknown flag: --wrk",
		"now":                            "unknown command",
		"--html no-such-folder/herd.htm": "no-such-folder",
		"--keep no-such-folder/new":      "no-such-folder",
	} {
		t.Run(args, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			var out, errs bytes.Buffer
			argv := append([]string{"evenkeel", "herd"}, strings.Fields(args)...)
			code := cli.Run(t.Context(), cli.Streams{Out: &out, Err: &errs}, argv)
			if code == cli.ExitOK || out.Len() > 0 || !strings.Contains(errs.String(), want) {
				t.Errorf("exit code %d, printed %q, errors %q", code, &out, &errs)
			}
		})
	}
}
