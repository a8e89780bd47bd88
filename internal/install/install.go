package install

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Installer installs and uninstalls one stand-in.
type Installer struct {
	Target     Target
	Executable string // the stand-in to install; not needed to uninstall
	Disk       Doer   // Disk{} unless a test says otherwise

	// Patience is how long to wait at uninstalling for running files, which
	// Windows does not delete. Zero: not at all.
	Patience time.Duration

	// Idle is how long to wait for a moment in which nothing runs a file that is
	// to be replaced, where the system does not replace running files: then it is
	// replaced in one step. After that it is renamed out of the way. Zero: not at all.
	Idle time.Duration
}

// IdleWait is a good value for Idle: most runs of a plugin are shorter.
const IdleWait = 3 * time.Second

// Result says what a run did.
type Result struct {
	Action    Action        `json:"action"`
	Recovered Action        `json:"recovered,omitempty"` // what an interrupted earlier run came to
	Gap       time.Duration `json:"gapNanoseconds"`      // how long no file had the plugin's name; 0 where it was replaced in one step
	Leftovers []string      `json:"leftovers,omitempty"`
}

// ErrNothingInstalled is returned where a stand-in is needed and there is none.
var ErrNothingInstalled = errors.New("no stand-in is installed")

// Install puts the stand-in in the place of the plugin, which it takes as it is
// now: see Adopter for a plugin that somebody may be installing. It may be
// repeated, and on failure the node has the plugin it had before.
func (i Installer) Install() (Result, error) { return i.installJudged(nil) }

// installJudged is Install, but fails with ErrChanged unless the plugin is still
// as it was judged to be; nil: however it is.
func (i Installer) installJudged(judged *State) (Result, error) {
	var s State
	if judged != nil {
		s = *judged
	} else {
		var err error
		if s, err = i.observe(); err != nil {
			return Result{}, err
		}
	}
	if _, err := PlanInstall(i.Target, s); err != nil && s.Journal == nil {
		return Result{}, err // before anything of ours is in the folder
	}
	unlock, err := i.enter()
	if err != nil {
		i.removeEmpty()
		return Result{}, err
	}
	result, err := i.install(judged)
	if err == nil {
		unlock()
		return result, nil
	}
	i.undo(s)
	_ = i.vacate(unlock)
	return result, err
}

