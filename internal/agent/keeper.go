package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"evenkeel.dev/evenkeel/internal/cni"
	"evenkeel.dev/evenkeel/internal/install"
)

const (
	lookEvery     = time.Second // at the plugin's file
	selfTestEvery = 5 * time.Second
	selfTestLimit = 5 * time.Second

	// Between attempts to have the files excluded from scanning: doubled each time.
	excludeFirst = 10 * time.Second
	excludeMost  = 10 * time.Minute
)

// keeper installs the stand-in when the agent starts and keeps it in place. It
// never uninstalls: an agent that ends, for whatever reason, leaves a stand-in
// that gets along without one.
type keeper struct {
	installer install.Installer
	log       *slog.Logger
	metrics   *metrics
	settings  func() cni.Settings         // what stand-ins should know
	exclude   func(context.Context) error // from being scanned; nil where there is no scanner
	foreign   func(bool)                  // told when the file in place is someone else's, and when it is ours again
	late      func(by time.Duration)      // told how late a look is
	note      func(string, ...any)        // told what happened
	lookAgain atomic.Bool                 // to be told at the next look in any case
	testAgain atomic.Bool                 // the self-test is to be repeated
	problems  problems

	begun, wasForeign, wrongSettings bool // owned by Run

	mu    sync.Mutex
	state keeperState
}

// keeperState is what the status shows of a keeper.
type keeperState struct {
	installed bool
	tested    bool
}

// Run keeps the stand-in in place until ctx ends.
func (k *keeper) Run(ctx context.Context) {
	var excluding sync.WaitGroup
	defer excluding.Wait()
	if k.exclude != nil {
		excluding.Go(func() { k.keepExcluding(ctx) })
	}
	adopter := &install.Adopter{Installer: k.installer}
	var tested time.Time
	for {
		k.look(adopter)
		k.watchSettings()
		if s := k.snapshot(); s.installed && (!s.tested && time.Since(tested) >= selfTestEvery || k.testAgain.Swap(false)) {
			tested = time.Now()
			k.selfTest(ctx)
		}
		due := time.Now().Add(lookEvery)
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
		if by := time.Since(due); by >= hungAfter {
			k.late(by)
		}
	}
}

