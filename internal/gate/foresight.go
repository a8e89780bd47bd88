package gate

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Foresight asks where the replacement of a pod could start, counting the room that the replacements of this cycle's earlier moves
// will take, so that nothing is evicted that could only come back to where it was, or nowhere.
type Foresight struct {
	fit     *fit.Scheduler
	view    *cluster.View
	hints   map[**cluster.Node]int // by target list: where the last search in it ended
	refused map[question]refused
}

// question is what pods with the same answer have in common.
type question struct {
	alike any
	like  fit.Likeness
}

// refused is the answer that a pod got.
type refused struct {
	own     *cluster.Node
	reason  plan.Reason
	changes int // that the view had seen
}

// NewForesight starts a cycle. Every ready node can receive pods, also those that the policy does not select.
func NewForesight(view *cluster.View) *Foresight {
	var ready []*cluster.Node
	for _, n := range view.Nodes {
		if n.Ready {
			ready = append(ready, n)
		}
	}
	return &Foresight{fit: fit.NewScheduler(view, ready), view: view, hints: map[**cluster.Node]int{}, refused: map[question]refused{}}
}

// Place returns a node on which a replacement of p could start: one of targets that better (nil: each) picks, or, when targets are nil, any
// but its own. With an alike that is not nil, pods that are asked about with the same have the same targets, by the same measure, and none of
// these is any such pod's own node.
func (f *Foresight) Place(p *cluster.Pod, targets []*cluster.Node, better func(*cluster.Node) bool, alike any) (*cluster.Node, plan.Reason, bool) {
	if targets == nil {
		if n := f.fit.AnyBut(p); n != nil {
			return n, plan.Reason{}, true
		}
		return nil, f.fit.NowhereBut(p), false
	}
	start := 0
	if len(targets) > 0 {
		start = f.hints[&targets[0]]
	}
	var q question
	for i := range targets {
		if i == 1 && alike != nil { // the first will do for most
			q.alike = alike
			q.like, _ = f.fit.Like(p)
			if was, ok := f.refused[q]; ok && was.changes == len(f.view.Changed()) && (better == nil || !better(was.own)) {
				return nil, was.reason, false
			}
		}
		at := (start + i) % len(targets)
		n := targets[at]
		if n != p.Node && n.Ready && (better == nil || better(n)) && f.fit.Accepts(p, n) {
			f.hints[&targets[0]] = at
			return n, plan.Reason{}, true
		}
	}
	reason := f.noBetter(p, targets, better)
	if q.alike != nil {
		f.refused[q] = refused{p.Node, reason, len(f.view.Changed())}
	}
	return nil, reason, false
}

// noBetter says why none of the targets will do, with the first one's reason in words.
func (f *Foresight) noBetter(p *cluster.Pod, targets []*cluster.Node, better func(*cluster.Node) bool) plan.Reason {
	first, count := "", 0
	for _, n := range targets {
		if n == p.Node || better != nil && !better(n) {
			continue
		}
		count++
		if first == "" {
			if why, ok := f.fit.Explain(p, n); !ok {
				first = why.Message
			}
		}
	}
	message := "no node would be better for it than its own"
	switch {
	case count == 1:
		message = "the only node that would be better can't take it: " + first
	case count > 1:
		message = fmt.Sprintf("none of the %d nodes that would be better can take it: %s", count, first)
	}
	return plan.Reason{Code: "NoBetterNode", Message: message, Numbers: plan.Numbers{"targets": float64(count)}}
}

// Moved is told when p is moved, the view has forgotten it, and a replacement is expected on to (nil: none is).
func (f *Foresight) Moved(p *cluster.Pod, to *cluster.Node) {
	f.fit.Left(p)
	if to != nil {
		f.fit.Arrived(p, to)
	}
}
