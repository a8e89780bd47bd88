package agent

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/cni"
)

// takeOver puts a configuration in force: nobody who waits or starts notices but
// by the new limits. What only a restart can change stays as it is and is named
// in the status.
func (a *Agent) takeOver(kept agentconfig.Config) {
	a.trouble("restart", needRestart(a.config(), kept))
	setLevel(a.options.Level, kept.Log.Level)
	a.loop.do(func(now time.Time) {
		out, err := a.loop.queue.SetConfig(now, kept.Pace)
		if err != nil { // it was validated
			a.trouble("config", err)
			return
		}
		a.loop.limit(kept.Pace.Limits)
		a.loop.apply(now, out)
		a.loop.reconfigurePods(now, kept)
	})
	a.mu.Lock()
	a.current = kept
	a.mu.Unlock()
	if a.keeper != nil {
		a.keeper.tellStandIns()
	}
}

func (a *Agent) config() agentconfig.Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.current
}

func (a *Agent) standIns() cni.Settings { return standInSettings(a.config(), runtime.NumCPU()) }

// needRestart names the fields that a running agent cannot change.
func needRestart(old, new agentconfig.Config) error {
	var fields []string
	for _, f := range []struct {
		name     string
		old, new any
	}{
		{"install", old.Install, new.Install},
		{"socket", old.Socket, new.Socket},
		{"listen", old.Listen, new.Listen},
		{"events", old.Events, new.Events},
		{"log.file", old.Log.File, new.Log.File},
		{"log.format", old.Log.Format, new.Log.Format},
	} {
		if !reflect.DeepEqual(f.old, f.new) {
			fields = append(fields, f.name)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", errRestart, strings.Join(fields, ", "))
}

var errRestart = errors.New("these changes of the configuration need a restart of the agent")
