package cni

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// plant makes empty files below a new folder and gives the folder.
func plant(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOriginalIsFoundBesideTheStandIn(t *testing.T) {
	x := executableSuffix
	for name, c := range map[string]struct {
		files     []string
		own, call string // paths below the folder; call without a folder when it begins with :
		want      string // "" for none
	}{
		"as called":             {[]string{"bin/bridge" + x, "bin/evenkeel/bridge" + x}, "bin/bridge" + x, "bin/bridge" + x, "bin/evenkeel/bridge" + x},
		"without a folder":      {[]string{"bin/bridge" + x, "bin/evenkeel/bridge" + x}, "bin/bridge" + x, ":bridge", "bin/evenkeel/bridge" + x},
		"alias of a plugin":     {[]string{"bin/calico" + x, "bin/evenkeel/calico" + x}, "bin/calico" + x, "bin/calico-ipam" + x, "bin/evenkeel/calico" + x},
		"one file for many":     {[]string{"lib/cni" + x, "bin/evenkeel/bridge" + x}, "lib/cni" + x, "bin/bridge" + x, "bin/evenkeel/bridge" + x},
		"folder behind a link":  {[]string{"real/bridge" + x, "real/evenkeel/bridge" + x}, "real/bridge" + x, "opt/bridge" + x, "real/evenkeel/bridge" + x},
		"alias with its own":    {[]string{"bin/c" + x, "bin/evenkeel/c" + x, "bin/evenkeel/d" + x}, "bin/c" + x, "bin/d" + x, "bin/evenkeel/d" + x},
		"renamed while running": {[]string{"bin/old" + x, "bin/evenkeel/bridge" + x}, "bin/old" + x, "bin/bridge" + x, "bin/evenkeel/bridge" + x},
		"nothing there":         {[]string{"bin/bridge" + x}, "bin/bridge" + x, "bin/bridge" + x, ""},
		"a folder in its place": {[]string{"bin/bridge" + x, "bin/evenkeel/bridge" + x + "/file"}, "bin/bridge" + x, "bin/bridge" + x, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, c.files...)
			at := func(p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }
			call := at(c.call)
			if c.call[0] == ':' {
				call = c.call[1:]
			}
			got, err := findOriginal([]string{call}, func() (string, error) { return at(c.own), nil })
			if c.want == "" {
				if err == nil {
					t.Errorf("got %s, want none", got)
				}
				return
			}
			if err != nil || got != at(c.want) {
				t.Errorf("got %s, %v, want %s", got, err, at(c.want))
			}
		})
	}
}

func TestStandInIsNeverItsOwnOriginal(t *testing.T) {
	x := executableSuffix
	dir := plant(t, "bin/bridge"+x, "bin/evenkeel/x")
	own := filepath.Join(dir, "bin", "bridge"+x)
	link := filepath.Join(dir, "bin", "evenkeel", "bridge"+x)
	err := os.Symlink(own, link)
	if runtime.GOOS == "windows" {
		err = os.Link(own, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := findOriginal([]string{own}, func() (string, error) { return own, nil }); err == nil {
		t.Errorf("got %s", got)
	}
}
