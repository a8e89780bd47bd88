package install

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// SettleTime is how long the content of a new plugin must stay the same before
// it is adopted.
const SettleTime = time.Second

// Adopter keeps a stand-in in place against whoever installs plugins on the
// node. It is not safe for concurrent use.
type Adopter struct {
	Installer Installer

	verified fs.FileInfo // the plugin file when it last was our stand-in; nil: look closely
	settle   settle
}

// Outcome of a look.
type Outcome struct {
	Result  Result // Action is Nothing when all is as it should be, or while Waiting
	Waiting string // why a plugin that is not ours is left alone for now
	// Uninstalled is Waiting for an operator: the saved original is gone.
	Uninstalled bool
}

// Look compares the plugin file with what was installed and installs again when
// something else is there: only a file that this node can run, that nobody has
// open for writing, and whose content was the same SettleTime ago. Without a
// saved original nothing happens: someone uninstalled. Between
// changes a look costs one stat, so it may be called every second.
func (a *Adopter) Look(now time.Time) (Outcome, error) {
	nothing := Outcome{Result: Result{Action: Nothing}}
	path := a.Installer.Target.PluginPath()
	info, err := os.Lstat(path)
	if err = ignoreAbsent(err); err != nil {
		return nothing, fmt.Errorf("look at plugin: %w", err)
	}
	if unchanged(a.verified, info) {
		return nothing, nil
	}
	a.verified = nil
	s, err := a.Installer.observe()
	if err != nil {
		return nothing, err
	}
	if plan, err := PlanInstall(a.Installer.Target, s); err == nil && plan.Action == Nothing && len(plan.Steps) == 0 {
		a.verified, a.settle = info, settle{}
		return nothing, nil
	}
	if !s.Original.Present() {
		nothing.Uninstalled = true
		nothing.Waiting = fmt.Sprintf("%s is gone: uninstalled; a restart of the agent installs again", s.Original.Path)
		return nothing, nil
	}
	if why := a.unsettled(now, s.Plugin); why != "" {
		nothing.Waiting = why
		return nothing, nil
	}
	a.settle = settle{}
	result, err := a.Installer.Install()
	return Outcome{Result: result}, err
}

func (a *Adopter) unsettled(now time.Time, p Image) string {
	if p.Present() && p.Problem != "" && !p.Ours {
		a.settle = settle{}
		return fmt.Sprintf("%s: %s", p.Path, p.Problem)
	}
	if p.Present() {
		held, err := writerHolds(p.Path)
		if err != nil || held {
			a.settle = settle{}
			return p.Path + ": it is being written"
		}
	}
	if !a.settle.stable(now, p.SHA256) {
		return fmt.Sprintf("%s: changed less than %s ago", p.Path, SettleTime)
	}
	return ""
}

// settle knows since when a content has been the same. The empty content is that
// of a missing file.
type settle struct {
	sha   string
	since time.Time
}

func (s *settle) stable(now time.Time, sha string) bool {
	if s.since.IsZero() || s.sha != sha || now.Before(s.since) {
		*s = settle{sha: sha, since: now}
		return false
	}
	return now.Sub(s.since) >= SettleTime
}

func unchanged(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() &&
		a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
