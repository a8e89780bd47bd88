package herd

import (
	"math"
	"path/filepath"
	"time"
)

// Seconds is a duration as reports show it, to the millisecond.
type Seconds float64

func seconds(d time.Duration) Seconds { return Seconds(math.Round(d.Seconds()*1000) / 1000) }

// Report is the outcome of both runs, and the stable JSON output.
type Report struct {
	Kind     string   `json:"kind"` // "HerdReport"
	Machine  Machine  `json:"machine"`
	Settings Settings `json:"settings"`
	// Quiet is the heartbeat before the herd, when nothing of ours ran beside it.
	Quiet   Heartbeat `json:"quietHeartbeat"`
	Unpaced Run       `json:"unpaced"`
	Paced   Run       `json:"paced"`
	// Better says how many times better the paced run was; values below 1 say that it was worse.
	Better Ratios `json:"better"`
}

// ReportKind is the Kind of every Report.
const ReportKind = "HerdReport"

// Machine is where the runs took place.
type Machine struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Cores int    `json:"cores"`
	// Busy is how much of its processor time other programs used before the herd, in percent; 0 also where the system
	// does not tell.
	Busy float64 `json:"busyPercentBefore"`
}

// Settings are the Options that shape the result.
type Settings struct {
	Pods         int     `json:"pods"`
	Work         Seconds `json:"workSeconds"`
	PluginTime   Seconds `json:"pluginSeconds"`
	Limit        string  `json:"limit"`
	Attempt      Seconds `json:"attemptSeconds,omitempty"` // 0: the agent's default
	Retry        Seconds `json:"retrySeconds"`
	StartupProbe Seconds `json:"startupProbeSeconds,omitempty"`
	Heartbeat    Seconds `json:"heartbeatEverySeconds"`
	StandIn      string  `json:"standIn,omitempty"` // base name, where not this program
}

func (o Options) settings() Settings {
	standIn := ""
	if o.StandIn != "" {
		standIn = filepath.Base(o.StandIn)
	}
	return Settings{
		Pods: o.Pods, Work: seconds(o.Work), PluginTime: seconds(o.PluginTime), Limit: o.Limit, Attempt: seconds(o.Attempt),
		Retry: seconds(o.Retry), StartupProbe: seconds(o.StartupProbe), Heartbeat: seconds(o.Heartbeat), StandIn: standIn,
	}
}

// The names of the runs.
const (
	Unpaced = "unpaced"
	Paced   = "paced"
)

// Run is one herd. All times are from its beginning.
type Run struct {
	Name string `json:"name"`
	// Limit is how many pods could be starting at once when the run began; 0 is any number.
	Limit int `json:"limit,omitempty"`
	// Ready is how many of the pods became ready before the run ended.
	Ready int `json:"ready"`
	// First, Median and All are when the first, half, and all of the pods were ready; null where it never came to that.
	First  *Seconds `json:"firstReadySeconds"`
	Median *Seconds `json:"medianReadySeconds"`
	All    *Seconds `json:"allReadySeconds"`
	// MostStarting is how many pods were starting at the worst moment.
	MostStarting int `json:"mostStarting"`
	// Adds is how often the plugin's path was called with ADD; Refused of these were told to try again later.
	Adds    int `json:"addAttempts"`
	Refused int `json:"addsRefused"`
	// Restarts is how often a container was killed because its startup probe had given up.
	Restarts  int       `json:"containerRestarts"`
	Heartbeat Heartbeat `json:"heartbeat"`
	Pods      []Pod     `json:"pods"`
}

// Pod is the story of one pod.
type Pod struct {
	Name    string   `json:"name"`
	Adds    int      `json:"addAttempts"`
	Refused int      `json:"addsRefused"`
	Restart int      `json:"containerRestarts"`
	Ready   *Seconds `json:"readySeconds"` // null: not before the run ended
	Spans   []Span   `json:"spans"`
}

// A Phase is what a pod is doing.
type Phase string

// The phases of a pod.
const (
	Waiting  Phase = "waiting"  // for the go-ahead, in an ADD
	Away     Phase = "away"     // between two ADDs
	Plugin   Phase = "plugin"   // the network plugin runs
	Starting Phase = "starting" // the pod works, and is not ready
	BackOff  Phase = "backoff"  // killed, to be started again
	Ready    Phase = "ready"
)

// Span is a phase from one moment to another. Ready lasts to the end of the run.
type Span struct {
	Phase Phase   `json:"phase"`
	From  Seconds `json:"fromSeconds"`
	To    Seconds `json:"toSeconds"`
}

// Heartbeat says how late the heartbeats were done.
type Heartbeat struct {
	Count int     `json:"count"`
	P50   Seconds `json:"p50Seconds"`
	P99   Seconds `json:"p99Seconds"`
	Max   Seconds `json:"maxSeconds"`
	Beats []Beat  `json:"beats"`
}

// Beat is one heartbeat: due then, done Delay later.
type Beat struct {
	Due   Seconds `json:"dueSeconds"`
	Delay Seconds `json:"delaySeconds"`
}

// Ratios are unpaced figures divided by paced ones; null where one is missing.
type Ratios struct {
	First        *float64 `json:"firstReady"`
	Median       *float64 `json:"medianReady"`
	All          *float64 `json:"allReady"`
	HeartbeatP50 *float64 `json:"heartbeatP50"`
	HeartbeatP99 *float64 `json:"heartbeatP99"`
	HeartbeatMax *float64 `json:"heartbeatMax"`
}
