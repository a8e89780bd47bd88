package cni

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Unattended is what stand-ins do while no agent answers them.
type Unattended struct {
	// Running originals were let through by lock files.
	Running int `json:"running"`
	// Limit is how many that may be; one more for the overdue.
	Limit int `json:"limit"`
	// Waiting pods wait for a lock, or were told to come back.
	Waiting int `json:"waiting"`
	// First is when the first attempt of the first of them was; zero where none waits.
	First time.Time `json:"first,omitzero"`
}

// LookUnattended looks at the files of the stand-ins whose originals lie in
// originalDir, on a machine with this many processors. It changes nothing.
func LookUnattended(originalDir string, now time.Time, cpus int) (Unattended, error) {
	u := Unattended{Limit: readSettings(originalDir).complete(cpus).Limit}
	var err error
	if u.Running, err = CountHeldLocks(originalDir); err != nil {
		return u, err
	}
	entries, err := os.ReadDir(stampDir(originalDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return u, err
	}
	for _, e := range entries { // in the order of first attempts
		first, _, ok := parseStamp(e.Name())
		info, err := e.Info()
		if !ok || err != nil || now.Sub(info.ModTime()).Abs() > forgotten {
			continue
		}
		u.Waiting++
		u.First = cmp.Or(u.First, first)
	}
	return u, nil
}

// stampDir is where the stamps of waiting pods lie.
func stampDir(originalDir string) string { return filepath.Join(stateDir(originalDir), "first") }
