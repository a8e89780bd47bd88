package engine

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/fit"
	"evenkeel.dev/evenkeel/internal/gate"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/strategy"
)

// The names of the gates, as they appear in refusals.
const (
	GateEvictor   = "evictor"     // the DefaultEvictor's filter
	GateNodeFit   = "preeviction" // its pre-eviction filter: node fit, namespace labels
	GateLimit     = "limit"       // the policy's limits of the cycle, node and namespace
	GateMoved     = "moved"       // it moves already in this cycle
	GateLeaving   = "background"  // another controller is evicting it
	GateSelf      = "self"        // it is this process's own pod
	GateStarting  = "starting"    // it has just started and is not ready yet
	GateBudget    = "budget"      // PodDisruptionBudgets
	GateGentle    = "gentle"      // the share of a workload that one cycle moves
	GateForesight = "foresight"   // its replacement could not start anywhere better
	GatePace      = "pace"        // the nodes that could take its replacement have as many to start as they start at once
	GateObjection = "objection"   // another strategy would move it, or other pods, away again from wherever it could start
)

// cycle is the state of one run: what has been decided so far.
type cycle struct {
	opts      Options
	view      *cluster.View
	nodes     []*cluster.Node
	notReady  []*cluster.Node // selected nodes that are not ready, when they were asked for
	limits    *gate.Counter
	allowed   *allowance
	budgets   *gate.Budgets
	gentle    *gate.Gentle
	starts    *gate.Starts // nil in the compatible mode
	foresight *gate.Foresight
	effort    *fit.Effort // nil when the plan is the peer's
	voices    []*voice    // those who may object to a move
	watched   *cluster.Pod
	plan      *plan.Plan
	unbooked  int            // pods that wait and that no room could be booked for, for all that is known
	bare      map[string]int // workloads without a budget, by how many of their pods move
	past      *course        // nil in the first look
	measured  bool           // some strategy goes by measurements
}

func newCycle(s *cluster.Snapshot, p *policy.Policy, o Options, past *course) *cycle {
	view, nodes := cluster.NewView(s), eligible(s, p)
	c := &cycle{
		opts: o, view: view, nodes: nodes, foresight: gate.NewForesight(view), past: past,
		plan: &plan.Plan{TakenAt: s.TakenAt, Summary: plan.Summary{
			Nodes: len(s.Nodes), EligibleNodes: len(nodes), Pods: len(s.Pods), Notes: slices.Concat(s.Notes, s.Usage.Problems),
		}},
	}
	if past != nil {
		c.limits, c.allowed, c.budgets, c.gentle, c.starts, c.bare, c.effort = past.limits, past.allowed, past.budgets, past.gentle, past.starts, past.bare, past.effort
	} else {
		c.limits = gate.NewCounter(gate.Limits{
			Total: p.MaxNoOfPodsToEvictTotal, PerNode: p.MaxNoOfPodsToEvictPerNode, PerNamespace: p.MaxNoOfPodsToEvictPerNamespace,
		})
		c.budgets, c.gentle, c.bare = gate.NewBudgets(view), gate.NewGentle(view), map[string]int{}
		if !o.Compat {
			c.effort, c.starts = fit.NewEffort(len(s.Pods)), gate.NewStarts(s)
		} else if o.mended {
			c.effort = fit.NewEffort(len(s.Pods)) // the peer's cycle beside ours must not take longer than ours may
		}
	}
	if o.Extras.SoftTaints {
		c.foresight.IgnoreSoftTaints()
	}
	if o.Extras.NotReadyNodes && !o.Compat {
		for _, n := range s.Nodes {
			if !n.Ready && p.NodeSelector.Matches(labels.Set(n.Labels)) {
				c.notReady = append(c.notReady, n)
			}
		}
	}
	if o.Compat {
		c.plan.Compat = "descheduler"
	}
	if o.Why.Name != "" {
		c.watched = s.Pod(o.Why.Namespace, o.Why.Name)
		c.plan.Story = newStory(o.Why, c.watched)
	}
	return c
}

// run lets a strategy propose its moves. One that fails does not keep the others from running.
func (c *cycle) run(t turn) {
	p, u := t.profile, t.use
	u.count = len(c.plan.Summary.ByStrategy)
	c.plan.Summary.ByStrategy = append(c.plan.Summary.ByStrategy, plan.StrategyCount{Profile: p.name, Strategy: u.name})
	k := &keeper{cycle: c, profile: p, use: u, count: &c.plan.Summary.ByStrategy[u.count]}
	cycle := c.forStrategy(k)
	var err error
	run := func() error {
		err = u.strategy.Run(cycle)
		return err
	}
	if c.opts.Around != nil {
		c.opts.Around(p.name, u.name, run)
	} else {
		err = run()
	}
	if err != nil {
		k.count.Error = err.Error()
	}
	k.closeStory()
}

