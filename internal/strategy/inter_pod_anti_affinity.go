package strategy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// RemovePodsViolatingInterPodAntiAffinityArgs are the arguments of
// RemovePodsViolatingInterPodAntiAffinity. Both limit either side of the
// comparison: a pod left out is neither evicted nor a reason to evict.
type RemovePodsViolatingInterPodAntiAffinityArgs struct {
	// Namespaces limits the strategy to pods of these namespaces.
	Namespaces *Namespaces `json:"namespaces,omitempty"`
	// LabelSelector limits the strategy to pods that match; nil means all.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// SetDefaults implements Args; nothing has a default.
func (*RemovePodsViolatingInterPodAntiAffinityArgs) SetDefaults() {}

// Validate implements Args.
func (a *RemovePodsViolatingInterPodAntiAffinityArgs) Validate(path *field.Path) field.ErrorList {
	return append(
		validateNamespaces(path.Child("namespaces"), a.Namespaces),
		validateLabelSelector(path.Child("labelSelector"), a.LabelSelector)...)
}

// interPodAntiAffinity moves pods that share a topology domain with a pod that a required anti-affinity term, of theirs or of the other,
// keeps them apart from (RemovePodsViolatingInterPodAntiAffinity).
//
// The peer moves pods that carry such a term, node after node, the least important first. By default it is those whose leaving settles
// most conflicts, and never more pods than the peer's way would take.
type interPodAntiAffinity struct {
	filter Filter
}

func newInterPodAntiAffinity(a *RemovePodsViolatingInterPodAntiAffinityArgs) (*interPodAntiAffinity, error) {
	f, err := NewFilter(a.Namespaces, a.LabelSelector)
	return &interPodAntiAffinity{filter: f}, err
}

// Run implements Strategy.
func (s *interPodAntiAffinity) Run(c *Cycle) error {
	x := newSeparator(c, &s.filter)
	if c.Compat {
		x.likeThePeer(func(p *separated, why plan.Reason) plan.Verdict { return c.Try(p.pod, Why{Reason: why}) })
		return nil
	}
	x.separate(x.peerCount())
	if c.PreferredAntiAffinity {
		s.separatePreferred(c)
	}
	return nil
}

// Spared implements Sparing.
func (s *interPodAntiAffinity) Spared(c *Cycle, p *cluster.Pod) plan.Reason {
	switch {
	case p.Terminal():
		return spared("Ended", "it has ended, so no anti-affinity is broken")
	case p.Deleting:
		return spared("Leaving", "it is being deleted, so it soon breaks no anti-affinity")
	case !s.filter.Selects(p):
		return filteredOut()
	}
	x := newSeparator(c, &s.filter)
	if len(p.Spec.AntiAffinity) == 0 && len(x.selects[x.groups.namespace(p.Namespace).group(p)]) == 0 {
		return spared("NoAntiAffinity", "no required anti-affinity, of its own or of another pod, concerns it")
	}
	return spared("KeptApart", "no pod is in its domain that a required anti-affinity, of its own or of the other, keeps it apart from")
}

// repulsion is a required anti-affinity term together with the namespaces that it applies to. Equal ones are one.
type repulsion struct {
	term    *cluster.Term
	in      *cluster.NamespaceSet
	key     *topologyKey
	domains map[int32]*conflicts
}

// conflicts counts the pods of one domain that a term concerns.
type conflicts struct {
	id       int
	selected int // that the term selects
	carriers int // that carry the term
	both     int // that do both
	top      int64
	atTop    int // how many of these pods have the highest priority, top
}

// pairs is how many pairs of a carrier and another pod there are.
func (n *conflicts) pairs() int { return n.carriers*n.selected - n.both }

type repulsionKey struct {
	topologyKey, selector string
	in                    *cluster.NamespaceSet
}

// separated is a pod that carries terms, or is selected by some.
type separated struct {
	pod     *cluster.Pod
	group   *podGroup
	carries []*repulsion
}

// separator is the state of one run.
type separator struct {
	c          *Cycle
	groups     *podGroups
	keys       *topologyKeys
	repulsions []*repulsion
	byKey      map[repulsionKey]*repulsion
	namespaces *cluster.NamespaceSets
	bySpec     map[specIn][]*repulsion
	selects    map[*podGroup][]*repulsion // the terms that select a group's pods
	members    map[*repulsion][]*podGroup
	domains    int            // how many were counted in
	carriers   [][]*separated // by position in Cycle.Nodes, the least important first
}

type specIn struct {
	spec      *cluster.Spec
	namespace string
}

func newSeparator(c *Cycle, filter *Filter) *separator {
	x := &separator{
		c: c, keys: newTopologyKeys(c), namespaces: cluster.NewNamespaceSets(c.View.Snapshot), byKey: map[repulsionKey]*repulsion{}, bySpec: map[specIn][]*repulsion{},
		selects: map[*podGroup][]*repulsion{}, members: map[*repulsion][]*podGroup{}, carriers: make([][]*separated, len(c.Nodes)),
	}
	// To the scheduler a pod that is being deleted still counts, but soon it will not; nothing has to move for it.
	x.groups = newPodGroups(c, filter, func(p *cluster.Pod) bool { return c.Compat || !p.Deleting })
	var pods []*cluster.Pod
	for i, n := range c.Nodes {
		pods = pods[:0]
		for p := range c.View.PodsOn(n) {
			if len(p.Spec.AntiAffinity) > 0 && !p.Terminal() && x.groups.keep(p) && filter.Selects(p) {
				pods = append(pods, p)
			}
		}
		SortLeastImportantFirst(pods)
		for _, p := range pods {
			x.carriers[i] = append(x.carriers[i], &separated{pod: p, group: x.groups.namespace(p.Namespace).group(p), carries: x.repulsionsOf(p)})
		}
	}
	x.count()
	return x
}

// repulsionsOf are the terms that the pod carries.
func (x *separator) repulsionsOf(p *cluster.Pod) []*repulsion {
	as := specIn{p.Spec, p.Namespace}
	if list, ok := x.bySpec[as]; ok {
		return list
	}
	var list []*repulsion
	for i := range p.Spec.AntiAffinity {
		t := &p.Spec.AntiAffinity[i]
		in := x.namespacesOf(t, p.Namespace)
		key := repulsionKey{t.TopologyKey, cluster.SelectorKey(t.Selector), in}
		r := x.byKey[key]
		if r == nil {
			r = &repulsion{term: t, in: in, key: x.keys.key(t.TopologyKey), domains: map[int32]*conflicts{}}
			x.byKey[key] = r
			x.repulsions = append(x.repulsions, r)
		}
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	x.bySpec[as] = list
	return list
}

// namespacesOf is where a term looks for pods. The peer does not look at the selector of namespaces.
func (x *separator) namespacesOf(t *cluster.Term, own string) *cluster.NamespaceSet {
	switch {
	case !x.c.misreads():
		return x.namespaces.Of(t, own)
	case len(t.Namespaces) == 0:
		return x.namespaces.One(own)
	}
	return x.namespaces.Named(t.Namespaces...)
}

// count counts selected pods and carriers in the domains.
func (x *separator) count() {
	for _, r := range x.repulsions {
		for _, group := range x.groups.matching(r.in, r.term.Selector) {
			if !group.selected {
				continue
			}
			x.selects[group] = append(x.selects[group], r)
			x.members[r] = append(x.members[r], group)
			for _, p := range group.pods {
				if n := x.at(r, p.Node); n != nil {
					n.selected++
				}
			}
		}
	}
	for _, list := range x.carriers {
		for _, p := range list {
			for _, r := range p.carries {
				x.addCarrier(p, r, 1)
			}
		}
	}
}

func (x *separator) addCarrier(p *separated, r *repulsion, by int) {
	n := x.at(r, p.pod.Node)
	if n == nil {
		return
	}
	n.carriers += by
	if x.selected(p, r) {
		n.both += by
	}
}

// at is the count of the domain of a node. Nodes that lack the topology key are in none; for the peer each of them is a domain of its own.
func (x *separator) at(r *repulsion, node *cluster.Node) *conflicts {
	id := r.key.of[node.Index]
	if id == noDomain {
		if !x.c.Compat {
			return nil
		}
		id = -2 - int32(node.Index)
	}
	n := r.domains[id]
	if n == nil {
		x.domains++
		n = &conflicts{id: x.domains}
		r.domains[id] = n
	}
	return n
}

// selected reports whether the term selects the pod.
func (x *separator) selected(p *separated, r *repulsion) bool {
	return slices.Contains(x.selects[p.group], r)
}

// violated returns a term of the pod's that selects another pod of its domain, and how many it selects there.
func (x *separator) violated(p *separated) (*repulsion, int) {
	for _, r := range p.carries {
		n := x.at(r, p.pod.Node)
		if n == nil {
			continue
		}
		others := n.selected
		if x.selected(p, r) {
			others--
		}
		if others > 0 && x.c.misreads() {
			others -= x.namesakes(p, r)
		}
		if others > 0 {
			return r, others
		}
	}
	return nil, 0
}

// namesakes are selected pods of the domain that have the pod's name in another namespace: the peer takes them for the pod itself.
func (x *separator) namesakes(p *separated, r *repulsion) int {
	count := 0
	for _, ns := range r.in.Names() {
		if ns == p.pod.Namespace {
			continue
		}
		other := x.c.View.Pod(ns, p.pod.Name)
		if other == nil || other.Node == nil || other.Terminal() || x.c.View.Gone(other) || !x.groups.inCycle[other.Node.Index] {
			continue
		}
		group := x.groups.namespace(ns).group(other)
		if slices.Contains(x.selects[group], r) && x.at(r, other.Node) == x.at(r, p.pod.Node) {
			count++
		}
	}
	return count
}

// change takes a pod out of the counts, by -1, or puts it back, by 1.
func (x *separator) change(p *separated, by int) {
	for _, r := range x.selects[p.group] {
		if n := x.at(r, p.pod.Node); n != nil {
			n.selected += by
		}
	}
	for _, r := range p.carries {
		x.addCarrier(p, r, by)
	}
}

// likeThePeer proposes the pods that carry a violated term, as the peer does.
func (x *separator) likeThePeer(try func(*separated, plan.Reason) plan.Verdict) {
	for _, list := range x.carriers {
		for _, p := range list {
			r, others := x.violated(p)
			if r == nil {
				continue
			}
			v := try(p, keepsApart(r, others))
			if v.Accepted {
				x.change(p, -1)
				continue
			}
			if v.Stop == plan.ThisNode {
				break
			}
			if v.Stop == plan.ThisCycle {
				return
			}
		}
	}
}

// peerCount is how many pods the peer's way would take.
func (x *separator) peerCount() int {
	var taken []*separated
	x.likeThePeer(func(p *separated, _ plan.Reason) plan.Verdict {
		ok := x.c.Evictable(p.pod) && x.c.PreEviction(p.pod)
		if ok {
			taken = append(taken, p)
		}
		return plan.Verdict{Accepted: ok}
	})
	for _, p := range taken {
		x.change(p, 1)
	}
	return len(taken)
}
