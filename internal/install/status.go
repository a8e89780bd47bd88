package install

import (
	"fmt"
	"path/filepath"
)

// Status is what is installed.
type Status struct {
	Plugin    string     `json:"plugin"`
	BinDir    string     `json:"binDir"`
	Installed bool       `json:"installed"` // the stand-in is in place and has an original it can run
	InPlace   FileStatus `json:"inPlace"`   // what the container runtime starts
	Original  FileStatus `json:"original"`  // what the stand-in starts
	Problems  []string   `json:"problems"`  // what an operator should know, [] when all is well
}

// FileStatus is one file of an installation.
type FileStatus struct {
	Path    string `json:"path"`
	Kind    Kind   `json:"kind"`
	StandIn bool   `json:"standIn"`
	Version string `json:"version,omitempty"`
	Size    int64  `json:"size,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	LinkTo  string `json:"linkTo,omitempty"`
}

// Status reads what is installed and changes nothing.
func (i Installer) Status() (Status, error) {
	s, err := i.observe()
	if err != nil {
		return Status{}, err
	}
	return Status{
		Plugin:    i.Target.Plugin,
		BinDir:    i.Target.BinDir,
		Installed: s.Plugin.StandIn() && s.Original.Plugin(),
		InPlace:   fileStatus(s.Plugin),
		Original:  fileStatus(s.Original),
		Problems:  problems(i.Target, s, i.Executable != ""),
	}, nil
}

func fileStatus(i Image) FileStatus {
	return FileStatus{
		Path: i.Path, Kind: i.Kind, StandIn: i.Ours, Version: i.Version,
		Size: i.Size, SHA256: i.SHA256, LinkTo: i.Target,
	}
}

func problems(t Target, s State, withExecutable bool) []string {
	list := []string{}
	say := func(when bool, format string, args ...any) {
		if when {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	p, o := s.Plugin, s.Original
	say(s.Journal != nil, "%s was interrupted: run install or uninstall again", operationOf(s.Journal))
	say(!p.Present(), "plugin %s is missing: no pod can start", p.Path)
	say(p.Present() && p.Problem != "", "plugin %s: %s", p.Path, p.Problem)
	say(p.Ours && !o.Plugin(), "the original %s: no pod can start", whyNoOriginal(o))
	say(p.Plugin() && o.Present(), "plugin %s was overwritten by another program: pods are not paced until it is adopted", p.Path)
	say(!p.Ours && o.Ours, "the saved original %s is a stand-in", o.Path)
	if withExecutable {
		err := usableStandIn(s.Executable)
		say(err != nil, "%v", err)
		say(err == nil && p.StandIn() && p.SHA256 != s.Executable.SHA256, "the stand-in in place is another version than %s", s.Executable.Path)
	}
	say(len(s.Asides) > 0, "%d replaced files wait in %s until nothing runs them", len(s.Asides), filepath.Join(t.SubDir, workDir))
	return list
}

func operationOf(j *Journal) Operation {
	if j == nil {
		return ""
	}
	return j.Operation
}
