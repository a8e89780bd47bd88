package agent

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/agentconfig"
)

func TestLogFilesAreRotatedAndTheOldestGo(t *testing.T) {
	dir := t.TempDir()
	log, _, closeLog := newLogger(agentconfig.Log{File: filepath.Join(dir, "agent.log"), MaxSizeMB: 1, MaxFiles: 2, Format: "json", Level: "info"}, io.Discard)
	defer closeLog()
	text := strings.Repeat("x", 1000)
	for range 5000 { // 5 MB
		log.Info(text)
	}
	var files []os.DirEntry
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the oldest are removed beside the writing
		var err error
		if files, err = os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
		if len(files) == 3 {
			break
		}
		if time.Since(start) > 20*time.Second {
			t.Fatalf("%d files, want the log and 2 older ones", len(files))
		}
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Size() > 1<<20 || info.Size() == 0 {
			t.Errorf("%s: %v, %v", f.Name(), info, err)
		}
	}
}
