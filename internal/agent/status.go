package agent

import (
	"sort"
	"time"

	"evenkeel.dev/evenkeel/internal/install"
	"evenkeel.dev/evenkeel/internal/pace"
)

// Status is what an agent says of itself.
type Status struct {
	Version string    `json:"version"`
	Node    string    `json:"node,omitempty"`
	Started time.Time `json:"started"`
	// Ready is true once pods can be bound to this node without a stampede: all
	// Conditions hold.
	Ready      bool       `json:"ready"`
	Conditions Conditions `json:"conditions"`
	Pods       PodsStatus `json:"pods"`
	// Policy is the PacePolicy in force, without a name for the file alone.
	Policy PolicyStatus `json:"policy"`
	// Queue is who starts and who waits.
	Queue pace.Snapshot `json:"queue"`
	// WaitsFor is what pods with a slot have yet to do before it ends, by UID.
	WaitsFor map[string]string `json:"waitsFor"`
	// Connections of executables, waiting or running.
	Connections int `json:"connections"`
	// Install is what is installed; nil for an agent that installs nothing.
	Install *install.Status `json:"install,omitempty"`
	// Recent is what has happened lately, oldest first.
	Recent []Note `json:"recent"`
	// Problems are what an operator should know, [] when all is well.
	Problems []string `json:"problems"`
}

// Conditions make up readiness. An agent that installs nothing counts as
// installed and tested.
type Conditions struct {
	Installed bool `json:"installed"` // the stand-in is in place
	Tested    bool `json:"tested"`    // called by the plugin's path it reached its original and this agent
	Listening bool `json:"listening"` // on its socket
	Synced    bool `json:"synced"`    // every pod of the node is known
}

func (c Conditions) ready() bool { return len(c.missing()) == 0 }

// missing says in words which of them do not hold.
func (c Conditions) missing() []string {
	var list []string
	for _, each := range []struct {
		holds bool
		not   string
	}{
		{c.Installed, "the stand-in is not in place"},
		{c.Tested, "the stand-in has not reached this agent"},
		{c.Listening, "the socket does not listen"},
		{c.Synced, "the node's pods are not known yet"},
	} {
		if !each.holds {
			list = append(list, each.not)
		}
	}
	return list
}

// PolicyStatus is where the limits in force come from.
type PolicyStatus struct {
	Name       string `json:"name,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// PodsStatus is where the agent's knowledge of pods comes from.
type PodsStatus struct {
	Source string `json:"source"` // "kubernetes" or a folder
	Known  int    `json:"known"`
}

// status collects a Status, for HTTP handlers. Only with files are the installed
// files looked at, which means reading them whole.
func (a *Agent) status(files bool) (Status, bool) {
	s := Status{
		Version: version(), Node: a.options.Node, Started: a.started,
		Conditions: Conditions{Installed: true, Tested: true, Listening: a.listening.Load()},
		Pods:       PodsStatus{Source: a.options.sourceName()},
		Recent:     a.recent.notes(),
		Problems:   a.problems.list(),
	}
	p := a.policyInForce()
	s.Policy = PolicyStatus{Name: p.Name, Generation: p.Generation}
	alive := a.loop.ask(func(now time.Time) {
		a.loop.apply(now, a.loop.queue.Tick(now)) // durations are as of now then
		s.Queue = a.loop.queue.Snapshot()
		s.WaitsFor = a.loop.pods.waitsFor(now)
		s.Connections = len(a.loop.sessions)
		s.Conditions.Synced = a.loop.pods.synced
		s.Pods.Known = len(a.loop.pods.pods)
	})
	if a.keeper != nil {
		k := a.keeper.snapshot()
		s.Conditions.Installed, s.Conditions.Tested = k.installed, k.tested
		s.Problems = append(s.Problems, a.keeper.problems.list()...)
		if files {
			s.inspect(a.keeper.installer)
		}
	}
	sort.Strings(s.Problems)
	s.Ready = s.Conditions.ready()
	return s, alive
}

func (s *Status) inspect(i install.Installer) {
	st, err := i.Status()
	if err != nil {
		s.Problems = append(s.Problems, err.Error())
		return
	}
	s.Install = &st
	s.Problems = append(s.Problems, st.Problems...)
}
