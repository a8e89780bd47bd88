package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Root returns the repository's root folder.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(data, []byte("module evenkeel.dev/evenkeel\n")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("the test does not run inside the repository")
		}
	}
}

// Component returns the cached folder of a built test component: the name of
// a folder under test/ with a build.sh, such as controlplane, node or wine. It
// fails the test if the component is not built yet.
func Component(t testing.TB, name string) string {
	t.Helper()
	script := filepath.Join(Root(t), "test", name, "build.sh")
	output, err := exec.Command(script, "--find").Output()
	if err != nil {
		t.Fatalf("test component %s: %v", name, describe(err))
	}
	return strings.TrimSpace(string(output))
}

// Command builds one of our commands (a folder under cmd/) for this machine
// and returns the path of the static executable.
func Command(t testing.TB, name string) string {
	t.Helper()
	return Build(t, "./cmd/"+name)
}

// Build builds any command of the repository, named as for the go command in
// its root. It is built once for all tests of a binary that uses Main.
func Build(t testing.TB, path string) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if built, ok := shared.programs[path]; ok {
		return built
	}
	dir := t.TempDir()
	if shared.main {
		dir = programFolder(t)
	}
	target := filepath.Join(dir, filepath.Base(path))
	build := exec.Command("go", "build", "-o", target, path)
	build.Dir = Root(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", path, err, output)
	}
	if shared.main {
		shared.programs[path] = target
	}
	return target
}

// programFolder makes the folder of built programs, which goes when this
// process ends, however that comes. The caller holds the lock.
func programFolder(t testing.TB) string {
	t.Helper()
	if shared.janitor == nil {
		dir, err := os.MkdirTemp("", "evenkeel-programs-")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir, shared.programs = dir, map[string]string{}
		shared.janitor, shared.cleaned = hold(t, "janitor of "+dir, exec.Command("sh", "-c", `echo ready; cat >/dev/null; rm -rf "$0"`, dir))
	}
	return shared.dir
}

// describe adds what the command wrote to its standard error.
func describe(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
