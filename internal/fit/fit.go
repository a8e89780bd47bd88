// Package fit answers whether a pod could run on a node and, if not, why.
//
// [Checker] applies the peer's node fit: schedulable, node selector and required node affinity, hard taints, the pod's
// own required anti-affinity against the pods of that node, requests and a pod slot. The rules and their order are
// those of the descheduler v0.36; what they leave out is in docs/parity.md.
//
// The part of an answer that depends on [cluster.Placement] alone is worked out once for all pods that share it, so
// asking for every pod of a large cluster costs little more than comparing a few integers for each.
package fit

import (
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// Checker asks about the nodes of one list, as they are in one view. It is for one goroutine.
type Checker struct {
	view       *cluster.View
	nodes      []*cluster.Node
	place      []int32 // by node index: its position in nodes, or -1
	placements map[*cluster.Placement]*placement
	alike      map[Likeness]*alike
	crowd      crowd
	effort     *Effort      // nil: searches have no limit
	gaveUp     *cluster.Pod // whose search was the last to end because the effort was used up; nil when another search came after it

	pools   map[poolKey]*pool
	apart   map[carrier]string
	laid    map[*topology]*Layout // of nodes, grouped by their domains; by nil: not grouped
	amounts [][]int64             // by resource: all that pods request of it, in order; nil until it is asked for
	scratch []int64
	asked   Search
}

// placement is what is known of one Placement.
type placement struct {
	static []answer // by node index
	hint   int      // position in nodes where a pod of this placement last fitted
}

// answer is a lazily filled yes or no.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// NewChecker returns a checker for nodes, which must be nodes of the view.
func NewChecker(view *cluster.View, nodes []*cluster.Node) *Checker {
	c := &Checker{
		view: view, nodes: nodes, place: make([]int32, len(view.Nodes)),
		placements: map[*cluster.Placement]*placement{}, alike: map[Likeness]*alike{},
		pools: map[poolKey]*pool{}, apart: map[carrier]string{}, laid: map[*topology]*Layout{},
	}
	for i := range c.place {
		c.place[i] = -1
	}
	for i, n := range nodes {
		c.place[n.Index] = int32(i)
	}
	return c
}

// Limit makes searches end when the effort is used up; see [Effort].
func (c *Checker) Limit(e *Effort) { c.effort = e }

// GaveUp reports whether the last search was one for p, and ended because the effort was used up.
func (c *Checker) GaveUp(p *cluster.Pod) bool { return p == c.gaveUp }

// Nodes are the nodes the checker asks about.
func (c *Checker) Nodes() []*cluster.Node { return c.nodes }

// Fits reports whether p fits on n. On its own node a pod needs no room.
func (c *Checker) Fits(p *cluster.Pod, n *cluster.Node) bool {
	return c.allowed(c.placement(p), p, n) && (len(p.Spec.AntiAffinity) == 0 || c.repelledBy(p, n) == nil) &&
		(p.Node == n || c.HasRoom(p, n))
}

// AnyOther returns a node of the list, other than the pod's own, on which it fits, or nil: then [Checker.WhyNowhere] has the reason, be it that the search
// ended early.
func (c *Checker) AnyOther(p *cluster.Pod) *cluster.Node {
	c.gaveUp = nil
	if n := c.next(p, 0, 1, c.Fits); n != nil {
		return n // it will do for most pods
	}
	all := true
	if c.pools[poolKey{placement: p.Spec.Placement, apart: c.apartness(p)}] != nil {
		n := c.AnyOf(p, Part{})
		if all = !c.GaveUp(p); n == nil && all {
			return nil
		}
	}
	if n := c.next(p, 1, LookAhead, c.Fits); n != nil || len(c.nodes) <= LookAhead || !all {
		return n
	}
	return c.hinted(p, c.AnyOf(p, Part{}))
}

// AnyOf is AnyOther among the nodes of a part of the list.
func (c *Checker) AnyOf(p *cluster.Pod, part Part) *cluster.Node {
	n, all := c.anyOf(p, part)
	if c.gaveUp = nil; !all {
		c.gaveUp = p
	}
	return n
}

// anyOf is AnyOf; all is false when the search had to end early.
func (c *Checker) anyOf(p *cluster.Pod, part Part) (n *cluster.Node, all bool) {
	if n, all = c.roomy(p, c.pool(p, c.apartness(p), part)); n != nil {
		return n, true
	}
	for _, n := range c.namesakes(p) {
		if n != p.Node && part.has(n) && c.Fits(p, n) {
			return n, true
		}
	}
	return nil, all
}

// next looks at nodes one after the other, leaving out the pod's own: the so many-th to the so many-th from where a pod of the placement last fitted.
func (c *Checker) next(p *cluster.Pod, from, to int, ok func(*cluster.Pod, *cluster.Node) bool) *cluster.Node {
	pl := c.placement(p)
	for i := from; i < min(to, len(c.nodes)); i++ {
		at := pl.hint + i
		if at >= len(c.nodes) {
			at -= len(c.nodes)
		}
		if n := c.nodes[at]; n != p.Node && ok(p, n) {
			pl.hint = at
			return n
		}
	}
	return nil
}

// hinted makes the next search begin at n.
func (c *Checker) hinted(p *cluster.Pod, n *cluster.Node) *cluster.Node {
	if n != nil {
		c.placement(p).hint = int(c.place[n.Index])
	}
	return n
}

// Why says what keeps p off n; ok is true when nothing does.
func (c *Checker) Why(p *cluster.Pod, n *cluster.Node) (reason plan.Reason, ok bool) {
	return c.told(p, n, c.obstacle(p, n))
}

func (c *Checker) told(p *cluster.Pod, n *cluster.Node, o obstacle) (plan.Reason, bool) {
	if o.code == "" {
		return plan.Reason{}, true
	}
	return o.reason(c.view, p, n), false
}

// obstacle finds the first rule that keeps p off n.
func (c *Checker) obstacle(p *cluster.Pod, n *cluster.Node) obstacle {
	if !c.allowed(c.placement(p), p, n) {
		return obstacle{code: ban(p, n)}
	}
	if other := c.repelledBy(p, n); other != nil {
		return obstacle{code: CodeRepelled, other: other}
	}
	if p.Node != n {
		if id, found := c.lacking(p, n); found {
			return obstacle{code: CodeNoRoom, resource: id}
		}
	}
	return obstacle{}
}

func (c *Checker) placement(p *cluster.Pod) *placement {
	pl := c.placements[p.Spec.Placement]
	if pl == nil {
		if len(c.placements)*len(c.view.Nodes) > maxRemembered {
			clear(c.placements)
		}
		c.effort.Grant(len(c.nodes))
		pl = &placement{static: make([]answer, len(c.view.Nodes))}
		c.placements[p.Spec.Placement] = pl
	}
	return pl
}

func (c *Checker) allowed(pl *placement, p *cluster.Pod, n *cluster.Node) bool {
	if pl.static[n.Index] == unknown {
		pl.static[n.Index] = no
		if !n.Unschedulable && p.Spec.Placement.Selects(n.NodeInfo) {
			if _, found := Untolerated(n.Taints, p.Spec.Placement.Tolerations, HardTaint); !found {
				pl.static[n.Index] = yes
			}
		}
	}
	return pl.static[n.Index] == yes
}

// repelledBy returns a pod on n that the pod's own required anti-affinity keeps it away from.
func (c *Checker) repelledBy(p *cluster.Pod, n *cluster.Node) *cluster.Pod {
	return c.selectedOn(p, n, p.Name)
}

// selectedOn returns a pod on n that the pod's own required anti-affinity selects, of another name than except.
func (c *Checker) selectedOn(p *cluster.Pod, n *cluster.Node, except string) *cluster.Pod {
	for i := range p.Spec.AntiAffinity {
		t := &p.Spec.AntiAffinity[i]
		if _, ok := n.Labels[t.TopologyKey]; !ok {
			continue
		}
		for _, other := range c.crowd.on(c.view, t, p.Namespace, n) {
			if other.Name != except && !c.view.Gone(other) {
				return other
			}
		}
	}
	return nil
}

// TermSelects reports whether an affinity term of a pod in namespace own selects other, by the peer's
// rules: the term's namespaces, or the own one; a namespace selector is not looked at.
func TermSelects(t *cluster.Term, own string, other *cluster.Pod) bool {
	if len(t.Namespaces) == 0 {
		if other.Namespace != own {
			return false
		}
	} else {
		found := false
		for _, ns := range t.Namespaces {
			found = found || ns == other.Namespace
		}
		if !found {
			return false
		}
	}
	return t.Selector.Matches(labels.Set(other.Labels))
}

// HasRoom reports whether n has enough left of everything that p requests.
func (c *Checker) HasRoom(p *cluster.Pod, n *cluster.Node) bool {
	_, short := c.lacking(p, n)
	return !short
}

// lacking returns the first resource of which n has less left than p requests.
func (c *Checker) lacking(p *cluster.Pod, n *cluster.Node) (cluster.ResourceID, bool) {
	used := c.view.Used(n)
	for _, id := range p.Spec.Requested {
		if p.Spec.Requests.Get(id) > n.Allocatable.Get(id)-used.Get(id) {
			return id, true
		}
	}
	if n.Allocatable.Get(cluster.Pods)-used.Get(cluster.Pods) < 1 {
		return cluster.Pods, true
	}
	return 0, false
}

// HardTaint selects the taints that keep pods off a node.
func HardTaint(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// Untolerated returns the first taint, of those that filter selects, that no toleration covers. Toleration operators Lt and
// Gt are supported.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration, filter func(*corev1.Taint) bool) (corev1.Taint, bool) {
	if len(taints) == 0 {
		return corev1.Taint{}, false
	}
	return schedulinghelpers.FindMatchingUntoleratedTaint(logr.Discard(), taints, tolerations, filter, true)
}
