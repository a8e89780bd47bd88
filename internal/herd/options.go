package herd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

// Limits that are not numbers.
const (
	LimitAuto     = "auto"     // what an agent does that is not told otherwise
	LimitAdaptive = "adaptive" // the limit follows the node's health
)

// Options say what to run.
type Options struct {
	// Pods is how many start at once, 1 to 500.
	Pods int
	// Work is the CPU time that a pod needs to start, on a machine that does nothing else. At most 10m.
	Work time.Duration
	// PluginTime is how long one ADD of the plugin takes, half of it CPU time. At most 1m.
	PluginTime time.Duration
	// Limit of the paced run: LimitAuto, LimitAdaptive, or how many pods may be starting at once.
	Limit string
	// Attempt is how long one ADD waits at most; 0 is the agent's default.
	Attempt time.Duration
	// Retry is the kubelet's pause after a failed ADD, to which up to half is added.
	Retry time.Duration
	// StartupProbe is how long after its start a container must be ready, or it is killed and started anew; 0 is for ever.
	StartupProbe time.Duration
	// Heartbeat is the time from one beat to the next.
	Heartbeat time.Duration
	// Timeout ends a run in which not every pod has become ready.
	Timeout time.Duration

	// Dir is the absolute path of an existing, empty folder for everything that the runs write.
	Dir string
	// Program is this program, which is started in every role.
	Program string
	// StandIn is an evenkeel-cni to install; empty is Program in that role.
	StandIn string
	// Progress, if not nil, is told a few times a second how a run is getting on.
	Progress func(Progress)
}

// Defaults are the options of a herd about which nothing is said: as many pods as a busy node has to start after a reboot,
// enough CPU work to keep two cores busy for half a minute, and as many heartbeats as that many pods have probes, each
// probed every ten seconds as is the default of a Kubernetes probe. Dir and Program are left to the caller.
func Defaults() Options {
	return Options{
		Pods: 40, Work: 1500 * time.Millisecond, PluginTime: 100 * time.Millisecond, Limit: LimitAuto, Retry: 10 * time.Second,
		Heartbeat: 250 * time.Millisecond, Timeout: 5 * time.Minute,
	}
}

// StandInBeside is the path of evenkeel-cni in the folder of program, empty if it is not there.
func StandInBeside(program string) string {
	path := filepath.Join(filepath.Dir(program), "evenkeel-cni"+executableSuffix)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// Progress is where a run is.
type Progress struct {
	Run     string // Unpaced or Paced; empty while preparing
	Doing   string // what is being prepared
	Elapsed time.Duration
	Pods    map[Phase]int
}

// The ranges of Options.
const (
	maxPods    = 500
	maxWork    = 10 * time.Minute
	maxPlugin  = time.Minute
	minRepeat  = 50 * time.Millisecond // of heartbeats
	defaultCap = time.Hour
)

// Validate returns everything that is wrong, each with the name of the command's flag.
func (o Options) Validate() error {
	var errs []error
	between := func(flag string, value, low, high time.Duration) {
		if value < low || value > high {
			errs = append(errs, fmt.Errorf("--%s %s: want %s to %s", flag, value, low, high))
		}
	}
	if o.Pods < 1 || o.Pods > maxPods {
		errs = append(errs, fmt.Errorf("--pods %d: want 1 to %d", o.Pods, maxPods))
	}
	between("work", o.Work, 0, maxWork)
	between("plugin-time", o.PluginTime, 0, maxPlugin)
	between("retry", o.Retry, 0, maxWork)
	between("heartbeat", o.Heartbeat, minRepeat, time.Minute)
	between("timeout", o.Timeout, time.Second, 24*time.Hour)
	if o.StartupProbe != 0 {
		between("startup-probe", o.StartupProbe, 100*time.Millisecond, defaultCap)
	}
	limits, err := o.limits()
	if err != nil {
		errs = append(errs, err)
	}
	for _, p := range o.paceConfig(limits).Validate() {
		errs = append(errs, fmt.Errorf("--%s %s: want %s", p.Path, p.Value, p.Want))
	}
	return errors.Join(errs...)
}

// limits of the agent in the paced run.
func (o Options) limits() (pace.Limits, error) {
	switch o.Limit {
	case LimitAuto:
		return pace.Limits{}, nil
	case LimitAdaptive:
		return pace.Limits{Adaptive: &pace.Adaptive{}}, nil
	}
	n, err := strconv.Atoi(o.Limit)
	if err != nil || n < 1 || n > 1000 {
		return pace.Limits{}, fmt.Errorf("--limit %q: want %s, %s, or a number from 1 to 1000", o.Limit, LimitAuto, LimitAdaptive)
	}
	return pace.Limits{MaxConcurrent: n}, nil
}

func (o Options) paceConfig(limits pace.Limits) pace.Config {
	return pace.Config{Limits: limits, Attempt: pace.Duration(o.Attempt)}
}
