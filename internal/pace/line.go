package pace

import (
	"cmp"
	"slices"
	"time"
)

// line is the waiting pods in the order of their turns: the overdue first, by arrival; then by arrival moved forward by
// one ageing period for each step of priority. A step is one of the different priorities in the line, so that priority
// values need no scale; and as all pods age alike, the order changes only when a priority comes or goes.
type line struct {
	pods   []*pod
	ageing time.Duration
	counts map[int32]int // waiting pods of each priority
	steps  []int32       // those priorities, ascending

	overdue int // how many of pods are
}

func turn(a, b *pod) int {
	if a.overdue != b.overdue {
		if a.overdue {
			return -1
		}
		return 1
	}
	if !a.overdue {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		if c := cmp.Compare(b.info.Priority, a.info.Priority); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(a.arrival, b.arrival); c != 0 {
		return c
	}
	return cmp.Compare(a.seq, b.seq)
}

// add puts a pod in its place. Its arrival, priority and overdue must not change until it is removed.
func (l *line) add(p *pod) {
	if p.overdue {
		l.overdue++
	}
	priority := p.info.Priority
	l.counts[priority]++
	if l.counts[priority] == 1 {
		at, _ := slices.BinarySearch(l.steps, priority)
		l.steps = slices.Insert(l.steps, at, priority)
		l.sort()
	}
	p.key = l.keyOf(p)
	at, _ := slices.BinarySearchFunc(l.pods, p, turn)
	l.pods = slices.Insert(l.pods, at, p)
}

func (l *line) remove(p *pod) {
	at := l.index(p)
	l.pods = slices.Delete(l.pods, at, at+1)
	if p.overdue {
		l.overdue--
	}
	priority := p.info.Priority
	l.counts[priority]--
	if l.counts[priority] == 0 {
		delete(l.counts, priority)
		at, _ := slices.BinarySearch(l.steps, priority)
		l.steps = slices.Delete(l.steps, at, at+1)
		l.sort()
	}
}

// index is the rank of a pod in the line, from 0.
func (l *line) index(p *pod) int {
	at, _ := slices.BinarySearchFunc(l.pods, p, turn)
	return at
}

func (l *line) setAgeing(ageing time.Duration) {
	l.ageing = ageing
	l.sort()
}

func (l *line) sort() {
	for _, p := range l.pods {
		p.key = l.keyOf(p)
	}
	slices.SortFunc(l.pods, turn)
}

func (l *line) keyOf(p *pod) instant {
	step, _ := slices.BinarySearch(l.steps, p.info.Priority)
	return p.arrival - instant(step)*l.ageing
}
