package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Snapshot is a cluster at one moment. It is immutable: everything reached from it may be read by
// many goroutines and must be changed by none.
type Snapshot struct {
	TakenAt   time.Time
	Resources *Resources
	Nodes     []*Node // by name
	Pods      []*Pod  // by namespace and name
	// Notes say what is odd about the objects: pods on unknown nodes, kinds that were left out.
	Notes []string

	Namespaces      map[string]*Namespace
	PriorityClasses map[string]*PriorityClass
	Budgets         map[string][]*Budget // by namespace, ordered by name
	Claims          map[string]*Claim    // by "namespace/name"
	Volumes         map[string]*Volume
	StorageClasses  map[string]*StorageClass
	Workloads       map[string]*Workload // by UID
	Usage           Usage
	Starts          map[string]Starts // by node, where an agent reports them
	Has             Has

	nodeByName map[string]*Node
	podsByUID  map[string]int // how many pods each owner UID has, in any state
	budgets    Selecting[*Budget]
	groups     *Groups
}

// Has tells "there are none" from "they were not looked at".
type Has struct {
	Namespaces, PriorityClasses, Budgets, Claims, Volumes, Workloads bool
}

// Parts are what a snapshot is assembled from, in any order.
type Parts struct {
	Resources       *Resources // of the Converter that made the rest
	Nodes           []*NodeInfo
	Pods            []*PodInfo
	Namespaces      []*Namespace
	PriorityClasses []*PriorityClass
	Budgets         []*Budget
	Claims          []*Claim
	Volumes         []*Volume
	StorageClasses  []*StorageClass
	Workloads       []*Workload
	Usage           Usage
	Starts          map[string]Starts
	Has             Has
	Notes           []string
}

// Snapshot assembles the parts. Two objects of one kind with the same name, and two pods with the same UID, are errors:
// such a cluster can't exist, and a plan made from it could evict the wrong pod. A pod that names a node that is not among the
// parts is kept, without a node, and noted.
func (p *Parts) Snapshot(takenAt time.Time) (*Snapshot, error) {
	s := &Snapshot{TakenAt: takenAt, Resources: p.Resources, Usage: p.Usage, Starts: p.Starts, Has: p.Has, Notes: slices.Clone(p.Notes)}
	if s.Resources == nil {
		s.Resources = NewResources()
	}
	if err := s.addNodes(p.Nodes); err != nil {
		return nil, err
	}
	if err := s.addPods(p.Pods); err != nil {
		return nil, err
	}
	s.Namespaces = byKey(p.Namespaces, func(n *Namespace) string { return n.Name })
	s.PriorityClasses = byKey(p.PriorityClasses, func(c *PriorityClass) string { return c.Name })
	s.Claims = byKey(p.Claims, func(c *Claim) string { return c.Namespace + "/" + c.Name })
	s.Volumes = byKey(p.Volumes, func(v *Volume) string { return v.Name })
	s.StorageClasses = byKey(p.StorageClasses, func(c *StorageClass) string { return c.Name })
	s.Workloads = byKey(p.Workloads, func(w *Workload) string { return w.UID })
	s.Budgets = map[string][]*Budget{}
	for _, b := range p.Budgets {
		s.Budgets[b.Namespace] = append(s.Budgets[b.Namespace], b)
	}
	for _, list := range s.Budgets {
		slices.SortFunc(list, func(a, b *Budget) int { return cmp.Compare(a.Name, b.Name) })
		for _, b := range list {
			s.budgets.Add(b.Namespace, b.Selector, b)
		}
	}
	s.noteUnknownNamespaces()
	return s, nil
}

// noteUnknownNamespaces notes terms that select namespaces by their labels, where no namespace's are known.
func (s *Snapshot) noteUnknownNamespaces() {
	if s.Has.Namespaces || len(s.Namespaces) > 0 {
		return
	}
	bySelector := func(t Term) bool { return t.NamespaceSelector != nil && !t.NamespaceSelector.Empty() }
	selecting := map[*Spec]bool{} // replicas share their spec
	pods := 0
	for _, p := range s.Pods {
		is, known := selecting[p.Spec]
		if !known {
			is = slices.ContainsFunc(p.Spec.AntiAffinity, bySelector) || slices.ContainsFunc(p.Spec.Affinity, bySelector)
			selecting[p.Spec] = is
		}
		if is {
			pods++
		}
	}
	if pods > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("there are no Namespace objects, so affinity terms that select namespaces by label know them by their names alone; pods with such terms: %d", pods))
	}
}

// Node returns the node of that name, or nil.
func (s *Snapshot) Node(name string) *Node { return s.nodeByName[name] }

