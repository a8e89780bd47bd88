package cni

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	called := own
	if len(args) > 0 && args[0] != "" {
		called = args[0]
	}
	var candidates []string
	if filepath.Base(called) != called {
		candidates = append(candidates, withExtension(filepath.Dir(called), filepath.Base(called))...)
	}
	candidates = append(candidates, withExtension(filepath.Dir(own), filepath.Base(called))...)
	candidates = append(candidates, filepath.Join(filepath.Dir(own), OriginalDir, filepath.Base(own)))
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && !info.IsDir() && (self == nil || !os.SameFile(info, self)) {
			return filepath.Abs(path)
		}
	}
	return "", fmt.Errorf("the original plugin %s: %w", candidates[0], fs.ErrNotExist)
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
