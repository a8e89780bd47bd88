package fit

import (
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// maxRemembered bounds what is remembered of kinds of pods, in kinds times nodes: one byte each.
const maxRemembered = 64 << 20

// Likeness is what tells pods apart that are looked for a node for: those of equal likeness meet the same obstacle on every node that
// is not their own.
type Likeness struct {
	spec      *cluster.Spec
	namespace string
	rest      string
}

// alike is what keeps pods of one likeness off each node, known since one of them fitted nowhere.
type alike struct {
	codes  []uint8 // by node index: a position in names, or unasked
	names  []string
	counts []int   // by position in names
	open   []int32 // node indices that are to be asked about
	seen   int     // of the view's changes
	rules  int     // the version of what holds for many nodes at once
}

const unasked = 255

// finder finds the obstacle that a pod meets on a node.
type finder func(*cluster.Pod, *cluster.Node) obstacle

// liken says what a pod is like, and the version of what holds for many nodes at once, such as the counts of a zone. ok is false when no other
// pod is like it.
type liken func(*cluster.Pod) (key Likeness, rules int, ok bool)

// inOneNamespace likens pods whose required anti-affinity is all that matters besides placement and room. A term that names another namespace
// makes a pod unlike any other: there, the peer takes a pod of the same name for the pod itself.
func inOneNamespace(p *cluster.Pod) (Likeness, int, bool) {
	for i := range p.Spec.AntiAffinity {
		if slices.ContainsFunc(p.Spec.AntiAffinity[i].Namespaces, func(ns string) bool { return ns != p.Namespace }) {
			return Likeness{}, 0, false
		}
	}
	return Likeness{spec: p.Spec, namespace: p.Namespace}, 0, true
}

// search returns a node other than the pod's own that will do, or nil, and remembers what kept pods like it off every node.
func (c *Checker) search(p *cluster.Pod, ok func(*cluster.Pod, *cluster.Node) bool, find finder, like liken) *cluster.Node {
	pl := c.placement(p)
	if pl.hint < len(c.nodes) {
		if n := c.nodes[pl.hint]; n != p.Node && ok(p, n) {
			return n // the first that is asked below, so that most pods need not be likened
		}
	}
	if pl.pool != nil && c.hopeless(p) {
		return nil
	}
	key, rules, likened := like(p)
	if a := c.alike[key]; likened && a != nil && c.refresh(a, rules, p, find).fitsNowhere(p.Node) {
		return nil
	}
	n := c.first(pl, p, ok)
	if n == nil && pl.pool == nil {
		c.pool(p)
	}
	if n == nil && likened {
		c.remember(key)
	}
	return n
}

// remember returns what is known of pods of a likeness, which may be nothing yet.
func (c *Checker) remember(key Likeness) *alike {
	a := c.alike[key]
	if a == nil {
		if len(c.alike)*len(c.view.Nodes) > maxRemembered {
			clear(c.alike)
		}
		a = &alike{codes: make([]uint8, len(c.view.Nodes)), names: []string{""}, counts: []int{0}, rules: -1}
		c.alike[key] = a
	}
	return a
}

// refresh brings a up to date by asking p.
func (c *Checker) refresh(a *alike, rules int, p *cluster.Pod, find finder) *alike {
	changed := c.view.Changed()
	if a.rules != rules || len(changed)-a.seen > len(c.nodes) {
		a.restart(c.nodes)
	} else {
		for _, index := range changed[a.seen:] {
			if c.inList[index] {
				a.open = append(a.open, index)
			}
		}
	}
	a.rules, a.seen = rules, len(changed)
	a.ask(c.view, p, find)
	return a
}

// restart forgets everything.
func (a *alike) restart(nodes []*cluster.Node) {
	for i := range a.codes {
		a.codes[i] = unasked
	}
	clear(a.counts)
	a.open = a.open[:0]
	for _, n := range nodes {
		a.open = append(a.open, int32(n.Index))
	}
}

// ask finds out about the open nodes; p can't be asked about its own.
func (a *alike) ask(view *cluster.View, p *cluster.Pod, find finder) {
	own := false
	for _, index := range a.open {
		n := view.Nodes[index]
		if n == p.Node {
			own = true
			continue
		}
		a.drop(index)
		a.set(index, find(p, n).code)
	}
	a.open = a.open[:0]
	if own {
		a.open = append(a.open, int32(p.Node.Index))
	}
}

func (a *alike) drop(index int32) {
	if was := a.codes[index]; was != unasked {
		a.counts[was]--
	}
}

func (a *alike) set(index int32, code string) {
	i := slices.Index(a.names, code)
	if i < 0 {
		i = len(a.names)
		a.names, a.counts = append(a.names, code), append(a.counts, 0)
	}
	a.codes[index] = uint8(i)
	a.counts[i]++
}

// fitsNowhere reports whether there is an obstacle on every node other than own.
func (a *alike) fitsNowhere(own *cluster.Node) bool { return a.besides(own, 0) == 0 }

// besides is how many nodes other than own there are with the i-th name; the first stands for no obstacle.
func (a *alike) besides(own *cluster.Node, i int) int {
	if own != nil && a.codes[own.Index] == uint8(i) {
		return a.counts[i] - 1
	}
	return a.counts[i]
}

// reason sums up the obstacles.
func (a *alike) reason(own *cluster.Node) plan.Reason {
	counts := map[string]int{}
	for i, name := range a.names[1:] {
		counts[name] = a.besides(own, i+1)
	}
	return fitsNowhere(counts)
}
