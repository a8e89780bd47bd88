package podstate

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

// A Mode is what counts as started.
type Mode string

// The modes.
const (
	Started Mode = "Started" // the kubelet's "started": running, and the startup probe, if any, has succeeded
	Running Mode = "Running" // the processes run
	Ready   Mode = "Ready"   // the pod is ready, if a readiness probe or gate says so; else as Started
)

// Rules are the configurable part of the judgement. A zero field means its default.
type Rules struct {
	// StartedWhen is what counts as started; default Started.
	StartedWhen Mode `json:"startedWhen,omitempty"`
	// Settle is how long containers whose start nothing probes must have been running. 1ms to 10m; default 5s.
	Settle pace.Duration `json:"settle,omitempty"`
	// PullTimeout is how long after its sandbox, or after its last container, a pod may be creating the next one before
	// it is taken to be pulling an image and gives its slot up. 1s to 1h; default 60s.
	PullTimeout pace.Duration `json:"pullTimeout,omitempty"`
	// InitTimeout is how long init containers may run, together, before the pod gives its slot up: one that waits for
	// another pod must not keep that from starting. 1s to 1h; default 60s.
	InitTimeout pace.Duration `json:"initTimeout,omitempty"`
	// ExcludeNamespaces are those whose pods are never gated.
	ExcludeNamespaces []string `json:"excludeNamespaces,omitempty"`
}

// Defaulted returns the rules with every unset field at its default.
func (r Rules) Defaulted() Rules {
	if r.StartedWhen == "" {
		r.StartedWhen = Started
	}
	for _, field := range []struct {
		value *pace.Duration
		unset time.Duration
	}{{&r.Settle, 5 * time.Second}, {&r.PullTimeout, time.Minute}, {&r.InitTimeout, time.Minute}} {
		if *field.value == 0 {
			*field.value = pace.Duration(field.unset)
		}
	}
	return r
}

// Validate returns everything wrong with the rules, in the order of the fields; unset fields are judged by their
// defaults.
func (r Rules) Validate() pace.Problems {
	var problems pace.Problems
	r = r.Defaulted()
	switch r.StartedWhen {
	case Started, Running, Ready:
	default:
		problems = append(problems, pace.Problem{
			Path: "startedWhen", Value: string(r.StartedWhen),
			Want: "Started, Running or Ready",
		})
	}
	for _, field := range []struct {
		path      string
		value     pace.Duration
		low, high time.Duration
	}{
		{"settle", r.Settle, time.Millisecond, 10 * time.Minute},
		{"pullTimeout", r.PullTimeout, time.Second, time.Hour},
		{"initTimeout", r.InitTimeout, time.Second, time.Hour},
	} {
		if field.value.Std() < field.low || field.value.Std() > field.high {
			problems = append(problems, pace.Problem{
				Path: field.path, Value: field.value.String(),
				Want: fmt.Sprintf("%s to %s", field.low, field.high),
			})
		}
	}
	for i, namespace := range r.ExcludeNamespaces {
		if namespace == "" {
			problems = append(problems, pace.Problem{
				Path: fmt.Sprintf("excludeNamespaces[%d]", i), Value: `""`,
				Want: "a namespace",
			})
		}
	}
	return problems
}
