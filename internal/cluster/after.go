package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// After is the same cluster once some pods have left, each with the pod of its name that is there instead, or nil: then none is. What is odd about the objects is not noted again,
// and [Snapshot.Siblings] counts those that have left, too.
func (s *Snapshot) After(left map[*PodInfo]*PodInfo) *Snapshot {
	next := *s
	next.Notes = nil
	next.Nodes, next.nodeByName = make([]*Node, len(s.Nodes)), make(map[string]*Node, len(s.Nodes))
	nodes := make([]Node, len(s.Nodes))
	lists := make([]*Pod, len(s.Pods))
	for i, n := range s.Nodes {
		k := len(n.Pods)
		nodes[i] = Node{NodeInfo: n.NodeInfo, Index: i, Pods: lists[:0:k]}
		next.Nodes[i], next.nodeByName[n.Name], lists = &nodes[i], &nodes[i], lists[k:]
	}
	next.Pods = make([]*Pod, 0, len(s.Pods))
	pods := make([]Pod, len(s.Pods))
	for _, was := range s.Pods {
		p := &pods[len(next.Pods)]
		*p = Pod{PodInfo: was.PodInfo, Index: len(next.Pods)}
		if instead, gone := left[was.PodInfo]; gone {
			if instead == nil {
				continue
			}
			p.PodInfo, p.Node = instead, next.nodeByName[instead.NodeName]
		} else if was.Node != nil {
			p.Node = next.Nodes[was.Node.Index]
		}
		next.Pods = append(next.Pods, p)
		if p.Node != nil {
			p.Node.Pods = append(p.Node.Pods, p)
		}
	}
	return &next
}

// Replacement is p as started anew on the node of that name, and ready; without a node it waits for one. It still has p's name and UID.
func (p *PodInfo) Replacement(node string, now time.Time) *PodInfo {
	r := *p
	r.Created, r.Started = now, now
	r.Containers, r.Conditions = nil, nil
	r.Phase, r.Ready, r.NodeName = corev1.PodRunning, true, node
	if node == "" {
		r.Phase, r.Ready = corev1.PodPending, false
	}
	return &r
}
