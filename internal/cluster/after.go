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
	for i, n := range s.Nodes {
		nodes[i] = Node{NodeInfo: n.NodeInfo, Index: i}
		next.Nodes[i], next.nodeByName[n.Name] = &nodes[i], &nodes[i]
	}
	infos, on := make([]*PodInfo, 0, len(s.Pods)), make([]*Node, 0, len(s.Pods))
	for _, p := range s.Pods {
		info, n := p.PodInfo, p.Node
		if instead, gone := left[info]; gone {
			if instead == nil {
				continue
			}
			info, n = instead, next.nodeByName[instead.NodeName]
		} else if n != nil {
			n = next.Nodes[n.Index]
		}
		infos, on = append(infos, info), append(on, n)
	}
	next.place(infos, on)
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
