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
	"slices"

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
	inList     []bool // by node index
	placements map[*cluster.Placement]*placement
	nowhere    map[*cluster.Spec]nowhere
	alike      map[Likeness]*alike
	crowd      crowd
}

// placement is what is known of one Placement.
type placement struct {
	static []answer // by node index
	hint   int      // position in nodes where a pod of this placement last fitted
	pool   *pool    // nil until a pod of the placement fitted nowhere
}

// answer is a lazily filled yes or no.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// nowhere remembers that, when the view had seen so many changes, pods of a spec fitted on no
// node of the list, leaving out one that was not asked about.
type nowhere struct {
	changes int
	except  int // node index
}

// NewChecker returns a checker for nodes, which must be nodes of the view.
func NewChecker(view *cluster.View, nodes []*cluster.Node) *Checker {
	c := &Checker{
		view: view, nodes: nodes, inList: make([]bool, len(view.Nodes)),
		placements: map[*cluster.Placement]*placement{}, nowhere: map[*cluster.Spec]nowhere{}, alike: map[Likeness]*alike{},
	}
	for _, n := range nodes {
		c.inList[n.Index] = true
	}
	return c
}

// Nodes are the nodes the checker asks about.
func (c *Checker) Nodes() []*cluster.Node { return c.nodes }

// Fits reports whether p fits on n. On its own node a pod needs no room.
func (c *Checker) Fits(p *cluster.Pod, n *cluster.Node) bool {
	return c.allowed(c.placement(p), p, n) && (len(p.Spec.AntiAffinity) == 0 || c.repelledBy(p, n) == nil) &&
		(p.Node == n || c.HasRoom(p, n))
}

// AnyOther returns a node of the list, other than the pod's own, on which it fits, or nil.
func (c *Checker) AnyOther(p *cluster.Pod) *cluster.Node {
	if len(p.Spec.AntiAffinity) > 0 {
		return c.search(p, c.Fits, c.obstacle, inOneNamespace)
	}
	own := -1
	if p.Node != nil {
		own = p.Node.Index
	}
	pl := c.placement(p)
	if pl.pool != nil && c.hopeless(p) {
		return nil
	}
	if was, ok := c.nowhere[p.Spec]; ok {
		return c.anyChanged(p, own, was)
	}
	if n := c.first(pl, p, c.Fits); n != nil {
		return n
	}
	c.pool(p)
	c.nowhere[p.Spec] = nowhere{changes: len(c.view.Changed()), except: own}
	return nil
}

// first returns the first node that will do, other than the pod's own, beginning where a pod of the placement last fitted.
func (c *Checker) first(pl *placement, p *cluster.Pod, ok func(*cluster.Pod, *cluster.Node) bool) *cluster.Node {
	for i := range c.nodes {
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

// anyChanged asks again only about the nodes for which an earlier "nowhere" may no longer hold.
func (c *Checker) anyChanged(p *cluster.Pod, own int, was nowhere) *cluster.Node {
	changed := c.view.Changed()
	check := func(index int) *cluster.Node {
		if index >= 0 && index != own && c.inList[index] && c.Fits(p, c.view.Nodes[index]) {
			return c.view.Nodes[index]
		}
		return nil
	}
	if n := check(was.except); n != nil {
		return n
	}
	for _, index := range changed[was.changes:] {
		if n := check(int(index)); n != nil {
			return n
		}
	}
	// The own node was not asked about. Unless it is the one left out before, it is settled only if it did not change.
	if own == was.except || !slices.Contains(changed[was.changes:], int32(own)) {
		c.nowhere[p.Spec] = nowhere{changes: len(changed), except: own}
	}
	return nil
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

// WhyNowhere sums up why p fits on no node other than its own.
func (c *Checker) WhyNowhere(p *cluster.Pod) plan.Reason {
	if len(p.Spec.AntiAffinity) == 0 && c.AnyOther(p) == nil {
		return c.noRoom(p)
	}
	return c.nowhereBecause(p, c.obstacle, inOneNamespace)
}

// nowhereBecause counts the obstacles, if they are not known already.
func (c *Checker) nowhereBecause(p *cluster.Pod, find finder, like liken) plan.Reason {
	if key, rules, likened := like(p); likened {
		return c.refresh(c.remember(key), rules, p, find).reason(p.Node)
	}
	counts := map[string]int{}
	for _, n := range c.nodes {
		if n == p.Node {
			continue
		}
		if o := find(p, n); o.code != "" {
			counts[o.code]++
		}
	}
	return fitsNowhere(counts)
}

func (c *Checker) placement(p *cluster.Pod) *placement {
	pl := c.placements[p.Spec.Placement]
	if pl == nil {
		if len(c.placements)*len(c.view.Nodes) > maxRemembered {
			clear(c.placements)
		}
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
	for i := range p.Spec.AntiAffinity {
		t := &p.Spec.AntiAffinity[i]
		if _, ok := n.Labels[t.TopologyKey]; !ok {
			continue
		}
		for _, other := range c.crowd.on(c.view, t, p.Namespace, n) {
			if other.Name != p.Name && !c.view.Gone(other) {
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
