package cni

import (
	"path/filepath"
	"testing"
	"time"
)

func TestWhatGoesOnWithoutAnAgentIsSeen(t *testing.T) {
	dir := t.TempDir()
	if got, err := LookUnattended(dir, noon(), 4); err != nil || got != (Unattended{Limit: 4}) {
		t.Errorf("nothing: %+v, %v", got, err)
	}
	if err := WriteSettings(dir, Settings{Limit: 3}); err != nil {
		t.Fatal(err)
	}
	q := &lockQueue{dir: stateDir(dir), limit: 3, last: filepath.Join(dir, "bridge")}
	lock, ok := q.try(0, false)
	if !ok {
		t.Fatal("no lock")
	}
	defer lock.Close()
	find(stampDir(dir), "uid-left", noon().Add(-3*time.Minute)).keep(noon().Add(-3 * time.Minute))
	for i, key := range []string{"uid-a", "uid-b"} {
		find(stampDir(dir), key, noon().Add(time.Duration(i)*time.Second)).keep(noon())
	}
	want := Unattended{Running: 1, Limit: 3, Waiting: 2, First: noon()}
	got, err := LookUnattended(dir, noon().Add(time.Second), 4)
	if err != nil || got.Running != want.Running || got.Limit != want.Limit || got.Waiting != want.Waiting || !got.First.Equal(want.First) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
