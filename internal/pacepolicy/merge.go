package pacepolicy

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/podstate"
)

// Settings are what a policy can change of an agent's configuration.
type Settings struct {
	Pace pace.Config
	Pods podstate.Rules
}

// Merge returns the settings of an agent whose file says file on a node where the policy holds: each field that the
// policy sets goes before the file's, limits as a whole. The error names every field of the result that is wrong; a
// policy that is right by itself can be wrong with a file. The arguments stay as they are.
func Merge(spec v1alpha1.PacePolicySpec, file Settings) (Settings, error) {
	m := merger{}
	merged := file
	if spec.Pace != nil {
		m.pace(&merged.Pace, spec.Pace)
	}
	if spec.Pods != nil {
		m.pods(&merged.Pods, spec.Pods)
	}
	problems := m.problems
	if len(problems) == 0 { // a duration that cannot be read would be reported as out of range once more
		problems = append(problems, under("pace.", merged.Pace.Validate())...)
		problems = append(problems, under("pods.", merged.Pods.Validate())...)
	}
	if len(problems) > 0 {
		return file, problems
	}
	return merged, nil
}

// Check returns what is wrong with the policy by itself, as the API server would say it.
func Check(spec v1alpha1.PacePolicySpec) error {
	if spec.Pace == nil && spec.Pods == nil {
		return pace.Problems{{Path: "pace", Value: "unset", Want: "pace or pods: this policy would change nothing"}}
	}
	_, err := Merge(spec, Settings{})
	return err
}

func under(prefix string, problems pace.Problems) pace.Problems {
	for i := range problems {
		problems[i].Path = prefix + problems[i].Path
	}
	return problems
}

// merger notes durations that it cannot read.
type merger struct{ problems pace.Problems }

func (m *merger) pace(into *pace.Config, from *v1alpha1.Pace) {
	if from.Limits != nil {
		into.Limits = m.limits(from.Limits)
	}
	m.duration("pace.attempt", &into.Attempt, from.Attempt)
	m.duration("pace.runtimeBudget", &into.RuntimeBudget, from.RuntimeBudget)
	m.duration("pace.maxWait", &into.MaxWait, from.MaxWait)
	m.duration("pace.slotTimeout", &into.SlotTimeout, from.SlotTimeout)
	m.duration("pace.ageing", &into.Ageing, from.Ageing)
	if from.RefusalsPerSecond != 0 {
		into.RefusalsPerSecond = int(from.RefusalsPerSecond)
	}
}

func (m *merger) limits(from *v1alpha1.Limits) pace.Limits {
	l := pace.Limits{MaxConcurrent: int(from.MaxConcurrent), PerCore: from.PerCore}
	if r := from.Rate; r != nil {
		l.Rate = &pace.Rate{Burst: int(r.Burst)}
		m.duration("pace.limits.rate.every", &l.Rate.Every, r.Every)
	}
	if p := from.Pressure; p != nil {
		l.Pressure = &pace.Pressure{CPU: p.CPU, Memory: p.Memory, IO: p.IO}
	}
	if a := from.Adaptive; a != nil {
		l.Adaptive = &pace.Adaptive{Max: int(a.Max), SlowFactor: a.SlowFactor}
		m.duration("pace.limits.adaptive.slowFloor", &l.Adaptive.SlowFloor, a.SlowFloor)
	}
	return l
}

func (m *merger) pods(into *podstate.Rules, from *v1alpha1.Pods) {
	if from.StartedWhen != "" {
		into.StartedWhen = podstate.Mode(from.StartedWhen)
	}
	m.duration("pods.settle", &into.Settle, from.Settle)
	m.duration("pods.pullTimeout", &into.PullTimeout, from.PullTimeout)
	m.duration("pods.initTimeout", &into.InitTimeout, from.InitTimeout)
	if from.ExcludeNamespaces != nil {
		into.ExcludeNamespaces = make([]string, len(from.ExcludeNamespaces))
		for i, n := range from.ExcludeNamespaces {
			into.ExcludeNamespaces[i] = string(n)
		}
	}
}

func (m *merger) duration(path string, into *pace.Duration, from v1alpha1.Duration) {
	if from == "" {
		return
	}
	d, err := time.ParseDuration(string(from))
	if err != nil {
		m.problems = append(m.problems, pace.Problem{
			Path: path, Value: fmt.Sprintf("%q", from),
			Want: "a duration such as 90s, 5m or 1h30m",
		})
		return
	}
	*into = pace.Duration(d)
}
