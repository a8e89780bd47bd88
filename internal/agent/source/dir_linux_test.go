package source

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAPipeAmongThePodFilesIsTroubleAndStopsNothing: opening one for reading waits for a writer.
func TestAPipeAmongThePodFilesIsTroubleAndStopsNothing(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "a.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes := listen(t, Dir{Folder: dir})
	expect(t, changes, "trouble", "synced")
	if err := os.WriteFile(filepath.Join(dir, "part"), []byte(`{"metadata":{"namespace":"shop","name":"b","uid":"2"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "part"), filepath.Join(dir, "b.json")); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "seen b/2")
	if err := os.Remove(filepath.Join(dir, "a.json")); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "fine")
}
