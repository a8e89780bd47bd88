package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
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
)

// keeper installs the stand-in when the agent starts and keeps it in place. It
// never uninstalls: an agent that ends, for whatever reason, leaves a stand-in
// that gets along without one.
type keeper struct {
	installer install.Installer
	log       *slog.Logger
	metrics   *metrics
	settings  func() cni.Settings // what stand-ins should know
	exclude   func(context.Context) error
	foreign   func(bool)  // told when the file in place is someone else's, and when it is ours again
	lookAgain atomic.Bool // to be told at the next look in any case
	problems  problems

	wasForeign bool // owned by Run

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
	adopter := &install.Adopter{Installer: k.installer}
	var tested time.Time
	for begun := false; ; {
		if begun {
			k.look(adopter)
		} else {
			begun = k.install(ctx)
		}
		if s := k.snapshot(); s.installed && !s.tested && time.Since(tested) >= selfTestEvery {
			tested = time.Now()
			k.selfTest(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// install installs for the first time and reports success. After it, what an
// operator uninstalls stays uninstalled.
func (k *keeper) install(ctx context.Context) bool {
	result, err := k.installer.Install()
	if err != nil {
		k.problem("install", fmt.Errorf("the stand-in cannot be installed, pods are not paced: %w", err))
		k.tellForeign(false) // nothing of ours is in the way
		return false
	}
	k.installed(result)
	k.tellForeign(false)
	if k.exclude != nil {
		k.problem("defender", k.exclude(ctx))
	}
	return true
}

func (k *keeper) look(adopter *install.Adopter) {
	o, err := adopter.Look(time.Now())
	switch {
	case errors.Is(err, install.ErrChanged):
		return // the next look sees the newer file
	case err != nil:
		k.problem("install", fmt.Errorf("the plugin in place is not the stand-in and cannot be adopted: %w", err))
	case o.Waiting != "":
		k.problem("install", fmt.Errorf("pods are not paced now: %s", o.Waiting))
	case o.Result.Action != install.Nothing:
		k.installed(o.Result)
	default:
		k.problem("install", nil)
	}
	inPlace := err == nil && o.Waiting == ""
	k.mu.Lock()
	k.state.installed = inPlace
	k.mu.Unlock()
	k.tellForeign(!inPlace && !o.Uninstalled)
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
	k.mu.Lock()
	k.state = keeperState{installed: true}
	k.mu.Unlock()
	k.problem("install", nil)
	k.tellStandIns()
}

// tellStandIns writes what stand-ins should know while there is no agent.
func (k *keeper) tellStandIns() {
	if !k.snapshot().installed {
		return
	}
	dir := k.installer.Target.OriginalDir()
	err := cni.WriteSettings(dir, k.settings())
	if err != nil {
		err = fmt.Errorf("without an agent the stand-in would go by old settings: %w", err)
	}
	k.problem("settings", err)
}

// selfTest calls the stand-in the way the container runtime does, by the path of
// the plugin, and has it find its original and call us.
func (k *keeper) selfTest(ctx context.Context) {
	err := ping(ctx, k.installer.Target.PluginPath())
	k.mu.Lock()
	k.state.tested = err == nil
	k.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("self-test of the stand-in: %w", err)
	}
	k.problem("selftest", err)
}

func ping(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, selfTestLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+cni.PingCommand)
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
