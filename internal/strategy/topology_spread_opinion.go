package strategy

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// spreadOpinion is that of RemovePodsViolatingTopologySpreadConstraint: no constraint that it looks at is to be violated by less even counts.
// Pods are counted when a constraint is first asked about.
type spreadOpinion struct {
	x      *spreader
	follow map[string]map[*podGroup][]*spread
}

// Opinion implements Opinionated.
func (s *topologySpread) Opinion(c *Cycle) Opinion {
	return &spreadOpinion{x: newSpreader(c, s), follow: map[string]map[*podGroup][]*spread{}}
}

// spreads lists the constraints, of any pod of the namespace, that p counts in.
func (o *spreadOpinion) spreads(p *cluster.Pod) []*spread {
	follow, known := o.follow[p.Namespace]
	if !known {
		follow = map[*podGroup][]*spread{}
		for _, sp := range o.x.collect(p.Namespace) {
			for _, group := range sp.groups {
				if sp.listed {
					follow[group] = append(follow[group], sp)
				}
			}
		}
		o.follow[p.Namespace] = follow
	}
	if len(follow) == 0 || p.Deleting {
		return nil
	}
	return follow[o.x.groups.namespace(p.Namespace).group(p)]
}

// Against implements Opinion.
func (o *spreadOpinion) Against(p *cluster.Pod, n *cluster.Node) func() plan.Reason {
	for _, sp := range o.spreads(p) {
		from, to := sp.domains.countedIn(p.Node), sp.domains.countedIn(n)
		o.x.count(sp)
		if from == to || !sp.lessEven(from, to) {
			continue
		}
		if fewest, most := sp.counts.after(from, to); most-fewest > sp.rule.MaxSkew {
			return func() plan.Reason { return wouldViolateSpread(sp, n, fewest, most) }
		}
	}
	return nil
}

// lessEven reports whether a pod's going from one domain to another makes the counts less even; either may be noDomain.
func (sp *spread) lessEven(from, to int32) bool {
	c := sp.counts
	switch {
	case from == noDomain:
		return c.count[to]+1-c.fewest() > sp.rule.MaxSkew
	case to == noDomain:
		return c.count[from]-1 < c.fewest()
	}
	return c.count[to]+1 > c.count[from]
}

// after is the smallest and the largest count of a domain once a pod has gone from one to another.
func (c *domainCounts) after(from, to int32) (fewest, most int32) {
	first := true
	look := func(id, count int32) {
		if id == noDomain {
			return
		}
		if first || count < fewest {
			fewest = count
		}
		if first || count > most {
			most = count
		}
		first = false
	}
	if from != noDomain {
		look(from, c.count[from]-1)
	}
	if to != noDomain {
		look(to, c.count[to]+1)
	}
	for _, id := range c.order[:min(3, len(c.order))] {
		if id != from && id != to {
			look(id, c.count[id])
		}
	}
	for _, id := range c.order[max(0, len(c.order)-3):] {
		if id != from && id != to {
			look(id, c.count[id])
		}
	}
	return fewest, most
}

// Moved implements Opinion.
func (o *spreadOpinion) Moved(p *cluster.Pod, to *cluster.Node) {
	if p.Terminal() {
		return
	}
	if _, counted := o.follow[p.Namespace]; !counted {
		if to != nil && o.x.groups.inCycle[to.Index] {
			o.x.arrived[p.Namespace] = append(o.x.arrived[p.Namespace], arrival{p, to})
		}
		return
	}
	spreads := o.spreads(p)
	if to != nil {
		group := o.x.groups.namespace(p.Namespace).group(p)
		group.arrivals = append(group.arrivals, to)
	}
	for _, sp := range spreads {
		if sp.counts == nil {
			continue
		}
		if id := sp.domains.countedIn(p.Node); id != noDomain {
			sp.counts.down(id)
		}
		if to == nil {
			continue
		}
		if id := sp.domains.countedIn(to); id != noDomain {
			sp.counts.up(id)
		}
	}
}

func wouldViolateSpread(sp *spread, n *cluster.Node, fewest, most int32) plan.Reason {
	return plan.Reason{
		Code: "WouldViolateSpread",
		Message: fmt.Sprintf("with it on node %s the spread over %s would be from %d to %d pods; maxSkew is %d",
			n.Name, sp.rule.TopologyKey, fewest, most, sp.rule.MaxSkew),
		Numbers: plan.Numbers{"fewest": float64(fewest), "most": float64(most), "maxSkew": float64(sp.rule.MaxSkew)},
	}
}