// keepExcluding tries until it has succeeded once. A scanner's service may take
// a minute to answer, or start later than we do: nothing else waits for it.
func (k *keeper) keepExcluding(ctx context.Context) {
	for pause := excludeFirst; ; pause = min(2*pause, excludeMost) {
		err := k.exclude(ctx)
		if ctx.Err() != nil {
			return
		}
		k.problem("defender", err)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// look installs, at the start as after somebody else's installation. What an
// operator uninstalls after that stays uninstalled.
func (k *keeper) look(adopter *install.Adopter) {
	o, err := adopter.Look(time.Now())
	inPlace := err == nil && o.Waiting == ""
	switch {
	case err != nil && !k.begun:
		k.problem("install", fmt.Errorf("the stand-in cannot be installed: %w", err))
	case err != nil:
		k.problem("install", fmt.Errorf("the stand-in cannot be put back or renewed: %w", err))
	case o.Waiting != "":
		k.problem("install", fmt.Errorf("pods are not paced now: %s", o.Waiting))
	case o.Result.Action != install.Nothing || !k.snapshot().installed:
		k.begun = true
		k.installed(o.Result)
	default:
		k.problem("install", nil)
	}
	if !inPlace {
		k.mu.Lock()
		k.state.installed = false
		k.mu.Unlock()
	}
	k.tellForeign(o.Foreign)
}

func (k *keeper) tellForeign(is bool) {
	if k.lookAgain.Swap(false) || is != k.wasForeign {
		k.wasForeign = is
		k.foreign(is)
	}
}

func (k *keeper) installed(r install.Result) {
	k.metrics.adoptions.WithLabelValues(string(r.Action)).Inc()
	k.log.Info("stand-in in place", "plugin", k.installer.Target.PluginPath(), "action", string(r.Action),
		"recovered", string(r.Recovered), "gap", r.Gap, "leftovers", r.Leftovers)
	if r.Action != install.Nothing {
		k.note("stand-in in the place of %s: %s", k.installer.Target.PluginPath(), r.Action)
	}
	k.mu.Lock()
	k.state = keeperState{installed: true}
	k.mu.Unlock()
	k.problem("install", nil)
	k.tellStandIns()
}

// watchSettings writes what stand-ins should know anew when it is gone or was
// changed. It takes two looks in a row to find that so: an uninstaller may just
// have removed it, and whoever has a new configuration be about to write it.
func (k *keeper) watchSettings() {
	wrong := k.snapshot().installed && !cni.SettingsAre(k.installer.Target.OriginalDir(), k.settings())
	if !wrong || !k.wrongSettings {
		k.wrongSettings = wrong
		return
	}
	k.wrongSettings = false
	if !k.tellStandIns() {
		return
	}
	k.log.Warn("what stand-ins should know was removed or changed, and is written anew", "folder", k.installer.Target.OriginalDir())
	k.note("what stand-ins should know was removed or changed, and is written anew")
	k.metrics.repairs.WithLabelValues("settings").Inc()
	k.testAgain.Store(true)
}

// tellStandIns writes what stand-ins should know while there is no agent, and
// which socket is its. It reports whether that was done.
func (k *keeper) tellStandIns() bool {
	if !k.snapshot().installed {
		return false
	}
	dir := k.installer.Target.OriginalDir()
	err := cni.WriteSettings(dir, k.settings())
	if err != nil {
		err = fmt.Errorf("without an agent the stand-in would go by old settings: %w", err)
	}
	k.problem("settings", err)
	return err == nil
}

// selfTest calls the stand-in the way the container runtime does, by the path of
// the plugin, and has it find its original and call us.
func (k *keeper) selfTest(ctx context.Context) {
	err := ping(ctx, k.installer.Target)
	k.mu.Lock()
	k.state.tested = err == nil
	k.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("self-test of the stand-in: %w", err)
	}
	k.problem("selftest", err)
}

// selfTestDir is the beginning of the names of self-tests' working directories.
const selfTestDir = "selftest-"

// ping runs whatever has the plugin's name. That may by now be a plugin again,
// which leaves its log and its lock in its working directory: so it gets one of
// its own.
func ping(ctx context.Context, t install.Target) error {
	path, err := filepath.Abs(t.PluginPath())
	if err != nil {
		return err
	}
	dir, err := privateDir(t.OriginalDir())
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // or at the next test, if something still runs in it
	ctx, cancel := context.WithTimeout(ctx, selfTestLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+cni.PingCommand)
	cmd.WaitDelay = time.Second // what it leaves behind may keep its streams
	out, runErr := cmd.Output()
	pong, err := cni.ParsePong(out)
	switch {
	case err != nil:
		return errors.Join(runErr, err)
	case pong.Problem != "":
		return errors.New(pong.Problem)
	}
	return runErr
}

// privateDir makes an empty folder for one self-test in parent, which exists on
// every node that has a stand-in, unlike a folder for temporary files.
func privateDir(parent string) (string, error) {
	old, err := filepath.Glob(filepath.Join(parent, selfTestDir+"*"))
	if err != nil {
		old = nil // a folder whose name reads as a pattern keeps them until it is uninstalled
	}
	for _, dir := range old {
		_ = os.RemoveAll(dir)
	}
	return os.MkdirTemp(parent, selfTestDir)
}

// problem notes what is wrong with one matter, or that nothing is.
func (k *keeper) problem(about string, err error) {
	if k.problems.set(about, err) && err != nil {
		k.log.Warn("installation", "about", about, "err", err)
	}
}

func (k *keeper) snapshot() keeperState {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}
