package fit

import (
	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

const (
	// maxRemembered bounds what is remembered of kinds of pods, in kinds times nodes: one byte each.
	maxRemembered = 64 << 20
	// maxPooled bounds the numbers in the pools of one checker.
	maxPooled = 4 << 20
)

// Likeness is what tells pods apart that are looked for a node for: those of equal likeness meet the same obstacle on every node that
// is not their own.
type Likeness struct {
	spec      *cluster.Spec
	namespace string
	rest      string
}

// alike is what keeps pods of one likeness off each node, known since one of them fitted nowhere.
type alike struct {
	tally
	open  []int32 // node indices that are to be asked about
	seen  int     // of the view's changes
	rules int     // the version of what holds for many nodes at once
}

// search returns a node other than the pod's own that will do, or nil, and remembers what kept pods like it off every node; explained tells that there will be
// a question about that.
func (s *Scheduler) search(p *cluster.Pod, explained bool) *cluster.Node {
	if n := s.next(p, 0, 1, s.Accepts); n != nil {
		return n // most pods need not be likened
	}
	if s.hopeless(p) {
		return nil
	}
	key, rules, likened := s.liken(p)
	if a := s.known(key, rules, explained); likened && a != nil && s.refresh(a, rules, p, s.effort.Over()) && a.fitsNowhere(p.Node) {
		return nil
	}
	before := s.effort.Spent()
	n, all := s.next(p, 1, LookAhead, s.Accepts), true
	if n == nil && len(s.nodes) > LookAhead {
		n, all = s.amongRoomy(p)
		s.hinted(p, n)
	}
	switch {
	case !all:
		s.gaveUp = p
	case n == nil && likened && explained:
		s.remember(key)
	case n == nil && likened:
		s.owed[key] += s.effort.Spent() - before
	}
	return n
}

// known is what is known of pods of a likeness, nil if it is nothing. Where nobody asks for reasons, what is out of date is left alone until searches have cost as
// much as a look at every node.
func (s *Scheduler) known(key Likeness, rules int, explained bool) *alike {
	a := s.alike[key]
	if explained || a != nil && a.rules == rules {
		return a
	}
	if s.owed[key] < len(s.nodes) {
		return nil
	}
	delete(s.owed, key)
	return s.remember(key)
}

// amongRoomy looks at the nodes with room for one that accepts p; all is false when it had to end early.
func (s *Scheduler) amongRoomy(p *cluster.Pod) (n *cluster.Node, all bool) {
	if n, all := s.roomy(p, s.pool(p, "", Part{})); n == nil {
		return nil, all
	}
	t := s.grouping(p)
	part := Part{by: t}
	if t != nil {
		part.Of = t
	}
	x := s.pool(p, "", part)
	q := &s.asked
	*q = Search{Wants: q.Wants, Open: func(d int32) bool { return s.open(p, t, d) }, OK: func(place int) bool {
		n := s.nodes[place]
		return s.takes(p, x, n) && s.Accepts(p, n)
	}}
	n = s.find(p, x, q)
	return n, !q.Ended()
}

// hopeless reports whether it is at hand that no other node that the pod's placement allows has room for it.
func (s *Scheduler) hopeless(p *cluster.Pod) bool {
	if s.pools[poolKey{placement: p.Spec.Placement}] == nil {
		return false
	}
	n, all := s.roomy(p, s.pool(p, "", Part{}))
	return n == nil && all
}

// nowhereBecause counts the obstacles, if they are not known already.
func (s *Scheduler) nowhereBecause(p *cluster.Pod) plan.Reason {
	if key, rules, likened := s.liken(p); likened {
		a := s.remember(key)
		s.refresh(a, rules, p, false)
		return a.reason(p.Node)
	}
	counts := map[string]int{}
	for _, n := range s.nodes {
		if n == p.Node {
			continue
		}
		if o := s.hindrance(p, n); o.code != "" {
			counts[o.code]++
		}
	}
	return fitsNowhere(counts)
}

// remember returns what is known of pods of a likeness, which may be nothing yet.
func (s *Scheduler) remember(key Likeness) *alike {
	a := s.alike[key]
	if a == nil {
		if len(s.alike)*len(s.view.Nodes) > maxRemembered {
			clear(s.alike)
		}
		a = &alike{tally: newTally(len(s.view.Nodes)), rules: -1}
		s.alike[key] = a
	}
	return a
}

// refresh brings a up to date by asking p. Asked to do little, it leaves it and returns false if there are more than a few nodes to be asked about.
func (s *Scheduler) refresh(a *alike, rules int, p *cluster.Pod, little bool) bool {
	changed := s.view.Changed()
	anew := a.rules != rules || len(changed)-a.seen > len(s.nodes)
	if little && (anew || len(changed)-a.seen > LookAhead) {
		return false
	}
	if anew {
		a.restart(s.nodes)
	} else {
		for _, index := range changed[a.seen:] {
			if s.place[index] >= 0 {
				a.open = append(a.open, index)
			}
		}
	}
	a.rules, a.seen = rules, len(changed)
	s.effort.Spend(len(a.open))
	a.ask(s, p)
	return true
}

// restart forgets everything.
func (a *alike) restart(nodes []*cluster.Node) {
	a.forget()
	a.open = a.open[:0]
	for _, n := range nodes {
		a.open = append(a.open, int32(n.Index))
	}
}

// ask finds out about the open nodes; p can't be asked about its own.
func (a *alike) ask(s *Scheduler, p *cluster.Pod) {
	own := false
	for _, index := range a.open {
		n := s.view.Nodes[index]
		if n == p.Node {
			own = true
			continue
		}
		a.set(n.Index, s.hindrance(p, n).code)
	}
	a.open = a.open[:0]
	if own {
		a.open = append(a.open, int32(p.Node.Index))
	}
}

// fitsNowhere reports whether there is an obstacle on every node other than own.
func (a *alike) fitsNowhere(own *cluster.Node) bool { return a.besides(own, 0) == 0 }

// reason sums up the obstacles.
func (a *alike) reason(own *cluster.Node) plan.Reason {
	counts := a.countsBesides(own)
	delete(counts, "")
	return fitsNowhere(counts)
}
