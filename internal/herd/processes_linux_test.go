package herd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// processesIn lists the processes whose working directory is in dir.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			found = append(found, link+" "+string(command))
		}
	}
	return found
}
