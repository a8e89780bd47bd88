package cluster

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ResourceID numbers a resource name; see [Resources.ID].
type ResourceID int

// The resources that every table starts with.
const (
	CPU    ResourceID = iota // millicores
	Memory                   // bytes
	Pods                     // pods
)

// Resources numbers resource names, so that amounts are small vectors and not maps.
// It only grows, and is safe for concurrent use.
type Resources struct {
	mu    sync.RWMutex
	names []corev1.ResourceName
	ids   map[corev1.ResourceName]ResourceID
}

// NewResources returns a table that knows cpu, memory and pods.
func NewResources() *Resources {
	r := &Resources{ids: map[corev1.ResourceName]ResourceID{}}
	for _, n := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		r.ID(n)
	}
	return r
}

// ID returns the number of name, giving it the next free one when it is new.
func (r *Resources) ID(name corev1.ResourceName) ResourceID {
	if id, ok := r.Lookup(name); ok {
		return id
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if id, ok := r.ids[name]; ok {
		return id
	}
	id := ResourceID(len(r.names))
	r.names = append(r.names, name)
	r.ids[name] = id
	return id
}

// Lookup returns the number of name, if it has one.
func (r *Resources) Lookup(name corev1.ResourceName) (ResourceID, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	id, ok := r.ids[name]
	return id, ok
}

// Name returns the name with that number.
func (r *Resources) Name(id ResourceID) corev1.ResourceName {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names[id]
}

// Len is how many names are numbered.
func (r *Resources) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.names)
}

// Amounts is a quantity of each resource, indexed by [ResourceID]: millicores for cpu,
// whole units (bytes, pods, devices) for everything else. Resources beyond its length are zero.
type Amounts []int64

// Get returns the amount of one resource.
func (a Amounts) Get(id ResourceID) int64 {
	if int(id) < len(a) {
		return a[id]
	}
	return 0
}

// Most is as much as is counted: sums stop there, so that two of them still add up without becoming negative.
const Most = 1<<62 - 1

// Plus returns a with b added, at most [Most]; a may be changed.
func (a Amounts) Plus(b Amounts) Amounts {
	a = a.grown(len(b))
	for i, v := range b {
		a[i] = min(a[i]+v, Most)
	}
	return a
}

// Minus returns a with b taken away; a may be changed. An amount of [Most] stays: what it is the sum of is not known any more, and a full
// node must not look empty.
func (a Amounts) Minus(b Amounts) Amounts {
	a = a.grown(len(b))
	for i, v := range b {
		if a[i] < Most {
			a[i] -= v
		}
	}
	return a
}

func (a Amounts) grown(n int) Amounts {
	for len(a) < n {
		a = append(a, 0)
	}
	return a
}

// Amounts converts a resource list.
func (r *Resources) Amounts(list corev1.ResourceList) Amounts {
	var a Amounts
	for name, q := range list {
		id := r.ID(name)
		a = a.grown(int(id) + 1)
		a[id] = Amount(name, q)
	}
	return a
}

// Unmeasured stands in [Resources.Measured] for what is not known. So does any other negative amount.
const Unmeasured = -1

// Measured adds up measurements, such as those of a pod's containers. Cpu or memory that one of them lacks, or gives a negative amount
// of, is [Unmeasured]: zero would be a measurement. Without any list nothing is known, and the result is nil.
func (r *Resources) Measured(lists ...corev1.ResourceList) Amounts {
	if len(lists) == 0 {
		return nil
	}
	sum := corev1.ResourceList{}
	for _, list := range lists {
		for name, q := range list {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	out := r.Amounts(sum).grown(int(Memory) + 1)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		for _, list := range lists {
			if q, ok := list[name]; !ok || q.Sign() < 0 {
				out[r.ID(name)] = Unmeasured
			}
		}
	}
	return out
}

// ByName orders numbers by the names they stand for: numbers depend on which object was converted first, names do not.
func (r *Resources) ByName(ids []ResourceID) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	slices.SortFunc(ids, func(a, b ResourceID) int { return cmp.Compare(r.names[a], r.names[b]) })
}

// Amount is a quantity in the unit of [Amounts], at most [Most].
func Amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		if q.Value() > Most/1000 { // in milli it might wrap
			return Most
		}
		return q.MilliValue()
	}
	return min(q.Value(), Most)
}

// Quantity is the inverse of [Amount].
func Quantity(name corev1.ResourceName, amount int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(amount, resource.BinarySI)
	default:
		return *resource.NewQuantity(amount, resource.DecimalSI)
	}
}
