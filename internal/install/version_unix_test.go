//go:build unix

package install

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestStatusTellsTheReleaseOfAStandInWithoutRunningIt builds one with the flags
// of the Makefile, for the other system as well: that cannot be run here.
func TestStatusTellsTheReleaseOfAStandInWithoutRunningIt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	for _, c := range []struct{ goos, flags, want string }{
		{"linux", "-s -w -X evenkeel.dev/evenkeel/internal/version.stamp=evenkeel-release:v1.2.3;", "v1.2.3"},
		{"windows", "-s -w -X evenkeel.dev/evenkeel/internal/version.stamp=evenkeel-release:v1.2.3-4-gabc;", "v1.2.3-4-gabc"},
		{"linux", "-s -w", "devel"},
	} {
		file := filepath.Join(t.TempDir(), "evenkeel-cni")
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", c.flags, "-o", file, "evenkeel.dev/evenkeel/cmd/evenkeel-cni")
		cmd.Env = append(cmd.Environ(), "GOOS="+c.goos, "GOARCH=amd64", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		img, err := inspect(file, platform{c.goos, "amd64"})
		if err != nil || !img.StandIn() || img.Version != c.want {
			t.Errorf("%s: %+v, %v; want a stand-in %s", c.goos, img, err, c.want)
		}
	}
}
