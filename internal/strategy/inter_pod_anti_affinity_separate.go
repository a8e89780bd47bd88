package strategy

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
)

// separate proposes pods, at most so many, until no two pods that are to be apart are together: always the one that is in most
// conflicts, of equals the least important. A pod that is more important than all it conflicts with is only taken when nothing else
// will do.
func (x *separator) separate(atMost int) {
	queue, held := x.queue()
	for atMost > 0 {
		v := x.next(queue)
		if v == nil {
			break
		}
		// Where a replacement may start is for the scheduler's rules to say, which foresight follows: both pods' terms are among them.
		switch verdict := x.c.Try(v.pod, Why{Reason: x.conflict(v), Forced: true}); {
		case verdict.Accepted:
			atMost--
			x.change(&v.separated, -1)
		case verdict.Stop == plan.ThisNode:
			queue.full[v.pod.Node] = true
		case verdict.Stop == plan.ThisCycle:
			return
		}
	}
	// The filters' answers for pods that still carry a violated term go on record.
	for _, v := range held {
		if r, others := x.violated(&v.separated); r != nil && !x.movable(v.pod) {
			x.c.Try(v.pod, Why{Reason: keepsApart(r, others)})
		}
	}
}

func (x *separator) movable(p *cluster.Pod) bool { return x.c.Evictable(p) && x.c.PreEviction(p) }

// queue sorts the rivals into those that may be moved, and those that the filters hold back.
func (x *separator) queue() (queue *rivalQueue, held []*rival) {
	queue = &rivalQueue{full: map[*cluster.Node]bool{}}
	bunches := map[string]*bunch{}
	for _, v := range x.rivals() {
		degree := x.degree(&v.separated)
		switch {
		case degree == 0:
		case !x.movable(v.pod):
			held = append(held, v)
		default:
			key := x.concerns(&v.separated)
			b := bunches[key]
			if b == nil {
				b = &bunch{degree: degree}
				bunches[key] = b
				queue.list = append(queue.list, b)
			}
			b.rivals = append(b.rivals, v)
		}
	}
	for _, b := range queue.list {
		slices.SortFunc(b.rivals, compareRivals)
	}
	heap.Init(queue)
	return queue, held
}

// next takes the pod to move next from the queue; nil when no conflict is left that one of its pods could settle. Degrees only get
// smaller, so the first bunch whose degree is up to date is the right one.
func (x *separator) next(queue *rivalQueue) *rival {
	for queue.Len() > 0 {
		b := queue.list[0]
		v := b.rivals[0]
		now := x.degree(&v.separated)
		if now > 0 && now < b.degree {
			b.degree = now
			heap.Fix(queue, 0)
			continue
		}
		b.rivals = b.rivals[1:]
		if now == 0 || len(b.rivals) == 0 {
			heap.Pop(queue)
		} else {
			heap.Fix(queue, 0)
		}
		if now > 0 && !queue.full[v.pod.Node] {
			return v
		}
	}
	return nil
}

// rival is a pod that is in conflict with others.
type rival struct {
	separated
	outranks bool // it is more important than all of them
}

// bunch is the pods that the same terms concern in the same domains, so that when one leaves it is seen at once what that changes for all others.
type bunch struct {
	rivals []*rival // the one to move first is the first; never empty
	degree int      // with how many each is in conflict; may be too high until it is asked again
}

// concerns names the terms that concern a pod, and how they do.
func (x *separator) concerns(p *separated) string {
	var key []byte
	x.concerning(p, func(_ *repulsion, n *conflicts, carries, selected bool) {
		key = binary.AppendVarint(key, int64(4*n.id+2*truth(carries)+truth(selected)))
	})
	return string(key)
}

// rivals lists the pods that are in conflict, each once.
func (x *separator) rivals() []*rival {
	var list []*rival
	known := map[*cluster.Pod]bool{}
	add := func(p separated) {
		if !known[p.pod] {
			known[p.pod] = true
			list = append(list, &rival{separated: p})
		}
	}
	for _, carriers := range x.carriers {
		for _, p := range carriers {
			if slices.ContainsFunc(p.carries, func(r *repulsion) bool { n := x.at(r, p.pod.Node); return n != nil && n.pairs() > 0 }) {
				add(*p)
			}
		}
	}
	for _, r := range x.repulsions {
		if !r.violated() {
			continue
		}
		for _, group := range x.members[r] {
			for _, p := range group.pods {
				if n := x.at(r, p.Node); n != nil && n.pairs() > 0 {
					add(separated{pod: p, group: group, carries: x.carriedBy(p)})
				}
			}
		}
	}
	x.rank(list)
	return list
}

