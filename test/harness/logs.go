package harness

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// keptLines is how much of a component's log a failed test shows.
const keptLines = 60

// showLogs has a test that fails show the last lines that the components
// wrote while it ran: their folder is gone when anybody could look.
func (c *Cluster) showLogs(t testing.TB) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Dir, "log", "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]int{}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			before[file] = int(info.Size())
		}
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Logf("no log: %v", err)
				continue
			}
			lines := bytes.Split(bytes.TrimSpace(data[min(before[file], len(data)):]), []byte("\n"))
			lines = lines[max(0, len(lines)-keptLines):]
			t.Logf("%s:\n%s", filepath.Base(file), bytes.Join(lines, []byte("\n")))
		}
	})
}
