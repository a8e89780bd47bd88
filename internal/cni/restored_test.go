package cni

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/sock"
	"evenkeel.dev/evenkeel/internal/standin"
)

// movingExec is an Exec for files that need not be programs. Before the first
// start it lets an uninstaller go to work.
type movingExec struct {
	uninstall func()
	ran       []string
}

func (e *movingExec) Replace(string, string) error { return errors.ErrUnsupported }

func (e *movingExec) Run(path, _ string) (int, error) {
	if e.uninstall != nil {
		e.uninstall()
		e.uninstall = nil
	}
	if _, err := os.Stat(path); err != nil {
		return 0, err
	}
	e.ran = append(e.ran, path)
	return 0, nil
}

// callIn runs a call of the stand-in bridge in a plugin folder.
func callIn(bin, command string, e *movingExec) (exit int, stdout string) {
	plugin := filepath.Join(bin, "bridge"+executableSuffix)
	env := map[string]string{"CNI_COMMAND": command, "CNI_ARGS": "K8S_POD_NAMESPACE=kube-system;K8S_POD_NAME=p;K8S_POD_UID=u"}
	var out bytes.Buffer
	exit = Run(Host{
		Args: []string{plugin}, Getenv: func(k string) string { return env[k] },
		Executable: func() (string, error) { return plugin, nil },
		Stdin:      strings.NewReader(stdinConf), Stdout: &out, Exec: e,
		Dial:   func(string, time.Time) (sock.Conn, error) { return nil, errors.New("nobody listens") },
		Uptime: func() (time.Duration, error) { return time.Hour, nil }, CPUs: 4,
	})
	return exit, out.String()
}

// A stand-in may have been called, and even have waited, when an uninstaller puts
// the plugin back in its own place.
func TestAPluginThatWasPutBackMeanwhileIsRunInItsOwnPlace(t *testing.T) {
	for _, command := range []string{"ADD", "DEL"} {
		for _, when := range []string{"before the original was found", "before it was run"} {
			t.Run(command+" "+when, func(t *testing.T) {
				x := executableSuffix
				bin := filepath.Join(plant(t, "bin/bridge"+x, "bin/evenkeel/bridge"+x), "bin")
				uninstall := func() {
					if err := errors.Join(os.Rename(filepath.Join(bin, OriginalDir, "bridge"+x), filepath.Join(bin, "bridge"+x)),
						os.RemoveAll(filepath.Join(bin, OriginalDir))); err != nil {
						t.Fatal(err)
					}
				}
				e := &movingExec{uninstall: uninstall}
				settings := Settings{Absent: 1, ExcludeNamespaces: []string{"kube-system"}}
				if err := WriteSettings(filepath.Join(bin, OriginalDir), settings); err != nil {
					t.Fatal(err)
				}
				if when == "before the original was found" {
					uninstall()
					e.uninstall = nil
				}
				exit, stdout := callIn(bin, command, e)
				if exit != 0 || len(e.ran) != 1 || e.ran[0] != filepath.Join(bin, "bridge"+x) {
					t.Errorf("exit code %d, ran %q\n%s", exit, e.ran, stdout)
				}
				if entries, err := os.ReadDir(bin); err != nil || len(entries) != 1 {
					t.Errorf("left in the plugin folder: %v (%v)", entries, err)
				}
			})
		}
	}
}

func TestAStandInIsNotRunInThePlaceOfALostOriginal(t *testing.T) {
	x := executableSuffix
	bin := filepath.Join(plant(t, "bin/bridge"+x, "bin/evenkeel/bridge"+x), "bin")
	if err := os.WriteFile(filepath.Join(bin, "bridge"+x), append([]byte("stand-in "), standin.Mark()...), 0o755); err != nil {
		t.Fatal(err)
	}
	lose := func() {
		if err := os.Remove(filepath.Join(bin, OriginalDir, "bridge"+x)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []*movingExec{{uninstall: lose}, {}} {
		exit, stdout := callIn(bin, "DEL", e)
		if exit != exitFailure || len(e.ran) != 0 || !strings.Contains(stdout, `"code":11`) {
			t.Errorf("exit code %d, ran %q\n%s", exit, e.ran, stdout)
		}
	}
}

func TestWhatIsBesideThePluginFolderIsNoPlugin(t *testing.T) {
	x := executableSuffix
	dir := plant(t, "bridge"+x, "bin/bridge"+x)
	if got, ok := restored(filepath.Join(dir, "bin", "bridge"+x)); ok {
		t.Errorf("got %s", got)
	}
}
