package agent

import (
	"cmp"
	"fmt"
	"sync"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/nodepace"
	"evenkeel.dev/evenkeel/internal/pacepolicy"
	"evenkeel.dev/evenkeel/internal/pacepolicy/live"
)

// settings are where the configuration in force comes from: the file, and the
// PacePolicy that holds on the node, if any.
type settings struct {
	mu     sync.Mutex // held while something new is taken over
	file   agentconfig.Config
	policy *v1alpha1.PacePolicy // in force; nil for the file alone
	wanted *v1alpha1.PacePolicy // by the API; not in force if it is wrong with the file
	rivals []string
	stale  string // why the API's word may be old
	wrong  string // why the policy that is wanted is not in force
}

// follow takes over what the API says of the policy. What it does not know
// leaves everything as it is.
func (a *Agent) follow(f live.Finding) {
	s := &a.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	a.trouble("policy", f.Err)
	s.stale = ""
	if f.Err != nil {
		s.stale = f.Err.Error()
	}
	if !f.Known {
		a.log.Info("no PacePolicy is known yet; what was in force stays", "err", f.Err)
		return
	}
	if f.Absent {
		a.log.Info("PacePolicy is not installed; the configuration file holds alone")
	}
	s.wanted, s.rivals = f.Policy, f.Rivals
	a.takeOver(a.merged())
	a.log.Info("settings", "policy", policyName(s.policy), "rivals", s.rivals)
}

// reload takes over a new configuration file.
func (a *Agent) reload(c agentconfig.Config) {
	a.settings.mu.Lock()
	defer a.settings.mu.Unlock()
	a.settings.file = a.options.keepFlags(c)
	a.takeOver(a.merged())
	a.log.Info("configuration reloaded", "file", a.options.ConfigFile)
	a.recent.add("configuration %s reloaded", a.options.ConfigFile)
}

// merged is the file with the policy that the API wants. A policy that is wrong
// with this file is left out, and named.
func (a *Agent) merged() agentconfig.Config {
	s := &a.settings
	conf := s.file
	s.policy, s.wrong = s.wanted, ""
	if s.wanted == nil {
		a.trouble("merge", nil)
		return conf
	}
	merged, err := pacepolicy.Merge(s.wanted.Spec, pacepolicy.Settings{Pace: conf.Pace, Pods: conf.Pods})
	if err != nil {
		err = fmt.Errorf("PacePolicy %s is wrong with this agent's file, which holds alone: %w", s.wanted.Name, err)
		s.policy, s.wrong = nil, err.Error()
	}
	a.trouble("merge", err)
	conf.Pace, conf.Pods = merged.Pace, merged.Pods
	return conf
}

func policyName(p *v1alpha1.PacePolicy) string {
	if p == nil {
		return ""
	}
	return p.Name
}

// policyInForce is what the status and the NodePace show.
func (a *Agent) policyInForce() nodepace.Policy {
	s := &a.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	p := nodepace.Policy{Problem: cmp.Or(s.wrong, s.stale)}
	if s.policy != nil {
		p.Name, p.Generation, p.Rivals = s.policy.Name, s.policy.Generation, s.rivals
	}
	return p
}
