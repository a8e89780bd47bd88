package engine

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/gate"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// profile is a profile ready to run in one cycle.
type profile struct {
	name    string
	rules   gate.Rules
	evictor *gate.Evictor // from start on
	uses    []use
}

// use is one enabled strategy.
type use struct {
	name     string
	point    strategy.Point
	strategy strategy.Strategy
	count    int // its index in the summary
	// objections is how many nodes others objected to for it, so far.
	objections int
}

// turn is when a strategy runs.
type turn struct {
	profile *profile
	use     *use
}

// turns are in the order of the cycle: every profile's Deschedule strategies, then every profile's Balance strategies.
func turns(profiles []profile) []turn {
	var list []turn
	for _, point := range []strategy.Point{strategy.Deschedule, strategy.Balance} {
		for i := range profiles {
			p := &profiles[i]
			for j := range p.uses {
				if p.uses[j].point == point {
					list = append(list, turn{p, &p.uses[j]})
				}
			}
		}
	}
	return list
}

func (p *profile) start(c *cycle) {
	p.evictor = gate.NewEvictor(p.rules, c.view)
	p.evictor.Fit().Limit(c.effort)
}

// compile resolves a policy against a cluster.
func compile(s *cluster.Snapshot, p *policy.Policy, o Options) ([]profile, error) {
	out := make([]profile, len(p.Profiles))
	for i := range p.Profiles {
		in := &p.Profiles[i]
		rules, err := rulesOf(s, &in.Evictor, o)
		if err != nil {
			return nil, fmt.Errorf("profile %q: DefaultEvictor: %w", in.Name, err)
		}
		out[i] = profile{name: in.Name, rules: rules}
		for _, list := range []struct {
			point strategy.Point
			uses  []policy.PluginUse
		}{{strategy.Deschedule, in.Deschedule}, {strategy.Balance, in.Balance}} {
			for _, u := range list.uses {
				built, err := strategy.New(u.Name, u.Args)
				if err != nil {
					return nil, fmt.Errorf("profile %q: %w", in.Name, err)
				}
				out[i].uses = append(out[i].uses, use{name: u.Name, point: list.point, strategy: built})
			}
		}
	}
	return out, nil
}

func rulesOf(s *cluster.Snapshot, a *policy.EvictorArgs, o Options) (gate.Rules, error) {
	r := gate.Rules{
		Protect:             a.Protections(),
		Threshold:           policy.SystemCriticalPriority,
		MandatoryNoEviction: a.NoEvictionPolicy == policy.NoEvictionMandatory,
		Labels:              a.PodSelector(),
		MinReplicas:         int(min(a.MinReplicas, 1<<31-1)),
		NodeFit:             a.NodeFit,
		NodeSelector:        a.FitNodeSelector(),
		Compat:              o.Compat,
	}
	if a.NamespaceLabelSelector != nil {
		r.NamespaceLabels = a.NamespaceSelector()
	}
	if a.MinPodAge != nil {
		r.MinPodAge = a.MinPodAge.Duration
	}
	switch t := a.PriorityThreshold; {
	case t == nil:
	case t.Value != nil:
		r.Threshold = *t.Value
	case t.Name != "":
		class := s.PriorityClasses[t.Name]
		if class == nil {
			return r, fmt.Errorf("priorityThreshold.name: the cluster has no PriorityClass %q", t.Name)
		}
		if class.Value > policy.SystemCriticalPriority {
			return r, fmt.Errorf("priorityThreshold.name: PriorityClass %q has the value %d; at most %d can be a threshold",
				t.Name, class.Value, policy.SystemCriticalPriority)
		}
		r.Threshold = class.Value
	}
	return r, nil
}
