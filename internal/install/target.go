package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Target says which plugin of which folder is meant.
type Target struct {
	BinDir string // the folder where the container runtime looks for plugins
	Plugin string // base name of the plugin, with .exe on Windows
	SubDir string // base name of our sub-folder of BinDir
}

// Validate reports every mistake in t that can be seen without a disk.
func (t Target) Validate() error {
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
	}
	if strings.EqualFold(t.Plugin, t.SubDir) {
		return fmt.Errorf("plugin name %q is the name of the sub-folder", t.Plugin)
	}
	return nil
}

// PluginPath is where the container runtime looks for the plugin.
func (t Target) PluginPath() string { return filepath.Join(t.BinDir, t.Plugin) }

// OriginalPath is where the original waits to be called by the stand-in.
func (t Target) OriginalPath() string { return filepath.Join(t.sub(), t.Plugin) }

// OriginalDir is the folder of the originals and of the stand-in's own files.
func (t Target) OriginalDir() string { return t.sub() }

func (t Target) sub() string         { return filepath.Join(t.BinDir, t.SubDir) }
func (t Target) work() string        { return filepath.Join(t.sub(), "install") }
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
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), t.Plugin+asideInfix) {
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
