package manifests

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"evenkeel.dev/evenkeel/internal/install"
	"evenkeel.dev/evenkeel/test/harness"
)

const imageRelease = "v7.8.9-test"

// TestImagesHoldTheReleaseTheyAreBuiltFor runs what the images of the node side
// run to build their programs, and looks at these.
func TestImagesHoldTheReleaseTheyAreBuiltFor(t *testing.T) {
	for _, c := range []struct{ goos, suffix string }{{"linux", ""}, {"windows", ".exe"}} {
		t.Run(c.goos, func(t *testing.T) {
			out := buildStage(t, "deploy/docker/agent-"+c.goos+".Dockerfile")
			agent, standIn := filepath.Join(out, "evenkeel-agent"+c.suffix), filepath.Join(out, "evenkeel-cni"+c.suffix)
			for _, program := range []string{agent, standIn} {
				if _, err := os.Stat(program); err != nil {
					t.Error(err)
				}
			}
			if c.goos == runtime.GOOS {
				text, err := exec.Command(agent, "version").CombinedOutput()
				if err != nil || !strings.HasPrefix(string(text), "evenkeel-agent "+imageRelease+" ") {
					t.Errorf("the agent calls itself %q (%v)", text, err)
				}
			}
			if got := installedVersion(t, standIn); got != imageRelease {
				t.Errorf("status of the stand-in: version %q, want %s", got, imageRelease)
			}
			if c.goos == "windows" {
				wantResource(t, standIn)
			}
		})
	}
}

// buildStage runs the RUN line of a Dockerfile that builds the programs, with
// the image's arguments and another folder for its output.
func buildStage(t *testing.T, dockerfile string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), dockerfile))
	fatal(t, err)
	if !regexp.MustCompile(`(?m)^ARG VERSION=`).Match(text) {
		t.Errorf("%s takes no VERSION", dockerfile)
	}
	run := regexp.MustCompile(`(?m)^RUN (.*/out.*(?:\\\n.*)*)$`).FindSubmatch(text)
	if run == nil {
		t.Fatalf("%s: no RUN line that builds into /out", dockerfile)
	}
	out := t.TempDir()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(string(run[1]), "/out", out))
	cmd.Dir = harness.Root(t)
	cmd.Env = append(os.Environ(), "TARGETARCH="+runtime.GOARCH, "VERSION="+imageRelease)
	if log, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", dockerfile, err, log)
	}
	return out
}

// installedVersion is what the status of a folder says whose plugin is the
// stand-in; files of another system count, since none is run.
func installedVersion(t *testing.T, standIn string) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(standIn)
	fatal(t, err)
	fatal(t, os.WriteFile(filepath.Join(dir, "bridge"), data, 0o755))
	status, err := install.Installer{Target: install.Target{BinDir: dir, Plugin: "bridge", SubDir: "evenkeel"}}.Status()
	fatal(t, err)
	if !status.InPlace.StandIn {
		text, _ := json.Marshal(status)
		t.Fatalf("not recognised as a stand-in: %s", text)
	}
	return status.InPlace.Version
}

// wantResource looks for the strings of the version resource, which
// test/cniexe asks Windows' own functions for.
func wantResource(t *testing.T, program string) {
	t.Helper()
	data, err := os.ReadFile(program)
	fatal(t, err)
	for _, want := range []string{"VS_VERSION_INFO", "Evenkeel: stand-in for a CNI plugin", "7.8.9.0", imageRelease} {
		var wide []byte
		for _, unit := range utf16.Encode([]rune(want)) {
			wide = binary.LittleEndian.AppendUint16(wide, unit)
		}
		if !strings.Contains(string(data), string(wide)) {
			t.Errorf("the version resource does not hold %q", want)
		}
	}
}