// carriedBy are the terms that a pod of the index carries.
func (x *separator) carriedBy(p *cluster.Pod) []*repulsion {
	if len(p.Spec.AntiAffinity) == 0 {
		return nil
	}
	return x.repulsionsOf(p)
}

func (r *repulsion) violated() bool {
	for _, n := range r.domains {
		if n.pairs() > 0 {
			return true
		}
	}
	return false
}

// rank finds the pods that are more important than all they may be in conflict with.
func (x *separator) rank(list []*rival) {
	for _, v := range list {
		x.concerning(&v.separated, func(_ *repulsion, n *conflicts, _, _ bool) {
			switch mine := priority(v.pod); {
			case n.atTop == 0 || mine > n.top:
				n.top, n.atTop = mine, 1
			case mine == n.top:
				n.atTop++
			}
		})
	}
	for _, v := range list {
		v.outranks = true
		x.concerning(&v.separated, func(_ *repulsion, n *conflicts, _, _ bool) {
			if mine := priority(v.pod); n.top > mine || n.top == mine && n.atTop > 1 {
				v.outranks = false
			}
		})
	}
}

// concerning calls f for each term that concerns the pod in its domain, each once.
func (x *separator) concerning(p *separated, f func(r *repulsion, n *conflicts, carries, selected bool)) {
	for _, r := range p.carries {
		if n := x.at(r, p.pod.Node); n != nil {
			f(r, n, true, x.selected(p, r))
		}
	}
	for _, r := range x.selects[p.group] {
		if n := x.at(r, p.pod.Node); n != nil && !slices.Contains(p.carries, r) {
			f(r, n, false, true)
		}
	}
}

// degree is with how many other pods the pod is in conflict. A pair that two different terms keep apart counts twice.
func (x *separator) degree(p *separated) int {
	sum := 0
	x.concerning(p, func(_ *repulsion, n *conflicts, carries, selected bool) {
		switch {
		case carries && selected:
			sum += n.selected + n.carriers - n.both - 1
		case carries:
			sum += n.selected
		default:
			sum += n.carriers
		}
	})
	return sum
}

// conflict is the case for moving a rival: in the words of its own term if it carries one that is violated.
func (x *separator) conflict(v *rival) plan.Reason {
	if r, others := x.violated(&v.separated); r != nil {
		return keepsApart(r, others)
	}
	reason := plan.Reason{}
	x.concerning(&v.separated, func(r *repulsion, n *conflicts, _, _ bool) {
		if n.carriers > 0 && reason.Code == "" {
			reason = keptAway(r, n.carriers)
		}
	})
	return reason
}

// rivalQueue is a heap with the pod to move first on top, as the first of its bunch.
type rivalQueue struct {
	list []*bunch
	full map[*cluster.Node]bool // no further pod of them may be moved
}

func (q *rivalQueue) Len() int      { return len(q.list) }
func (q *rivalQueue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }

// Less implements heap.Interface.
func (q *rivalQueue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	return cmp.Or(
		cmp.Compare(truth(a.rivals[0].outranks), truth(b.rivals[0].outranks)),
		cmp.Compare(b.degree, a.degree),
		compareRivals(a.rivals[0], b.rivals[0]),
	) < 0
}

// Push implements heap.Interface.
func (q *rivalQueue) Push(b any) { q.list = append(q.list, b.(*bunch)) }

// Pop implements heap.Interface.
func (q *rivalQueue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}

// compareRivals says which of two pods in as many conflicts is to move first.
func compareRivals(a, b *rival) int {
	return cmp.Or(
		cmp.Compare(truth(a.outranks), truth(b.outranks)),
		cmp.Compare(priority(a.pod), priority(b.pod)),
		cmp.Compare(qosRank(a.pod), qosRank(b.pod)),
		cmp.Compare(prefersToStay(a.pod), prefersToStay(b.pod)),
		cmp.Compare(truth(a.pod.Ready), truth(b.pod.Ready)),
		b.pod.Created.Compare(a.pod.Created),
		cmp.Compare(a.pod.Index, b.pod.Index),
	)
}

func keepsApart(r *repulsion, others int) plan.Reason {
	return plan.Reason{
		Code:    "AntiAffinityViolated",
		Message: fmt.Sprintf("pods in its domain that its anti-affinity over %s keeps it apart from: %d", r.term.TopologyKey, others),
		Numbers: plan.Numbers{"others": float64(others)},
	}
}

func keptAway(r *repulsion, carriers int) plan.Reason {
	return plan.Reason{
		Code:    "KeptAway",
		Message: fmt.Sprintf("pods in its domain whose anti-affinity over %s keeps it away: %d", r.term.TopologyKey, carriers),
		Numbers: plan.Numbers{"carriers": float64(carriers)},
	}
}
