package install

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// SettleTime is how long the content of a new plugin must stay the same before
// it is adopted.
const SettleTime = time.Second

// How long after a failure the same files are tried again: the first value, then
// twice as long each time, up to the second. Changed files are looked at at once.
const (
	retryFirst = time.Second
	retryMost  = 30 * time.Second
)

// forever lets a judgement stand until a file changes.
const forever = time.Duration(math.MaxInt64)

// Adopter puts a stand-in in place and keeps it there against whoever installs
// plugins on the node. It is not safe for concurrent use.
type Adopter struct {
	Installer Installer

	// ByHand says that an operator has just named the plugin: then a script, too,
	// may take the place of an original. Whether a script is whole cannot be told,
	// so unasked only a program's complete executable does.
	ByHand bool

	begun    bool // the stand-in has been in place: what is uninstalled now stays so
	settle   settle
	failures int // in a row, with the same files
	last     judgement
}

// Outcome of a look.
type Outcome struct {
	Result  Result // Action is Nothing when all is as it should be, or while Waiting
	Waiting string // why a plugin that is not ours is left alone for now
	// Stuck is Waiting for somebody to do something about the file: time alone
	// will not help.
	Stuck bool
	// Uninstalled is Waiting for an operator: the saved original is gone.
	Uninstalled bool
	// Foreign says that something else lies where a stand-in was, and that one is
	// going to be there again.
	Foreign bool
}

// judgement is what one close look came to and how long it stands.
type judgement struct {
	outcome Outcome
	err     error
	lasts   time.Duration // while the files are the same; 0: not at all
	writing bool          // a writer had the plugin open

	files fingerprint
	at    time.Time
}

func (j judgement) stands(now time.Time, files fingerprint) bool {
	age := now.Sub(j.at)
	return age >= 0 && age < j.lasts && j.files.equal(files)
}

// Look compares the plugin file with what was installed and installs when
// something else is there, at the start as later: only a file that this node can
// run, that nobody has open for writing, and whose content was the same
// SettleTime ago. Once the stand-in has been in place, a missing saved original
// means that someone uninstalled, and nothing happens. While nothing changes a
// look costs a few stats and reads no file, whatever it came to, so it may be
// called every second; only what failed is tried again, twice a minute.
func (a *Adopter) Look(now time.Time) (Outcome, error) {
	files, err := a.Installer.fingerprint()
	if err != nil {
		return Outcome{Result: Result{Action: Nothing}, Foreign: a.last.outcome.Foreign}, fmt.Errorf("look at plugin: %w", err)
	}
	if a.last.stands(now, files) {
		return a.last.outcome, a.last.err
	}
	if !a.last.files.equal(files) {
		a.failures = 0
	}
	if a.last.writing && a.beingWritten() != "" {
		return a.last.outcome, a.last.err
	}
	a.last = a.judge(now)
	a.last.files, a.last.at = files, now
	if a.last.lasts == forever && files.young(now) {
		a.last.lasts = 0 // a change in the same instant could not be seen
	}
	return a.last.outcome, a.last.err
}

// judge reads the files and does what there is to do.
func (a *Adopter) judge(now time.Time) judgement {
	s, err := a.Installer.observe()
	if err != nil {
		return a.failed(Outcome{Result: Result{Action: Nothing}, Foreign: a.last.outcome.Foreign}, err)
	}
	plan, err := PlanInstall(a.Installer.Target, s)
	if err == nil && plan.Action == Nothing && len(plan.Steps) == 0 {
		a.begun, a.settle, a.failures = true, settle{}, 0
		return judgement{outcome: Outcome{Result: Result{Action: Nothing}}, lasts: forever}
	}
	not := Outcome{Result: Result{Action: Nothing}, Foreign: s.Original.Present() && !s.Plugin.Ours}
	switch {
	case a.begun && !s.Original.Present() && !s.Plugin.Ours:
		not.Uninstalled = true
		not.Waiting = fmt.Sprintf("%s is gone: uninstalled; a restart of the agent installs again", s.Original.Path)
		return judgement{outcome: not, lasts: forever}
	case err != nil && s.Journal == nil && (s.Plugin.Problem == "" || s.Plugin.Ours):
		return a.failed(not, err)
	}
	if j := a.unsettled(now, s); j.outcome.Waiting != "" {
		j.outcome.Result, j.outcome.Foreign = not.Result, not.Foreign
		return j
	}
	return a.install(s, not)
}

// install installs over what was judged, or comes to the given outcome.
func (a *Adopter) install(s State, not Outcome) judgement {
	result, err := a.Installer.installJudged(&s)
	switch {
	case errors.Is(err, ErrChanged):
		not.Waiting = fmt.Sprintf("%s: %v", s.Plugin.Path, err)
		return judgement{outcome: not}
	case err != nil:
		return a.failed(not, err)
	}
	a.begun, a.settle = true, settle{}
	if result.Action == Nothing && result.Recovered == "" {
		// Only old files are left to remove, once nothing runs them.
		return a.failed(Outcome{Result: result}, nil)
	}
	return judgement{outcome: Outcome{Result: result}} // the next look confirms it
}

// failed stands for longer the more often the same files have failed.
func (a *Adopter) failed(o Outcome, err error) judgement {
	pause := min(retryFirst<<min(a.failures, 10), retryMost)
	a.failures++
	return judgement{outcome: o, err: err, lasts: pause}
}

// unsettled says why the plugin in place is left alone for now, if it is. Our
// own is not, nor the gap that an interrupted run left.
func (a *Adopter) unsettled(now time.Time, s State) judgement {
	p := s.Plugin
	if p.Present() && p.Ours || !p.Present() && s.Journal != nil {
		return judgement{}
	}
	if why := a.beingWritten(); p.Present() && why != "" {
		a.settle = settle{}
		return judgement{outcome: Outcome{Waiting: why}, writing: true}
	}
	if left := a.settle.left(now, p.SHA256); left > 0 {
		return judgement{outcome: Outcome{Waiting: fmt.Sprintf("%s: changed less than %s ago", p.Path, SettleTime)}, lasts: left}
	}
	why := p.Problem
	if why == "" && p.Script && !a.ByHand && s.Original.Present() && s.Original.SHA256 != p.SHA256 {
		why = "a script, of which nobody can tell whether it is whole; if it is to be the plugin from now on, run evenkeel-agent install"
	}
	if why != "" {
		return judgement{outcome: Outcome{Waiting: p.Path + ": " + why, Stuck: true}, lasts: forever}
	}
	return judgement{}
}

// beingWritten says who is in the way of the plugin in place, "" for nobody.
func (a *Adopter) beingWritten() string {
	path := a.Installer.Target.PluginPath()
	held, err := writerHolds(path)
	switch {
	case ignoreAbsent(err) != nil:
		return fmt.Sprintf("%s: whether it is being written cannot be told: %v", path, err)
	case held:
		return path + ": it is being written"
	}
	return ""
}

// settle knows since when a content has been the same. The empty content is that
// of a missing file.
type settle struct {
	sha   string
	since time.Time
}

// left is how much longer sha must stay the same, 0 when it has been for long
// enough. A clock that jumps back begins anew.
func (s *settle) left(now time.Time, sha string) time.Duration {
	if s.since.IsZero() || s.sha != sha || now.Before(s.since) {
		*s = settle{sha: sha, since: now}
	}
	return max(0, SettleTime-now.Sub(s.since))
}
