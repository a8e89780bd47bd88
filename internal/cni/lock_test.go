package cni

import (
	"io"
	"path/filepath"
	"testing"
)

func TestLocksAreCountedWhileHeld(t *testing.T) {
	dir := t.TempDir()
	count := func(want int) {
		t.Helper()
		if got, err := CountHeldLocks(dir); err != nil || got != want {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	count(0)
	q := &lockQueue{dir: stateDir(dir), limit: 2, last: filepath.Join(dir, "bridge")}
	var locks []io.Closer
	for range 2 {
		lock, ok := q.try(0, false)
		if !ok {
			t.Fatal("no lock")
		}
		locks = append(locks, lock)
	}
	count(2)
	if _, ok := q.try(0, false); ok {
		t.Error("a third lock of two")
	}
	overdue, ok := q.try(5, true)
	if !ok {
		t.Fatal("no lock for the overdue")
	}
	count(3)
	if _, ok := q.try(0, true); ok {
		t.Error("two overdue at once")
	}
	for _, l := range append(locks, overdue) {
		_ = l.Close()
	}
	count(0)
}

func TestLockOfLastResortIsCountedToo(t *testing.T) {
	dir := plant(t, "bridge", "gate") // a file where our folder would be
	q := &lockQueue{dir: stateDir(dir), limit: 3, last: filepath.Join(dir, "bridge")}
	lock, ok := q.try(0, false)
	if !ok {
		t.Fatal("no lock")
	}
	if _, ok := q.try(0, false); ok {
		t.Error("two at once by one file")
	}
	if got, err := CountHeldLocks(dir); err != nil || got != 1 {
		t.Errorf("got %d, %v, want 1", got, err)
	}
	_ = lock.Close()
	if got, err := CountHeldLocks(dir); err != nil || got != 0 {
		t.Errorf("got %d, %v, want 0", got, err)
	}
}
