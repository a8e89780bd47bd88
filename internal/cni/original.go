package cni

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"evenkeel.dev/evenkeel/internal/standin"
)

// findOriginal gives the path of the plugin that we stand in for. The name we
// were called by goes first, since one executable may stand in for several
// plugins through links; then the folder of our own file, with the called name
// (a plugin folder behind a link, a call without a folder) and with our file's
// name (an alias of a plugin that acts by argv[0]).
func findOriginal(args []string, executable func() (string, error)) (string, error) {
	own, err := executable()
	if err != nil {
		return "", fmt.Errorf("finding our own file: %w", err)
	}
	self, err := os.Stat(own)
	if err != nil {
		self = nil // replaced while we run: then nothing can be confused with it
	}
	candidates := originals(args, own)
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && !info.IsDir() && (self == nil || !os.SameFile(info, self)) {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("the original plugin %s: %w", candidates[0], fs.ErrNotExist)
}

// originals are the places where the original may be, best first.
func originals(args []string, own string) []string {
	called := own
	if len(args) > 0 && args[0] != "" {
		called = args[0]
	}
	var paths []string
	if filepath.Base(called) != called {
		paths = append(paths, withExtension(filepath.Dir(called), filepath.Base(called))...)
	}
	paths = append(paths, withExtension(filepath.Dir(own), filepath.Base(called))...)
	return append(paths, filepath.Join(filepath.Dir(own), OriginalDir, filepath.Base(own)))
}

// restored gives the plugin in its own place, where an uninstaller has put it
// back since we were called: one of the places of the original, without our
// folder. What is there otherwise is we ourselves, or a stand-in installed anew.
func restored(originals ...string) (string, bool) {
	for _, path := range originals {
		if !strings.EqualFold(filepath.Base(filepath.Dir(path)), OriginalDir) {
			continue // restored already
		}
		path = filepath.Join(filepath.Dir(filepath.Dir(path)), filepath.Base(path))
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if ours, err := standin.Is(path); err == nil && !ours {
			path, err = filepath.Abs(path)
			return path, err == nil
		}
	}
	return "", false
}

// withExtension gives where dir would keep the original called name, which on
// Windows may have been called without its .exe.
func withExtension(dir, name string) []string {
	path := filepath.Join(dir, OriginalDir, name)
	if executableSuffix != "" && !strings.EqualFold(filepath.Ext(name), executableSuffix) {
		return []string{path + executableSuffix, path}
	}
	return []string{path}
}