// enter makes our folders and takes the lock in them. An uninstaller may remove all that again in between.
func (i Installer) enter() (unlock func(), err error) {
	for range 10 {
		for _, dir := range []string{i.Target.sub(), i.Target.work()} {
			if err = i.Disk.Do(Step{Op: Mkdir, To: dir}); err != nil {
				break
			}
		}
		if err == nil {
			unlock, err = lock(i.Target.lockPath())
		}
		if !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return unlock, err
}

func (i Installer) install(judged *State) (Result, error) {
	s, err := i.observe()
	if err != nil {
		return Result{}, err
	}
	if err := stillAs(judged, s); err != nil {
		return Result{}, err
	}
	result := Result{}
	if s.Journal != nil {
		recovered, err := i.recoverFrom(s)
		if err != nil {
			return result, fmt.Errorf("recover from an interrupted run: %w", err)
		}
		result = Result{Recovered: recovered.Action, Gap: recovered.Gap}
		if s, err = i.observe(); err != nil {
			return result, err
		}
	}
	plan, err := PlanInstall(i.Target, s)
	if err != nil {
		return result, err
	}
	done, err := i.apply(plan.Steps)
	result.Action, result.Gap, result.Leftovers = plan.Action, max(result.Gap, done.gap), done.leftovers
	return result, err
}

// stillAs fails with ErrChanged if the plugin is not as it was judged to be, or
// a writer has opened it since. A stand-in may be replaced in any state.
func stillAs(judged *State, s State) error {
	if judged == nil || s.Plugin.Ours && s.Original.Present() {
		return nil
	}
	if s.Plugin.SHA256 != judged.Plugin.SHA256 || s.Original.Present() != judged.Original.Present() {
		return ErrChanged
	}
	if held, err := writerHolds(s.Plugin.Path); held || ignoreAbsent(err) != nil {
		return errors.Join(ErrChanged, err)
	}
	return nil
}

// undo takes away what a failed first installation left; where a stand-in was
// installed before, its original stays for whoever is still waiting to run it.
// The failure that led here is what is reported.
func (i Installer) undo(before State) {
	if before.Original.Present() {
		return
	}
	s, err := i.observe()
	if err != nil || !s.Plugin.Plugin() {
		return // recovered at the next start
	}
	if plan, err := PlanUninstall(i.Target, s); err == nil {
		steps, _ := splitClear(plan.Steps)
		_, _ = i.apply(steps)
	}
}

// removeEmpty removes our folders if nothing is in them.
func (i Installer) removeEmpty() {
	_ = os.Remove(i.Target.work())
	_ = os.Remove(i.Target.sub())
}

// Recover finishes or undoes what an interrupted run began, and is for the start
// of a program that may not install anything itself.
func (i Installer) Recover() (Result, error) {
	if _, err := os.Stat(i.Target.work()); err != nil {
		return Result{Action: Nothing}, ignoreAbsent(err)
	}
	unlock, err := lock(i.Target.lockPath())
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	return i.recover()
}

func (i Installer) recover() (Result, error) {
	s, err := i.observe()
	if err != nil {
		return Result{}, err
	}
	return i.recoverFrom(s)
}

func (i Installer) recoverFrom(s State) (Result, error) {
	plan, err := PlanRecover(i.Target, s)
	if err != nil {
		return Result{}, err
	}
	if s.Journal == nil {
		return Result{Action: Nothing}, nil
	}
	steps, _ := splitClear(plan.Steps)
	done, err := i.apply(steps)
	return Result{Action: plan.Action, Gap: done.gap, Leftovers: done.leftovers}, err
}

// Uninstall puts the original back and leaves nothing of ours. It may be repeated.
func (i Installer) Uninstall() (Result, error) {
	if _, err := os.Lstat(i.Target.sub()); errors.Is(err, os.ErrNotExist) {
		return i.uninstall(func() {})
	}
	if err := i.Disk.Do(Step{Op: Mkdir, To: i.Target.work()}); err != nil {
		return Result{}, err
	}
	unlock, err := lock(i.Target.lockPath())
	if err != nil {
		return Result{}, err
	}
	return i.uninstall(unlock)
}

func (i Installer) uninstall(unlock func()) (Result, error) {
	s, err := i.observe()
	if err != nil {
		unlock()
		return Result{}, err
	}
	plan, err := PlanUninstall(i.Target, s)
	if err != nil {
		unlock()
		return Result{}, err
	}
	steps, last := splitClear(plan.Steps)
	done, err := i.apply(steps)
	if err != nil || len(last) == 0 {
		unlock()
		return Result{Action: plan.Action, Gap: done.gap, Leftovers: done.leftovers}, err
	}
	result := Result{Action: plan.Action, Gap: done.gap}
	result.Leftovers = i.clear(last, unlock)
	return result, nil
}

// clear removes our folder, trying for so long as something in it is in use, and returns what is left of it. It does so under the lock, each
// time looks first whether somebody has installed meanwhile, and never removes a folder with something in it: that may be the only copy of a plugin.
func (i Installer) clear(steps []Step, unlock func()) (leftovers []string) {
	for deadline := time.Now().Add(i.Patience); ; {
		done, _ := i.apply(steps)
		if len(done.leftovers) == 0 {
			return i.vacate(unlock)
		}
		unlock()
		if time.Now().After(deadline) {
			return done.leftovers
		}
		time.Sleep(lockPause)
		var err error
		if unlock, err = lock(i.Target.lockPath()); errors.Is(err, os.ErrNotExist) {
			return nil // somebody else has cleared up
		} else if err != nil {
			return append(done.leftovers, err.Error())
		}
		s, err := i.observe()
		if err != nil || !s.left() {
			unlock()
			if err != nil {
				return append(done.leftovers, err.Error())
			}
			return nil
		}
	}
}

// left reports whether nothing is installed, nor being installed or uninstalled.
func (s State) left() bool {
	return !s.Plugin.Ours && !s.Original.Present() && s.Journal == nil && !s.Others
}

// vacate removes the lock file and the empty folders, and ends the lock. What somebody else has put there meanwhile stays.
func (i Installer) vacate(unlock func()) (leftovers []string) {
	path := i.Target.lockPath()
	if err := os.Remove(path); err == nil || errors.Is(err, os.ErrNotExist) {
		unlock()
	} else { // Windows removes no file that is open: not ours now, nor that of the next one then
		unlock()
		_ = os.Remove(path)
	}
	for _, dir := range []string{i.Target.work(), i.Target.sub()} {
		err := os.Remove(dir)
		if entries, readErr := os.ReadDir(dir); err != nil && readErr == nil && len(entries) == 0 {
			leftovers = append(leftovers, err.Error())
		}
	}
	return leftovers
}

func (i Installer) apply(steps []Step) (applied, error) { return apply(i.Disk, i.Idle, steps) }

func (i Installer) observe() (State, error) {
	if err := i.Target.Validate(); err != nil {
		return State{}, err
	}
	if info, err := os.Stat(i.Target.BinDir); err != nil {
		return State{}, fmt.Errorf("plugin folder: %w", err)
	} else if !info.IsDir() {
		return State{}, fmt.Errorf("plugin folder %s is not a folder", i.Target.BinDir)
	}
	return observe(i.Target, i.Executable, thisPlatform())
}

// splitClear separates what is done under the lock from clearing the folder in
// which the lock file is.
func splitClear(steps []Step) (locked, last []Step) {
	for n, s := range steps {
		if s.Op == Clear {
			return steps[:n], steps[n:]
		}
	}
	return steps, nil
}
