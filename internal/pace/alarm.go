package pace

import "container/heap"

// alarms is the pods by the next instant at which something happens to each of them by itself.
type alarms []*pod

// Len is part of heap.Interface.
func (a alarms) Len() int { return len(a) }

// Less is part of heap.Interface; equal instants keep the order in which the pods became known.
func (a alarms) Less(i, j int) bool {
	if a[i].wake != a[j].wake {
		return a[i].wake < a[j].wake
	}
	return a[i].seq < a[j].seq
}

// Swap is part of heap.Interface.
func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].alarm, a[j].alarm = i, j
}

// Push is part of heap.Interface.
func (a *alarms) Push(x any) {
	p := x.(*pod)
	p.alarm = len(*a)
	*a = append(*a, p)
}

// Pop is part of heap.Interface.
func (a *alarms) Pop() any {
	last := len(*a) - 1
	p := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	p.alarm = -1
	return p
}

// set moves the pod's alarm; never removes it.
func (a *alarms) set(p *pod, wake instant) {
	p.wake = wake
	switch {
	case p.alarm < 0 && wake != never:
		heap.Push(a, p)
	case p.alarm >= 0 && wake == never:
		heap.Remove(a, p.alarm)
	case p.alarm >= 0:
		heap.Fix(a, p.alarm)
	}
}

func (a alarms) next() instant {
	if len(a) == 0 {
		return never
	}
	return a[0].wake
}