// forStrategy is what a strategy gets to see of the cycle.
func (c *cycle) forStrategy(k *keeper) *strategy.Cycle {
	return &strategy.Cycle{
		Gatekeeper: k, View: c.view, Nodes: c.nodes, NotReady: c.notReady, Now: c.view.TakenAt, Compat: c.opts.Compat, Mended: c.opts.mended,
		ByWorkload:            c.opts.Extras.WorkloadReplicas && !c.opts.Compat,
		DrainEmptiest:         c.opts.Extras.DrainEmptiest && !c.opts.Compat,
		PreferredAntiAffinity: c.opts.Extras.PreferredAntiAffinity && !c.opts.Compat,
		MovedOff:              c.past.movedOff(k.profile.name, k.use.name),
		Effort:                c.effort,
	}
}

// accept records a move and makes the rest of the cycle see it: the pod is gone, and room is booked on the node to, if one is given that is not its own.
func (c *cycle) accept(p *cluster.Pod, m plan.Move, to *cluster.Node) {
	c.countStart(p, to)
	if to == p.Node {
		to = nil
	}
	m.Seq = len(c.plan.Moves) + 1
	if to != nil {
		m.Room = to.Name
	}
	c.plan.Moves = appendTo(c.plan.Moves, m)
	c.view.Remove(p)
	if to != nil {
		c.view.Expect(p, to)
	}
	if !c.opts.Compat {
		c.foresight.Moved(p, to)
	}
	for _, v := range c.voices {
		if v.opinion != nil {
			v.opinion.Moved(p, to)
		}
	}
	if c.past.again(p) {
		return
	}
	c.limits.Add(p)
	c.allowed.add(m.Strategy)
	if key := bareKey(c.view.Snapshot, p.PodInfo); key != "" {
		c.bare[key]++
	}
}

// countStart counts the start of a replacement on a node. A pod that an earlier look moved here is now to start there instead, or to stay where it was.
func (c *cycle) countStart(p *cluster.Pod, to *cluster.Node) {
	if to == nil {
		return
	}
	if c.past.again(p) {
		c.starts.Add(p.NodeName, -1)
		if to.Name == c.past.origin[p.PodInfo].NodeName {
			return
		}
	}
	c.starts.Add(to.Name, 1)
}

// bareKey names the workload of a pod that no budget covers; empty if there is none, or a budget.
func bareKey(s *cluster.Snapshot, p *cluster.PodInfo) string {
	if len(s.BudgetsOf(p)) == 0 && !p.Terminal() {
		if o := s.Top(p); o != nil {
			return o.Kind + " " + p.Namespace + "/" + o.Name
		}
	}
	return ""
}

// leaving reports whether another controller is evicting the pod, or is taken to have accepted that: the live source shows such a pod as being deleted
// before the second annotation is there.
func leaving(p *cluster.Pod) bool {
	_, only := p.Annotations[cluster.AnnotationRequestEvictOnly]
	_, progress := p.Annotations[cluster.AnnotationEvictionInProgress]
	return only && (progress || p.Assumed)
}

// countLeaving counts pods that another controller is evicting against the limits.
func (c *cycle) countLeaving() {
	for _, p := range c.view.Pods {
		if leaving(p) && !p.Terminal() {
			c.limits.Add(p)
		}
	}
}

func (c *cycle) refuse(r plan.Refusal) {
	c.plan.Refusals = appendTo(c.plan.Refusals, r)
}

// appendTo makes a list that is full twice as long: append itself makes a long one a quarter longer, and so allocates several times what it ends with.
func appendTo[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(16, len(list)))
	}
	return append(list, v)
}

func (c *cycle) skipped(why string) {
	c.plan.Summary.Skipped = why
	c.tellSkipped(why)
}

func (c *cycle) finish(profiles []profile) {
	summarize(c.plan, c.bare)
	c.tellGates(profiles)
}

// summarize counts what the plan came to.
func summarize(p *plan.Plan, bare map[string]int) {
	s := &p.Summary
	s.Moves, s.Refusals, s.ByGate = len(p.Moves), len(p.Refusals), nil
	byGate := map[string]int{}
	for i := range p.Refusals {
		byGate[p.Refusals[i].Gate]++
	}
	for name, n := range byGate {
		s.ByGate = append(s.ByGate, plan.GateCount{Gate: name, Refusals: n})
	}
	slices.SortFunc(s.ByGate, func(a, b plan.GateCount) int { return cmp.Compare(a.Gate, b.Gate) })
	s.WithoutBudget = slices.Sorted(maps.Keys(bare))
}

func refOf(p *cluster.Pod) plan.PodRef {
	return plan.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}