// Pod returns a pod by namespace and name, or nil.
func (s *Snapshot) Pod(namespace, name string) *Pod {
	i, ok := slices.BinarySearchFunc(s.Pods, [2]string{namespace, name}, func(p *Pod, key [2]string) int {
		return cmp.Or(strings.Compare(p.Namespace, key[0]), strings.Compare(p.Name, key[1]))
	})
	if !ok {
		return nil
	}
	return s.Pods[i]
}

// Siblings is how many pods, in any state, have an owner reference to that UID.
func (s *Snapshot) Siblings(ownerUID string) int { return s.podsByUID[ownerUID] }

// BudgetsOf returns the budgets that select the pod, by name.
func (s *Snapshot) BudgetsOf(p *PodInfo) []*Budget { return s.budgets.Of(p.Namespace, p.Labels) }

// Top returns the owner to show and to count by: the Deployment of a ReplicaSet where that is known, else the pod's own
// owner, or nil for a bare pod.
func (s *Snapshot) Top(p *PodInfo) *Owner {
	o := p.Owner()
	if o == nil {
		return nil
	}
	if w := s.Workloads[o.UID]; w != nil && o.UID != "" && w.Owner != nil {
		return w.Owner
	}
	return o
}

func (s *Snapshot) addNodes(infos []*NodeInfo) error {
	infos = ordered(infos, func(a, b *NodeInfo) int { return strings.Compare(a.Name, b.Name) })
	s.Nodes = make([]*Node, len(infos))
	s.nodeByName = make(map[string]*Node, len(infos))
	nodes := make([]Node, len(infos))
	for i, info := range infos {
		if i > 0 && infos[i-1].Name == info.Name {
			return fmt.Errorf("node %q is there twice", info.Name)
		}
		nodes[i] = Node{NodeInfo: info, Index: i}
		s.Nodes[i] = &nodes[i]
		s.nodeByName[info.Name] = &nodes[i]
	}
	return nil
}

func (s *Snapshot) addPods(infos []*PodInfo) error {
	infos = ordered(infos, func(a, b *PodInfo) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	s.podsByUID = map[string]int{}
	uids := make(map[string]struct{}, len(infos))
	on := make([]*Node, len(infos))
	lost := map[string]int{}
	for i, info := range infos {
		if i > 0 && infos[i-1].Namespace == info.Namespace && infos[i-1].Name == info.Name {
			return fmt.Errorf("pod %q is there twice", info.Key())
		}
		if info.UID != "" {
			if _, dup := uids[info.UID]; dup {
				return fmt.Errorf("pod %q has the UID %q of another pod", info.Key(), info.UID)
			}
			uids[info.UID] = struct{}{}
		}
		if on[i] = s.nodeByName[info.NodeName]; on[i] == nil && info.NodeName != "" {
			lost[info.NodeName]++
		}
		for j := range info.Owners {
			s.podsByUID[info.Owners[j].UID]++
		}
	}
	s.place(infos, on)
	if len(infos) == 0 && len(s.Nodes) > 0 {
		s.Notes = append(s.Notes, "there are nodes and no pods: is the file whole?")
	}
	for _, name := range sortedKeys(lost) {
		s.Notes = append(s.Notes, fmt.Sprintf("node %q is not in the snapshot; pods on it that are left alone: %d", name, lost[name]))
	}
	return nil
}

// place makes the pods, which are in order: each on the node at its position in on, or on none. Those of a node lie together in memory, as cycles mostly look at
// pods node by node.
func (s *Snapshot) place(infos []*PodInfo, on []*Node) {
	counts := make([]int, len(s.Nodes))
	for _, n := range on {
		if n != nil {
			counts[n.Index]++
		}
	}
	rest, lists := make([]Pod, len(infos)), make([]*Pod, len(infos))
	free := make([][]Pod, len(s.Nodes))
	for i, k := range counts {
		free[i], rest = rest[:k], rest[k:]
		s.Nodes[i].Pods, lists = lists[:0:k], lists[k:]
	}
	s.Pods = make([]*Pod, len(infos))
	for i, info := range infos {
		n, from := on[i], &rest
		if n != nil {
			from = &free[n.Index]
		}
		p := &(*from)[0]
		*from = (*from)[1:]
		*p = Pod{PodInfo: info, Index: i, Node: n}
		s.Pods[i] = p
		if n != nil {
			n.Pods = append(n.Pods, p)
		}
	}
	s.groups = &Groups{pods: s.Pods}
}

// ordered returns list in order, sorting a copy only where it has to: API lists come nearly sorted.
func ordered[T any](list []T, compare func(a, b T) int) []T {
	if slices.IsSortedFunc(list, compare) {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, compare)
	return list
}

func byKey[T any](list []T, key func(T) string) map[string]T {
	m := make(map[string]T, len(list))
	for _, v := range list {
		m[key(v)] = v
	}
	return m
}
