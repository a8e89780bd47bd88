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
	effort  *fit.Effort // nil: without limit
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

// Targets are nodes to choose from. Nil Nodes stand for any but the pod's own; Rest, Better and Alike are not looked at then.
type Targets struct {
	Nodes []*cluster.Node
	// Rest, when set, lists all of them, the best first; Nodes is then no more than the best one.
	Rest func() []*cluster.Node
	// Better picks from them; nil takes each.
	Better func(*cluster.Node) bool
	// Alike, when it is not nil, is the same for pods that have the same targets, by the same measure, none of them the own node of such a pod.
	Alike any
	// Others, when set, have a say: they are asked last. If every node fails by what they say, the reason given is empty.
	Others Others
}

// Others have a say in where a replacement starts.
type Others interface {
	// Allow reports whether nobody has anything against the node.
	Allow(n *cluster.Node) bool
	// Against is how many nodes were not allowed.
	Against() int
	// GoOn reports whether it is worth while to ask about further nodes.
	GoOn() bool
}

// IgnoreSoftTaints is for schedulers that give PreferNoSchedule taints little weight: they are then no reason to stay.
func (f *Foresight) IgnoreSoftTaints() { f.fit.IgnoreSoftTaints() }

// Limit makes searches end when the effort is used up.
func (f *Foresight) Limit(e *fit.Effort) {
	f.effort = e
	f.fit.Limit(e)
}

// Place returns a node on which a replacement of p could start.
func (f *Foresight) Place(p *cluster.Pod, t Targets) (*cluster.Node, plan.Reason, bool) {
	if t.Nodes == nil {
		n := f.fit.AnyBut(p)
		if n == nil {
			return nil, f.fit.NowhereBut(p), false
		}
		if t.allows(n) {
			return n, plan.Reason{}, true
		}
		t = Targets{Nodes: f.fit.Nodes(), Others: t.Others}
	}
	if n := f.likely(p, &t); n != nil {
		return n, plan.Reason{}, true
	}
	q := question{alike: t.Alike}
	known := t.Alike != nil
	if known {
		q.like, known = f.fit.Like(p)
	}
	if was, ok := f.refused[q]; known && ok && was.changes == len(f.view.Changed()) && (t.Better == nil || !t.Better(was.own)) {
		return nil, was.reason, false
	}
	n, all := f.search(p, &t)
	if n != nil {
		return n, plan.Reason{}, true
	}
	if t.Others != nil && t.Others.Against() > 0 {
		return nil, plan.Reason{}, false
	}
	if !all {
		return nil, f.effort.End(), false
	}
	reason := f.noBetter(p, &t)
	if known {
		f.refused[q] = refused{p.Node, reason, len(f.view.Changed())}
	}
	return nil, reason, false
}

// ToBook returns a node on which p, which waits to be scheduled, could start; all is false if that was not found out because the effort was used up.
func (f *Foresight) ToBook(p *cluster.Pod) (n *cluster.Node, all bool) { return f.fit.ToBook(p) }

// ComesBack reports whether, by the scheduler's filters, a replacement of p could start where p is.
func (f *Foresight) ComesBack(p *cluster.Pod) bool { return f.fit.TakesBack(p) }

// likely tries the target that the search would begin with: for most pods it will do.
func (f *Foresight) likely(p *cluster.Pod, t *Targets) *cluster.Node {
	if len(t.Nodes) > 0 {
		if n := t.Nodes[f.hint(t)]; f.takes(p, n, t) && t.allows(n) {
			return n
		}
	}
	return nil
}

// hint is where in a list of targets the last pod found a place. Lists are told apart by where they begin.
func (f *Foresight) hint(t *Targets) int {
	if t.Rest != nil {
		return 0
	}
	return f.hints[&t.Nodes[0]] % len(t.Nodes)
}

// search looks at one target after the other; all is false when it had to end early.
func (f *Foresight) search(p *cluster.Pod, t *Targets) (n *cluster.Node, all bool) {
	if t.Rest != nil {
		if f.effort.Over() {
			return nil, false
		}
		t.Nodes = t.Rest()
	}
	if len(t.Nodes) == 0 {
		return nil, true
	}
	start := f.hint(t)
	for i := range t.Nodes {
		at := (start + i) % len(t.Nodes)
		n := t.Nodes[at]
		if i >= fit.LookAhead {
			if f.effort.Over() {
				return nil, false
			}
			f.effort.Spend(1)
		}
		if !f.takes(p, n, t) {
			continue
		}
		f.hints[&t.Nodes[0]] = at
		if t.allows(n) {
			return n, true
		}
		if !t.Others.GoOn() {
			f.hints[&t.Nodes[0]] = at + 1
			return nil, true
		}
	}
	return nil, true
}

func (t *Targets) allows(n *cluster.Node) bool { return t.Others == nil || t.Others.Allow(n) }

func (f *Foresight) takes(p *cluster.Pod, n *cluster.Node, t *Targets) bool {
	return n != p.Node && n.Ready && (t.Better == nil || t.Better(n)) && f.fit.Accepts(p, n)
}

// noBetter says why none of the targets will do, with the first one's reason in words.
func (f *Foresight) noBetter(p *cluster.Pod, t *Targets) plan.Reason {
	f.effort.Spend(len(t.Nodes))
	first, count := "", 0
	for _, n := range t.Nodes {
		if n == p.Node || !n.Ready || t.Better != nil && !t.Better(n) {
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
