package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// State is what is on disk: everything a plan depends on.
type State struct {
	Plugin     Image // BIN/NAME
	Original   Image // BIN/SUB/NAME
	Saved      Image // second name of a plugin being saved
	Next       Image // a stand-in not yet in place
	Executable Image // the stand-in to install
	Asides     []Image
	Journal    *Journal // nil when the last run ended in order
	Others     bool     // another plugin of the folder has a stand-in too
}

// Operation is what a run was doing.
type Operation string

// The operations that can be interrupted.
const (
	Installing   Operation = "install"
	Uninstalling Operation = "uninstall"
)

// Journal says what was going on when a run ended early. Its presence also says
// that a missing plugin is our doing.
type Journal struct {
	Operation Operation `json:"operation"`
	Plugin    string    `json:"plugin"`
}

// observe reads the state of t; executable may be empty when none is needed.
func observe(t Target, executable string, on platform) (State, error) {
	var s State
	for _, f := range []struct {
		path string
		into *Image
	}{
		{t.PluginPath(), &s.Plugin},
		{t.OriginalPath(), &s.Original},
		{t.savedPath(), &s.Saved},
		{t.nextPath(), &s.Next},
		{executable, &s.Executable},
	} {
		if f.path == "" {
			f.into.Kind = Absent
			continue
		}
		img, err := inspect(f.path, on)
		if err != nil {
			return s, err
		}
		*f.into = img
	}
	asides, err := t.asidePaths()
	if err != nil {
		return s, err
	}
	for _, p := range asides {
		img, err := inspect(p, on)
		if err != nil {
			img = Image{Path: p, Kind: Other, Problem: err.Error()}
		}
		s.Asides = append(s.Asides, img)
	}
	if s.Journal, err = readJournal(t.journalPath()); err != nil {
		return s, err
	}
	s.Others, err = others(t, on)
	return s, err
}

// readJournal gives nil when there is none. A torn journal is still a journal:
// it counts as an installation, which any state can finish.
func readJournal(path string) (*Journal, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var j Journal
	if json.Unmarshal(data, &j) != nil || (j.Operation != Installing && j.Operation != Uninstalling) {
		j = Journal{Operation: Installing}
	}
	return &j, nil
}

func (j Journal) encode() []byte {
	data, err := json.Marshal(j)
	if err != nil {
		return nil // two strings always encode
	}
	return append(data, '\n')
}

// others looks for originals of other plugins in our sub-folder that are still needed: by a stand-in, or since nothing else is known to do in their place. An
// original that can't be run at the moment, or read, may be mended, if it is kept.
func others(t Target, on platform) (bool, error) {
	entries, err := os.ReadDir(t.sub())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("list %s: %w", t.sub(), err)
	}
	for _, e := range entries {
		if e.IsDir() || sameName(e.Name(), t.Plugin, on.goos) {
			continue
		}
		first, err := inspect(filepath.Join(t.BinDir, e.Name()), on)
		if err == nil && first.Plugin() {
			continue
		}
		saved, err := inspect(filepath.Join(t.sub(), e.Name()), on)
		if err != nil || saved.Present() && !saved.Ours {
			return true, nil
		}
	}
	return false, nil
}
