package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is a plugin folder with a plugin of this system and a stand-in, both
// made of this test's own file.
func folder(t *testing.T) (dir, plugin, standIn string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	plugin, standIn = filepath.Join(dir, "bridge.exe"), filepath.Join(dir, "evenkeel-cni.exe")
	mark := strings.Join([]string{"evenkeel.dev/evenkeel", "cmd", "evenkeel-cni"}, "/") // not in this file as it is
	for path, content := range map[string][]byte{plugin: data, standIn: append(data[:len(data):len(data)], mark...)} {
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, plugin, standIn
}

// onFirst is a writer that does something when it is first written to.
type onFirst struct {
	strings.Builder
	do func()
}

func (o *onFirst) Write(p []byte) (int, error) {
	if o.Len() == 0 {
		o.do()
	}
	return o.Builder.Write(p)
}

func TestInstallWaitsForWhoeverWritesThePluginAndSaysSo(t *testing.T) {
	dir, plugin, standIn := folder(t)
	writer, err := os.OpenFile(plugin, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	args := []string{"install", "--bin-dir", dir, "--plugin", "bridge.exe", "--executable", standIn}

	var out strings.Builder
	errs := &onFirst{do: func() {}}
	if code := Run(t.Context(), Streams{Out: &out, Err: errs}, append(args, "--wait", "1100ms")); code != exitFailure {
		t.Errorf("with a writer: exit code %d, %s%s", code, &out, errs)
	}
	if text := errs.String(); strings.Count(text, "Waiting: "+plugin+": it is being written\n") != 1 || !strings.Contains(text, "nothing was changed") {
		t.Errorf("said:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "evenkeel")); !os.IsNotExist(err) {
		t.Errorf("something was begun: %v", err)
	}

	errs = &onFirst{do: func() {
		_, err := writer.WriteString("the end")
		if err = errors.Join(err, writer.Close()); err != nil {
			t.Error(err)
		}
	}}
	if code := Run(t.Context(), Streams{Out: &out, Err: errs}, args); code != exitOK || !strings.Contains(out.String(), "installed, the original is kept") {
		t.Fatalf("the writer gone: exit code %d, %s%s", code, &out, errs)
	}
	original, err := os.ReadFile(filepath.Join(dir, "evenkeel", "bridge.exe"))
	if err != nil || !strings.HasSuffix(string(original), "the end") {
		t.Errorf("the original is not what the writer wrote: %d bytes, %v", len(original), err)
	}
}

func TestInstallThatCouldNeverWaitLongEnoughIsAUsageError(t *testing.T) {
	dir, _, standIn := folder(t)
	var out, errs strings.Builder
	code := Run(t.Context(), Streams{Out: &out, Err: &errs}, []string{"install", "--bin-dir", dir, "--plugin", "bridge.exe", "--executable", standIn, "--wait", "0"})
	if code != exitUsage || !strings.Contains(errs.String(), "--wait 0s: want more than 1s") {
		t.Errorf("exit code %d, %s", code, &errs)
	}
}

func TestInstallDoesNotWaitForWhatWillNeverBeAPlugin(t *testing.T) {
	dir, plugin, standIn := folder(t)
	if err := os.WriteFile(plugin, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	code := Run(t.Context(), Streams{Out: &out, Err: &errs}, []string{"install", "--bin-dir", dir, "--plugin", "bridge.exe", "--executable", standIn, "--wait", "1h"})
	if code != exitFailure || !strings.Contains(errs.String(), "plugin "+plugin+": not a complete") {
		t.Errorf("exit code %d, %s%s", code, &out, &errs)
	}
}
