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

// TestALinkedPodFileIsReadAgainWhenWhatItLeadsToChanges: the link itself stays as it is where its folder is switched, as the kubelet does with projected files.
func TestALinkedPodFileIsReadAgainWhenWhatItLeadsToChanges(t *testing.T) {
	dir := t.TempDir()
	for version, uid := range map[string]string{"one": "1", "two": "2"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, version, "a"), []byte(`{"metadata":{"namespace":"shop","name":"a","uid":"`+uid+`"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("one", "data")
	link("data/a", "a.json")
	changes := listen(t, Dir{Folder: dir})
	expect(t, changes, "seen a/1", "synced")
	link("two", "next")
	if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "gone a/1", "seen a/2")
}
