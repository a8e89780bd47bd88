package install

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Target says which plugin of which folder is meant.
type Target struct {
	BinDir string // the folder where the container runtime looks for plugins
	Plugin string // base name of the plugin, with .exe on Windows
	SubDir string // base name of our sub-folder of BinDir
}

// Validate reports the first mistake in t that can be seen without a disk.
func (t Target) Validate() error { return t.validate(runtime.GOOS) }

func (t Target) validate(goos string) error {
	if t.BinDir == "" {
		return fmt.Errorf("plugin folder is empty; give --bin-dir")
	}
	for _, part := range []struct{ what, name string }{{"plugin", t.Plugin}, {"sub-folder", t.SubDir}} {
		if part.name == "" {
			return fmt.Errorf("%s name is empty; give --plugin", part.what)
		}
		if part.name != filepath.Base(part.name) || part.name == "." || part.name == ".." || strings.ContainsAny(part.name, `/\`) {
			return fmt.Errorf("%s name %q must be a bare file name", part.what, part.name)
		}
		if goos == "windows" && (strings.Contains(part.name, ":") || strings.TrimRight(part.name, ". ") != part.name) {
			return fmt.Errorf("%s name %q must have no colon and end in no dot or blank: it would be another file's on Windows", part.what, part.name)
		}
	}
	if sameName(t.Plugin, t.SubDir, goos) {
		return fmt.Errorf("plugin name %q is the name of the sub-folder", t.Plugin)
	}
	if reserved(t.Plugin, goos) {
		return fmt.Errorf("plugin name %q is reserved: a file or folder of ours has it in %s", t.Plugin, t.SubDir)
	}
	return nil
}

// reserved reports whether something other than an original has the name in our
// sub-folder: the folder of this package's working files, that of the stand-in's
// (package cni), those of the agent's self-tests. Nor may it read as a file that
// was renamed out of another one's way.
func reserved(name, goos string) bool {
	if goos == "windows" {
		name = strings.ToLower(name)
	}
	return name == workDir || name == "gate" || strings.HasPrefix(name, "selftest-") || strings.Contains(name, asideInfix)
}

// sameName reports whether two names are those of one file.
func sameName(a, b, goos string) bool {
	return a == b || goos == "windows" && strings.EqualFold(a, b)
}

// workDir is the base name of the folder of working files.
const workDir = "install"

// PluginPath is where the container runtime looks for the plugin.
func (t Target) PluginPath() string { return filepath.Join(t.BinDir, t.Plugin) }

// OriginalPath is where the original waits to be called by the stand-in.
func (t Target) OriginalPath() string { return filepath.Join(t.sub(), t.Plugin) }

// OriginalDir is the folder of the originals and of the stand-in's own files.
func (t Target) OriginalDir() string { return t.sub() }

func (t Target) sub() string         { return filepath.Join(t.BinDir, t.SubDir) }
func (t Target) work() string        { return filepath.Join(t.sub(), workDir) }
func (t Target) nextPath() string    { return filepath.Join(t.work(), t.Plugin+".next") }
func (t Target) savedPath() string   { return filepath.Join(t.work(), t.Plugin+".saved") }
func (t Target) journalPath() string { return filepath.Join(t.work(), t.Plugin+".journal") }
func (t Target) lockPath() string    { return filepath.Join(t.work(), "lock") }

const asideInfix = ".aside-"

// asidePaths lists the files renamed out of the way by earlier runs.
func (t Target) asidePaths() ([]string, error) {
	entries, err := os.ReadDir(t.work())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", t.work(), err)
	}
	var paths []string
	prefix := t.Plugin + asideInfix
	for _, e := range entries {
		if name := e.Name(); len(name) > len(prefix) && sameName(name[:len(prefix)], prefix, runtime.GOOS) {
			paths = append(paths, filepath.Join(t.work(), e.Name()))
		}
	}
	return paths, nil
}

// freeAside returns n names that no file of the work folder has.
func (t Target) freeAside(used []string, n int) []string {
	taken := map[string]bool{}
	for _, p := range used {
		taken[p] = true
	}
	var free []string
	for i := 1; len(free) < n; i++ {
		p := filepath.Join(t.work(), fmt.Sprintf("%s%s%d", t.Plugin, asideInfix, i))
		if !taken[p] {
			free = append(free, p)
		}
	}
	return free
}
